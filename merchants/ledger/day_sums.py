"""Sums of the entries of accounts up to an instant: from the sums of whole days, and from the entries of its own day.

The trigger `entry_day_sums` keeps the sums of days exact: it adds to them in the statement that writes entries, under
the locks of the accounts. What was written before there was a trigger is in UnsummedEntries, and is read entry by
entry until `sum_earlier_entries` has added it as well.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, time
from typing import Any

from django.db import connection, transaction

from config import ids
from merchants.ledger.models import Account, DaySum, Entry, UnsummedEntries

ENTRIES_AT_A_TIME = 20_000

_ACCOUNTS, _ENTRIES, _SUMS = Account._meta.db_table, Entry._meta.db_table, DaySum._meta.db_table
_UNSUMMED = UnsummedEntries._meta.db_table

HAS_SUMS = "(account.owner = '' OR starts_with(account.kind, 'merchant:'))"
"""Whether sums are kept of an account: as in the trigger."""

# An id is added to, so that its index is not read from end to end for an account.
IS_UNSUMMED = f"""(EXISTS (SELECT FROM {_UNSUMMED})
    AND entry.id + 0 > (SELECT after FROM {_UNSUMMED}) AND entry.id + 0 <= (SELECT last FROM {_UNSUMMED}))"""  # noqa: S608

# Account by account, so that the entries of none are read beyond what is asked for.
_BEFORE = f"""
    SELECT asked.place, account.id, parts.total, EXISTS (SELECT FROM {_UNSUMMED})
    FROM unnest(%(places)s::integer[], %(days)s::date[], %(midnights)s::uuid[], %(ends)s::uuid[])
        AS asked (place, day, midnight, last),
    {_ACCOUNTS} AS account, LATERAL (
        SELECT sum(amount) AS total FROM (
            SELECT amount FROM {_SUMS} WHERE account_id = account.id AND day < asked.day
            UNION ALL
            SELECT amount FROM {_ENTRIES} AS entry
            WHERE account_id = account.id AND posting_id < asked.last
                AND posting_id >= CASE WHEN {HAS_SUMS} THEN asked.midnight ELSE %(first)s END
            {{earlier}}
        ) AS part
    ) AS parts WHERE account.id = ANY(%(accounts)s)
"""  # noqa: S608 - names of our own tables

_EARLIER = f"""
            UNION ALL
            SELECT amount FROM {_ENTRIES} AS entry
            WHERE account_id = account.id AND posting_id < asked.midnight AND {HAS_SUMS} AND {IS_UNSUMMED}
"""  # noqa: S608 - names of our own tables


def sums_before(accounts: Collection[int], *instants: datetime) -> list[dict[int, int]]:
    """What the entries of each account, by its key, sum to whose postings were made before each of the instants.

    Signed base units, debits positive. Accounts without such entries are left out. One statement, and so of one moment.
    """
    days = [instant.astimezone(UTC).date() for instant in instants]
    asked: dict[str, Any] = {
        "accounts": list(accounts),
        "places": list(range(len(instants))),
        "days": days,
        "midnights": [ids.first_uuid_at(datetime.combine(day, time.min, tzinfo=UTC)) for day in days],
        "ends": [ids.first_uuid_at(instant) for instant in instants],
        "first": ids.first_uuid_at(datetime.min.replace(tzinfo=UTC)),
    }
    with connection.cursor() as cursor:
        cursor.execute(_BEFORE.format(earlier=""), asked)
        rows = cursor.fetchall()
        if any(is_unsummed for *_, is_unsummed in rows):  # seldom: so a plan for it is made only then
            cursor.execute(_BEFORE.format(earlier=_EARLIER), asked)
            rows = cursor.fetchall()
    found: list[dict[int, int]] = [{} for _ in instants]
    for place, account, amount, _ in rows:
        if amount is not None:
            found[place][account] = int(amount)
    return found


_LOCK = f"""
    SELECT FROM {_ACCOUNTS} AS account WHERE {HAS_SUMS} AND account.id IN (
        SELECT account_id FROM {_ENTRIES} WHERE id > %(after)s AND id <= %(end)s
    ) ORDER BY account.id FOR UPDATE
"""  # noqa: S608 - names of our own tables

_ADD = f"""
    INSERT INTO {_SUMS} AS known (account_id, day, amount)
    SELECT entry.account_id, ledger_day_of(entry.posting_id), sum(entry.amount)
    FROM {_ENTRIES} AS entry JOIN {_ACCOUNTS} AS account ON account.id = entry.account_id
    WHERE entry.id > %(after)s AND entry.id <= %(end)s AND {HAS_SUMS}
    GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (account_id, day) DO UPDATE SET amount = known.amount + EXCLUDED.amount
"""  # noqa: S608 - names of our own tables


def sum_earlier_entries(*, at_a_time: int = ENTRIES_AT_A_TIME) -> bool:
    """Add some of the entries that are in no day's sum yet; returns whether there were any. One worker at a time."""
    with transaction.atomic(), connection.cursor() as cursor:
        left = UnsummedEntries.objects.select_for_update(skip_locked=True).first()
        if left is None:
            return False
        end = min(left.after + at_a_time, left.last)
        # Whoever writes a sum holds the lock of its account, and entries of it are written by nobody else meanwhile.
        cursor.execute(_LOCK, {"after": left.after, "end": end})
        cursor.execute(_ADD, {"after": left.after, "end": end})
        if end == left.last:
            left.delete()
        else:
            UnsummedEntries.objects.update(after=end)
        return True


def sum_again() -> None:
    """Forget all sums: every entry that is there is one that `sum_earlier_entries` adds."""
    with transaction.atomic(), connection.cursor() as cursor:
        UnsummedEntries.objects.select_for_update().first()
        # Waits for those who write entries, so that each entry is there, or is added by the trigger, and never both.
        cursor.execute(f"LOCK TABLE {_ENTRIES} IN SHARE ROW EXCLUSIVE MODE")
        cursor.execute(f"DELETE FROM {_SUMS}; DELETE FROM {_UNSUMMED}")  # noqa: S608 - names of our own tables
        if newest := Entry.objects.order_by("-id").first():
            UnsummedEntries.objects.create(last=newest.pk)


# --- what reconcile asks -----------------------------------------------------------------------------

DIFFERENCES = f"""
    WITH actual AS (
        SELECT entry.account_id, ledger_day_of(entry.posting_id) AS day, sum(entry.amount) AS total
        FROM {_ENTRIES} AS entry JOIN {_ACCOUNTS} AS account ON account.id = entry.account_id
        WHERE {HAS_SUMS} AND NOT {IS_UNSUMMED} AND (%(midnight)s::uuid IS NULL OR entry.posting_id >= %(midnight)s)
        GROUP BY 1, 2
    ), known AS (
        SELECT account_id, day, amount FROM {_SUMS} WHERE %(first_day)s::date IS NULL OR day >= %(first_day)s
    )
    SELECT account.environment, account.network, account.asset, account.kind, account.owner, day,
        coalesce(known.amount, 0), coalesce(actual.total, 0)
    FROM known FULL JOIN actual USING (account_id, day) JOIN {_ACCOUNTS} AS account ON account.id = account_id
    WHERE coalesce(known.amount, 0) <> coalesce(actual.total, 0) AND account.environment = ANY(%(environments)s)
        AND (%(network)s::text IS NULL OR account.network = %(network)s)
    ORDER BY account.id, day
"""  # noqa: S608 - names of our own tables
"""The sums of days against their entries, from a day on. In one statement: for reconcile, not for requests."""
