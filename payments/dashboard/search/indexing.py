"""Writes the search entries of payments, in the background: creating or paying one does not wait for it."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, Func, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from config import ids
from payments.dashboard.search.models import NO_DEPOSIT, OUTDATED, SearchEntry
from payments.dashboard.search.pieces import SHORT, SPARSE, STEP, pieces_of, span_of
from payments.dashboard.search.texts import Texts, texts_of
from payments.models import Deposit, Payment

BATCH = 1_000

OVERLAP = timedelta(minutes=10)
"""Longer than a database transaction lives: what has a key older than the newest entry's may appear so late."""


def index_payments(*, batch: int = BATCH) -> int:
    """Write the oldest entries that are missing, then what was paid since, then again what the version before wrote.

    Entries of payments whose words were changed are among the last. Returns how many; of each kind at most a batch, and
    the next kind once fewer were left. In this order, as only a transfer whose payment has an entry is seen, and all
    are in the entries up to the last one that any entry names.
    Two workers may do it at once: a new entry that is there stays, and another is written with the same text.
    """
    done = 0
    for write in (_write_new, _write_paid, _write_again):
        if done < batch:
            done += write(batch)
    return done


def write_again(payment: Payment) -> None:
    """Have a payment whose words have changed found by the new ones; by the old ones too until its entry is written."""
    SearchEntry.objects.filter(payment_id=payment.pk).update(
        pieces=Func(F("pieces"), Value(SPARSE), function="array_remove")
    )


def to_index() -> list[QuerySet[Any]]:
    """Payments that have no entry yet, or one that lacks something."""
    return [
        Payment.objects.filter(pk__gt=Coalesce(Subquery(_newest("payment_id")), Value(NO_DEPOSIT))).order_by("pk")[:1],
        _paid().filter(pk__gt=Coalesce(Subquery(_newest("deposits_until")), Value(NO_DEPOSIT))).order_by("pk")[:1],
        SearchEntry.objects.filter(OUTDATED),
    ]


def _write_new(batch: int) -> int:
    payments = Payment.objects.filter(~Exists(SearchEntry.objects.filter(payment_id=OuterRef("pk"))))
    entries = _entries(payments.filter(_from("payment_id")).order_by("pk")[:batch], NO_DEPOSIT)
    SearchEntry.objects.bulk_create(entries, ignore_conflicts=True)
    return len(entries)


def _write_paid(batch: int) -> int:
    lacks = Q(deposits_until=None) | Q(deposits_until__lt=OuterRef("pk"))
    found = _paid().filter(
        _from("deposits_until"), Exists(SearchEntry.objects.filter(lacks, payment_id=OuterRef("payment_id")))
    )
    keys = list(found.order_by("pk").values_list("pk", "payment_id")[:batch])
    return _rewrite({payment for _, payment in keys}, keys[-1][0]) if keys else 0


def _write_again(batch: int) -> int:
    found = SearchEntry.objects.filter(OUTDATED).order_by("payment_id").values_list("payment_id", flat=True)[:batch]
    return _rewrite(set(found), _newest("deposits_until").first() or NO_DEPOSIT)


@transaction.atomic
def _rewrite(keys: set[uuid.UUID], until: uuid.UUID) -> int:
    # Whoever changes the words of one of them waits, and then has it written once more.
    list(SearchEntry.objects.filter(pk__in=keys).order_by("pk").select_for_update().values_list("pk"))
    entries = _entries(Payment.objects.filter(pk__in=keys), until)
    changed = ["text", "pieces", "deposits_until"]
    SearchEntry.objects.bulk_create(entries, update_conflicts=True, unique_fields=["payment_id"], update_fields=changed)
    return len(entries)


def _paid() -> QuerySet[Deposit]:
    return Deposit.objects.filter(payment__isnull=False)


def _newest(field: str) -> QuerySet[SearchEntry, Any]:
    return SearchEntry.objects.exclude(**{field: None}).order_by(f"-{field}").values_list(field, flat=True)[:1]


def _from(field: str) -> Q:
    """Rows that may have appeared since the newest that an entry has in this field."""
    newest = _newest(field).first()
    return Q() if newest is None else Q(pk__gte=ids.first_uuid_at(ids.created_at_of(newest) - OVERLAP))


def _entries(payments: QuerySet[Payment], until: uuid.UUID) -> list[SearchEntry]:
    return [entry_of(texts, until) for texts in texts_of(payments, until=until)]


def entry_of(texts: Texts, until: uuid.UUID) -> SearchEntry:
    payment, words = texts.payment, texts.words
    of = (payment.merchant_id, payment.environment, span_of(payment.pk))
    pieces = {SPARSE, *pieces_of(words, *of), *pieces_of(words, *of, length=SHORT)}
    pieces |= {*pieces_of(texts.codes, *of, step=STEP)}
    return SearchEntry(
        payment_id=payment.pk,
        merchant_id=payment.merchant_id,
        environment=payment.environment,
        text=f"{words}\n{texts.codes}",
        pieces=sorted(pieces),
        deposits_until=until,
    )
