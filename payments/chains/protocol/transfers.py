"""Transfers and on-chain transactions, as a network has them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from config.money import Asset

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
    """What the token kept of what was sent, beside the amount, where that is known."""
    conflicting_memo: str | None = None
    """The memo of the on-chain transaction, where the muxed id it was sent to is another one: that one is `memo`."""
    inner_hash: str = ""
    """The other hash of its on-chain transaction, where a fee bump is around it: wallets show either."""
    said_by: tuple[str, ...] = field(default=(), compare=False)
    """The providers that were believed about it; empty where none is queried."""

    @property
    def identity(self) -> Identity:
        return self.transaction_hash, self.ordinal


IdleKind = Literal["", "claimable_balance", "clawback", "account_merge"]
"""What an on-chain transaction did beside moving the native coin, or nothing; see NonDeposit."""


@dataclass(frozen=True, slots=True)
class NonDeposit:
    """An effect of an on-chain transaction at an address, of which no deposit can be made.

    Either the native coin moved, which has no contract, or a token's transfer moved nothing. Of the native coin
    only what the sender handed over directly is known: what contracts hand on leaves no trace on some networks.
    Or `kind` names another event:

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
    - included: in a block; `transfers` and `idle` hold its effects.
    - failed: in a block, and nothing moved.
    """

    transaction_hash: str
    state: Literal["pending", "included", "failed"]
    height: int | None = None
    transfers: tuple[IncomingTransfer, ...] = ()
    idle: tuple[NonDeposit, ...] = ()


@dataclass(frozen=True, slots=True)
class OutgoingTransfer:
    """A transfer that left an address, in a block.

    `sequence` is that of the on-chain transaction when the address or one of its channels sent it; None when somebody
    else did. `channel` is then the account whose sequence that is, and empty for the address itself.
    `claimable_balance` is the id of what was set aside for the recipient, who has to claim it; empty for a payment.
    `is_conditional`: not the recipient alone may claim it, or not at all times; it has paid nobody.
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


@dataclass(frozen=True, slots=True)
class UnreadRecord:
    """An on-chain transaction that providers report alike, and of which something cannot be read here."""

    transaction_hash: str
    height: int
    problem: str = field(compare=False)
    content: str = field(compare=False)
    """What a provider sent, as JSON, without what is never read."""
