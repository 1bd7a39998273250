"""The protocol every network speaks: evm, stellar and simulated adapters behave alike behind it.

An adapter knows addresses, blocks and transfers, never payments. Every method that talks to a network
may raise ChainUnavailable (try again later); FinalityViolation means stop and call a person.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal, Protocol, runtime_checkable

from config.money import Asset
from payments.chains.errors import RecipientProblem
from payments.chains.profiles import NetworkProfile

Cursor = dict[str, Any]
"""Where the next scan goes on: made and read by the adapter alone, stored as JSON by the watcher."""


LONGEST_PROVIDER_NAME = 100
"""What rows keep of the name of a provider."""


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
    nothing, which some networks allow, are not reported. `sender` is spelled as it was sent from: where accounts
    are shared, it can be the address of one person in an account (muxed).
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
    conflicting_memo: str | None = None
    """The memo of the on-chain transaction, where the muxed id it was sent to is another one: that one is `memo`."""
    inner_hash: str = ""
    """The other hash of its on-chain transaction, where a fee bump is around it: wallets show either."""
    said_by: tuple[str, ...] = field(default=(), compare=False)
    """The providers that were believed about it; empty where nobody is asked."""

    @property
    def identity(self) -> Identity:
        return self.transaction_hash, self.ordinal


IdleKind = Literal["", "claimable_balance", "clawback", "account_merge"]
"""What an on-chain transaction did beside moving the native coin, or nothing; see NonDeposit."""


@dataclass(frozen=True, slots=True)
class NonDeposit:
    """What an on-chain transaction did for an address and no deposit can be made of.

    Either the native coin moved, which has no contract, or a token's transfer moved nothing. Of the native coin
    only what the sender handed over directly is known: what contracts hand on leaves no trace on some networks.
    Or `kind` says what else happened:

    - claimable_balance: the amount was set aside for the recipient, who may claim it; nothing has arrived.
    - clawback: the coin's issuer, the recipient, took the amount away from the sender.
    - account_merge: the sender's account was closed, and its native coins went to the recipient.
    """

    contract: str
    amount: int
    sender: str
    recipient: str
    memo: str | None = None
    kind: IdleKind = ""


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
    idle: tuple[NonDeposit, ...] = ()


@dataclass(frozen=True, slots=True)
class UnreadRecord:
    """An on-chain transaction that providers tell of alike, and of which something cannot be read here."""

    transaction_hash: str
    height: int
    problem: str = field(compare=False)
    content: str = field(compare=False)
    """What a provider sent, as JSON, without what is never read."""


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
    unread: tuple[UnreadRecord, ...] = ()
    """What was passed over in these heights: it may hold transfers."""


class WatchList(Protocol):
    """The addresses deposits may arrive at. It can be large: ask for as little as possible."""

    def addresses(self, at_most: int) -> Collection[str] | None:
        """All that money is expected at now; None when they are more than so many."""
        ...

    def matching(self, candidates: Collection[str]) -> set[str]:
        """Those of `candidates` that are watched, also those that nothing is expected at any more."""
        ...


TransactionState = Literal["unknown", "pending", "included", "failed", "replaced", "expired"]
"""Only four of them prove anything, and only once the status is `final`:

- unknown: the network does not know it. It may still arrive, or be sent again.
- pending: the network knows it; it is in no block.
- included: in a block, and the money moved.
- failed: in a block, and nothing moved; its sequence is used up.
- replaced: another transaction of the sender, in a block, used its sequence.
- expired: its `valid_until` has passed and it is in no block; its sequence is free.
"""


@dataclass(frozen=True, slots=True)
class PayoutInstruction:
    """What a chain is told to pay one recipient. `memo` for networks whose recipients need one.

    `set_aside` asks for a claimable balance in place of a payment: the amount leaves the hot wallet, and waits on the
    network until the recipient claims it.
    """

    asset: Asset
    amount: int
    recipient: str
    memo: str | None = None
    memo_type: str = ""
    """`id` or `text`, as the recipient's owner said; empty: digits are an id, anything else is text."""
    set_aside: bool = False
    payout_id: str = field(default="", compare=False)
    intent_mac: str = field(default="", compare=False)
    """By which a signer of its own knows that this payout was asked for as it is."""


@dataclass(frozen=True, slots=True)
class SignedTransfer:
    """An on-chain transaction ready to send: stored before it is sent, and only ever sent again as it is.

    `sender` is the account whose sequence it uses: the hot wallet, or a channel of it. The money leaves the hot wallet.
    `fee_limit_units` is the most it can cost, in base units of the native coin. A sweep has no payouts.
    `claimable_balances` are the ids of those that it makes, by the position of their payout counted from 0.
    """

    raw: bytes
    transaction_hash: str
    sender: str
    sequence: int
    valid_until: datetime | None
    payouts: tuple[PayoutInstruction, ...]
    fee_limit_units: int = 0
    claimable_balances: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class OutgoingTransfer:
    """A transfer that left an address, in a block.

    `sequence` is that of the on-chain transaction when the address or one of its channels sent it; None when somebody
    else did. `channel` is then the account whose sequence that is, and empty for the address itself.
    `claimable_balance` is the id of what was set aside for the recipient, who has to claim it; empty for a payment.
    `is_conditional` says that not the recipient alone may claim it, or not at all times: it has paid nobody.
    """

    transaction_hash: str
    sequence: int | None
    ordinal: int
    height: int
    contract: str
    amount: int
    recipient: str
    memo: str | None = None
    channel: str = ""
    claimable_balance: str = ""
    is_conditional: bool = False


@dataclass(frozen=True, slots=True)
class SentTransaction:
    """An on-chain transaction of an account, in a block, whether or not it moved anything. `fee_units` is its cost."""

    transaction_hash: str
    sequence: int
    height: int
    succeeded: bool
    fee_units: int
    said_by: tuple[str, ...] = field(default=(), compare=False)


UnusualKind = Literal["clawback", "claimed", "traded", "merged", "other", "set_aside"]
"""How coins can come and go without a transfer:

- clawback: their issuer took them back.
- claimed: they were set aside for the account, and it claimed them.
- traded: they were exchanged for others on the network itself.
- merged: another account was closed, and what it had went to this one.
- other: an operation of a kind that is not known.
- set_aside: somebody has set them aside for the account, which may claim them. Nothing has come yet.
"""


@dataclass(frozen=True, slots=True)
class Role:
    """Who holds a role of the contract that deposits are swept by, and who should by the settings."""

    name: str
    holder: str
    expected: str


@dataclass(frozen=True, slots=True)
class RoleChange:
    """A role was given to an account by an on-chain transaction, which `made_by` sent; `ordinal` is its place in it."""

    factory: str
    """The present one, or one of before whose addresses are still swept."""
    role: str
    account: str
    made_by: str
    transaction_hash: str
    ordinal: int
    height: int
    happened_at: datetime


@dataclass(frozen=True, slots=True)
class UnusualChange:
    """What an account has more of an asset, or less when negative, and neither transfer nor network fee explains.

    `contract` is empty for the native coin.
    """

    kind: UnusualKind
    transaction_hash: str
    height: int
    contract: str
    amount: int


@dataclass(frozen=True, slots=True)
class TransactionStatus:
    """What the chain says of an on-chain transaction. When `replaced`, the block is that of the other one.

    `fee_units` is what our accounts paid, in base units of the native coin. `refused` names the payouts, by their
    positions counted from 0, that made a failed transaction fail; empty where the network does not tell.
    `included_as` is the hash that its transfers carry in the block, when it is not the one asked about: where a fee is
    raised by an envelope around the same signed transaction, that transaction has several hashes.
    """

    state: TransactionState
    height: int | None = None
    block_hash: str | None = None
    confirmations: int = 0
    final: bool = False
    fee_units: int = 0
    error: str | None = None
    refused: Mapping[int, RecipientProblem] = field(default_factory=lambda: MappingProxyType({}))
    included_as: str = ""
    said_by: tuple[str, ...] = field(default=(), compare=False)
    """The providers that were believed about it; empty where nobody is asked."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What sending costs at the fees of this moment, in base units of the native coin. Estimates."""

    payout: int
    sweep: int = 0
    """Of a sweep, however many addresses it empties."""
    first_time: int = 0
    """For each address in it that nothing has emptied before."""
    again: int = 0
    """For each of the others."""
    set_aside: int = 0
    """Locked up for each payout that is set aside, until it is claimed: no cost, and cannot be spent meanwhile."""

    def of_sweep(self, *, first_time: int, again: int = 0) -> int:
        """Of one sweep of so many addresses; nothing without any."""
        if not first_time + again:
            return 0
        return self.sweep + self.first_time * first_time + self.again * again


@dataclass(frozen=True, slots=True)
class SweptFrom:
    """What a sweep did at the deposit address with this number, by its receipt. Amounts in base units.

    `left` went from the address to anybody, `arrived` is what the treasury got of it: a token may keep a part.
    `refused` says that the token's contract refused the transfer, or that there was too little gas for it.
    """

    number: int
    left: int = 0
    arrived: int = 0
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Unsweepable:
    """Why the coins of a deposit address cannot be brought to the treasury now, and what the contract says of it.

    - empty: the address holds none.
    - paused: nobody can move this coin.
    - wallet_refused: the treasury cannot be sent this coin.
    - frozen: the address cannot send this coin.
    - refused: the transfer is refused for another reason.
    """

    reason: Literal["empty", "paused", "wallet_refused", "frozen", "refused"]
    said: str = ""


@dataclass(frozen=True, slots=True)
class ProviderState:
    """Somebody a network is asked through, and what is wrong with them by kind: failing, old_head, disagrees,
    put_aside."""

    name: str
    problems: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PaymentToSign:
    """A payment as an on-chain transaction without signatures, for a wallet that signs and neither builds nor sends."""

    raw: bytes
    transaction_hash: str


@runtime_checkable
class BuildsPayments(Protocol):
    """What a chain can do as well where wallets of browsers sign, and neither build nor send."""

    def payment_to_sign(self, payer: str, *, to: DepositAddress, asset: Asset, amount: int) -> PaymentToSign:
        """The payment of a payer's account. PayerRefused when it could not be made; asks the network."""
        ...

    def hand_in(self, asked: PaymentToSign, signed: bytes) -> None:
        """Hand the payment that was asked for to the network, now that it is signed; doing it again changes nothing.

        ValueError when `signed` is anything else. TransferRefused when nobody would take it: it will not take effect
        as it is. ChainUnavailable leaves the outcome unknown.
        """
        ...


@runtime_checkable
class KnowsSigners(Protocol):
    """What a chain can do as well where the network knows who signs for an account: a contract, or several signers."""

    def account_accepts(self, account: str, text: str, signature: bytes) -> bool | None:
        """Whether this is the account's signature of a text, as the network knows it; None where the key of the address
        decides that alone. Asks the network."""
        ...


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

    def earlier_addresses(self, sequence: int) -> tuple[DepositAddress, ...]:
        """Where the payer of the payment with this number sent money by settings of before, if that was elsewhere."""
        ...

    def address_derivations(self) -> Mapping[int, str]:
        """What deposit addresses are computed with, by the first number that it is for: another name, other addresses.
        Empty where nothing that is set can change them."""
        ...

    def swept_together(self, deposits: Sequence[int]) -> tuple[int, ...]:
        """Those of these numbers whose addresses one sweep can empty, the first among them, in their order."""
        ...

    def payment_uri(self, *, to: DepositAddress, asset: Asset, amount: int, message: str = "") -> str:
        """The link a wallet opens with everything filled in (EIP-681, SEP-7)."""
        ...

    def qr_text(self, *, to: DepositAddress, payment_uri: str) -> str:
        """What the QR code contains: only what no scanner can misread into paying somebody else."""
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

    def find_set_aside(self, transaction_hash: str) -> tuple[IncomingTransfer, ...]:
        """What one on-chain transaction set aside for a recipient who alone may claim it, at any time.

        None of it has arrived, so `find_transfers` leaves it out. Empty on networks without claimable balances.
        """
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

    def cold_wallet(self) -> str:
        """The wallet that keeps what the hot wallet does not need, whose key no server has; empty: there is none."""
        ...

    def treasury(self) -> str:
        """Where sweeps go by the settings: the hot wallet, or the cold one."""
        ...

    def channels(self) -> tuple[str, ...]:
        """The accounts whose sequences payouts use: the hot wallet's own address where it has no others."""
        ...

    def own_accounts(self) -> frozenset[str]:
        """The accounts and contracts of ours there, deposit addresses left out: nobody can be paid at one."""
        ...

    def next_sequence(self, sender: str) -> int:
        """The sequence (nonce) the chain expects next from this account, counting blocks only.

        It goes back when a reorg undoes a transfer.
        """
        ...

    def only_set_up(self, account: str, first_sequence: int, last_sequence: int) -> bool:
        """Whether everything the account sent with these sequences only prepared it: it moved nothing and gave nobody
        power over the account. False where that is not known."""
        ...

    def check_recipient(self, payout: PayoutInstruction) -> None:
        """RecipientRefused when this payout would fail or be lost because of whom it goes to; SendingBlocked while the
        coin can be sent to nobody. Asks the network; changes nothing."""
        ...

    def check_sending(self, asset: Asset) -> None:
        """SendingBlocked while the hot wallet can send this coin to nobody, TokenChanged when its contract counts it
        otherwise than we do. Asks the network; changes nothing."""
        ...

    def pay_back_address(self, identity: Identity, sender: str) -> str | None:
        """Where an incoming transfer of this sender can be paid back to without asking anybody.

        None when nobody knows: it came out of a contract, or out of an account that may be shared by many people and
        was not sent in the name of one of them. Asks the network.
        """
        ...

    def reserve(self, account: str) -> int:
        """Base units of the native coin that the network never lets this account spend."""
        ...

    def sign(
        self,
        payouts: tuple[PayoutInstruction, ...],
        *,
        sender: str,
        sequence: int,
        replacing: Collection[SignedTransfer] = (),
    ) -> SignedTransfer:
        """Build and sign; nothing is sent. ValueError when these payouts cannot share a transaction.

        `sender` is one of `channels()`: its sequence is used, and the money leaves `payout_address()`.
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
        """As sign: move all of an asset from the deposit addresses of these numbers to the treasury.

        The asset is an accepted coin or the network's own.
        """
        ...

    def swept_by(
        self, transaction_hash: str, asset: Asset, deposits: Sequence[int], *, treasury: str
    ) -> tuple[SweptFrom, ...]:
        """What a sweep of a coin to this treasury did at each of these deposit addresses, by its receipt.

        Empty while it is in no block.
        """
        ...

    def why_unsweepable(self, asset: Asset, deposits: Sequence[int]) -> dict[int, Unsweepable]:
        """Those of these deposit addresses that a sweep of a coin would bring nothing from now. Asks the network."""
        ...

    def broadcast(self, transfer: SignedTransfer) -> None:
        """Hand the stored bytes to the network; handing over the same ones again changes nothing.

        Any error, TransferRefused and ChainUnavailable included, leaves the outcome unknown.
        """
        ...

    def transfer_status(self, transfer: SignedTransfer) -> TransactionStatus: ...

    def outgoing(
        self, address: str, *, first_height: int, last_height: int, signer: str = ""
    ) -> tuple[OutgoingTransfer, ...]:
        """Every transfer of a registered asset that left the address in these blocks, whoever had it sent.

        `signer` is an account whose sequences are told as well, as the hot wallet's of what leaves deposit addresses.
        Only networks with deposit addresses know one.
        """
        ...

    def sent_by(
        self, account: str, *, first_height: int, last_height: int, first_sequence: int, hashes: Collection[str]
    ) -> tuple[SentTransaction, ...]:
        """What an account sent in these blocks, in its order: those of these on-chain transactions that are its own,
        and each other one from this sequence on, as far as the network still tells where it is."""
        ...

    def balances(self, addresses: Sequence[str], asset: Asset, *, at_height: int | None = None) -> dict[str, int]:
        """As balance, of many addresses at once; those that hold none are left out."""
        ...

    def balance(self, address: str, asset: Asset, *, at_height: int | None = None) -> int:
        """Base units of an asset or of the native coin held after the block at the head, or a past height."""
        ...

    def unusual_changes(self, address: str, *, first_height: int, last_height: int) -> tuple[UnusualChange, ...]:
        """What came to an account or left it in these blocks by other ways than transfers, of coins that are accepted
        and the native one; empty on networks without such ways."""
        ...

    def roles(self) -> tuple[Role, ...]:
        """Who holds the roles of the contract that deposits are swept by; empty on networks without one."""
        ...

    def role_changes(self, *, first_height: int, last_height: int) -> tuple[RoleChange, ...]:
        """Which roles were given to whom in these blocks, in their order: of former factories as well."""
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

    def pace(self) -> float:
        """Seconds between two blocks, as measured over the last thousand; 0 where blocks come when they are asked for.

        Asks the network."""
        ...

    def provider_states(self) -> tuple[ProviderState, ...]:
        """Who is asked, and what this process has found wrong with them. Asks nobody; empty where nobody is asked."""
        ...

    def let_providers_back(self, said_at: datetime) -> None:
        """Ask those again that this process has put aside, once for each time that an operator said so. Asks nobody."""
        ...
