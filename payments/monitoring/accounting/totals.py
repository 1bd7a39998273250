"""Balances of the ledger's accounts before an instant, summed by kind, network, coin and merchant.

Accounts that belong to one payment, deposit or payout are summed with all others of their kind: after a year there are
millions of them, and nearly all are empty.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain
from typing import Any, NamedTuple

from django.db.models import Sum

from config import ids
from config.database.replica import reading_cursor
from merchants.ledger.chart import CHART, AccountKind, Group, Owner
from merchants.ledger.day_sums import sums_before
from merchants.ledger.models import OF_RECORDS, Account, Entry
from merchants.models import Merchant
from payments.chains import registry

OF_MERCHANTS = tuple(kind.value for kind, rules in CHART.items() if rules.owner is Owner.MERCHANT)
"""Kinds of accounts that one merchant owns."""

_OF_RECORDS = [kind.value for kind, rules in CHART.items() if rules.owner in (Owner.PAYOUT, Owner.PAYMENT_OR_DEPOSIT)]

CAPITAL = ("treasury", "withdrawn", "spread:stock", "debt:offset", "debt:collected")
"""Kinds of equity that are no result: put in, taken out, or exchanged. All other equity is earned or spent."""


class SummedAccount(NamedTuple):
    """Accounts summed into one balance: a kind of account in one coin on one network, of one merchant if it has one."""

    kind: str
    network: str
    asset: str
    merchant: str = ""
    """Public id of the merchant, for the kinds of OF_MERCHANTS; empty for all others."""


@dataclass(frozen=True, slots=True)
class Movement:
    """Opening balance of an account before a period, and its movements in it: signed base units, debits positive."""

    opening: int = 0
    debits: int = 0
    credits: int = 0
    """Not above zero."""

    @property
    def closing(self) -> int:
        return self.opening + self.debits + self.credits


@dataclass
class CoinTotals:
    """The balances of one coin on one network by kind of account: natural, so that what is there is positive."""

    network: str
    asset: str
    decimals: int
    by_kind: dict[AccountKind, int] = field(default_factory=dict)

    def of_group(self, group: Group) -> int:
        """Sum of all accounts of the group: assets are liabilities plus equity. An expense takes off equity."""
        sign = 1 if group is Group.ASSET else -1
        kinds = [kind for kind in self.by_kind if kind.rules.group is group]
        return sum(kind.rules.natural(self.by_kind[kind]) * sign for kind in kinds)


_MOVEMENTS = f"""
    SELECT account.kind, account.network, account.asset,
        CASE WHEN account.kind = ANY(%(of_merchants)s) THEN account.owner ELSE '' END,
        coalesce(sum(entry.amount) FILTER (WHERE entry.posting_id < %(start)s), 0),
        coalesce(sum(entry.amount) FILTER (WHERE entry.posting_id >= %(start)s AND entry.amount > 0), 0),
        coalesce(sum(entry.amount) FILTER (WHERE entry.posting_id >= %(start)s AND entry.amount < 0), 0)
    FROM {Account._meta.db_table} AS account
    JOIN {Entry._meta.db_table} AS entry ON entry.account_id = account.id
    WHERE account.environment = %(environment)s AND entry.posting_id < %(end)s
    GROUP BY 1, 2, 3, 4
    ORDER BY 1, 2, 3, 4
"""  # noqa: S608 - the names of our own tables


def movements(environment: str, start: datetime, end: datetime) -> dict[SummedAccount, Movement]:
    """Balance of each account before `start`, and its movements from then until before `end`, sorted by account."""
    parameters: dict[str, Any] = {"environment": environment, "of_merchants": list(OF_MERCHANTS)}
    parameters |= {"start": ids.first_uuid_at(start), "end": ids.first_uuid_at(end)}
    with reading_cursor() as cursor:
        cursor.execute(_MOVEMENTS, parameters)
        return {
            SummedAccount(kind, network, asset, owner and ids.MERCHANT.encode(uuid.UUID(owner))): Movement(
                *map(int, sums)
            )
            for kind, network, asset, owner, *sums in cursor.fetchall()
        }


def balances_at(environment: str, at: datetime | None, *, merchant: Merchant | None = None) -> list[CoinTotals]:
    """Balances of the ledger now, or at an instant, for each coin of each network, sorted; empty kinds are left out.

    By every posting made until then, those of its millisecond included. Of a merchant: in its own accounts alone.
    From the sums of days, so that it takes no longer with more entries. The accounts of single payments are too many to
    be asked: what they have is what is left, as the entries of each posting sum to zero.
    """
    found: dict[tuple[str, str], CoinTotals] = {}
    for kind, network, asset, signed in _signed_balances(environment, at, merchant):
        coin = found.setdefault((network, asset), CoinTotals(network, asset, scale(environment, network, asset)))
        coin.by_kind[kind] = coin.by_kind.get(kind, 0) + kind.rules.natural(signed)
    for coin in found.values():
        coin.by_kind = {kind: coin.by_kind[kind] for kind in _in_order(coin) if coin.by_kind[kind]}
    return [found[key] for key in sorted(found) if found[key].by_kind]


def _signed_balances(
    environment: str, at: datetime | None, merchant: Merchant | None
) -> Iterator[tuple[AccountKind, str, str, int]]:
    """Kind, network, coin and sum of accounts; signed base units, debits positive."""
    left: Counter[tuple[str, str]] = Counter()
    for kind, network, asset, signed in chain(
        _of_accounts(environment, at, merchant), _of_records(environment, at) if merchant is None else ()
    ):
        left[network, asset] -= signed
        yield AccountKind(kind), network, asset, signed
    if merchant is None:
        for (network, asset), signed in left.items():
            yield AccountKind.PAYMENT, network, asset, signed


def _of_accounts(
    environment: str, at: datetime | None, merchant: Merchant | None
) -> Iterator[tuple[str, str, str, int]]:
    """Of accounts with sums of days: those of a merchant, or of the house and all merchants."""
    own = Account.objects.filter(environment=environment)
    if merchant is None:
        of_merchants = own.filter(OF_RECORDS, kind__in=OF_MERCHANTS)
        accounts = list(own.filter(owner="").union(of_merchants, all=True))
    else:
        accounts = list(own.filter(owner=str(merchant.pk)))
    signed = {account.pk: int(account.balance) for account in accounts}
    if at is not None:
        [signed] = sums_before(list(signed), at + timedelta(milliseconds=1))
    for account in accounts:
        yield account.kind, account.network, account.asset, signed.get(account.pk, 0)


def _of_records(environment: str, at: datetime | None) -> Iterator[tuple[str, str, str, int]]:
    """Of the accounts of single payouts, and of suspense."""
    rows, counted = Account.objects.filter(OF_RECORDS, environment=environment, kind__in=_OF_RECORDS), "balance"
    if at is not None:
        rows = rows.filter(entries__posting__lt=ids.first_uuid_at(at + timedelta(milliseconds=1)))
        counted = "entries__amount"
    found = rows.order_by().values_list("kind", "network", "asset").annotate(Sum(counted))
    yield from ((kind, network, asset, int(total)) for kind, network, asset, total in found)


def _in_order(coin: CoinTotals) -> Iterator[AccountKind]:
    """The kinds of a coin in the order of the chart."""
    return (kind for kind in CHART if kind in coin.by_kind)


def scale(environment: str, network: str, asset: str) -> int:
    """The digits of a coin's or native coin's amounts after the point."""
    native = registry.known_profile(environment, network).native
    return native.decimals if asset == native.code else registry.decimals(environment, network, asset)
