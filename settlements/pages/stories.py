"""The story of a settlement, and the settlements of a payment, for operators."""

from __future__ import annotations

from collections.abc import Iterator

from config.admin.story import Section
from config.admin.values import instant, record_id
from config.pages import wording
from payments.models import BalanceChange, Payment
from payments.stories import sections
from payments.stories.sections import MOST
from settlements.models import Settlement


def of_payment(payment: Payment) -> Iterator[Section]:
    """Section about the settlements of what a payment brought, and what of it is in none yet."""
    changes = list(BalanceChange.objects.filter(payment=payment).order_by("-id")[:MOST])
    found = Settlement.objects.in_bulk([each.settlement for each in changes if each.settlement])
    yield Section(
        title="Settlements",
        headings=("When", "What", "Amount", "Paid by", "State"),
        rows=[
            (
                instant(each.created_at),
                each.get_kind_display(),
                wording.coins(each.amount, each.decimals, each.asset),
                record_id(settlement.public_id, is_page=False) if settlement else "the next settlement",
                settlement.get_status_display() if settlement else "waits",
            )
            for each in changes
            for settlement in [found.get(each.settlement) if each.settlement else None]
        ],
        empty="Nothing of it is the merchant’s to be settled yet.",
    )


def of_settlement(settlement: Settlement) -> Iterator[Section]:
    changes = BalanceChange.objects.filter(settlement=settlement.pk).order_by("-id")[:MOST]
    yield Section(
        title="What it settles",
        headings=("When", "For", "What", "Amount"),
        rows=[
            (
                instant(each.created_at),
                record_id(each.reference, is_page=False),
                each.get_kind_display(),
                wording.coins(each.amount, each.decimals, each.asset),
            )
            for each in changes
        ],
    )
    yield from sections.transfers_of(settlement.payout)
    if settlement.payout_id is not None:
        yield sections.postings_of(settlement.environment, [settlement.payout_id])
    yield from sections.events_of([settlement.pk])
    yield sections.actions_of(settlement.merchant_id, [settlement.public_id])
