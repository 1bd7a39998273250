"""Which rows a quick run looks at: those that changed since the last run, and a share of all others in turn.

See docs/adr/0098-what-a-quick-run-reads.md for why no change can be passed over.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone

from config import ids
from config.environments import Environment
from merchants.ledger.checking import Scope, shared_tables
from merchants.ledger.models import ReconcileRun

SHARES = 96
"""Quick runs until everything has been looked at again, by the statistics of PostgreSQL: at most a quarter more."""

LEAST_ROWS = 20_000
"""Rows of a share, of all shared tables together: a small installation is looked at as a whole each time."""

MOST_CHANGED_ROWS = 300_000
"""Rows that one run looks at because they are new. More than so many wait for their share."""

CLOCKS_WITHIN = timedelta(minutes=15)
"""How far the clocks of applications and database, and the making of a key and its writing, may be apart."""

UNKNOWN_LOOKS_BACK = timedelta(hours=1)
"""What the first run looks back; what is older waits for its share."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment of the database: its time, and the transactions that had begun or ended by then."""

    at: datetime
    next_transaction: int
    """All with lower numbers had begun."""
    oldest_open: int
    """All with lower numbers had ended, and what they wrote was seen."""


def this_moment() -> Moment:
    """The present moment; inside of a snapshot, that of the snapshot."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT clock_timestamp(), pg_snapshot_xmax(snapshot)::text, pg_snapshot_xmin(snapshot)::text"
            " FROM pg_current_snapshot() AS snapshot"
        )
        at, next_transaction, oldest_open = cursor.fetchone()
    return Moment(at, int(next_transaction), int(oldest_open))


def read_until(began: Moment, snapshot: Moment) -> dict[str, Any]:
    """What a run writes down, as JSON, so that later ones know what it has seen."""
    return {
        "at": began.at.isoformat(),
        "nextTransaction": began.next_transaction,
        "oldestOpen": snapshot.oldest_open,
    }


def whole_runs() -> QuerySet[ReconcileRun]:
    """Runs that came to the end of all checks, on all networks of both environments, the newest first."""
    return ReconcileRun.objects.filter(
        options__environments=list(Environment.values),
        options__network=None,
        options__atBlock=None,
        options__noChain=False,
        options__readUntil__isnull=False,
    ).order_by("-id")


def quick_scope(**limits: Any) -> Scope:
    """The scope of a quick run now: what changed since the last run, the next share, and what was found before.

    `limits` are other parts of a Scope. A run that has any is not whole: the next one looks at the same again.
    """
    runs = list(whole_runs()[:20])
    last = runs[0] if runs else None
    since = _changed_since([run.options["readUntil"] for run in runs])
    newest = ids.created_at_of(_key_back(MOST_CHANGED_ROWS))
    first = next((_after(run) for run in whole_runs().filter(options__share__0__isnull=False)[:1]), ids.FIRST_KEY)
    return Scope(
        since=max(newest, since or timezone.now() - UNKNOWN_LOOKS_BACK),
        share=(first, _end_of_share(first)),
        again=_found_by(last),
        **limits,
    )


def _changed_since(runs: Sequence[Mapping[str, Any]]) -> datetime | None:
    """The time from which on keys may be of rows that the last run has not seen; None when it is not known.

    What the last run has not seen was written by transactions that were open in its snapshot, or began after it. A run
    before which none of these had begun bounds the time of their writing, by the clock of the database and however
    long they took.
    """
    for run in runs:
        if run["nextTransaction"] <= runs[0]["oldestOpen"]:
            return datetime.fromisoformat(run["at"]) - CLOCKS_WITHIN
    return None


def _after(run: ReconcileRun) -> uuid.UUID:
    """The key that the share after that of a run begins with."""
    end = uuid.UUID(run.options["share"][1])
    return ids.FIRST_KEY if end == ids.LAST_KEY else end


def _found_by(run: ReconcileRun | None) -> tuple[uuid.UUID, ...]:
    """Keys of the records about which a run found something: until nothing is found there, each run looks again."""
    found = run.findings if run else []
    return tuple({uuid.UUID(record["key"]) for record in found if record.get("key")})


def _end_of_share(first: uuid.UUID) -> uuid.UUID:
    return _key_behind(first, max(LEAST_ROWS, _number_of_rows() // SHARES)) or ids.LAST_KEY


def _key_back(rows: int) -> uuid.UUID:
    """The key behind which so many rows are newer; the first of all where there are fewer."""
    # A key of another kind than ours may be beyond all times.
    later = ids.first_uuid_at(timezone.now() + timedelta(days=1))
    return _key_behind(later, rows, comparison="<", order="DESC") or ids.FIRST_KEY


def _key_behind(key: uuid.UUID, rows: int, *, comparison: str = ">=", order: str = "ASC") -> uuid.UUID | None:
    """The key that comes so many rows of the shared tables after another one; None where there are fewer."""
    part = f"(SELECT id FROM {{}} WHERE id {comparison} %(key)s ORDER BY id {order} LIMIT %(rows)s + 1)"  # noqa: S608
    parts = " UNION ALL ".join(map(part.format, shared_tables()))
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id FROM ({parts}) AS part ORDER BY id {order} OFFSET %(rows)s LIMIT 1",  # noqa: S608
            {"key": key, "rows": rows},
        )
        row = cursor.fetchone()
    return row[0] if row else None


def _number_of_rows() -> int:
    """Rows of the shared tables, as far as PostgreSQL has counted them for its planner."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(sum(greatest(reltuples, 0)), 0)::bigint FROM pg_class WHERE oid = ANY(%s::regclass[])",
            [list(shared_tables())],
        )
        return int(cursor.fetchone()[0])
