"""Payments of a merchant in groups: those of one network, coin, currency and status, of which each is listed newest
first.

A few payments that match a filter may be anywhere among millions, and none may match two that are each common. One
index has the groups one after the other. So the groups there are, at most some hundreds, are found by one step in it
each, and of each no more is read than a page has.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db.models import QuerySet

from config.database import prepared
from merchants.models import Merchant
from payments.models import Payment

COLUMNS = ("network", "cryptocurrency", "currency", "status")
"""In the order of the index `payment_groups`."""

_KEY = ", ".join(COLUMNS)
_PAYMENTS = Payment._meta.db_table


@dataclass(frozen=True)
class Groups:
    """Those with one of these values in each of these columns."""

    merchant: Merchant
    environment: str
    chosen: Mapping[str, Collection[str]]

    def newest(self, payments: QuerySet[Payment]) -> tuple[str, list[Any]]:
        """SELECT of the keys of an ordered and limited query's rows, and its parameters; the query has the conditions
        of these groups."""
        order = "DESC" if payments.query.order_by == ("-pk",) else "ASC"
        page = f"ORDER BY id {order} LIMIT {payments.query.high_mark}"
        sql, parameters = self._of_each(payments, page)
        return f"{sql} {page}", parameters

    def count(self, payments: QuerySet[Payment]) -> int:
        """How many of the payments there are in these groups."""
        try:
            keys, parameters = self._of_each(payments, "")
        except EmptyResultSet:
            return 0
        sql = f"SELECT COUNT(*) FROM ({keys}) AS counted"  # noqa: S608 - of our own names
        return int(prepared.rows(sql, parameters, is_planned_once=False)[0][0])

    def _of_each(self, payments: QuerySet[Payment], page: str) -> tuple[str, list[Any]]:
        """SELECT of the keys of a page of each group."""
        where, parameters = payments.query.get_compiler(payments.db).compile(payments.query.where)
        own, of_merchant = "merchant_id = %s AND environment = %s", [self.merchant.pk, str(self.environment)]
        chosen = " AND ".join(f"{name} = ANY(%s)" for name in self.chosen) or "TRUE"
        values = [list(each) for each in self.chosen.values()]
        first = f"SELECT {_KEY} FROM {_PAYMENTS} WHERE {own}"  # noqa: S608 - of our own names
        at_most = f"ORDER BY {_KEY} LIMIT 1"
        beyond = f"({_KEY}) > ({', '.join(f'groups.{name}' for name in COLUMNS)})"
        same = " AND ".join(f"{_PAYMENTS}.{name} = groups.{name}" for name in COLUMNS)
        sql = f"""
            WITH RECURSIVE groups AS (
                ({first} {at_most})
                UNION ALL
                SELECT following.* FROM groups, LATERAL ({first} AND {beyond} {at_most}) AS following
            )
            SELECT found.id FROM groups, LATERAL (
                SELECT id FROM {_PAYMENTS} WHERE {where} AND {same} {page}
            ) AS found WHERE {chosen}
        """  # noqa: S608 - of our own names
        return sql, [*of_merchant, *of_merchant, *parameters, *values]
