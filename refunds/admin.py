"""Refunds as operators see them: everything can be looked up. A held refund is approved at its payout."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from config import ids
from config.admin.base import LongList, ReadOnly
from config.admin.columns import RecordPage
from config.admin.values import Shown, related
from refunds.models import Refund


@admin.register(Refund)
class RefundAdmin(ReadOnly, LongList, RecordPage[Refund]):
    list_display = (
        "public_id",
        "merchant",
        "environment",
        "status",
        "amount",
        "network",
        "payout_status",
        "hold_reason",
        "failure_code",
        "created_at",
    )
    list_filter = ("environment", "status", "network", "cryptocurrency", "failure_code", "payout__hold_reason")
    list_select_related = ("merchant", "payout")
    search_fields = ("destination", "transaction_hash")
    search_help_text = "A refund id, a payment id, a destination or a transaction hash."
    readonly_fields = ("payment_link", "payout_link", "payout_status", "hold_reason")
    exclude = ("payment", "payout")

    @admin.display(description="Its payout is", empty_value="not asked for yet")
    def payout_status(self, refund: Refund) -> str | None:
        return None if refund.payout is None else refund.payout.get_status_display()

    @admin.display(description="Held because")
    def hold_reason(self, refund: Refund) -> str | None:
        return None if refund.payout is None else refund.payout.get_hold_reason_display() or None

    @admin.display(description="Payment")
    def payment_link(self, refund: Refund) -> Shown:
        return related(refund.payment, is_page=True)

    @admin.display(description="Payout")
    def payout_link(self, refund: Refund) -> Shown | None:
        return None if refund.payout is None else related(refund.payout, is_page=True)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Refund], search_term: str
    ) -> tuple[QuerySet[Refund], bool]:
        term = search_term.strip()
        if (key := ids.REFUND.decode(term)) is not None:
            return queryset.filter(pk=key), False
        if (key := ids.PAYMENT.decode(term)) is not None:
            return queryset.filter(payment=key), False
        return super().get_search_results(request, queryset, search_term)
