"""The house's result: what it earned and what it spent in a month, by network, coin and account.

All equity of the chart is in it, so that the change of what is the house's own is the result plus what was put in,
taken out or exchanged (CAPITAL). Amounts are in the coins themselves: coins of different kinds are never summed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import chain

from django.db.models import Sum
from django.db.models.functions import TruncMonth

from config import ids
from config.database.replica import reading_cursor
from config.money import from_units
from config.pages.files import csv_lines
from merchants.ledger.chart import AccountKind, Group, kinds_where
from merchants.ledger.models import Account, DaySum, Entry, Posting
from payments.monitoring.accounting.periods import Days
from payments.monitoring.accounting.totals import CAPITAL, scale

COLUMNS = (
    "environment", "month", "network", "coin", "group", "account", "account_name", "posting_kind", "amount",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ResultRow:
    """Change of one account of the house by postings of one kind in a month."""

    month: Days
    network: str
    asset: str
    decimals: int
    kind: AccountKind
    posting_kind: str
    amount: int
    """Base units; positive is the house's gain."""

    @property
    def is_result(self) -> bool:
        """True if it was earned or spent; else it was put in, taken out or exchanged."""
        return self.kind.value not in CAPITAL


# The accounts are named, and the period twice, so that PostgreSQL knows how many rows it will join.
_ROWS = f"""
    SELECT entry.account_id, posting.kind, -sum(entry.amount)
    FROM {Entry._meta.db_table} AS entry
    JOIN {Posting._meta.db_table} AS posting ON posting.id = entry.posting_id
        AND posting.id >= %(start)s AND posting.id < %(end)s
    WHERE entry.account_id = ANY(%(accounts)s) AND entry.posting_id >= %(start)s AND entry.posting_id < %(end)s
    GROUP BY 1, 2
    HAVING sum(entry.amount) <> 0
"""  # noqa: S608 - the names of our own tables


def months_between(first: date, last: date) -> list[Days]:
    """The months of UTC from that of `first` to that of `last`, both included, the oldest first."""
    found, month = [], first.replace(day=1)
    while month <= last:
        following = (month + timedelta(days=31)).replace(day=1)
        found.append(Days(month, following - timedelta(days=1)))
        month = following
    return found


def result_of(environment: str, months: Iterable[Days]) -> Iterator[ResultRow]:
    """Gains and losses of the house in each month, sorted by month, network, coin and account."""
    kinds = kinds_where(group=Group.EQUITY)
    accounts = Account.objects.filter(environment=environment, owner="", kind__in=kinds).in_bulk()
    for month in months:
        bounds = {"start": ids.first_uuid_at(month.start), "end": ids.first_uuid_at(month.end)}
        with reading_cursor() as cursor:
            cursor.execute(_ROWS, {"accounts": list(accounts), **bounds})
            found = [(accounts[key], posting_kind, amount) for key, posting_kind, amount in cursor.fetchall()]
        found.sort(key=lambda row: (row[0].network, row[0].asset, row[0].kind, row[1]))
        for account, posting_kind, amount in found:
            decimals = scale(environment, account.network, account.asset)
            yield ResultRow(
                month, account.network, account.asset, decimals, AccountKind(account.kind), posting_kind, int(amount)
            )


def result_by_account(environment: str, months: Sequence[Days]) -> Iterator[ResultRow]:
    """The same by account alone, whatever postings it was by: from the sums of days, of which a year has few."""
    found = (
        DaySum.objects.filter(
            account__environment=environment,
            account__owner="",
            account__kind__in=kinds_where(group=Group.EQUITY),
            day__gte=months[0].first,
            day__lte=months[-1].last,
        )
        .annotate(month=TruncMonth("day"))
        .values_list("month", "account__network", "account__asset", "account__kind")
        .annotate(total=-Sum("amount"))
        .order_by("month", "account__network", "account__asset", "account__kind")
    )
    by_first = {month.first: month for month in months}
    for first, network, asset, kind, total in found:
        if total:
            decimals = scale(environment, network, asset)
            yield ResultRow(by_first[first], network, asset, decimals, AccountKind(kind), "", int(total))


def result_csv(environment: str, months: Iterable[Days]) -> Iterator[str]:
    """A row for each month, coin, account and kind of posting; below zero is what the house lost."""
    rows = (
        (
            environment,
            f"{row.month.first:%Y-%m}",
            row.network,
            row.asset,
            "result" if row.is_result else "capital",
            row.kind.value,
            row.kind.label,
            row.posting_kind,
            f"{from_units(row.amount, row.decimals):f}",
        )
        for row in result_of(environment, months)
    )
    return csv_lines(chain([COLUMNS], rows))
