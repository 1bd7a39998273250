"""The texts of a payment that a part is looked for in, each with what it is called, and which of them has the part."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, QuerySet
from django.db.models.functions import JSONObject
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from config import ids
from config.pages.wording import coins_to_send
from payments.dashboard.search.pieces import SHORT, folded
from payments.models import Deposit, Payment

LONGEST_TEXT = 4_000
"""Characters; what a payment's metadata has beyond is not found."""

MOST_TRANSFERS = 50
"""The newest; parts of the hashes of older ones are not found, whole hashes are."""

AROUND = 16
"""Characters that are shown before and after the part that was found."""

_COLUMNS = (
    "pk", "merchant_id", "environment", "metadata", "due", "decimals", "cryptocurrency", "deposit_address",
    "muxed_address", "memo", "description", "items", "note",
)  # fmt: skip
_OF_TRANSFERS = {
    "transaction_hash": _("Transaction hash"),
    "inner_hash": _("Transaction hash"),
    "sender": _("Sent from"),
}


class Text(NamedTuple):
    label: str | Promise
    value: str


class Match(NamedTuple):
    """A text of a payment, cut in three around what was looked for."""

    label: str
    before: str
    part: str
    after: str


@dataclass(frozen=True)
class Texts:
    """All of one payment. `words` are what people wrote; `codes` are everything else."""

    payment: Any

    @property
    def words(self) -> str:
        return "\n".join(folded(value) for _label, value in self._words())[:LONGEST_TEXT]

    @property
    def codes(self) -> str:
        return "\n".join(folded(value) for _label, value in self._codes() if value)

    def match(self, part: str) -> Match | None:
        """The first text that has this part, which is folded."""
        words = self._words()
        for label, value in words if len(part) <= SHORT else chain(words, self._codes()):
            # Folding may change how many characters there are; what is compared is shown then.
            shown = value if len(value) == len(folded(value)) else folded(value)
            if (start := folded(value).find(part)) >= 0:
                end = start + len(part)
                return Match(str(label), _end(shown[:start]), shown[start:end], _start(shown[end:]))
        return None

    def _words(self) -> Iterator[Text]:
        payment = self.payment
        yield Text(_("What it is for"), payment.description)
        yield Text(_("Note"), payment.note)
        yield from _values("", [payment.metadata, [each["name"] for each in payment.items]])

    def _codes(self) -> Iterator[Text]:
        payment = self.payment
        yield Text(_("Payment"), ids.PAYMENT.encode(payment.pk))
        yield Text(_("Amount"), f"{coins_to_send(payment.due, payment.decimals)} {payment.cryptocurrency}")
        yield Text(_("Deposit address"), payment.deposit_address)
        yield Text(_("Deposit address"), payment.muxed_address)
        yield Text(_("Memo"), payment.memo)
        for each in payment.transfers:
            yield from (Text(label, each[name]) for name, label in _OF_TRANSFERS.items())


def texts_of(payments: QuerySet[Payment], *, until: uuid.UUID = ids.LAST_KEY) -> Iterable[Texts]:
    """The texts of these payments, with their transfers up to one, by one query."""
    newest = Deposit.objects.filter(payment=OuterRef("pk"), pk__lte=until).order_by("-pk")[:MOST_TRANSFERS]
    transfers = ArraySubquery(newest.values(each=JSONObject(**{name: name for name in _OF_TRANSFERS})))
    rows = payments.annotate(transfers=transfers).values_list(*_COLUMNS, "transfers", named=True)
    return (Texts(row) for row in rows)


def _values(label: str, value: Any) -> Iterator[Text]:
    """Every text and number in a JSON value, however deep, with the name that it stands under."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _values(name, each)
    elif isinstance(value, list):
        for each in value:
            yield from _values(label, each)
    elif value is not None and not isinstance(value, bool):
        yield Text(label, " ".join(str(value).split()))


def _end(text: str) -> str:
    return text if len(text) <= AROUND else f"…{text[-AROUND:]}"


def _start(text: str) -> str:
    return text if len(text) <= AROUND else f"{text[:AROUND]}…"
