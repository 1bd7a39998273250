"""The evm networks behind the chain protocol."""

from __future__ import annotations

from collections.abc import Callable

from config.money import Asset
from payments.chains.evm import addresses, links
from payments.chains.evm.contract_accounts import ContractAccounts
from payments.chains.evm.deposit_addresses.derivation import Derivations
from payments.chains.evm.deposit_addresses.new_addresses import NewAddresses
from payments.chains.evm.fees import FeeRules
from payments.chains.evm.hot_wallet import HotWallet
from payments.chains.evm.keys.signing import Signer
from payments.chains.evm.nodes.oracle import SanctionsOracle
from payments.chains.evm.nodes.providers import Providers
from payments.chains.evm.readiness_checks import SetUp
from payments.chains.evm.reading import BLOCKS_PER_SCAN, Pace, Reading
from payments.chains.evm.sending import Sending
from payments.chains.evm.simulation import TransferSimulation
from payments.chains.evm.sweep_contract import Roles, Sweeps
from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.addresses import DepositAddress
from payments.chains.readiness import Readiness


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
        simulation = TransferSimulation(providers, wallet=wallet, treasury=self._treasury)
        self.set_up = SetUp(
            profile,
            providers,
            factory=self.factory,
            owner=owner,
            wallet=wallet,
            treasury=self._treasury,
            signer=signer,
            readiness=readiness,
        )
        self.hot_wallet = HotWallet(
            profile,
            providers,
            derivations=derivations,
            wallet=wallet,
            rules=rules,
            reading=self.reading,
            simulation=simulation,
            set_up=self.set_up,
            new_addresses=new_addresses,
        )
        self.sending = Sending(
            profile,
            providers,
            derivations=derivations,
            wallet=wallet,
            rules=rules,
            signer=signer,
            hot_wallet=self.hot_wallet,
            set_up=self.set_up,
        )
        self.sweeps = Sweeps(derivations, self.sending, self.reading, simulation, self.set_up)
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

    # Accounts of ours

    def payout_address(self) -> str:
        return self._wallet

    def cold_wallet(self) -> str:
        return self._cold_wallet

    def treasury(self) -> str:
        return self._treasury

    def channels(self) -> tuple[str, ...]:
        return (self._wallet,)
