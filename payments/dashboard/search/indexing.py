"""Writes the search entries of new payments, in the background: creating a payment does not wait for it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from config import ids
from config.pages.wording import coins_asked
from payments.dashboard.search.models import SearchEntry
from payments.dashboard.search.pieces import pieces_of
from payments.models import Payment

BATCH = 1_000
LONGEST_TEXT = 4_000
"""Characters; what a payment's metadata has beyond is not found."""

OVERLAP = timedelta(minutes=10)
"""Longer than a database transaction lives: a payment whose key is older than the newest entry may appear so late."""

_COLUMNS = ("pk", "merchant_id", "environment", "metadata", "due", "decimals", "cryptocurrency")


def index_payments(*, batch: int = BATCH) -> int:
    """Write the entries of the oldest payments that have none, at most a batch; returns how many.

    Two workers may do it at once: an entry that is there stays.
    """
    newest = SearchEntry.objects.order_by("-payment_id").values_list("payment_id", flat=True).first()
    payments = Payment.objects.filter(~Exists(SearchEntry.objects.filter(payment_id=OuterRef("pk"))))
    if newest is not None:
        payments = payments.filter(pk__gte=ids.first_uuid_at(ids.created_at_of(newest) - OVERLAP))
    found = payments.order_by("pk").values_list(*_COLUMNS, named=True)[:batch]
    entries = [_entry(payment) for payment in found]
    SearchEntry.objects.bulk_create(entries, ignore_conflicts=True)
    return len(entries)


def newer_payments() -> QuerySet[Payment]:
    """The payments after the newest that has an entry."""
    newest = SearchEntry.objects.order_by("-payment_id").values("payment_id")[:1]
    return Payment.objects.filter(pk__gt=Coalesce(Subquery(newest), Value(uuid.UUID(int=0))))


def _entry(payment: Any) -> SearchEntry:
    text = _text(payment)
    return SearchEntry(
        payment_id=payment.pk,
        merchant_id=payment.merchant_id,
        environment=payment.environment,
        text=text,
        pieces=pieces_of(text, payment.merchant_id, payment.environment),
    )


def _text(payment: Any) -> str:
    public_id = ids.PAYMENT.encode(uuid.UUID(str(payment.pk)))
    amount = f"{coins_asked(payment.due, payment.decimals)} {payment.cryptocurrency}"
    return "\n".join((public_id, amount, *_values(payment.metadata))).lower()[:LONGEST_TEXT]


def _values(value: Any) -> Iterator[str]:
    """Every text and number in a JSON value, however deep; a line each."""
    if isinstance(value, dict):
        for each in value.values():
            yield from _values(each)
    elif isinstance(value, list):
        for each in value:
            yield from _values(each)
    elif value is not None and not isinstance(value, bool):
        yield " ".join(str(value).split())
