"""Payments of the network as the transfers of every chain: whom each is for, and which are deposits. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from config.money import Asset
from payments.chains.protocol.transfers import IdleKind, IncomingTransfer, NonDeposit
from payments.chains.stellar import addresses
from payments.chains.stellar.horizon.operations import Payment
from payments.chains.stellar.horizon.pages import account_of
from payments.chains.stellar.horizon.records import Memo
from payments.chains.stellar.horizon.values import NATIVE

_ARRIVE = ("payment", "path_payment", "contract")
_LEAVE = (*_ARRIVE, "claimable_balance")
_IDLE_KINDS: Mapping[str, IdleKind] = {
    "claimable_balance": "claimable_balance",
    "clawback": "clawback",
    "account_merge": "account_merge",
}


def incoming(
    payment: Payment, assets: Mapping[str, Asset], block_hash: str, said_by: tuple[str, ...]
) -> IncomingTransfer:
    """A payment that arrives; `assets` are those that are accepted, by CODE:ISSUER."""
    memo, other = references(payment)
    return IncomingTransfer(
        transaction_hash=payment.transaction_hash,
        ordinal=payment.ordinal,
        height=payment.ledger,
        block_hash=block_hash,
        block_time=payment.closed_at,
        contract=payment.asset,
        asset=assets.get(payment.asset),
        amount=payment.amount or 0,
        sender=payment.sender,
        recipient=payment.recipient,
        memo=memo,
        conflicting_memo=other,
        inner_hash=payment.inner_hash,
        said_by=said_by,
    )


def arrives(payment: Payment) -> bool:
    """Whether it brings its recipient something of an asset that somebody issued, from somebody else."""
    moved = payment.kind in _ARRIVE and payment.asset != NATIVE and bool(payment.amount)
    return moved and account_of(payment.sender) != payment.recipient


def is_set_aside(payment: Payment) -> bool:
    """Whether it sets coins aside for its recipient, who alone may claim them, at any time."""
    moved = payment.kind == "claimable_balance" and payment.asset != NATIVE and bool(payment.amount)
    return moved and not payment.is_conditional and account_of(payment.sender) != payment.recipient


def is_idle(payment: Payment) -> bool:
    return payment.kind in _IDLE_KINDS or payment.asset == NATIVE or not payment.amount


def idle_movement(payment: Payment) -> NonDeposit:
    contract = "" if payment.asset == NATIVE else payment.asset
    kind: IdleKind = _IDLE_KINDS.get(payment.kind, "")
    return NonDeposit(contract, payment.amount or 0, payment.sender, payment.recipient, references(payment)[0], kind)


def references(payment: Payment) -> tuple[str | None, str | None]:
    """The reference of the owner in a shared account, and the memo that contradicts it. A muxed id belongs to the
    operation and wins over the memo, which all operations of a transaction share."""
    memo = _reference(payment.memo)
    if payment.muxed_id is None:
        return memo, None
    return payment.muxed_id, memo if memo != payment.muxed_id else None


def _reference(memo: Memo) -> str | None:
    """Wallets send the same number as an id or as text: both are one reference."""
    return addresses.normalise_memo(memo.text) if memo.type in ("id", "text") else memo.text


def leaves(payment: Payment, account: str) -> bool:
    """Whether it takes something away from this account with the word of its own key."""
    return payment.kind in _LEAVE and account_of(payment.sender) == account and bool(payment.spent)
