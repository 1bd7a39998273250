"""Counters and histograms of what was written since the process began, as Prometheus takes them: from zero at a start.

Each look reads the rows of the minutes since the last, by an index of their time, so that it costs the same however old
an installation is. Rows are read a minute late: by then the database transaction that wrote them has ended.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from django.db import connection
from django.urls import Resolver404, resolve
from django.views import View

from config import ids
from config.database.counters import MADE_AT
from config.database.database_time import database_now
from config.environments import Environment
from payments.monitoring.metrics import definitions as metrics
from payments.monitoring.metrics.definitions import Metric

LATE = timedelta(minutes=1)
AT_ONCE = timedelta(minutes=15)
"""A look reads no more: what is older, because nobody scraped for so long, is not counted."""

METHODS = frozenset(map(str.upper, View.http_method_names))


@dataclass(slots=True)
class Histogram:
    counts: list[int]
    """By bucket, the last one without an upper limit."""
    sum: float = 0.0


@dataclass(slots=True)
class Counted:
    """What one metric has come to, by its labels."""

    metric: Metric
    late: timedelta
    sql: str
    """Labels, for a histogram then the bucket, a count and for a histogram a sum; between two times."""
    totals: defaultdict[tuple[str, ...], int] = field(default_factory=lambda: defaultdict(int))
    histograms: dict[tuple[str, ...], Histogram] = field(default_factory=dict)
    until: datetime | None = None

    def look(self) -> None:
        """Add what was written since the last look."""
        until = database_now() - self.late
        since = max(self.until or until, until - AT_ONCE)
        if since < until:
            bounds: dict[str, Any] = {"since": since, "until": until, "buckets": list(self.metric.buckets)}
            bounds |= {"first": ids.first_uuid_at(since), "end": ids.first_uuid_at(until)}
            with connection.cursor() as cursor:
                cursor.execute(self.sql, bounds)
                rows = cursor.fetchall()
            self._add(rows)
        self.until = max(self.until or until, until)

    def _add(self, rows: Iterable[tuple[Any, ...]]) -> None:
        number = len(self.metric.labels)
        for row in rows:
            labels, rest = row[:number], row[number:]
            if self.metric is metrics.HTTP:
                environment, method, path, status = labels
                method = method if method in METHODS else "other"  # callers make up their own
                labels = (environment, method, route_of(path), str(status))
            if not self.metric.buckets:
                self.totals[labels] += rest[0]
                continue
            bucket, count, seconds = rest
            found = self.histograms.setdefault(labels, Histogram([0] * (len(self.metric.buckets) + 1)))
            found.counts[bucket] += count
            found.sum += float(seconds)


@lru_cache(maxsize=1000)
def route_of(path: str) -> str:
    """The route of a path, as `/v1/payments/<str:payment_id>`: there are few, whatever somebody asks for."""
    try:
        return f"/{resolve(path).route}"
    except Resolver404:
        return "other"


_PAYMENTS = """
    SELECT environment, substr(type, 9), count(*) FROM webhooks_event
    WHERE id >= %(first)s AND id < %(end)s AND type LIKE 'payment.%%' AND sample_of = '' GROUP BY 1, 2
"""
_CREDITS = """
    SELECT deposit.environment, deposit.network, width_bucket(seconds, %(buckets)s::numeric[]), count(*), sum(seconds)
    FROM webhooks_event AS event
    JOIN payments_deposit AS deposit ON deposit.payment_id = event.object_id
    CROSS JOIN LATERAL (SELECT greatest(0, extract(epoch FROM deposit.credited_at - deposit.seen_at)) AS seconds) AS age
    WHERE event.id >= %(first)s AND event.id < %(end)s AND event.type = 'payment.completed' AND event.sample_of = ''
        AND deposit.credited_at IS NOT NULL
    GROUP BY 1, 2, 3
"""
_DELIVERIES = f"""
    SELECT delivery.environment, width_bucket(seconds, %(buckets)s::numeric[]), count(*), sum(seconds)
    FROM webhooks_attempt AS attempt
    JOIN webhooks_delivery AS delivery ON delivery.id = attempt.delivery_id
    CROSS JOIN LATERAL (
        SELECT greatest(0, extract(epoch FROM attempt.started_at - {MADE_AT.format(key="delivery.event_id")})
            + attempt.duration_milliseconds / 1000.0) AS seconds
    ) AS age
    WHERE attempt.started_at >= %(since)s AND attempt.started_at < %(until)s
        AND attempt.status_code BETWEEN 200 AND 299
    GROUP BY 1, 2
"""  # noqa: S608 - our own expression
_REQUESTS = """
    SELECT environment, method, regexp_replace(path, '/[a-z]{2,5}_[0-9A-Za-z]+', '/id', 'g'), status, count(*)
    FROM request_log_loggedrequest
    WHERE id >= %(first)s AND id < %(end)s GROUP BY 1, 2, 3, 4
"""

_BEGINNING: dict[tuple[str, ...], int] = {
    (environment, status): 0 for environment in Environment.values for status in ("completed", "expired")
}
"""Series that an alert compares: of one that appears with its first payment, increase() would not know the first, and
an alert on none that completed could not fire."""


def counters(late: timedelta = LATE) -> Mapping[str, Counted]:
    """Counters that begin with their first look, by the name of their reading."""
    return {
        "payments": Counted(metrics.PAYMENTS, late, _PAYMENTS, defaultdict(int, _BEGINNING)),
        "credits": Counted(metrics.CREDIT_SECONDS, late, _CREDITS),
        "deliveries": Counted(metrics.DELIVERY_SECONDS, late, _DELIVERIES),
        "requests": Counted(metrics.HTTP, late, _REQUESTS),
    }
