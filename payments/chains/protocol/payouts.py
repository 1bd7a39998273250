"""Transfers of ours: what is paid, what is signed for it, its state on the network, and its cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Literal

from config.money import Asset
from payments.chains.errors import RecipientProblem


@dataclass(frozen=True, slots=True)
class PayoutInstruction:
    """The instruction to a chain to pay one recipient. `memo` for networks whose recipients need one.

    `set_aside` requests a claimable balance in place of a payment: the amount leaves the hot wallet, and waits on the
    network until the recipient claims it.
    """

    asset: Asset
    amount: int
    recipient: str
    memo: str | None = None
    memo_type: str = ""
    """`id` or `text`, as the recipient's owner stated; empty: digits are an id, anything else is text."""
    set_aside: bool = False
    payout_id: str = field(default="", compare=False)
    intent_mac: str = field(default="", compare=False)
    """The code by which a separate signer knows that exactly this payout was requested."""


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
class TransactionStatus:
    """The status of an on-chain transaction on its chain. When `replaced`, the block is that of the other one.

    `fee_units` is what our accounts paid, in base units of the native coin. `refused` names the payouts, by their
    positions counted from 0, that made a failed transaction fail; empty where the network does not report them.
    `included_as` is the hash that its transfers carry in the block, when it is not the one queried: where a fee is
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
    """The providers that were believed about it; empty where none is queried."""


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
