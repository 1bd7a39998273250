"""Balances of the ledger's accounts before an instant, summed by kind, network, coin and merchant.

Accounts that belong to one payment, deposit or payout are summed with all others of their kind: after a year there are
millions of them, and nearly all are empty.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import connection

from config import ids
from merchants.ledger.chart import CHART, AccountKind, Group, Owner
from merchants.ledger.models import Account, Entry
from merchants.models import Merchant
from payments.chains import registry

OF_MERCHANTS = tuple(kind.value for kind, rules in CHART.items() if rules.owner is Owner.MERCHANT)
"""Kinds of accounts that one merchant owns."""

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
        AND (%(owner)s = '' OR account.owner = %(owner)s)
    GROUP BY 1, 2, 3, 4
    ORDER BY 1, 2, 3, 4
"""  # noqa: S608 - the names of our own tables


def movements(
    environment: str, start: datetime, end: datetime, *, merchant: Merchant | None = None
) -> dict[SummedAccount, Movement]:
    """Balance of each account before `start`, and its movements from then until before `end`, sorted by account.

    Of a merchant: its own accounts alone.
    """
    owner = "" if merchant is None else str(merchant.pk)
    parameters: dict[str, Any] = {"environment": environment, "owner": owner, "of_merchants": list(OF_MERCHANTS)}
    parameters |= {"start": ids.first_uuid_at(start), "end": ids.first_uuid_at(end)}
    with connection.cursor() as cursor:
        cursor.execute(_MOVEMENTS, parameters)
        return {
            SummedAccount(kind, network, asset, owner and ids.MERCHANT.encode(uuid.UUID(owner))): Movement(
                *map(int, sums)
            )
            for kind, network, asset, owner, *sums in cursor.fetchall()
        }


def balances_at(environment: str, at: datetime, *, merchant: Merchant | None = None) -> list[CoinTotals]:
    """Balances of the ledger at an instant, for each coin of each network, sorted; empty kinds are left out.

    By every posting made until then, those of its millisecond included. Of a merchant: in its own accounts alone.
    """
    end = at + timedelta(milliseconds=1)
    found: dict[tuple[str, str], CoinTotals] = {}
    for account, movement in movements(environment, end, end, merchant=merchant).items():
        key = account.network, account.asset
        coin = found.setdefault(key, CoinTotals(*key, scale(environment, *key)))
        kind = AccountKind(account.kind)
        coin.by_kind[kind] = coin.by_kind.get(kind, 0) + kind.rules.natural(movement.opening)
    for coin in found.values():
        coin.by_kind = {kind: coin.by_kind[kind] for kind in _in_order(coin) if coin.by_kind[kind]}
    return [found[key] for key in sorted(found)]


def _in_order(coin: CoinTotals) -> Iterator[AccountKind]:
    """The kinds of a coin in the order of the chart."""
    return (kind for kind in CHART if kind in coin.by_kind)


def scale(environment: str, network: str, asset: str) -> int:
    """The digits of a coin's or native coin's amounts after the point."""
    native = registry.known_profile(environment, network).native
    return native.decimals if asset == native.code else registry.decimals(environment, network, asset)
