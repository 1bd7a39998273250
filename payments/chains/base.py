"""The protocol every network speaks: evm, stellar and simulated adapters behave alike behind it.

An adapter knows addresses, blocks and transfers, never payments. Every method that talks to a network
may raise ChainUnavailable (try again later); FinalityViolation means stop and call a person.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol, runtime_checkable

from config.money import Asset
from payments.chains.profiles import NetworkProfile

Cursor = dict[str, Any]
"""Where the next scan goes on: made and read by the adapter alone, stored as JSON by the watcher."""


@dataclass(frozen=True, slots=True)
class DepositAddress:
    """Where the payer of one payment sends money.

    `memo` is set on networks whose deposits share an account; `muxed` is then the single-field form of both.
    """

    address: str
    memo: str | None = None
    muxed: str | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """The tip of a network, as far as its providers agree on it."""

    height: int
    block_hash: str
    closed_at: datetime
    finalized_height: int


Identity = tuple[str, int]
"""A transaction hash, and the ordinal of a transfer in it."""


@dataclass(frozen=True, slots=True)
class IncomingTransfer:
    """A transfer to a watched address, in a block.

    Its identity is (network, transaction_hash, ordinal): the ordinal counts inside the on-chain
    transaction, so that it survives being mined again in another block.
    `memo` is the normalised reference (memo or muxed id) or None. `asset` is None for a token that the
    registry does not know; `contract` always names the token. `amount` is above zero: transfers of
    nothing, which some networks allow, are not reported.
    """

    transaction_hash: str
    ordinal: int
    height: int
    block_hash: str
    block_time: datetime
    contract: str
    asset: Asset | None
    amount: int
    sender: str
    recipient: str
    memo: str | None = None
    token_fee: int = 0
    """What the token kept of what was sent, beside the amount, where that can be told."""

    @property
    def identity(self) -> Identity:
        return self.transaction_hash, self.ordinal


@dataclass(frozen=True, slots=True)
class IdleMovement:
    """What an on-chain transaction did for an address and no deposit can be made of.

    Either the network's own coin moved, which has no contract, or a token's transfer moved nothing. Of the own coin
    only what the sender handed over directly is known: what contracts hand on leaves no trace on some networks.
    """

    contract: str
    amount: int
    sender: str
    recipient: str
    memo: str | None = None


@dataclass(frozen=True, slots=True)
class FoundTransaction:
    """An on-chain transaction that a network knows, whoever sent it.

    - pending: it is in no block, and may never be.
    - included: in a block; `transfers` and `idle` say what it did.
    - failed: in a block, and nothing moved.
    """

    transaction_hash: str
    state: Literal["pending", "included", "failed"]
    height: int | None = None
    transfers: tuple[IncomingTransfer, ...] = ()
    idle: tuple[IdleMovement, ...] = ()


@dataclass(frozen=True, slots=True)
class Scan:
    """What one scan found.

    `transfers` is complete for the heights `first_height..last_height`: a transfer known from one of these
    heights that is missing here, or stands under another block hash, was moved or undone by a reorg. One that
    was moved may stand in the same scan at another height: match by identity before calling it undone.
    A scan re-reads everything above the finalised height of the cursor, so both bounds may go back.
    `first_height > last_height` when there was nothing to read. Blocks up to `last_block_time` have been read;
    `caught_up` is False when there is more to read at once.
    """

    first_height: int
    last_height: int
    last_block_time: datetime
    head: Head
    transfers: tuple[IncomingTransfer, ...]
    cursor: Cursor
    caught_up: bool


class WatchList(Protocol):
    """The addresses deposits may arrive at. It can be large: ask for as little as possible."""

    def addresses(self, at_most: int) -> Collection[str] | None:
        """All that money is expected at now; None when they are more than so many."""
        ...

    def matching(self, candidates: Collection[str]) -> set[str]:
        """Those of `candidates` that are watched, also those that nothing is expected at any more."""
        ...


TransferState = Literal["unknown", "pending", "included", "failed", "replaced", "expired"]
"""Only four of them prove anything, and only once the status is `final`:

- unknown: the network does not know it. It may still arrive, or be sent again.
- pending: the network knows it; it is in no block.
- included: in a block, and the money moved.
- failed: in a block, and nothing moved; its sequence is used up.
- replaced: another transaction of the sender, in a block, used its sequence.
- expired: its `valid_until` has passed and it is in no block; its sequence is free.
"""


@dataclass(frozen=True, slots=True)
class Payout:
    """One outgoing payment of an asset. `memo` for networks whose recipients need one."""

    asset: Asset
    amount: int
    recipient: str
    memo: str | None = None


@dataclass(frozen=True, slots=True)
class SignedTransfer:
    """An on-chain transaction ready to send: stored before it is sent, and only ever sent again as it is.

    `fee_limit_units` is the most it can cost, in base units of the network's own coin. A sweep has no payouts.
    """

    raw: bytes
    transaction_hash: str
    sender: str
    sequence: int
    valid_until: datetime | None
    payouts: tuple[Payout, ...]
    fee_limit_units: int = 0


@dataclass(frozen=True, slots=True)
class OutgoingTransfer:
    """A transfer that left an address, in a block.

    `sequence` is that of the on-chain transaction when the address sent it itself; None when somebody else did.
    """

    transaction_hash: str
    sequence: int | None
    ordinal: int
    height: int
    contract: str
    amount: int
    recipient: str
    memo: str | None = None


@dataclass(frozen=True, slots=True)
class TransferStatus:
    """What the chain says of an on-chain transaction. When `replaced`, the block is that of the other one.

    `fee_units` is in base units of the network's own coin.
    """

    state: TransferState
    height: int | None = None
    block_hash: str | None = None
    confirmations: int = 0
    final: bool = False
    fee_units: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Costs:
    """What sending costs at the fees of this moment, in base units of the network's own coin. Estimates."""

    payout: int
    sweep: int = 0
    """Of a sweep, however many addresses it empties."""
    first_time: int = 0
    """For each address in it that nothing has emptied before."""
    again: int = 0
    """For each of the others."""

    def of_sweep(self, *, first_time: int, again: int = 0) -> int:
        """Of one sweep of so many addresses; nothing without any."""
        if not first_time + again:
            return 0
        return self.sweep + self.first_time * first_time + self.again * again


@dataclass(frozen=True, slots=True)
class SweptFrom:
    """What a sweep did at the deposit address with this number, by its receipt. Amounts in base units.

    `left` went from the address to anybody, `arrived` is what the hot wallet got of it: a token may keep a part.
    `refused` says that the token's contract refused the transfer, or that there was too little gas for it.
    """

    number: int
    left: int = 0
    arrived: int = 0
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Unsweepable:
    """Why the coins of a deposit address cannot be brought to the hot wallet now, and what the contract says of it.

    - empty: the address holds none.
    - paused: nobody can move this coin.
    - wallet_refused: the hot wallet cannot be sent this coin.
    - frozen: the address cannot send this coin.
    - refused: the transfer is refused for another reason.
    """

    reason: Literal["empty", "paused", "wallet_refused", "frozen", "refused"]
    said: str = ""


@dataclass(frozen=True, slots=True)
class ProviderState:
    """Somebody a network is asked through, and what is wrong with them by kind: failing, old_head, disagrees."""

    name: str
    problems: Mapping[str, str]


@runtime_checkable
class Chain(Protocol):
    """One network in one environment."""

    profile: NetworkProfile

    # Addresses and links: pure, fast, no network.

    def parse_address(self, text: str) -> str:
        """The canonical spelling of an account someone may be paid at; InvalidAddress says what is wrong."""
        ...

    def deposit_address(self, sequence: int) -> DepositAddress:
        """The address of the payment with this number. The same number always gives the same address."""
        ...

    def payment_uri(self, *, to: DepositAddress, asset: Asset, amount: int, message: str = "") -> str:
        """The link a wallet opens with everything filled in (EIP-681, SEP-7)."""
        ...

    def qr_text(self, *, to: DepositAddress, payment_uri: str) -> str:
        """What the QR code holds: only what no scanner can misread into paying somebody else."""
        ...

    # Money in.

    def head(self) -> Head: ...

    def scan(self, cursor: Cursor | None, watch: WatchList) -> Scan:
        """Transfers to watched addresses since the cursor.

        None starts at the present head, or earlier where an adapter can read everything there ever was.
        The bounds are limited: call again at once while `caught_up` is False. FinalityViolation when the
        block that the cursor took for final has another hash now.
        """
        ...

    def cursor_at(self, height: int) -> Cursor:
        """A cursor that takes this height for final, with the hash it has now: a scan from it begins just after."""
        ...

    def find_transfers(self, transaction_hash: str) -> tuple[IncomingTransfer, ...]:
        """Every token transfer inside one on-chain transaction, to whomever; empty while it is in no block."""
        ...

    def find_transaction(self, transaction_hash: str) -> FoundTransaction | None:
        """All that is known of one on-chain transaction; None when nobody knows it.

        Its transfers are those of `find_transfers`. That something waits, any one provider may say.
        """
        ...

    # Money out.

    def payout_address(self) -> str:
        """The hot wallet payouts leave from."""
        ...

    def own_accounts(self) -> frozenset[str]:
        """The accounts and contracts of ours there, deposit addresses left out: nobody can be paid at one."""
        ...

    def next_sequence(self, sender: str) -> int:
        """The sequence (nonce) the chain expects next from this account, counting blocks only.

        It goes back when a reorg undoes a transfer.
        """
        ...

    def check_recipient(self, payout: Payout) -> None:
        """RecipientRefused when this payout would fail or be lost because of whom it goes to; SendingBlocked while the
        coin can be sent to nobody. Asks the network; changes nothing."""
        ...

    def check_sending(self, asset: Asset) -> None:
        """SendingBlocked while the hot wallet can send this coin to nobody. Asks the network; changes nothing."""
        ...

    def is_contract(self, address: str) -> bool:
        """Whether money from this address came out of a contract, whose address nobody can be paid back at."""
        ...

    def sign(
        self,
        payouts: tuple[Payout, ...],
        *,
        sender: str,
        sequence: int,
        replacing: Collection[SignedTransfer] = (),
    ) -> SignedTransfer:
        """Build and sign; nothing is sent. ValueError when these payouts cannot share a transaction.

        `replacing` are earlier versions of the same sequence: the new one offers enough more than all of them to be
        taken in their place. ValueError where nothing can be replaced.
        """
        ...

    def sign_sweep(
        self,
        asset: Asset,
        deposits: tuple[int, ...],
        *,
        sender: str,
        sequence: int,
        replacing: Collection[SignedTransfer] = (),
    ) -> SignedTransfer:
        """As sign: move all of an asset from the deposit addresses of these numbers to the hot wallet.

        The asset is an accepted coin or the network's own.
        """
        ...

    def swept_by(
        self, transaction_hash: str, asset: Asset, deposits: Sequence[int], *, treasury: str
    ) -> tuple[SweptFrom, ...]:
        """What a sweep of a coin to this hot wallet did at each of these deposit addresses, by its receipt.

        Empty while it is in no block.
        """
        ...

    def why_unsweepable(self, asset: Asset, deposits: Sequence[int]) -> dict[int, Unsweepable]:
        """Those of these deposit addresses that a sweep of a coin would bring nothing from now. Asks the network."""
        ...

    def can_replace(self) -> bool:
        """Whether a transfer that waits can be replaced by one that offers more; else it is waited for, or expires."""
        ...

    def broadcast(self, transfer: SignedTransfer) -> None:
        """Hand the stored bytes to the network; handing over the same ones again changes nothing.

        Any error, TransferRefused and ChainUnavailable included, leaves the outcome unknown.
        """
        ...

    def transfer_status(self, transfer: SignedTransfer) -> TransferStatus: ...

    def outgoing(self, address: str, *, first_height: int, last_height: int) -> tuple[OutgoingTransfer, ...]:
        """Every transfer of a registered asset that left the address in these blocks, whoever had it sent."""
        ...

    def balances(self, addresses: Sequence[str], asset: Asset, *, at_height: int | None = None) -> dict[str, int]:
        """As balance, of many addresses at once; those that hold none are left out."""
        ...

    def balance(self, address: str, asset: Asset, *, at_height: int | None = None) -> int:
        """Base units of an asset or of the network's own coin held after the block at the head, or a past height."""
        ...

    def costs(self) -> Costs:
        """What sending costs just now."""
        ...

    # Looking after it.

    def require_set_up(self, *, signing: bool = False) -> None:
        """NotSetUp unless contracts and coins, and with `signing` the key, are what the settings say.

        Asks the network until it has once said that all is well. ChainUnavailable while it does not answer.
        """
        ...

    def provider_states(self) -> tuple[ProviderState, ...]:
        """Who is asked, and what this process has found wrong with them. Asks nobody; empty where nobody is asked."""
        ...
