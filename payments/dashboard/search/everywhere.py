"""Finds payments of all merchants by what an operator types."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import BigIntegerField

from config.admin.search import MOST_SHOWN, Typed
from config.database.replica import reading_cursor
from config.environments import Environment
from config.money import FIAT_DIGITS, AmountNotExact, to_units
from config.pages.wording import coins_to_send
from merchants.models import Merchant
from payments.dashboard.search.models import SearchEntry
from payments.dashboard.search.pieces import LENGTH, SHORT, STEP, alternatives, as_array, folded, span_of
from payments.dashboard.search.texts import Match, texts_of
from payments.models import Payment

NEWEST = 5_000
"""How many of the newest entries of all merchants are searched without an index."""

MOST_SPANS = 1_500
"""How often one search reads the index at most: once for each merchant and three days, 122 times for a year of one."""

MOST_PIECES = 5
"""How many pieces of a text the index is read for; the whole text is compared afterwards."""

OF_ONE_PRICE = 200
"""How many of a merchant's newest payments of a price are compared by currency."""

_ENTRIES, _PAYMENTS, _MERCHANTS = SearchEntry._meta.db_table, Payment._meta.db_table, Merchant._meta.db_table

_PLACES = f"""
    SELECT merchant.id, place.environment, newest.payment_id, oldest.payment_id
    FROM {_MERCHANTS} AS merchant, unnest(%s::text[]) AS place (environment),
    LATERAL (SELECT payment_id FROM {_ENTRIES} WHERE merchant_id = merchant.id AND environment = place.environment
        ORDER BY payment_id DESC LIMIT 1) AS newest,
    LATERAL (SELECT payment_id FROM {_ENTRIES} WHERE merchant_id = merchant.id AND environment = place.environment
        ORDER BY payment_id LIMIT 1) AS oldest
    ORDER BY newest.payment_id DESC
"""  # noqa: S608 - the tables' own names

_AMONG_NEWEST = f"""
    SELECT payment_id FROM (SELECT payment_id, text FROM {_ENTRIES} ORDER BY payment_id DESC LIMIT %s) AS newest
    WHERE {{condition}} LIMIT %s
"""  # noqa: S608

_BY_INDEX = f"""
    SELECT found.payment_id FROM unnest(%s::text[], %s::text[]) AS span (even, odd), LATERAL (
        SELECT payment_id FROM (
            SELECT payment_id FROM {_ENTRIES}
            WHERE (pieces @> span.even::integer[] OR pieces @> span.odd::integer[]) AND {{condition}} OFFSET 0
        ) AS entry ORDER BY payment_id DESC
    ) AS found LIMIT %s
"""  # noqa: S608

_OF_PRICES = f"""
    SELECT found.id FROM unnest(%s::uuid[], %s::text[]) AS place (merchant, environment),
    unnest(%s::bigint[], %s::text[]) AS price (amount, currencies), LATERAL (
        SELECT id FROM (
            SELECT id, currency FROM {_PAYMENTS} WHERE merchant_id = place.merchant
            AND environment = place.environment AND fiat_amount = price.amount ORDER BY id DESC LIMIT %s
        ) AS alike WHERE currency = ANY(string_to_array(price.currencies, ',')) LIMIT %s
    ) AS found ORDER BY found.id DESC LIMIT %s
"""  # noqa: S608


class Place(NamedTuple):
    """A merchant's payments of one environment, with the newest and the oldest."""

    merchant: UUID
    environment: str
    newest: UUID
    oldest: UUID

    @property
    def spans(self) -> range:
        return range(span_of(self.newest), span_of(self.oldest) - 1, -1)


@dataclass(frozen=True)
class Found:
    """The newest payments that were found, each with the text that matched; None where the price did.

    `following` is where a search goes on that has not come to all merchants; 0 when it has.
    """

    payments: list[tuple[Payment, Match | None]]
    following: int = 0


def find_payments(typed: Typed, *, first: int = 0) -> Found:
    """Payments whose text has what was typed, or whose price it is: of the newest, then of all payments of the
    merchants from this place on, as far as one search goes. At most six queries."""
    places = _places()
    looked_at = _within(places[first:])
    found = _of_prices(typed, looked_at)
    for each in _texts(typed):
        if first == 0 and len(each.longest) >= LENGTH:
            found += _keys(_AMONG_NEWEST, each, [NEWEST], [MOST_SHOWN])
        if len(set(found)) < MOST_SHOWN and len(each.longest) >= SHORT:
            found += _keys(_BY_INDEX, each, _pieces(each.longest, looked_at), [MOST_SHOWN])
    reached = first + len(looked_at)
    return Found(_with_matches(typed, found), reached if reached < len(places) else 0)


def _places() -> list[Place]:
    with reading_cursor() as cursor:
        cursor.execute(_PLACES, [Environment.values])
        return [Place(*row) for row in cursor.fetchall()]


def _within(places: Sequence[Place]) -> Sequence[Place]:
    """The first places, as many as one search reads."""
    spans = 0
    for number, place in enumerate(places):
        spans += len(place.spans)
        if spans > MOST_SPANS and number:
            return places[:number]
    return places


def _texts(typed: Typed) -> list[Typed]:
    """The text as entries have it: an amount of coins is a line of its own, with no marks between its digits."""
    if not (typed.amounts and typed.code) or typed.code in FIAT_DIGITS:
        return [Typed(folded(typed.text), ())]
    return [Typed(f"\n{_coins(amount)} {typed.code}", ()) for amount in typed.amounts]


def _coins(amount: Any) -> str:
    with suppress(AmountNotExact):
        return coins_to_send(to_units(amount, 18), 18)
    return f"{amount:f}"


def _keys(statement: str, typed: Typed, before: list[Any], after: list[Any]) -> list[UUID]:
    condition, values = typed.is_in("text")
    with reading_cursor() as cursor:
        cursor.execute(statement.format(condition=condition), [*before, *values, *after])
        return [key for (key,) in cursor.fetchall()]


def _pieces(part: str, places: Sequence[Place]) -> list[list[str | None]]:
    """The alternatives of a part for each merchant and span, the newest span first: the first ones, and the others."""
    part = part.strip()
    sparser = -(-len(part) // (STEP * MOST_PIECES))
    spans = [(span, place.merchant, place.environment) for place in places for span in place.spans]
    spans.sort(key=lambda each: each[0], reverse=True)
    found = [alternatives(part, merchant, environment, span, sparser=sparser) for span, merchant, environment in spans]
    return [[as_array(each[place]) for each in found] for place in range(STEP)]


def _of_prices(typed: Typed, places: Sequence[Place]) -> list[UUID]:
    prices = []
    for digits in sorted(set(FIAT_DIGITS.values())):
        own = [code for code, each in FIAT_DIGITS.items() if each == digits and typed.code in ("", code)]
        for amount in typed.amounts if own else []:
            with suppress(AmountNotExact):
                prices.append((to_units(amount, digits), ",".join(own)))
    prices = [price for price in prices if price[0] <= BigIntegerField.MAX_BIGINT]
    if not prices:
        return []
    with reading_cursor() as cursor:
        values: list[Any] = [[place.merchant for place in places], [place.environment for place in places]]
        values += [[amount for amount, _ in prices], [currencies for _, currencies in prices]]
        values += [OF_ONE_PRICE, MOST_SHOWN, MOST_SHOWN]
        cursor.execute(_OF_PRICES, values)
        return [key for (key,) in cursor.fetchall()]


def _with_matches(typed: Typed, keys: Sequence[UUID]) -> list[tuple[Payment, Match | None]]:
    newest = sorted(set(keys), reverse=True)[:MOST_SHOWN]
    if not newest:
        return []
    payments = Payment.objects.filter(pk__in=newest)
    part = _texts(typed)[-1].parts[-1].strip()
    matches = {texts.payment.pk: texts.match(part) for texts in texts_of(payments)}
    found = payments.select_related("merchant").defer("qr_png").order_by("-pk")
    return [(payment, matches.get(payment.pk)) for payment in found]
