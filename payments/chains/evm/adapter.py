"""The evm networks behind the chain protocol."""

from __future__ import annotations

from collections.abc import Callable, Collection

from config.money import Asset
from payments.chains import recipients
from payments.chains.errors import NotSetUp, TokenChanged
from payments.chains.evm import addresses, links
from payments.chains.evm.contract_accounts import ContractAccounts
from payments.chains.evm.deposit_addresses.derivation import Derivations
from payments.chains.evm.deposit_addresses.new_addresses import NewAddresses
from payments.chains.evm.fees import FeeRules
from payments.chains.evm.keys.signing import Signer
from payments.chains.evm.nodes import questions
from payments.chains.evm.nodes.oracle import SanctionsOracle
from payments.chains.evm.nodes.providers import Providers
from payments.chains.evm.readiness_checks import SetUp
from payments.chains.evm.reading import BLOCKS_PER_SCAN, Pace, Reading
from payments.chains.evm.sending import Sending
from payments.chains.evm.simulation import TransferSimulation
from payments.chains.evm.sweep_contract import Roles, Sweeps
from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.addresses import DepositAddress
from payments.chains.protocol.payouts import Costs, PayoutInstruction
from payments.chains.protocol.transfers import (
    Identity,
    SentTransaction,
)
from payments.chains.readiness import Readiness

# EIP-7702: the account of a person that lets a contract act for it is still the account of a person.
_DELEGATION = bytes.fromhex("ef0100")


class EvmChain:
    """One evm network. Deposits arrive at clones that a factory puts in place; `wallet` pays, and is swept to unless
    that is the cold wallet.

    `signer` is only called when something is signed: processes that never sign need no key.
    """

    operations = reserves = preparations = wallet_payments = None

    def __init__(
        self,
        profile: NetworkProfile,
        *,
        providers: Providers,
        derivations: Derivations,
        owner: str,
        wallet: str,
        cold_wallet: str = "",
        oracle: str = "",
        sweeps_to_cold: bool = True,
        rules: FeeRules,
        signer: Callable[[], Signer],
        pace: Pace | None = None,
        readiness: Readiness | None = None,
        new_addresses: NewAddresses | None = None,
        blocks_per_scan: int = BLOCKS_PER_SCAN,
    ) -> None:
        self.profile = profile
        self.providers, self.factory = providers, derivations.present.factory
        self.derivations, self._owner, self._wallet = derivations, owner, wallet
        self.reading = Reading(profile, providers, pace=pace, blocks_per_scan=blocks_per_scan)
        self._cold_wallet, self._treasury = cold_wallet, cold_wallet if sweeps_to_cold and cold_wallet else wallet
        self._simulation = TransferSimulation(providers, wallet=wallet, treasury=self._treasury)
        self._set_up = SetUp(
            profile,
            providers,
            factory=self.factory,
            owner=owner,
            wallet=wallet,
            treasury=self._treasury,
            signer=signer,
            readiness=readiness,
        )
        self.sending = Sending(
            profile,
            providers,
            derivations=derivations,
            wallet=wallet,
            rules=rules,
            signer=signer,
            set_up=self._set_up,
            new_addresses=new_addresses,
        )
        self.sweeps = Sweeps(derivations, self.sending, self.reading, self._simulation, self._set_up)
        expected = {"owner": owner, "operator": wallet, "treasury": self._treasury}
        self.roles = Roles(providers, self.reading, derivations, expected)
        self.signers = ContractAccounts(providers)
        self.oracle = SanctionsOracle(providers, oracle) if oracle else None

    # Addresses and links

    def parse_address(self, text: str) -> str:
        return addresses.parse(text)

    def deposit_address(self, sequence: int) -> DepositAddress:
        return DepositAddress(self.derivations.address(sequence))

    def deposit_addresses(self, sequence: int) -> tuple[DepositAddress, ...]:
        return (self.deposit_address(sequence),)

    def payment_uri(self, *, to: DepositAddress, asset: Asset, amount: int, message: str = "") -> str:
        return links.token_transfer(
            contract=asset.contract, chain_id=self.profile.evm_chain_id, recipient=to.address, amount=amount
        )

    def qr_text(self, *, to: DepositAddress, payment_uri: str) -> str:
        return to.address

    # Money out

    def payout_address(self) -> str:
        return self._wallet

    def cold_wallet(self) -> str:
        return self._cold_wallet

    def treasury(self) -> str:
        return self._treasury

    def channels(self) -> tuple[str, ...]:
        return (self._wallet,)

    def own_accounts(self) -> frozenset[str]:
        factories = self.derivations.factories
        return frozenset({self._wallet, *factories, *map(addresses.forwarder_of, factories)})

    def next_sequence(self, sender: str) -> int:
        return self.sending.next_sequence(sender)

    def check_recipient(self, payout: PayoutInstruction) -> None:
        account = recipients.payable_account(self.profile, payout.recipient, own=self.own_accounts())
        self._simulation.require_payable(payout.asset, account)

    def check_sending(self, asset: Asset) -> None:
        try:
            self._set_up.check_decimals(asset)
        except NotSetUp as error:
            raise TokenChanged(str(error)) from error
        self._simulation.require_sendable(asset)

    def pay_back_address(self, identity: Identity, sender: str) -> str | None:
        found = self.providers.agree_on(questions.code(sender))
        is_contract = bool(found) and not found.startswith(_DELEGATION)
        return None if is_contract else sender

    def sent_by(
        self, account: str, *, first_height: int, last_height: int, first_sequence: int, hashes: Collection[str]
    ) -> tuple[SentTransaction, ...]:
        self.reading.reached(last_height)
        return self.sending.sent_by(
            account, heights=range(first_height, last_height + 1), first_sequence=first_sequence, hashes=hashes
        )

    def costs(self) -> Costs:
        return self.sending.costs()

    # Setting up

    def require_set_up(self, *, signing: bool = False) -> None:
        self._set_up.require(signing=signing)
