"""Requests an export, writes it part by part, reads it, and deletes it.

A part is some thousand payments, newest first, below the last one of the part before. Each is read, and then written in
a short database transaction of its own, so that an export of any length holds nothing that others wait for, and goes on
where a killed worker stopped. Every payment that was there when the export was requested is in it once, as it was when
its part was read.
"""

from __future__ import annotations

import time
import uuid
import zlib
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from config import ids
from config.celery import wake
from config.database.database_time import database_now, has_come
from config.database.leases import lease_one
from config.database.purging import delete_in_batches
from config.database.replica import from_replica
from config.errors import DomainError
from config.periodic.containment import contained
from merchants import counting
from merchants.models import Merchant, User
from payments.dashboard.exports import rows
from payments.dashboard.exports.models import Export, ExportPart
from payments.dashboard.exports.states import EXPORT_MOVES, ExportStatus
from payments.dashboard.search.filters import PaymentFilter
from payments.dashboard.search.finding import Searched
from payments.models import PAYMENTS, Payment

ROWS_OF_PART = 2_000
LEASE = timedelta(seconds=60)
TURN_SECONDS = 20.0
"""A task writes for so long and no longer: the worker has other reports to make."""

FAILURES_MAX = 5
KEPT_FOR = timedelta(days=1)

UNFINISHED = (ExportStatus.WAITING, ExportStatus.WRITING)


class ExportRunning(DomainError):
    code = "export_running"
    status = 409
    message = "An export of yours is being written already. Wait until it is ready."


def request_export(*, merchant: Merchant, environment: str, requested_by: User, filters: PaymentFilter) -> Export:
    """Request the payments that these filters match, as they are listed now. ExportRunning while another is written."""
    expected = None
    if filters.is_counted:
        expected = counting.total(
            PAYMENTS,
            merchant_id=merchant.pk,
            environment=environment,
            statuses=[filters.status] if filters.status else None,
            keys=filters.keys(),
        )
    try:
        with transaction.atomic():
            export = Export.objects.create(
                merchant=merchant,
                environment=environment,
                requested_by=requested_by,
                filters=filters.as_json(),
                rows_expected=expected,
            )
    except IntegrityError:
        raise ExportRunning from None
    wake("payments.write_exports")
    return export


def write_exports(*, turn_seconds: float = TURN_SECONDS, rows_of_part: int = ROWS_OF_PART) -> int:
    """Write exports that are due, the oldest first, for at most so many seconds; returns how many parts."""
    until, written = time.monotonic() + turn_seconds, 0
    while time.monotonic() < until and (export := _take()) is not None:
        with contained("export not written", export=export.public_id):
            while _write_part(export, rows_of_part):
                written += 1
                if time.monotonic() >= until:
                    break
            _give_back(export)
    return written


def due(now: datetime) -> QuerySet[Export]:
    """Exports that are not finished and that nobody is writing."""
    return Export.objects.filter(has_come("leased_until", now, longest=LEASE), status__in=UNFINISHED)


def _take() -> Export | None:
    """An export that nobody is writing, under a lease. One that fails again and again is given up."""
    now = database_now()
    while export := lease_one(due(now).order_by("leased_until"), "leased_until", until=now + LEASE, takes="failures"):
        if export.failures > FAILURES_MAX:
            _move(export, ExportStatus.FAILED)
        elif export.status == ExportStatus.WAITING:
            _move(export, ExportStatus.WRITING)
        export.save(update_fields=["status", "finished_at"])
        if export.status == ExportStatus.WRITING:
            return export
    return None


def _give_back(export: Export) -> None:
    """Let the next turn go on with an export at once. One that has ended is left as it is."""
    Export.objects.filter(pk=export.pk, status=ExportStatus.WRITING).update(leased_until=database_now())


def _write_part(export: Export, rows_of_part: int) -> bool:
    """Write the next part, the heading first; False once the export has ended or another worker has it."""
    payments, following, lines = from_replica(lambda: _read_part(export, rows_of_part))
    with transaction.atomic():
        held = Export.objects.select_for_update().get(pk=export.pk)
        if held.status != ExportStatus.WRITING or held.leased_until != export.leased_until:
            return False
        number = held.parts.count()
        text = ("" if number else rows.heading()) + lines
        if text:
            ExportPart.objects.create(export=held, number=number, body=zlib.compress(text.encode()))
        held.rows_written += len(payments)
        held.written_to = following or held.written_to
        held.failures, held.leased_until = 0, database_now() + LEASE
        if following is None:
            _move(held, ExportStatus.READY)
        held.save()
    export.leased_until, export.written_to = held.leased_until, held.written_to
    return following is not None


def _read_part(export: Export, rows_of_part: int) -> tuple[Sequence[Any], uuid.UUID | None, str]:
    """The payments of the next part, the key below which there may be more, and their lines."""
    filters = PaymentFilter.from_json(export.filters)
    # None that was made after the export was requested.
    own = Payment.objects.of(export.merchant, export.environment).filter(filters.condition(), pk__lt=export.pk)
    following = None
    if filters.q:
        searched = Searched(export.merchant, export.environment, filters.q)
        found = searched.newest(own.only(*rows.READ), before=export.written_to, limit=rows_of_part)
        payments, following = found.payments, found.following
    else:
        below = own if export.written_to is None else own.filter(pk__lt=export.written_to)
        payments = rows.read(below.order_by("-pk")[:rows_of_part])
    if len(payments) == rows_of_part:
        following = payments[-1].pk
    return payments, following, rows.rows_csv(payments)


def _move(export: Export, status: ExportStatus) -> None:
    EXPORT_MOVES.check(export.status, status)
    export.status = status
    if status in (ExportStatus.READY, ExportStatus.FAILED):
        export.finished_at = timezone.now()


def read_file(export: Export) -> Iterator[bytes]:
    """The file of an export that is ready, part by part: no more than one is ever in memory."""
    number = 0
    while (part := export.parts.filter(number=number).values_list("body", flat=True).first()) is not None:
        yield zlib.decompress(part)
        number += 1


def purge_exports(*, now: datetime) -> int:
    """Delete exports that were requested more than a day ago, with their parts; returns how many."""
    old = Export.objects.filter(pk__lt=ids.first_uuid_at(now - KEPT_FOR))
    delete_in_batches(ExportPart.objects.filter(export__in=old), batch=50)
    return delete_in_batches(old)
