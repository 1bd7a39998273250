"""Sums of the entries of accounts up to an instant: from the sums of whole days, and from the entries of its own day.

The trigger `entry_day_sums` keeps the sums of days exact: it adds to them in the statement that writes entries, under
the locks of the accounts: a counter (config.database.counters) without deltas, because whoever posts waits already.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, time
from typing import Any
from uuid import UUID

from config import ids
from config.database.counters import Counter
from config.database.replica import reading_cursor
from merchants.ledger.models import Account, DaySum, Entry

_ACCOUNTS, _ENTRIES, _SUMS = Account._meta.db_table, Entry._meta.db_table, DaySum._meta.db_table

HAS_SUMS = "(account.owner = '' OR starts_with(account.kind, 'merchant:'))"
"""True if sums are kept of an account: as in the trigger."""

# Account by account, so that the entries of none are read beyond its own range.
_BEFORE = f"""
    SELECT wanted.place, account.id, parts.total
    FROM unnest(%(places)s::integer[], %(days)s::date[], %(midnights)s::uuid[], %(ends)s::uuid[])
        AS wanted (place, day, midnight, last),
    {_ACCOUNTS} AS account, LATERAL (
        SELECT sum(amount) AS total FROM (
            SELECT amount FROM {_SUMS} WHERE account_id = account.id AND day < wanted.day
            UNION ALL
            SELECT amount FROM {_ENTRIES} AS entry
            WHERE account_id = account.id AND posting_id < wanted.last
                AND posting_id >= CASE WHEN {HAS_SUMS} THEN wanted.midnight ELSE %(first)s END
        ) AS part
    ) AS parts WHERE account.id = ANY(%(accounts)s)
"""  # noqa: S608 - names of our own tables


def sums_before(accounts: Collection[int], *instants: datetime) -> list[dict[int, int]]:
    """Sums of the entries of each account, by its key, from postings made before each of the instants.

    Signed base units, debits positive. Accounts without such entries are left out. One statement, and so of one moment.
    """
    return sums_below(accounts, *map(ids.first_uuid_at, instants))


def sums_below(accounts: Collection[int], *postings: UUID) -> list[dict[int, int]]:
    """Sums as of `sums_before`, from postings whose keys are below each of these keys."""
    days = [ids.created_at_of(key).date() for key in postings]
    parameters: dict[str, Any] = {
        "accounts": list(accounts),
        "places": list(range(len(postings))),
        "days": days,
        "midnights": [ids.first_uuid_at(datetime.combine(day, time.min, tzinfo=UTC)) for day in days],
        "ends": list(postings),
        "first": ids.FIRST_KEY,
    }
    with reading_cursor() as cursor:
        cursor.execute(_BEFORE, parameters)
        rows = cursor.fetchall()
    found: list[dict[int, int]] = [{} for _ in postings]
    for place, account, amount in rows:
        if amount is not None:
            found[place][account] = int(amount)
    return found


DAY_SUMS = Counter(
    sums=DaySum,
    key=("account_id", "day"),
    added=("amount",),
    counted=f"""
        SELECT entry.account_id, ledger_day_of(entry.posting_id) AS day, sum(entry.amount) AS amount
        FROM {_ENTRIES} AS entry JOIN {_ACCOUNTS} AS account ON account.id = entry.account_id
        WHERE {HAS_SUMS} AND {{rows}} GROUP BY 1, 2
    """,  # noqa: S608 - names of our own tables
)
"""Sums of the entries by account and day."""
