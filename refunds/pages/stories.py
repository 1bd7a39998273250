"""The story of a refund, and the refunds of a payment, for operators."""

from __future__ import annotations

from collections.abc import Iterator

from config.admin.story import Section
from config.admin.values import instant
from config.pages import wording
from payments.models import Payment
from payments.stories import sections
from payments.stories.sections import MOST, linked
from refunds.models import Refund


def of_payment(payment: Payment) -> Iterator[Section]:
    yield Section(
        title="Refunds",
        headings=("Refund", "Amount", "State", "Created"),
        rows=[
            (
                linked(each, wording.short_id(each.public_id)),
                wording.coins(each.amount, each.decimals, each.cryptocurrency),
                each.get_status_display(),
                instant(each.created_at),
            )
            for each in payment.refunds.order_by("-id")[:MOST]
        ],
    )


def of_refund(refund: Refund) -> Iterator[Section]:
    yield from sections.transfers_of(refund.payout)
    if refund.payout_id is not None:
        yield sections.postings_of(refund.environment, [refund.payout_id])
    yield from sections.events_of([refund.pk])
    yield sections.actions_of(refund.merchant_id, [refund.public_id])
