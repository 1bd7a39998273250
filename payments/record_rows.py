"""Rows of payments as records show them, each with its deposits: one statement, whose columns need no model."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple, Self

import orjson
from django.core.exceptions import EmptyResultSet
from django.db.models import Func, Lookup, QuerySet, TextField
from django.db.models.expressions import Col
from django.db.models.sql.where import AND, WhereNode

from config import ids
from config.database import prepared
from merchants.models import Merchant
from payments.groups import Groups
from payments.models import Payment

TRANSFERS_SHOWN = 100
"""Transfers in a payment's record, the first that were seen. `GET /payments/:id/transfers` has all of them."""


class Written(Func):
    """A value that the database writes as text for replies, at a fifth of the cost of doing it here."""

    output_field = TextField()

    @classmethod
    def instant(cls, name: str) -> Self:
        return cls(name, template=_INSTANT.format("%(expressions)s"))

    @classmethod
    def as_text(cls, name: str) -> Self:
        return cls(name, template="%(expressions)s::text")

    @classmethod
    def decimal(cls, name: str) -> Self:
        return cls(name, template="trim_scale(%(expressions)s)::text")


_INSTANT = """to_char({} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')"""


class ShownDeposit(NamedTuple):
    """The columns of a transfer in a record."""

    id: uuid.UUID
    transaction_hash: str
    amount: int
    decimals: int
    asset: str
    network: str
    status: str
    height: int
    missing: int
    conflicting_memo: str
    seen_at: str
    head: int | None
    """Height of the network's tip, for one that waits for confirmations."""


class ShownPayment(NamedTuple):
    """The columns of a record, in the form it shows them."""

    id: uuid.UUID
    status: str
    fiat_amount: int
    currency: str
    due: int
    decimals: int
    cryptocurrency: str
    network: str
    qr_png: bytes
    expires_at: str
    received: int
    refunded: int
    rate: str
    rate_source: str
    rate_quoted_at: str
    deposit_address: str
    memo: str
    muxed_address: str
    payment_uri: str
    required_confirmations: int
    status_reasons: list[str]
    merchant_wallet: str
    redirect_url: str
    cancel_url: str
    webhook_url: str
    expires_in: int
    metadata: str
    description: str
    items: str
    note: str
    environment: str
    completed_at: str | None
    closed_at: str | None
    cancelled_at: str | None
    version: int
    deposit_count: int
    payment_link_id: uuid.UUID | None
    choices: str
    chosen_at: str | None
    deposits: Sequence[ShownDeposit]


_INSTANTS = {"expires_at", "rate_quoted_at", "completed_at", "closed_at", "cancelled_at", "chosen_at"}
_JSON = {"metadata", "items", "choices"}
_UNITS = ("due", "received", "refunded")
_PLACES_OF_UNITS = [ShownPayment._fields.index(name) for name in _UNITS]
_WRITTEN = {
    **dict.fromkeys(_INSTANTS, Written.instant),
    **dict.fromkeys((*_JSON, *_UNITS), Written.as_text),
    "rate": Written.decimal,
}
_COLUMNS = tuple(_WRITTEN[name](name) if name in _WRITTEN else name for name in ShownPayment._fields[:-1])

# The first transfers, and the newest that waits for confirmations: it has the fewest.
_DEPOSITS = f"""
    CASE WHEN payments_payment.deposit_count > 0 THEN (
        SELECT json_agg(json_build_array(
            id, transaction_hash, amount::text, decimals, asset, network, status, height, missing::text,
            conflicting_memo, {_INSTANT.format("seen_at")}, CASE WHEN status = 'seen' THEN (
                SELECT head_height FROM payments_scancursor AS tip
                WHERE tip.environment = payments_payment.environment AND tip.network = deposit.network
            ) END
        ))::text FROM (
            (SELECT * FROM payments_deposit WHERE payment_id = payments_payment.id ORDER BY id LIMIT {TRANSFERS_SHOWN})
            UNION ALL
            (SELECT * FROM payments_deposit WHERE payments_payment.deposit_count > {TRANSFERS_SHOWN}
                AND payment_id = payments_payment.id AND status = 'seen' AND network = payments_payment.network
                AND asset = payments_payment.cryptocurrency ORDER BY height DESC, id DESC LIMIT 1)
        ) AS deposit
    ) END
"""  # noqa: S608 - a number and our own columns


@cache
def _select() -> str:
    """The columns of a ShownPayment, and their table, as SQL: to have Django write it each time would take longer than
    to read the row."""
    sql, _ = Payment.objects.order_by().values_list(*_COLUMNS).query.sql_with_params()
    columns, table = str(sql).split(" FROM ")
    return f"{columns}, {_DEPOSITS} FROM {table}"


def payment_row(merchant: Merchant, environment: str, key: uuid.UUID) -> ShownPayment | None:
    """A payment, if the merchant has it."""
    # The plan is kept, and one that was made of an empty table may take any index that a condition fits: only the key's
    # does here.
    whose = "merchant_id IS NOT DISTINCT FROM %s AND environment IS NOT DISTINCT FROM %s"
    rows = prepared.rows(f"{_select()} WHERE id = %s AND {whose}", [key, merchant.pk, str(environment)], is_binary=True)
    return _shown(rows[0]) if rows else None


def page_rows(payments: QuerySet[Payment], groups: Groups | None = None) -> list[ShownPayment]:
    """The payments of a page, which are ordered by their keys and in these groups."""
    query = payments.query
    if sum(map(bool, query.alias_refcount.values())) > 1:
        raise RuntimeError("a list of payments is narrowed by their own columns")
    columns: tuple[str, ...] = ("id",)
    try:
        if groups is not None:
            keys, parameters = groups.newest(payments)
            where = f"id = ANY(ARRAY({keys}))"
        elif (found := _range_of(query.where)) is not None:
            columns, where, parameters = found
        else:
            where, parameters = query.get_compiler(payments.db).compile(query.where)
    except EmptyResultSet:
        return []
    order = "DESC" if query.order_by == ("-pk",) else "ASC"
    ordered = ", ".join(f"{name} {order}" for name in columns)
    sql = f"{_select()} WHERE {where} ORDER BY {ordered} LIMIT {query.high_mark}"
    # A plan made of a small table reads all of it, and is kept while it grows, until the next ANALYZE.
    rows = prepared.rows(sql, parameters, is_planned_once=False, is_binary=True)
    return [_shown(row) for row in rows]


_LISTS = {
    frozenset(columns): (*columns, "id")
    for columns in (("merchant_id", "environment"), ("merchant_id", "environment", "status"))
}
"""The indexes of lists: their columns, by those before the key."""
_ABOVE, _BELOW = {"gt": ">", "gte": ">="}, {"lt": "<", "lte": "<="}


def _range_of(where: WhereNode) -> tuple[tuple[str, ...], str, list[Any]] | None:
    """All payments of a merchant, or those of one status, as a range of the rows of their index: its columns, the
    condition and its parameters. None of any other condition.

    By `merchant_id = …` the planner would take a merchant with most payments to have the newest as well, and would go
    along the keys of all: past any number of others' payments, once this merchant has none any more. A range has one
    index that is right, however many of the payments are this merchant's.
    """
    equal: dict[str, Any] = {}
    first, last = (ids.FIRST_KEY, ">="), (ids.LAST_KEY, "<=")
    for each in where.children:
        if not isinstance(each, Lookup) or not isinstance(each.lhs, Col) or hasattr(each.rhs, "resolve_expression"):
            return None
        name, value, how = each.lhs.target.attname, each.rhs, each.lookup_name
        # One bound on either side, the closest: of two ranges of rows PostgreSQL would go through all of the wider one.
        if name == "id" and how in _ABOVE:
            first = max(first, (value, _ABOVE[how]), key=lambda bound: (bound[0], bound[1] == ">"))
        elif name == "id" and how in _BELOW:
            last = min(last, (value, _BELOW[how]))
        elif name not in equal and (how == "exact" or (how == "in" and isinstance(value, list) and len(value) == 1)):
            equal[name] = value[0] if how == "in" else value
        else:
            return None
    if where.negated or where.connector != AND or (columns := _LISTS.get(frozenset(equal))) is None:
        return None
    row, values = ", ".join(columns), ", ".join(["%s"] * len(columns))
    of_list = [equal[name] for name in columns[:-1]]
    condition = f"({row}) {first[1]} ({values}) AND ({row}) {last[1]} ({values})"
    return columns, condition, [*of_list, first[0], *of_list, last[0]]


def deposits_of(payment_id: uuid.UUID) -> list[ShownDeposit]:
    """The deposits that a payment's record shows, as they are now."""
    [(text,)] = prepared.rows(f"SELECT {_DEPOSITS} FROM payments_payment WHERE id = %s", [payment_id])  # noqa: S608
    return _deposits(text)


def _shown(row: tuple[Any, ...]) -> ShownPayment:
    values = list(row)
    for place in _PLACES_OF_UNITS:
        values[place] = int(values[place])
    values[-1] = _deposits(values[-1]) if values[-1] else ()
    return ShownPayment._make(values)


def _deposits(text: str | None) -> list[ShownDeposit]:
    """In the order of their keys, each once."""
    found = {}
    for key, transaction_hash, amount, *middle, missing, memo, seen_at, head in orjson.loads(text or "[]"):
        columns = (uuid.UUID(key), transaction_hash, int(amount), *middle, int(missing), memo, seen_at, head)
        found[key] = ShownDeposit._make(columns)
    return [found[key] for key in sorted(found)]
