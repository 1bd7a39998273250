"""Facts about missing coins as ledger postings. Pure: builds drafts, writes nothing. Amounts are positive."""

from __future__ import annotations

from merchants.ledger.chart import AccountKind
from merchants.ledger.posting import AccountRef, Line, PostingDraft
from payments.deposits import postings
from payments.models import Payment
from payments.treasury.losses.models import MissingCoins


def held_account(payment: Payment, network: str, asset: str) -> AccountRef:
    """The account of the merchant's money that is not settled, because its coins are missing."""
    return AccountRef(network, asset, AccountKind.MERCHANT_HELD, str(payment.merchant_id))


def loss_account(network: str, asset: str) -> AccountRef:
    return AccountRef(network, asset, AccountKind.LOSS)


def missing_held(missing: MissingCoins, payment: Payment, amount: int) -> PostingDraft:
    """So much of what is available to the merchant is held."""
    network, asset = missing.network, missing.asset
    return _draft(
        "missing_held",
        f"{missing.pk}:{missing.hold_count}",
        [
            Line(postings.available_account(payment, network, asset), amount),
            Line(held_account(payment, network, asset), -amount),
        ],
    )


def missing_ended(missing: MissingCoins, payment: Payment, amount: int) -> PostingDraft:
    """So much of what was held is available again."""
    return _draft(
        "missing_ended",
        f"{missing.pk}:{missing.hold_count}",
        [
            Line(held_account(payment, missing.network, missing.asset), amount),
            Line(postings.available_account(payment, missing.network, missing.asset), -amount),
        ],
    )


def loss_of_house(missing: MissingCoins, payment: Payment | None) -> PostingDraft:
    """The coins are gone, and the operator bears it; what was held is the merchant's again."""
    lines = [
        Line(loss_account(missing.network, missing.asset), missing.amount),
        Line(postings.chain_account(missing.network, missing.asset), -missing.amount),
    ]
    if payment is not None and missing.held:
        lines.append(Line(held_account(payment, missing.network, missing.asset), missing.held))
        lines.append(Line(postings.available_account(payment, missing.network, missing.asset), -missing.held))
    return _draft("loss_of_house", str(missing.pk), lines, height=missing.height)


def loss_of_merchant(missing: MissingCoins, payment: Payment, *, available: int) -> PostingDraft:
    """The coins are gone, and the merchant bears it: what is held, then what is available, then a debt."""
    network, asset = missing.network, missing.asset
    rest = missing.amount - missing.held
    there = min(rest, available)
    return _draft(
        "loss_of_merchant",
        str(missing.pk),
        [
            Line(held_account(payment, network, asset), missing.held),
            Line(postings.available_account(payment, network, asset), there),
            Line(postings.receivable_account(payment, network, asset), rest - there),
            Line(postings.chain_account(network, asset), -missing.amount),
        ],
        height=missing.height,
    )


def _draft(kind: str, reference: str, lines: list[Line], *, height: int | None = None) -> PostingDraft:
    return PostingDraft(kind, reference, tuple(line for line in lines if line.amount), height=height)
