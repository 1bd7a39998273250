"""Ethereum and polygon behind the chain protocol."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from config.money import Asset
from payments.chains import recipients
from payments.chains.base import (
    Costs,
    Cursor,
    DepositAddress,
    FoundTransaction,
    Head,
    IncomingTransfer,
    OutgoingTransfer,
    Payout,
    ProviderState,
    Scan,
    SignedTransfer,
    SweptFrom,
    TransferStatus,
    Unsweepable,
    WatchList,
)
from payments.chains.errors import ChainUnavailable
from payments.chains.evm import addresses, deployment, links, questions
from payments.chains.evm.fees import FeeRules
from payments.chains.evm.providers import Providers
from payments.chains.evm.readiness import Readiness
from payments.chains.evm.reading import BLOCKS_PER_SCAN, Pace, Reading
from payments.chains.evm.sending import Sending
from payments.chains.evm.set_up import SetUp
from payments.chains.evm.signing import Signer
from payments.chains.evm.sweeps import swept_from
from payments.chains.evm.trying import Trials
from payments.chains.profiles import NetworkProfile

BALANCES_PER_BATCH = 200
"""Addresses in one JSON-RPC batch: few enough for public providers, which count each as a request."""

# EIP-7702: the account of a person that lets a contract act for it is still the account of a person.
_DELEGATION = bytes.fromhex("ef0100")


class EvmChain:
    """One evm network. Deposits arrive at clones that `factory` puts in place; `wallet` pays and is swept to.

    `signer` is only asked for when something is signed: processes that never sign need no key.
    """

    def __init__(
        self,
        profile: NetworkProfile,
        *,
        providers: Providers,
        factory: str,
        owner: str,
        wallet: str,
        rules: FeeRules,
        signer: Callable[[], Signer],
        pace: Pace | None = None,
        readiness: Readiness | None = None,
        blocks_per_scan: int = BLOCKS_PER_SCAN,
    ) -> None:
        if profile.chain_id is None:
            raise ValueError(f"{profile.network} has no chain id")
        self.profile = profile
        self.providers, self.factory = providers, factory
        self._chain_id = profile.chain_id
        self._forwarder, self._wallet = deployment.forwarder_of(factory), wallet
        self._reading = Reading(profile, providers, pace=pace, blocks_per_scan=blocks_per_scan)
        self._trials = Trials(providers, wallet=wallet)
        self._sending = Sending(profile, providers, factory=factory, wallet=wallet, rules=rules, signer=signer)
        self._set_up = SetUp(
            profile, providers, factory=factory, owner=owner, wallet=wallet, signer=signer, readiness=readiness
        )

    # Addresses and links

    def parse_address(self, text: str) -> str:
        return addresses.parse(text)

    def deposit_address(self, sequence: int) -> DepositAddress:
        return DepositAddress(
            addresses.clone_address(factory=self.factory, implementation=self._forwarder, salt=sequence)
        )

    def payment_uri(self, *, to: DepositAddress, asset: Asset, amount: int, message: str = "") -> str:
        return links.token_transfer(
            contract=asset.contract, chain_id=self._chain_id, recipient=to.address, amount=amount
        )

    def qr_text(self, *, to: DepositAddress, payment_uri: str) -> str:
        return to.address

    # Money in

    def head(self) -> Head:
        return self.providers.head()

    def scan(self, cursor: Cursor | None, watch: WatchList) -> Scan:
        return self._reading.scan(cursor, watch)

    def cursor_at(self, height: int) -> Cursor:
        return self._reading.cursor_at(height)

    def find_transfers(self, transaction_hash: str) -> tuple[IncomingTransfer, ...]:
        return self._reading.find_transfers(transaction_hash)

    def find_transaction(self, transaction_hash: str) -> FoundTransaction | None:
        return self._reading.find_transaction(transaction_hash)

    # Money out

    def payout_address(self) -> str:
        return self._wallet

    def own_accounts(self) -> frozenset[str]:
        return frozenset({self._wallet, self.factory, self._forwarder})

    def next_sequence(self, sender: str) -> int:
        return self._sending.next_sequence(sender)

    def check_recipient(self, payout: Payout) -> None:
        account = recipients.payable_account(self.profile, payout.recipient, own=self.own_accounts())
        self._trials.require_payable(payout.asset, account)

    def check_sending(self, asset: Asset) -> None:
        self._trials.require_sendable(asset)

    def is_contract(self, address: str) -> bool:
        found = self.providers.agree_on(questions.code(address))
        return bool(found) and not found.startswith(_DELEGATION)

    def sign(
        self,
        payouts: tuple[Payout, ...],
        *,
        sender: str,
        sequence: int,
        replacing: Collection[SignedTransfer] = (),
    ) -> SignedTransfer:
        return self._sending.sign(payouts, sender=sender, sequence=sequence, replacing=replacing)

    def sign_sweep(
        self,
        asset: Asset,
        deposits: tuple[int, ...],
        *,
        sender: str,
        sequence: int,
        replacing: Collection[SignedTransfer] = (),
    ) -> SignedTransfer:
        self._set_up.require_people_now()
        return self._sending.sign_sweep(asset, deposits, sender=sender, sequence=sequence, replacing=replacing)

    def swept_by(
        self, transaction_hash: str, asset: Asset, deposits: Sequence[int], *, treasury: str
    ) -> tuple[SweptFrom, ...]:
        receipt = self._reading.receipt(transaction_hash)
        if receipt is None:
            return ()
        return swept_from(receipt, asset=asset, addresses=self._numbered(deposits), treasury=treasury)

    def why_unsweepable(self, asset: Asset, deposits: Sequence[int]) -> dict[int, Unsweepable]:
        return self._trials.why_unsweepable(asset, self._numbered(deposits))

    def _numbered(self, deposits: Sequence[int]) -> list[tuple[int, str]]:
        return [(number, self.deposit_address(number).address) for number in deposits]

    def can_replace(self) -> bool:
        return True

    def broadcast(self, transfer: SignedTransfer) -> None:
        if not transfer.payouts:  # a sweep goes to whoever is the treasury when it is mined
            self._set_up.require_people_now()
        self._sending.broadcast(transfer)

    def transfer_status(self, transfer: SignedTransfer) -> TransferStatus:
        return self._sending.status(transfer)

    def outgoing(self, address: str, *, first_height: int, last_height: int) -> tuple[OutgoingTransfer, ...]:
        return self._reading.outgoing(address, first_height=first_height, last_height=last_height)

    def balances(self, addresses: Sequence[str], asset: Asset, *, at_height: int | None = None) -> dict[str, int]:
        height = self._reached(at_height)
        held: dict[str, int] = {}
        for start in range(0, len(addresses), BALANCES_PER_BATCH):
            some = addresses[start : start + BALANCES_PER_BATCH]
            answers = self.providers.agree(*(self._balance(address, asset, height) for address in some))
            held |= {address: units for address, units in zip(some, answers, strict=True) if units}
        return held

    def balance(self, address: str, asset: Asset, *, at_height: int | None = None) -> int:
        return self.providers.agree_on(self._balance(address, asset, self._reached(at_height)))

    def _balance(self, address: str, asset: Asset, height: int) -> questions.Question[int]:
        if asset == self.profile.native:
            return questions.native_balance(address, height)
        return questions.token_balance(asset.contract, address, height)

    def _reached(self, height: int | None) -> int:
        """This height, or that of the head; ChainUnavailable while the block at it is still to come."""
        head = self.providers.head()
        if height is not None and height > head.height:
            raise ChainUnavailable(f"{self.profile.network} has not reached height {height} yet.")
        return head.height if height is None else height

    def costs(self) -> Costs:
        return self._sending.costs()

    # Looking after it

    def provider_states(self) -> tuple[ProviderState, ...]:
        return self.providers.states()

    # Setting up

    def require_set_up(self, *, signing: bool = False) -> None:
        self._set_up.require(signing=signing)
