"""The story of money in suspense: what it may be for. Suggestions prove nothing, and say so."""

from __future__ import annotations

from collections.abc import Iterator

from config.admin.story import Section
from config.admin.values import instant, lines, related
from payments.models import Deposit, Discrepancy
from payments.states import DiscrepancyStatus
from payments.stories.sections import linked
from payments.suspense.suggestions import suggestions


def of_discrepancy(discrepancy: Discrepancy) -> Iterator[Section]:
    if discrepancy.payment_id or discrepancy.status != DiscrepancyStatus.OPEN:
        return
    yield Section(
        title="What it may be for: suggested, not proven",
        headings=("Payment", "Merchant", "Why", "State", "Created"),
        rows=[
            (
                related(each.payment, is_page=True),
                related(each.payment.merchant, is_page=True),
                lines(each.reasons),
                each.payment.get_status_display(),
                instant(each.payment.created_at),
            )
            for each in suggestions(discrepancy)
        ],
        empty="No payment lacks about this amount, has a memo like this one or has the address that the money came to.",
    )


def of_deposit(deposit: Deposit) -> Iterator[Section]:
    found = list(deposit.discrepancies.order_by("-pk"))
    yield Section(
        title="In suspense",
        headings=("Record", "Why", "State"),
        rows=[(linked(each, each.public_id), each.get_kind_display(), each.get_status_display()) for each in found],
    )
    for each in found:
        yield from of_discrepancy(each)
