"""Refunds as payments know them: money reserved, given back, or gone for good. There are no rows of refunds here."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.db import transaction

from config import ids
from merchants.ledger.chart import AccountKind
from merchants.ledger.posting import AccountRef, Line, PostingDraft, post_draft
from payments.deposits import postings
from payments.models import BalanceChange, Discrepancy, Payment
from payments.suspense import refund_accounting
from payments.transfers.postings import hot_account, payout_account
from tests.payments import scenes
from tests.payments.scenes import ETHEREUM, SANDBOX, make_payment, mine, mine_and_watch, now, pay, pay_and_confirm
from tests.worlds import populated_once

FLOAT = 10**30

REFUNDS_ASIDE = ("I11", "I12w", "I13", "R1")
"""There are no rows of refunds here, and nothing leaves the chain: those have tests of their own."""


@dataclass(frozen=True)
class Reserved:
    """Money set aside for a refund."""

    id: uuid.UUID
    payment_id: uuid.UUID
    discrepancy: Discrepancy | None
    amount: int

    @property
    def public_id(self) -> str:
        return ids.REFUND.encode(self.id)


def reserve(payment: Payment, amount: int, discrepancy: Discrepancy | None = None) -> Reserved:
    with transaction.atomic():
        locked = refund_accounting.lock_payment(payment.pk)
        refund = Reserved(ids.new_uuid(), payment.pk, discrepancy, amount)
        refund_accounting.reserve(
            payment=locked,
            discrepancy=discrepancy,
            amount=amount,
            payout_id=refund.id,
            refund_public_id=refund.public_id,
        )
        return refund


def reserve_all(discrepancy: Discrepancy) -> Reserved:
    assert discrepancy.payment is not None
    return reserve(discrepancy.payment, discrepancy.amount, discrepancy)


def give_back(refund: Reserved) -> Payment:
    """The payout failed, or was called back."""
    with transaction.atomic():
        refund_accounting.give_back(
            payment=refund_accounting.lock_payment(refund.payment_id),
            discrepancy=refund.discrepancy,
            amount=refund.amount,
            payout_id=refund.id,
            refund_public_id=refund.public_id,
        )
    return Payment.objects.get(pk=refund.payment_id)


def complete(refund: Reserved) -> Payment:
    """The payout left the hot wallet for good; its coins are the operator's, as long as deposits are not swept."""
    payment = Payment.objects.get(pk=refund.payment_id)
    source = postings.refundable_account(payment, refund.discrepancy)
    network, asset = source.network, source.asset
    with transaction.atomic():
        locked = refund_accounting.lock_payment(payment.pk)
        payout, hot = payout_account(network, asset, refund.id), hot_account(network, asset)
        lines = (Line(payout, refund.amount), Line(hot, -refund.amount))
        post_draft(PostingDraft("payout_paid", str(refund.id), lines, height=1), environment=SANDBOX)
        refund_accounting.complete(
            payment=locked,
            discrepancy=refund.discrepancy,
            amount=refund.amount,
            refund_public_id=refund.public_id,
        )
    return now(payment)


def refund_all(payment: Payment) -> Payment:
    return complete(reserve(payment, refund_accounting.refundable(payment)))


def fill_hot_wallet(network: str, asset: str) -> None:
    """The operator puts coins in."""
    lines = (
        Line(hot_account(network, asset), FLOAT),
        Line(AccountRef(network, asset, AccountKind.TREASURY), -FLOAT),
    )
    with transaction.atomic():
        post_draft(PostingDraft("treasury_funded", f"{network}:{asset}", lines, height=1), environment=SANDBOX)


def assert_all_is_well() -> None:
    scenes.assert_all_is_well(without=REFUNDS_ASIDE)


def books(payment: Payment) -> dict[str, int]:
    """As in scenes, without the operator's coins, which completed refunds are paid from."""
    own = {"treasury", f"{payment.network} {payment.cryptocurrency} treasury"}
    return {name: held for name, held in scenes.books(payment).items() if name.split()[-1] not in own | {"chain:hot"}}


def balance_changes(payment: Payment) -> list[tuple[str, int]]:
    rows = BalanceChange.objects.filter(payment=payment).order_by("id")
    return [(row.kind, row.amount) for row in rows]


@populated_once
def completed(amount: str = "", **fields: object) -> Payment:
    """A payment of 100 on ethereum whose money is final."""
    return pay_and_confirm(make_payment(ETHEREUM, **fields), amount)  # type: ignore[arg-type]


@populated_once
def unfinal(amount: str = "") -> tuple[Payment, str]:
    """A payment whose money is credited and not final."""
    mine(ETHEREUM, 7)
    payment = make_payment(ETHEREUM)
    transaction_hash = pay(payment, amount)
    mine_and_watch(ETHEREUM, 3)
    fill_hot_wallet(ETHEREUM, "USDC")
    return now(payment), transaction_hash
