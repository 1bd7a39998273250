"""Finds a merchant's payments by what a person types: newest first, at a cost that hardly grows with their number."""

from __future__ import annotations

import re
import uuid
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from itertools import product
from operator import or_
from typing import Any

from django.db.models import Q, QuerySet

from config import ids
from config.money import FIAT_DIGITS, AmountNotExact, to_units
from config.pages.typed_amounts import readings_of
from merchants.models import Merchant
from payments.chains import registry
from payments.chains.base import Chain
from payments.chains.errors import InvalidAddress
from payments.chains.recipients import person_of
from payments.dashboard.search.models import SearchEntry
from payments.dashboard.search.pieces import LENGTH, SHORT, folded, pieces_of
from payments.dashboard.search.texts import texts_of
from payments.models import Deposit, Payment

NEWEST = 5_000
"""So many of the newest payments are looked through first: what many payments contain is found there."""

RARE = 20_000
"""What few of the newest contain is looked for by the index, in so many payments that contain it, newest first."""

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
class Searched:
    """What was typed, for one merchant and environment."""

    merchant: Merchant
    environment: str
    text: str

    @property
    def is_too_short(self) -> bool:
        """Whether too little was typed to look for payments that contain it."""
        return len(self._part) < SHORT

    def condition(self) -> Q:
        """Every payment that fits, without a limit: for work that may take its time."""
        fits = self._amounts()
        fits += [Q(pk__in=self._sent_from())] if self._is_address() else []
        fits += [] if self.is_too_short else [Q(pk__in=self._containing().values("payment_id"))]
        own = Payment.objects.of(self.merchant, self.environment)
        first, *others = [own.filter(each).order_by().values("pk") for each in fits] or [own.none().values("pk")]
        return Q(pk__in=first.union(*others, all=True) if others else first)

    def newest(self, payments: Payments, *, before: uuid.UUID | None, limit: int) -> list[Payment]:
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
        newest = payments.order_by("-pk").values("pk")
        if not self.is_too_short and add(Q(pk__in=self._among(newest[:NEWEST]))) < limit:
            for oldest in newest[NEWEST - 1 : NEWEST]:  # none: all were looked through
                add(Q(pk__in=self._by_index(oldest["pk"])))
        return sorted(found.values(), key=lambda payment: payment.pk, reverse=True)[:limit]

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
        asked = (typed["currency"] or "").upper()
        currencies = [asked] if asked else list(FIAT_DIGITS)
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

    def _entries(self) -> QuerySet[SearchEntry]:
        return SearchEntry.objects.filter(merchant_id=self.merchant.pk, environment=self.environment)

    def _has_part(self) -> Q:
        """The text has it; of two characters the pieces say it, as these are of the metadata alone."""
        return Q(text__contains=self._part) if len(self._part) >= LENGTH else self._has_pieces()

    def _has_pieces(self) -> Q:
        length = min(len(self._part), LENGTH)
        return Q(pieces__contains=pieces_of(self._part, self.merchant.pk, self.environment, length=length))

    def _containing(self) -> QuerySet[SearchEntry]:
        return self._entries().filter(self._has_pieces(), self._has_part())

    def _among(self, payments: QuerySet[Payment, Any]) -> QuerySet[SearchEntry, Any]:
        """Keys of those of these payments that contain it."""
        return SearchEntry.objects.filter(self._has_part(), payment_id__in=payments).values("payment_id")

    def _by_index(self, before: uuid.UUID) -> QuerySet[SearchEntry, Any]:
        """Keys of the newest older payments that contain it, however old."""
        return self._containing().filter(payment_id__lt=before).order_by("-payment_id").values("payment_id")[:RARE]


def _is_address(chain: Chain, text: str) -> bool:
    try:
        chain.parse_address(text)
    except InvalidAddress:
        return False
    return True
