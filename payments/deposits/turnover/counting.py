"""Keeps the counters of what payments came to: exact at any moment, and cheap at millions of payments.

As with the counts of merchants.counting, a change appends a delta in its own database transaction, and a task folds
deltas. A payment counts in the hour in which it was created, which never changes, so that a reorganisation takes back
exactly what was counted.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from datetime import datetime, timedelta

from django.db import connection

from config.database.purging import delete_in_batches
from config.money import worth_paid
from payments.deposits.turnover.models import Span, Turnover, TurnoverDelta
from payments.models import Payment
from payments.states import PaymentStatus

FOLD_BATCH = 20_000
HOURS_KEPT = timedelta(days=9)
"""Longer than the longest time that is shown by the hour, and the time before it."""

_UNPAID = (PaymentStatus.EXPIRED, PaymentStatus.UNDERPAID, PaymentStatus.PARTIALLY_REFUNDED, PaymentStatus.REFUNDED)
"""Statuses of a payment that was never completed and has ended with too little, or may yet get the rest."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one payment adds to the counters of its hour."""

    paid: int = 0
    unpaid: int = 0
    volume: int = 0
    seconds: int = 0


def share_of(payment: Payment) -> Share:
    """A completed payment counts as paid with what was paid for it, whatever was given back later; a cancelled one not
    at all."""
    if payment.completed_at is not None:
        seconds = int((payment.completed_at - payment.created_at).total_seconds())
        paid = worth_paid(int(payment.released), fiat_amount=payment.fiat_amount, due=int(payment.due))
        return Share(paid=1, volume=paid, seconds=max(0, seconds))
    return Share(unpaid=1) if payment.status in _UNPAID else Share()


def share_changed(payment: Payment, old: Share) -> None:
    """Count a payment as it is now. Only in the database transaction that changes it."""
    if not connection.in_atomic_block:
        raise RuntimeError("payments are counted in the database transaction that changes them")
    new = share_of(payment)
    if new == old:
        return
    paid, unpaid, volume, seconds = (now - before for now, before in zip(astuple(new), astuple(old), strict=True))
    TurnoverDelta.objects.create(
        merchant_id=payment.merchant_id,
        environment=payment.environment,
        hour=payment.created_at.replace(minute=0, second=0, microsecond=0),
        network=payment.network,
        cryptocurrency=payment.cryptocurrency,
        currency=payment.currency,
        paid=paid,
        unpaid=unpaid,
        volume=volume,
        seconds=seconds,
    )


_DELTAS, _TURNOVER = TurnoverDelta._meta.db_table, Turnover._meta.db_table
_OF = "merchant_id, environment, network, cryptocurrency, currency"
_BUCKET = f"span, starts_at, {_OF}"
_SUMS = ("paid", "unpaid", "volume", "seconds")

# As in merchants.counting: rows another worker is folding are skipped, and counters are touched in one order.
_FOLD = f"""
    WITH batch AS (
        SELECT id FROM {_DELTAS} ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED
    ), taken AS (
        DELETE FROM {_DELTAS} USING batch WHERE {_DELTAS}.id = batch.id RETURNING hour, {_OF}, {", ".join(_SUMS)}
    ), folded AS (
        INSERT INTO {_TURNOVER} ({_BUCKET}, {", ".join(_SUMS)})
        SELECT {_BUCKET}, {", ".join(f"SUM({name})" for name in _SUMS)} FROM taken CROSS JOIN LATERAL (
            VALUES ('{Span.HOUR}', hour), ('{Span.DAY}', date_trunc('day', hour, 'UTC'))
        ) AS spans (span, starts_at) GROUP BY {_BUCKET} ORDER BY {_BUCKET}
        ON CONFLICT (merchant_id, environment, span, starts_at, network, cryptocurrency, currency)
            DO UPDATE SET {", ".join(f"{name} = {_TURNOVER}.{name} + EXCLUDED.{name}" for name in _SUMS)}
    )
    SELECT COUNT(*) FROM taken
"""  # noqa: S608 - names of our own tables


def fold_turnover(*, batch: int = FOLD_BATCH) -> int:
    """Fold the oldest deltas into the counters; returns how many. Any number of workers may do it at once."""
    with connection.cursor() as cursor:
        cursor.execute(_FOLD, [batch])
        return int(cursor.fetchone()[0])


def purge_hours(*, now: datetime) -> int:
    """Delete the counters of hours that no page shows any more; those of days stay. Returns how many."""
    return delete_in_batches(Turnover.objects.filter(span=Span.HOUR, starts_at__lt=now - HOURS_KEPT))


# --- what reconcile asks -----------------------------------------------------------------------------

_WORTH_PAID = "LEAST(fiat_amount, div(2 * released * fiat_amount + due, 2 * due))"
"""As config.money.worth_paid."""

_MADE_AT = "to_timestamp(('x' || left(replace(payment.id::text, '-', ''), 12))::bit(48)::bigint / 1000.0)"
ACTUAL = f"""
    SELECT merchant_id, environment, network, cryptocurrency, currency,
        date_trunc('day', {_MADE_AT}, 'UTC') AS day,
        COUNT(*) FILTER (WHERE completed_at IS NOT NULL) AS paid,
        COUNT(*) FILTER (WHERE completed_at IS NULL AND status IN ({", ".join(f"'{each.value}'" for each in _UNPAID)}))
            AS unpaid,
        COALESCE(SUM({_WORTH_PAID}) FILTER (WHERE completed_at IS NOT NULL), 0) AS volume,
        COALESCE(SUM(GREATEST(0, floor(extract(epoch FROM completed_at - {_MADE_AT}))))
            FILTER (WHERE completed_at IS NOT NULL), 0) AS seconds
    FROM payments_payment AS payment GROUP BY 1, 2, 3, 4, 5, 6
"""  # noqa: S608 - constants
"""What the payments themselves come to, by day. Reads the whole table: for reconcile, not for requests."""

DIFFERENCES = f"""
    WITH actual AS ({ACTUAL}), counted AS (
        SELECT {_OF}, day, SUM(paid) AS paid, SUM(unpaid) AS unpaid, SUM(volume) AS volume, SUM(seconds) AS seconds
        FROM (
            SELECT {_OF}, starts_at AS day, {", ".join(_SUMS)} FROM {_TURNOVER} WHERE span = '{Span.DAY}'
            UNION ALL
            SELECT {_OF}, date_trunc('day', hour, 'UTC'), {", ".join(_SUMS)} FROM {_DELTAS}
        ) AS parts GROUP BY {_OF}, day
    )
    SELECT environment, network, cryptocurrency, merchant_id, currency, day::date,
        COALESCE(counted.paid, 0), COALESCE(actual.paid, 0),
        COALESCE(counted.volume, 0)::bigint, COALESCE(actual.volume, 0)::bigint
    FROM counted FULL JOIN actual USING ({_OF}, day)
    WHERE (COALESCE(counted.paid, 0), COALESCE(counted.unpaid, 0), COALESCE(counted.volume, 0),
            COALESCE(counted.seconds, 0))
        <> (COALESCE(actual.paid, 0), COALESCE(actual.unpaid, 0), COALESCE(actual.volume, 0),
            COALESCE(actual.seconds, 0))
    ORDER BY day, merchant_id LIMIT 100
"""  # noqa: S608 - names of our own tables
