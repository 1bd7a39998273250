"""Keeps the counters of what payments came to: exact at any moment, and cheap at millions of payments.

A counter (config.database.counters) of each merchant, network, coin and currency by hours and days. A payment counts in
the hour in which it was created, which never changes, so that a reorganisation takes back exactly what was counted.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from datetime import datetime, timedelta

from config.database.counters import FOLD_BATCH, MADE_AT, Counter, fold, require_transaction
from config.database.purging import delete_in_batches
from config.money import worth_paid
from payments.deposits.turnover.models import Span, Turnover, TurnoverDelta
from payments.models import Payment
from payments.states import PaymentStatus

HOURS_SHOWN, HOURS_KEPT = timedelta(days=8), timedelta(days=9)
"""Longer than the longest time that is shown by the hour, and the time before it."""

_UNPAID = (PaymentStatus.EXPIRED, PaymentStatus.UNDERPAID, PaymentStatus.PARTIALLY_REFUNDED, PaymentStatus.REFUNDED)
"""Statuses of a payment that was never completed and has ended with too little, or may yet get the rest."""


@dataclass(frozen=True, slots=True)
class Share:
    """The part of one payment in the counters of its hour."""

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
    require_transaction()
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


_UNPAID_IN_SQL = ", ".join(f"'{each.value}'" for each in _UNPAID)
_KEY = ("merchant_id", "environment", "span", "starts_at", "network", "cryptocurrency", "currency")
_SUMS = ("paid", "unpaid", "volume", "seconds")
_SPANS = f"(VALUES ('{Span.HOUR}', hour), ('{Span.DAY}', date_trunc('day', hour, 'UTC'))) AS spans (span, starts_at)"
_MADE_AT = MADE_AT.format(key="id")


def _counted(span: Span) -> str:
    """SELECT of what the payments themselves came to. What was paid is as in config.money.worth_paid."""
    return f"""
        SELECT merchant_id, environment, '{span}' AS span, date_trunc('{span}', {_MADE_AT}, 'UTC') AS starts_at,
            network, cryptocurrency, currency, COUNT(*) FILTER (WHERE completed_at IS NOT NULL) AS paid,
            COUNT(*) FILTER (WHERE completed_at IS NULL AND status IN ({_UNPAID_IN_SQL})) AS unpaid,
            COALESCE(SUM(LEAST(fiat_amount, div(2 * released * fiat_amount + due, 2 * due)))
                FILTER (WHERE completed_at IS NOT NULL), 0) AS volume,
            COALESCE(SUM(GREATEST(0, floor(extract(epoch FROM completed_at - {_MADE_AT}))))
                FILTER (WHERE completed_at IS NOT NULL), 0) AS seconds
        FROM {Payment._meta.db_table} WHERE {{rows}} GROUP BY 1, 2, 3, 4, 5, 6, 7
    """  # noqa: S608 - names of our own tables and columns


TURNOVER = Counter(
    sums=Turnover,
    key=_KEY,
    added=_SUMS,
    counted=" UNION ALL ".join(map(_counted, Span)),
    own=f"(span = '{Span.DAY}' OR starts_at > now() - interval '{HOURS_SHOWN.days} days')",
    deltas=TurnoverDelta,
    changes=f"SELECT {', '.join(_KEY + _SUMS)} FROM {{deltas}} AS delta CROSS JOIN LATERAL {_SPANS}",  # noqa: S608
)


def fold_turnover(*, batch: int = FOLD_BATCH) -> int:
    """Fold the oldest deltas into the counters; returns how many."""
    return fold(TURNOVER, batch=batch)


def purge_hours(*, now: datetime) -> int:
    """Delete the counters of hours that no page shows any more; those of days stay. Returns how many."""
    return delete_in_batches(Turnover.objects.filter(span=Span.HOUR, starts_at__lt=now - HOURS_KEPT))
