"""The house's result: what it earned and what it spent in a month, by network, coin and account.

All equity of the chart is in it, so that the change of what is the house's own is the result plus what was put in,
taken out or exchanged (CAPITAL). Amounts are in the coins themselves: coins of different kinds are never summed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import chain

from django.db import connection

from config import ids
from config.money import from_units
from config.pages.files import csv_lines
from merchants.ledger.chart import AccountKind, Group, kinds_where
from merchants.ledger.models import Account, Entry, Posting
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


_ROWS = f"""
    SELECT account.network, account.asset, account.kind, posting.kind, -sum(entry.amount)
    FROM {Account._meta.db_table} AS account
    JOIN {Entry._meta.db_table} AS entry ON entry.account_id = account.id
        AND entry.posting_id >= %(start)s AND entry.posting_id < %(end)s
    JOIN {Posting._meta.db_table} AS posting ON posting.id = entry.posting_id
    WHERE account.environment = %(environment)s AND account.kind = ANY(%(kinds)s)
    GROUP BY 1, 2, 3, 4
    HAVING sum(entry.amount) <> 0
    ORDER BY 1, 2, 3, 4
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
    for month in months:
        bounds = ids.first_uuid_at(month.start), ids.first_uuid_at(month.end)
        with connection.cursor() as cursor:
            cursor.execute(_ROWS, {"environment": environment, "kinds": kinds, "start": bounds[0], "end": bounds[1]})
            rows = cursor.fetchall()
        for network, asset, kind, posting_kind, amount in rows:
            decimals = scale(environment, network, asset)
            yield ResultRow(month, network, asset, decimals, AccountKind(kind), posting_kind, int(amount))


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
