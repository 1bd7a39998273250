"""Finds records of every kind by an id, a part of a text, or an amount: one query for all kinds together."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple
from uuid import UUID

from django.apps import apps
from django.contrib import admin
from django.core.exceptions import FieldDoesNotExist
from django.db.models import Model, Q, TextField
from django.db.models.functions import Cast
from django.http import HttpRequest

from config.admin.values import name_of, page_of
from config.database.replica import reading_cursor
from config.ids import ALPHABET, PublicRecord
from config.money import AmountNotExact, to_units
from config.pages.typed_amounts import readings_of
from config.pages.wording import coins

MOST_SHOWN = 5
"""Records shown of each kind."""

NEWEST = 10_000
"""How many of the newest rows of each kind are searched for a part of a text; a whole one is found in all rows."""

SHORTEST_PART, SHORTEST_END = 3, 4

_AMOUNT = re.compile(r"(?P<number>\d[\d.,'\s\u2019]{0,24}?)(?:\s*(?P<code>[A-Za-z]{3,5}))?")
_DECIMALS = (6, 7, 18)
"""Numbers of decimals that coins have on any network."""


class Kind(NamedTuple):
    """The columns that a kind of record is found by, besides its id: `parts` in the newest rows, `whole` ones in all
    rows, by an index where there are many."""

    parts: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    coin: str = ""
    """The column of its coin, for kinds with an amount in `amount` and `decimals`."""


KINDS: dict[str, Kind] = {
    "payments.Payment": Kind(("deposit_address", "muxed_address", "memo")),
    "payments.Deposit": Kind(
        ("transaction_hash", "inner_hash", "sender", "recipient", "memo"), ("sender", "recipient"), "asset"
    ),
    "payments.Discrepancy": Kind(coin="asset"),
    "payments.PayerReturn": Kind(("transaction_hash", "recipient", "memo"), coin="asset"),
    "refunds.Refund": Kind(("transaction_hash", "destination", "memo"), coin="cryptocurrency"),
    "settlements.Settlement": Kind(("transaction_hash", "destination", "period_key"), coin="currency"),
    "transfers.Payout": Kind(("reference", "recipient", "memo"), ("reference",), "asset"),
    "transfers.Transfer": Kind(("transaction_hash",), ("envelopes__transaction_hash",)),
    "transfers.Wallet": Kind(("address",)),
    "payments.ColdWallet": Kind(("address",)),
    "payments.ColdMove": Kind(("transaction_hash", "recipient"), coin="asset"),
    "house.Withdrawal": Kind(("transaction_hash", "recipient"), coin="asset"),
    "house.AllowedAddress": Kind(("address", "label")),
    "losses.MissingCoins": Kind(("address",), coin="asset"),
    "merchants.Merchant": Kind(("name", "email")),
    "merchants.User": Kind(("email", "name")),
    "people.SignUp": Kind(("merchant_name",)),
    "people.Invitation": Kind(("email",)),
    "merchants.ApiKey": Kind(("name", "public_key"), ("public_key",)),
    "merchant_wallets.MerchantWallet": Kind(("address", "label")),
    "payments.PaymentLink": Kind(("code", "description")),
    "webhooks.Endpoint": Kind(("url",)),
    "webhooks.Event": Kind(),
    "webhooks.Delivery": Kind(),
    "invoices.Invoice": Kind(("number",), ("number",)),
    "settlements.DebtDecision": Kind(coin="asset"),
    "settlements.DebtOffset": Kind(coin="asset"),
    "ledger.Posting": Kind(("reference",)),
    "audit.LoggedAction": Kind(("record", "email")),
    "screening.ListedAddress": Kind((), ("address",)),
}
"""In the order of the results."""


@dataclass(frozen=True)
class Typed:
    """A text to search for. `spellings` are the forms in which it would be stored if it is an address or a hash."""

    text: str
    spellings: Collection[str]

    @cached_property
    def parts(self) -> list[str]:
        """The text in lower case; of a shortened id or hash, such as `pay_…vr8zayn1`, both ends."""
        return [part for part in re.split("…|\\.\\.\\.", self.text.lower()) if part]

    @property
    def longest(self) -> str:
        return max(self.parts, key=len, default="")

    @cached_property
    def amounts(self) -> list[Decimal]:
        typed = _AMOUNT.fullmatch(self.text)
        return readings_of(typed["number"]) if typed else []

    @property
    def code(self) -> str:
        """The coin or the currency of an amount, in upper case, or nothing."""
        typed = _AMOUNT.fullmatch(self.text)
        return (typed["code"] or "").upper() if typed else ""

    def is_in(self, expression: str) -> tuple[str, list[Any]]:
        """Condition in SQL, with its values, that a text in lower case has all parts, in this order, in one line."""
        if len(self.parts) == 1:
            return f"strpos({expression}, %s) > 0", self.parts
        return f"{expression} ~ %s", ["[^\\n]*".join(map(re.escape, self.parts))]

    def cut(self, value: str) -> tuple[str, str, str]:
        """What a text has before the last part, that part, and what it has after it."""
        start = value.lower().rfind(self.parts[-1])
        end = start + len(self.parts[-1])
        return ("", value, "") if start < 0 else (value[:start], value[start:end], value[end:])


class Hit(NamedTuple):
    """A record that was found, and the text that matched: its label, and the text before, in and after the match."""

    key: Any
    name: str
    url: str
    label: str
    before: str
    part: str
    after: str


@dataclass(frozen=True)
class Group:
    title: str
    hits: Sequence[Hit]


_Question = tuple[str, list[Any]]


def find_records(
    site: admin.AdminSite, request: HttpRequest, typed: Typed, *, also: Mapping[str, Sequence[tuple[str, Q]]]
) -> dict[str, Group]:
    """The records that this person may see, by kind: one query, and one more for each kind that was found.

    `also` are further conditions for whole texts, by kind, with the column that each is of.
    """
    pages = {label: site._registry[model] for label in KINDS if (model := apps.get_model(label)) in site._registry}
    asked = [(page, label) for label, page in pages.items() if page.has_view_permission(request)]
    questions = [
        (label, question) for page, label in asked for question in _questions(page.model, typed, also.get(label, ()))
    ]
    found: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for number, key, column in _answers([question for _, question in questions]):
        found[questions[number][0]].setdefault(key, column)
    return {label: _group(page.model, found[label], typed) for page, label in asked if label in found}


# --- questions ---------------------------------------------------------------------------------------


def _questions(model: type[Model], typed: Typed, also: Sequence[tuple[str, Q]]) -> Iterator[_Question]:
    """Statements in SQL that select keys of rows, as texts, and the column that matched, with their values."""
    kind = KINDS[model._meta.label]
    rows = model._default_manager.order_by()
    exact = [*also, *((column, Q(**{f"{column}__in": typed.spellings})) for column in kind.whole)]
    if ids := _keys(model, typed.text):
        exact.append(("id", ids))
    for column, condition in exact:
        keys = rows.filter(condition).values(key=Cast("pk", TextField()))[:MOST_SHOWN]
        sql, params = keys.query.sql_with_params()
        yield f"SELECT key, %s::text AS found FROM ({sql}) AS whole", [column, *params]  # noqa: S608
    tests = list(_tests(model, kind, typed))
    if tests:
        yield _among_newest(model, tests)


def _keys(model: type[Model], text: str) -> Q | None:
    """Condition for the record of this id, or for those whose ids begin with it; None if it is no such text."""
    text = text.lower()
    if not issubclass(model, PublicRecord):
        return _uuid(model, text)
    if (key := model.public_ids.decode(text)) is not None:
        return Q(pk=key)
    prefix, _, body = text.partition("_")
    if prefix == model.public_ids.prefix and len(body) >= SHORTEST_END:
        first, last = (model.public_ids.decode(f"{prefix}_{body.ljust(26, each)}") for each in "0z")
        if first and last:
            return Q(pk__range=(first, last))
    return _uuid(model, text)


def _uuid(model: type[Model], text: str) -> Q | None:
    if model._meta.pk.get_internal_type() != "UUIDField" or len(text) not in (32, 36):
        return None
    try:
        return Q(pk=UUID(text))
    except ValueError:
        return None


def _tests(model: type[Model], kind: Kind, typed: Typed) -> Iterator[tuple[str, str, list[Any]]]:
    """Conditions on the newest rows: a column, the condition in SQL and its values."""
    if issubclass(model, PublicRecord) and (digits := _end_of_key(typed.parts, model.public_ids.prefix)):
        yield "id", f"right(replace(id::text, '-', ''), {len(digits)}) = %s", [digits]
    if len(typed.longest) >= (SHORTEST_PART if typed.text.isascii() else 2):
        for column in kind.parts:
            yield column, *typed.is_in(f"lower({column})")
    if kind.coin and typed.amounts:
        of_coin, code = (f" AND upper({kind.coin}) = %s", [typed.code]) if typed.code else ("", [])
        for amount in typed.amounts:
            for decimals in _DECIMALS:
                try:
                    units = to_units(amount, decimals)
                except AmountNotExact:
                    continue
                yield "amount", f"(decimals = %s AND amount = %s{of_coin})", [decimals, units, *code]


def _end_of_key(parts: Sequence[str], prefix: str) -> str:
    """The last hexadecimal digits of the keys of records whose public ids end with these parts; empty if none can."""
    *others, end = parts or [""]
    if others and others != [f"{prefix}_"]:
        return ""
    if not SHORTEST_END <= len(end) <= 25 or any(each not in ALPHABET for each in end):
        return ""
    bits = 0
    for each in end[-24:]:
        bits = bits << 5 | ALPHABET.index(each)
    digits = min(len(end), 24) * 5 // 4
    return f"{bits & (1 << 4 * digits) - 1:0{digits}x}"


def _among_newest(model: type[Model], tests: Sequence[tuple[str, str, list[Any]]]) -> _Question:
    key, table = str(model._meta.pk.column), model._meta.db_table
    columns = {key, *(column for column, _, _ in tests)}
    if "amount" in columns:
        columns |= {"decimals", KINDS[model._meta.label].coin}
    cases = " ".join(f"WHEN {condition} THEN %s::text" for _, condition, _ in tests)
    values = [each for column, _, params in tests for each in (*params, column)]
    newest = f"SELECT {', '.join(sorted(columns))} FROM {table} ORDER BY {key} DESC LIMIT {NEWEST}"  # noqa: S608
    tested = f"SELECT {key}, CASE {cases} END AS found FROM ({newest}) AS newest"  # noqa: S608
    shown = f"SELECT {key}::text AS key, found FROM ({tested}) AS tested WHERE found IS NOT NULL"  # noqa: S608
    return f"{shown} LIMIT {MOST_SHOWN}", values


def _answers(questions: Sequence[_Question]) -> Iterator[tuple[int, str, str]]:
    """The number of the question, the key and the column of each row that was found."""
    if not questions:
        return
    parts = (f"(SELECT {n}, key, found FROM ({sql}) AS asked)" for n, (sql, _) in enumerate(questions))  # noqa: S608
    statement = " UNION ALL ".join(parts)
    with reading_cursor() as cursor:
        cursor.execute(statement, [each for _, params in questions for each in params])
        yield from cursor.fetchall()


# --- results -----------------------------------------------------------------------------------------


def _group(model: type[Model], columns: Mapping[str, str], typed: Typed) -> Group:
    hits = []
    for record in model._default_manager.filter(pk__in=columns).order_by("-pk")[:MOST_SHOWN]:
        column = columns[str(record.pk)]
        name, matched = name_of(record, is_page=True), typed.cut(_shown(record, column, typed))
        hits.append(Hit(record.pk, name, page_of(model, record.pk), _label(model, column), *matched))
    return Group(title_of(model), hits)


def title_of(model: type[Model]) -> str:
    words = str(model._meta.verbose_name_plural)
    return words[:1].upper() + words[1:]


def _shown(record: Any, column: str, typed: Typed) -> str:
    if column == "id":
        return record.public_id if isinstance(record, PublicRecord) else str(record.pk)
    if column == "amount":
        return coins(record.amount, record.decimals, getattr(record, KINDS[record._meta.label].coin))
    return str(getattr(record, column, typed.text))


def _label(model: type[Model], column: str) -> str:
    """The field's name for people; of a column of another table its name in words."""
    try:
        return str(model._meta.get_field(column).verbose_name)  # type: ignore[union-attr]
    except FieldDoesNotExist:
        return column.rpartition("__")[2].replace("_", " ")
