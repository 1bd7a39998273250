"""Recognises a restored database, and stands still on it until an operator resumes.

The order of every comparison matters: the marker outside is read first and the row after it, so that a pulse in between
never looks as if something were missing.
"""

from __future__ import annotations

import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from django.db import connection, transaction
from django.utils import timezone

from config.errors import DomainError, ServiceUnavailable
from config.installation import marker
from config.installation.identity import Identity, identity_here
from config.installation.models import Installation, Sign, Standstill
from config.process.release import RELEASE

logger = structlog.get_logger(__name__)

LOOK_EVERY_SECONDS = 5.0
"""Time a process relies on its last known pulse before it reads the marker again."""

AHEAD_OF_ALL = 1_000
"""Pulses by which a resumed database is ahead of whatever any process has seen."""

SEEN_COLUMNS = """installation.id, installation.pulse,
        installation.stopped_at IS NOT NULL OR installation.tableoid::bigint <> installation.table_oid"""
"""Columns `is_current` needs of the table `installation_installation AS installation`, in this order."""


class StandsStill(ServiceUnavailable):
    message = (
        "New payments are refused while the operators bring a restored database up to date. Nothing is lost; try again "
        "later."
    )


class NotStandingStill(DomainError):
    code = "not_standing_still"
    message = "This installation does not stand still: there is nothing to resume."


class NotResumed(DomainError):
    code = "not_resumed"
    message = (
        "The database was restored: coins that it does not explain may be merchants', swept since the backup. Nothing "
        "is booked by hand before manage.py resume_after_restore has run."
    )


@dataclass(frozen=True, slots=True)
class Doubt:
    """The reason this may not be the database that was here. Without a sign it is not known yet, and must be checked
    again."""

    message: str
    sign: Sign | None = None


@dataclass(slots=True)
class _Known:
    """The newest pulse that this process has seen, and when it last looked outside."""

    pulse: int
    looked_at: float


_known: dict[uuid.UUID, _Known] = {}


def is_current(installation_id: uuid.UUID | None, pulse: int | None, is_stopped: bool | None) -> bool:
    """True if addresses and payouts may leave a database with this row (`SEEN_COLUMNS`)."""
    if is_stopped:
        return False
    known = _known.get(installation_id) if installation_id else None
    if installation_id is None or pulse is None or known is None:
        return look() is None
    if time.monotonic() - known.looked_at >= LOOK_EVERY_SECONDS:
        known.looked_at = time.monotonic()
        with suppress(marker.MarkerUnreachable):
            known.pulse = max(known.pulse, marker.read(installation_id) or 0)
    if pulse < known.pulse:
        return look() is None
    known.pulse = pulse
    return True


def forget() -> None:
    """Forget what this process has seen, as if it had just started."""
    _known.clear()


def may_act() -> bool:
    """As is_current, by a query of its own."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {SEEN_COLUMNS} FROM installation_installation AS installation")  # noqa: S608 - constant
        return is_current(*(cursor.fetchone() or (None, None, None)))


def look() -> Doubt | None:
    """Compare the database with all that is known of it; None when it is the one that was here. The first time it is
    recorded as it is."""
    return _compare(identity_here())[0]


def _compare(here: Identity) -> tuple[Doubt | None, bool]:
    """The doubt there is, and whether the marker could be read."""
    row = Installation.objects.first()
    if row is None:
        row, _ = Installation.objects.get_or_create(
            is_only=True,
            defaults={
                "server": here.server,
                "database_oid": here.database_oid,
                "table_oid": here.table_oid,
                "timeline": here.timeline,
            },
        )
    known = _known.get(row.pk)
    is_reached, noted = True, None
    try:
        noted = marker.read(row.pk)
    except marker.MarkerUnreachable:
        is_reached = False
    newest = max(noted or 0, known.pulse if known else 0)
    row = Installation.objects.get(pk=row.pk)
    if row.stopped_at is not None:
        return Doubt("It stands still since a restore was found."), is_reached
    if here.is_copied_from(row):
        return Doubt("The tables of this database were made by restoring a dump.", Sign.COPIED), is_reached
    if row.pulse < newest:
        missing = f"It ends at pulse {row.pulse} ({row.pulsed_at:%Y-%m-%d %H:%M:%S}), and pulse {newest} was committed."
        return Doubt(missing, Sign.LOST), is_reached
    if here.is_later_than(row) and not newest:
        moved = f"The server went from timeline {row.timeline} to {here.timeline}: by a promotion or by a recovery"
        if is_reached:
            return Doubt(f"{moved}, and the note that would tell which is missing.", Sign.UNPROVED), is_reached
        return Doubt(f"{moved}, and the note that tells which cannot be read yet."), is_reached
    _known[row.pk] = _Known(row.pulse, time.monotonic())
    return None, is_reached


def keep_pulse() -> Doubt | None:
    """Increase the pulse, in the database and then in the marker; on a restored database stand still instead.

    While the marker cannot be read the pulse waits: it must never pass one that it was not compared with.
    """
    here = identity_here()
    doubt, is_reached = _compare(here)
    if doubt is not None:
        if doubt.sign is not None:
            stand_still(doubt.sign, doubt.message)
        return doubt
    if not is_reached:
        return None
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE installation_installation"
            " SET pulse = pulse + 1, pulsed_at = clock_timestamp(), timeline = %s, release = %s"
            " WHERE stopped_at IS NULL RETURNING id, pulse",
            [here.timeline, RELEASE],
        )
        row = cursor.fetchone()
    if row is not None:
        try:
            marker.write(*row)
        except marker.MarkerUnreachable as error:
            logger.warning("pulse not noted", error=str(error.__cause__))
    return None


def stand_still(sign: Sign, message: str, *, complete_until: datetime | None = None) -> Standstill:
    """Give out no address and pay nothing from now on. The first sign stays."""
    with transaction.atomic():
        row = Installation.objects.select_for_update().get()
        if row.stopped_at is not None:
            return Standstill.objects.get(ended_at=None)
        row.stopped_at = timezone.now()
        row.save(update_fields=["stopped_at"])
        begun = Standstill.objects.create(
            sign=sign, message=message, complete_until=complete_until or row.pulsed_at, began_at=row.stopped_at
        )
    logger.critical("database restored: nothing is paid and no address given out", sign=str(sign), message=message)
    return begun


def current_standstill() -> Standstill | None:
    """The current standstill; None when there is none."""
    return Standstill.objects.filter(ended_at=None).first()


def require_resumed() -> None:
    """Raise NotResumed while this installation stands still: balances of wallets do not show whose they are."""
    if current_standstill() is not None:
        raise NotResumed


def found_by_resume(transaction_hash: str) -> Standstill | None:
    """The restore whose resume found this on-chain transaction among the transfers out that the ledger lacks."""
    return Standstill.objects.filter(
        ended_at__isnull=False, findings__payouts__contains=[{"transaction": transaction_hash}]
    ).last()


def resume(*, ended_by: str, was_restored: bool, reason: str = "", findings: dict[str, Any] | None = None) -> None:
    """Go on with this database, with a pulse ahead of every one that was ever noted.

    Raises NotStandingStill, or MarkerUnreachable when the marker cannot be written: then nothing is changed.
    """
    here = identity_here()
    with transaction.atomic():
        row = Installation.objects.select_for_update().get()
        begun = Standstill.objects.filter(ended_at=None).first()
        if row.stopped_at is None or begun is None:
            raise NotStandingStill
        known = _known.get(row.pk)
        newest = max(row.pulse, marker.read(row.pk) or 0, known.pulse if known else 0)
        row.pulse, row.pulsed_at, row.stopped_at = newest + AHEAD_OF_ALL, timezone.now(), None
        row.server, row.database_oid, row.table_oid = here.server, here.database_oid, here.table_oid
        row.timeline = here.timeline
        row.save()
        begun.ended_at, begun.ended_by, begun.was_restored = timezone.now(), ended_by, was_restored
        begun.reason, begun.findings = reason, findings or {}
        begun.save()
    marker.write(row.pk, row.pulse)
    _known.pop(row.pk, None)
    logger.warning("resumed after a restore", by=ended_by, was_restored=was_restored, reason=reason)
