"""Finds a merchant's payments by what a person types: newest first, at a cost that hardly grows with their number."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property, reduce
from itertools import product
from operator import or_
from typing import Any

from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.db.models.expressions import RawSQL
from django.db.models.lookups import Contains
from django.utils import timezone

from config import ids
from config.database.replica import reading_cursor
from config.money import FIAT_DIGITS, AmountNotExact, to_units
from config.pages.typed_amounts import readings_of
from merchants.models import Merchant
from payments.chains import registry
from payments.chains.errors import InvalidAddress
from payments.chains.protocol.chain import Chain
from payments.chains.recipients import person_of
from payments.dashboard.search.models import NO_DEPOSIT, SearchEntry
from payments.dashboard.search.pieces import LENGTH, SHORT, STEP, alternatives, as_array, folded, span_of
from payments.dashboard.search.texts import texts_of
from payments.models import Deposit, Payment

NEWEST = 1_000
"""So many of the newest payments are looked through first: what many payments contain is found there."""

RARE = 10_000
"""Text that few of the newest payments contain is searched by the index, in so many payments that contain it, newest
first. Where other filters leave too few of these, a search ends there and says so."""

SURE = LENGTH + STEP - 1
"""From so many characters on a text is found wherever it stands. Of a shorter one the index alone decides, which lacks
pieces of ids, addresses and hashes, and has none of two characters of them."""

_OF_SPANS = f"""
    SELECT found.payment_id FROM unnest(%s::text[], %s::text[]) AS span (even, odd), LATERAL (
        SELECT payment_id FROM (
            SELECT payment_id FROM {SearchEntry._meta.db_table}
            WHERE (pieces @> span.even::integer[] OR pieces @> span.odd::integer[])
            AND strpos(text, %s) > 0 AND payment_id < %s OFFSET 0
        ) AS entry ORDER BY payment_id DESC
    ) AS found LIMIT %s
"""  # noqa: S608 - the table's own name
"""Goes through the spans in their order, and ends in that in which enough is found. `OFFSET 0` has the pieces read from
their index, where the planner would rather walk along the keys."""

Payments = QuerySet[Payment, Payment]

_HASH = re.compile(r"(0x)?[0-9A-Fa-f]{64}")
_AMOUNT = re.compile(r"(?P<number>\d[\d.,'\s\u2019]{0,24}?)(?:\s*(?P<currency>[A-Za-z]{3}))?")


# --- one payment by exactly this ---------------------------------------------------------------------


def find_payment(merchant: Merchant, environment: str, text: str) -> Payment | None:
    """The payment of this id, deposit address, memo or on-chain transaction; the newest when several fit."""
    own = Payment.objects.of(merchant, environment).order_by("-id")
    text = text.strip()
    if (key := ids.PAYMENT.decode(text.lower())) is not None:
        return own.filter(id=key).first()
    filters = _address_filters(environment, text)
    if found := next((found for place in filters if (found := own.paid_at(*place).first())), None):
        return found
    if not _HASH.fullmatch(text):
        return None
    spellings = {text, text.lower(), text.removeprefix("0x"), f"0x{text.lower()}"}
    seen = Deposit.objects.filter(environment=environment, network__in=registry.networks(environment))
    # Two questions, so that each has its index; and only a fee bump has a second hash.
    hashes = (seen.filter(transaction_hash__in=spellings), seen.filter(inner_hash__in=spellings))
    return next((found for each in hashes if (found := own.filter(id__in=each.values("payment_id")).first())), None)


def _address_filters(environment: str, text: str) -> list[tuple[list[str], list[str]]]:
    """Addresses and memos of payments that are paid at this address, or with this memo."""
    filters = []
    for network in registry.networks(environment):
        chain = registry.chain(environment, network)
        if chain.profile.shares_account:
            filters.append(([chain.payout_address()], [person_of(text) or text]))
            continue
        try:
            filters.append(([chain.parse_address(text)], [""]))
        except InvalidAddress:
            continue
    return filters


# --- all payments that fit ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    """Payments that fit, newest first, and the key below which a search goes on that ended before it had looked at
    all; None when it has, or has found as many as were wanted."""

    payments: list[Payment]
    following: uuid.UUID | None = None


@dataclass(frozen=True)
class Searched:
    """The search text, for one merchant and environment."""

    merchant: Merchant
    environment: str
    text: str

    @property
    def is_too_short(self) -> bool:
        """True if the text is too short to search payments that contain it."""
        return len(self._part) < SHORT

    def newest(self, payments: Payments, *, before: uuid.UUID | None, limit: int) -> Found:
        """The newest of these payments that fit, at most so many, from below a key on."""
        if before is not None:
            payments = payments.filter(pk__lt=before)
        found: dict[uuid.UUID, Payment] = {}

        def add(condition: Q) -> int:
            more = list(payments.filter(condition).order_by("-pk")[:limit])
            found.update((payment.pk, payment) for payment in more)
            return len(more)

        if amounts := self._amounts():
            add(reduce(or_, amounts))
        if self._is_address():
            add(Q(pk__in=self._sent_from()))
        following = None
        if not self.is_too_short:
            following = self._add_containing(payments, before or ids.LAST_KEY, limit, add)
        within = [payment for key, payment in found.items() if following is None or key >= following]
        newest = sorted(within, key=lambda payment: payment.pk, reverse=True)[:limit]
        return Found(newest, following if len(newest) < limit else None)

    def _add_containing(
        self, payments: Payments, before: uuid.UUID, limit: int, add: Callable[[Q], int]
    ) -> uuid.UUID | None:
        """Add the newest payments that contain the text, then the older ones, until there are as many as were wanted.
        Returns the key below which there may be more, if there were too few."""
        count = 0
        if len(self._part) >= SURE:
            oldest = payments.order_by("-pk").values_list("pk", flat=True)[NEWEST - 1 : NEWEST].first()
            # A value and no join: the planner would rather look through all entries for one that has the part.
            text = Subquery(SearchEntry.objects.filter(payment_id=OuterRef("pk")).values("text"))
            count = add(Q(Contains(text, self._part), pk__gte=oldest or NO_DEPOSIT))
            if count >= limit or oldest is None:
                return None
            before = oldest
        for most in (min(limit, RARE), RARE):  # the first walk is enough where nothing else narrows the list down
            keys = self._older(before, most)
            if keys:  # the planner may walk along the keys, and not beyond
                before, newest = keys[-1], keys[0]
                count += add(Q(pk__in=RawSQL("SELECT unnest(%s::uuid[])", (keys,)), pk__range=(before, newest)))
            if count >= limit or len(keys) < most:
                return None
        return before

    def with_matches(self, payments: list[Payment]) -> list[Payment]:
        """These payments, each with `match`: its text that has what was typed. None has a price."""
        found = texts_of(Payment.objects.filter(pk__in=[payment.pk for payment in payments]))
        matches = {texts.payment.pk: texts.match(self._part) for texts in found}
        for payment in payments:
            setattr(payment, "match", matches.get(payment.pk))  # noqa: B010 - as an annotation would
        return payments

    @property
    def _part(self) -> str:
        return folded(self.text)

    def _amounts(self) -> list[Q]:
        """Prices that the text can mean, with the number of digits that each currency has."""
        typed = _AMOUNT.fullmatch(self.text.strip())
        if typed is None:
            return []
        amounts = readings_of(typed["number"])
        currency = (typed["currency"] or "").upper()
        currencies = [currency] if currency else list(FIAT_DIGITS)
        fits = []
        every_digits = sorted({FIAT_DIGITS[each] for each in currencies if each in FIAT_DIGITS})
        for amount, digits in product(amounts, every_digits):
            with suppress(AmountNotExact):
                own = [each for each in currencies if FIAT_DIGITS.get(each) == digits]
                fits.append(Q(fiat_amount=to_units(amount, digits), currency__in=own))
        return fits

    def _is_address(self) -> bool:
        return any(
            _is_address(registry.chain(self.environment, network), self.text.strip())
            for network in registry.networks(self.environment)
        )

    def _sent_from(self) -> QuerySet[Deposit, Any]:
        """Keys of payments that money of this address was sent for."""
        typed = self.text.strip()
        spellings = {typed, typed.lower()}
        for network in registry.networks(self.environment):
            with suppress(InvalidAddress):
                spellings.add(registry.chain(self.environment, network).parse_address(typed))
        own = Deposit.objects.filter(sender__in=spellings, environment=self.environment, payment__isnull=False)
        return own.values("payment_id")

    @cached_property
    def _first(self) -> uuid.UUID | None:
        """The oldest payment that can be found."""
        own = SearchEntry.objects.filter(merchant_id=self.merchant.pk, environment=self.environment)
        return own.order_by("payment_id").values_list("payment_id", flat=True).first()

    def _older(self, before: uuid.UUID, most: int) -> list[uuid.UUID]:
        """The newest payments before this one that contain the text, by the index: their keys, newest first."""
        newest = min(before, ids.first_uuid_at(timezone.now() + timedelta(days=1)))
        of = (self._part, self.merchant.pk, self.environment)
        spans = [alternatives(*of, span) for span in range(span_of(newest), span_of(self._first or before) - 1, -1)]
        even, odd = ([as_array(each[place]) for each in spans] for place in range(STEP))
        text = self._part if len(self._part) >= LENGTH else ""
        with reading_cursor() as cursor:
            cursor.execute(_OF_SPANS, [even, odd, text, before, most])
            return [key for (key,) in cursor.fetchall()]


def _is_address(chain: Chain, text: str) -> bool:
    try:
        chain.parse_address(text)
    except InvalidAddress:
        return False
    return True
