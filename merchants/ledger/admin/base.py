"""What the pages of the ledger share: nothing can be changed there, and public ids are found."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest

from config import ids
from config.admin.base import ReadOnly
from config.admin.columns import RecordPage

PUBLIC_IDS = (ids.PAYMENT, ids.REFUND, ids.SETTLEMENT, ids.MERCHANT)


def _as_stored(term: str) -> str:
    """The stored key of a public id (`pay_…`): its UUID. Anything else is searched for as it is."""
    for kind in PUBLIC_IDS:
        if key := kind.decode(term.strip()):
            return str(key)
    return term


class LedgerAdmin(ReadOnly, RecordPage[Any]):
    list_per_page = 50
    show_full_result_count = False  # counting every row takes longer than finding one

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        return super().get_search_results(request, queryset, _as_stored(search_term))
