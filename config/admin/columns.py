"""The columns and lines of admin pages: how each is shown follows from the field that holds the value, so that no page
has a method for each of its columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, ClassVar, TypeVar, cast
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.options import InlineModelAdmin
from django.contrib.admin.utils import get_fields_from_path, label_for_field, lookup_field
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import FieldDoesNotExist, ObjectDoesNotExist
from django.core.paginator import Paginator
from django.db import models
from django.db.models import ForeignKey, Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.dateformat import format as date_format
from django.utils.functional import cached_property
from django.utils.html import format_html, format_html_join

from config import ids
from config.admin.story import story_of
from config.admin.values import (
    EMPTY,
    YES_NO,
    Shown,
    copied,
    instant,
    lines,
    money,
    network_name,
    on_explorer,
    place_of,
    profile_at,
    readable,
    record_id,
    related,
    words_of,
    words_of_line,
)
from config.api.renderers import render_json
from config.coins import COINS
from config.fields import RecordField, UnitsField
from config.money import FIAT_DIGITS
from config.pages import wording

# fmt: off
ACCOUNTS = frozenset((
    "address", "sender", "recipient", "destination", "deposit_address", "wallet", "merchant_wallet", "muxed_address",
    "account", "made_by", "factory", "debt_wallet", "channel", "source", "fee_payer",
))
# fmt: on
"""Names of fields with an address on a network."""

TRANSACTIONS = frozenset(("transaction_hash", "inner_hash"))
FIAT = frozenset(("fiat_amount", "amount", "least", "most", "net", "tax", "total"))
"""Names of integer fields in the minor unit of the row's `currency`."""

MOST_COUNTED = 10_000

LABELS = {
    "public_id": "Id",
    "fiat_amount": "Price",
    "due": "Asked for",
    "cryptocurrency": "Coin",
    "asset": "Coin",
    "fee_bps": "Fee",
    "tolerance_bps": "Tolerance",
    "said_by": "Said by",
    "redirect_url": "Page after paying",
    "webhook_url": "Webhook address",
    "payment_uri": "Payment URI",
    "object_id": "Record",
    "is_direct": "Of one payment",
    "fee_units": "Network fee",
    "last_error": "Last error",
    "of_stock": "Taken from the stock",
    "own": "The house's own at the time",
    "is_alone": "Shares no transaction",
    "is_fanned_out": "Handed to endpoints",
    "is_staff": "Operator",
    "is_superuser": "May do everything",
    "needs_approval": "Waits for an operator",
    "told": "What it does",
}


_NAMING = re.compile(r"^(is|was|has) | bps$", re.IGNORECASE)
"""Parts of the names of fields that labels leave out, as the values say yes or no, or have a percent sign."""


def shown(page: Readable, row: Any, field: models.Field[Any, Any], *, is_page: bool, is_link: bool) -> Shown:
    """A field of a row, in words; empty where it holds nothing."""
    name = field.name
    if isinstance(field, ForeignKey):
        other = getattr(row, name)
        return related(other, is_page=is_page, is_link=is_link) if other is not None else ""
    value = getattr(row, field.attname)
    if value is None or value in ("", [], {}, ()):
        return ""
    if name in page.value_words:
        found = page.value_words[name]
        return found(value) if callable(found) else str(found.get(value, words_of(str(value))))
    if field.choices:
        return words_of(str(dict(field.flatchoices).get(value, value)))
    for kinds, show in _SHOWN:
        if isinstance(field, kinds):
            return show(page, row, name, value, is_page, is_link)
    return str(value)


def _units(page: Readable, row: Any, name: str, value: int, is_page: bool, is_link: bool) -> Shown:
    code = next((getattr(row, each) for each in ("asset", "cryptocurrency") if hasattr(row, each)), "")
    code = code or getattr(row, "currency", "")
    decimals = getattr(row, "decimals", None)
    if name in page.native_amounts:
        code, decimals = "", None
    return money(value, place_of(row), code, decimals)


def _integer(page: Readable, row: Any, name: str, value: int, is_page: bool, is_link: bool) -> Shown:
    if name.endswith("_bps"):
        return wording.percent(Decimal(value) / 100, 2)
    currency = getattr(row, "currency", "")
    if name in FIAT and currency in FIAT_DIGITS:
        return wording.fiat(value, currency)
    if name in ("expires_in", "retention_seconds"):
        return wording.duration(value)
    return wording.whole(value)


def _text(page: Readable, row: Any, name: str, value: str, is_page: bool, is_link: bool) -> Shown:
    prefix, _, body = value.partition("_")
    if len(body) == 26 and any(prefix == kind.prefix for kind in ids.KINDS):
        return record_id(value, is_page=is_page, is_link=is_link)
    if name.endswith("network"):
        return network_name(str(getattr(row, "environment", "sandbox")), value)
    if name in TRANSACTIONS or name in ACCOUNTS:
        profile = profile_at(*place_of(row)) if is_link else None
        base = "" if profile is None else profile.explorer if name in TRANSACTIONS else profile.explorer_of_accounts
        return on_explorer(value, base, is_page=is_page)
    if name == "signed_text":
        return format_html("<pre>{}</pre>", value)
    if name.endswith("memo"):
        return format_html("<code>{}</code>", value)
    if name.endswith(("hash", "signature", "_key", "uri")):
        return copied(value, is_page=is_page)
    words = words_of(value)
    return words if words == value else format_html('<span title="{}">{}</span>', value, words)


def _uuid(page: Readable, row: Any, name: str, value: UUID, is_page: bool, is_link: bool) -> Shown:
    kind = getattr(row, "public_ids", None) if name == "id" else page.ids_of(row, name)
    if kind is None:
        return f"…{str(value)[-8:]}"
    return record_id(kind.encode(value), is_page=is_page, is_link=is_link)


def _json(page: Readable, row: Any, name: str, value: Any, is_page: bool, is_link: bool) -> Shown:
    if name == "metadata":  # a merchant's own names and values, as they are
        return format_html_join("", "<div><code>{}</code></div>", ((each,) for each in readable(value)))
    return lines(words_of_line(each) for each in readable(value))


def _record(page: Readable, row: Any, name: str, value: Any, is_page: bool, is_link: bool) -> Shown:
    return format_html("<pre>{}</pre>", render_json(value).decode())


def _list(page: Readable, row: Any, name: str, value: Sequence[Any], is_page: bool, is_link: bool) -> Shown:
    return ", ".join(words_of(str(each)) for each in value)


def _instant(page: Readable, row: Any, name: str, value: Any, is_page: bool, is_link: bool) -> Shown:
    return instant(value, is_page=is_page)


_Show = Callable[["Readable", Any, str, Any, bool, bool], Shown]


_SHOWN: list[tuple[Any, _Show]] = [
    (UnitsField, _units),
    (RecordField, _record),
    (models.DateTimeField, _instant),
    (models.DateField, lambda page, row, name, value, *_: date_format(value, "j M Y")),
    (models.BooleanField, lambda page, row, name, value, *_: YES_NO[value]),
    (models.DecimalField, lambda page, row, name, value, *_: wording.rate(value)),
    (models.FloatField, lambda page, row, name, value, *_: f"{value:,.1f}"),
    (models.JSONField, _json),
    (models.UUIDField, _uuid),
    (models.IntegerField, _integer),
    (ArrayField, _list),
    ((models.CharField, models.TextField), _text),
]


class ChoicesInWords(admin.ChoicesFieldListFilter):
    """A filter by a field with choices, in words."""

    def choices(self, changelist: Any) -> Iterator[Any]:
        for choice in super().choices(changelist):
            yield {**choice, "display": words_of(str(choice["display"]))}


class ValuesInWords(admin.AllValuesFieldListFilter):
    """A filter by a field without choices, in words. Where the values are known, no rows are read for them."""

    def __init__(self, field: Any, request: HttpRequest, params: Any, model: Any, page: Any, field_path: str) -> None:
        super().__init__(field, request, params, model, page, field_path)
        words = page.value_words.get(field.name)
        known = list(words) if isinstance(words, Mapping) else KNOWN.get(field.name)
        if known is not None:
            self.lookup_choices = known  # type: ignore[assignment]  # any iterable will do

    def choices(self, changelist: Any) -> Iterator[Any]:
        for choice in super().choices(changelist):
            yield {**choice, "display": words_of(str(choice["display"]))}


KNOWN: Mapping[str, list[str]] = {
    "asset": list(COINS),
    "cryptocurrency": list(COINS),
    "network": sorted({network for coin in COINS.values() for network in coin.on}),
}


class Column:
    """One column of a list or line of a page: a field, a property or a method of the page, shown in words."""

    def __init__(self, page: Readable, name: str, *, is_page: bool, is_link: bool = True) -> None:
        self._page, self._name, self._is_page, self._is_link = page, name, is_page, is_link
        model = page.model
        self._empty = EMPTY
        self.field: models.Field[Any, Any] | None = None
        try:
            found = model._meta.get_field(name)
        except FieldDoesNotExist:
            attribute = getattr(page, name, None)
            order = getattr(attribute, "admin_order_field", None)
            self._empty = getattr(attribute, "empty_value_display", EMPTY)
        else:
            self.field = found if isinstance(found, models.Field) else None
            order = name
        label = LABELS.get(name) or label_for_field(name, model, cast("admin.ModelAdmin[Any]", page))
        label = _NAMING.sub("", str(label))
        self.short_description = str(label)
        if order is not None:
            self.admin_order_field = order
        # Not the name of the field: what that says of itself is for those who write the code.
        self.__name__ = f"{name.strip('_')}-shown"

    def __call__(self, row: Any) -> Shown:
        if self.field is not None:
            value: Any = shown(self._page, row, self.field, is_page=self._is_page, is_link=self._is_link)
        else:
            value = self._of_any(self.value(row))
        return self._empty if value in ("", None) else cast(Shown, value)

    def value(self, row: Any) -> Any:
        """What is shown, before it is put into words."""
        if self.field is not None:
            return getattr(row, self.field.attname)
        try:
            _, _, value = lookup_field(self._name, row, cast("admin.ModelAdmin[Any]", self._page))
        except ObjectDoesNotExist:
            return None
        return value

    def _of_any(self, value: Any) -> Any:
        if isinstance(value, bool):
            return YES_NO[value]
        if isinstance(value, datetime):
            return instant(value, is_page=self._is_page)
        if isinstance(value, date):
            return date_format(value, "j M Y")
        if isinstance(value, int):
            return wording.whole(value)
        if isinstance(value, Model):
            return related(value, is_page=self._is_page, is_link=self._is_link)
        if self._name == "memo" and isinstance(value, str) and value:
            return format_html("<code>{}</code>", value)
        if self._name == "public_id" and isinstance(value, str):
            return record_id(value, is_page=self._is_page, is_link=False)
        return value


class Readable:
    """Shows every value of a page's rows in words: coins for base units, names for ids, instants with their age.

    A mixin of pages and of the tables within them.
    """

    model: type[Any]
    value_words: ClassVar[Mapping[str, Mapping[Any, Any] | Callable[[Any], Shown]]] = {}
    """Words of stored values by field, where the field has no choices."""
    native_amounts: ClassVar[tuple[str, ...]] = ()
    """Fields with base units of the network's native coin."""
    empty_value_display = EMPTY

    def ids_of(self, row: Any, name: str) -> ids.PublicId | None:
        """The kind of record that a UUID in this field is the key of."""
        return {"settlement": ids.SETTLEMENT, "payment": ids.PAYMENT}.get(name)

    def column(self, name: Any, *, is_page: bool, is_link: bool = True) -> Any:
        """The column of this name, the same object each time: Django compares them."""
        if not isinstance(name, str) or name in ("action_checkbox", "__str__"):
            return name
        known: dict[Any, Column] = self.__dict__.setdefault("_columns", {})
        key = name, is_page, is_link
        if key not in known:
            known[key] = Column(self, name, is_page=is_page, is_link=is_link)
        return known[key]

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        names = super().get_list_display(request)  # type: ignore[misc]
        return [self.column(name, is_page=False, is_link=number > 0) for number, name in enumerate(names)]

    def get_list_filter(self, request: HttpRequest) -> list[Any]:
        return [self._in_words(each) for each in super().get_list_filter(request)]  # type: ignore[misc]

    def _in_words(self, given: Any) -> Any:
        field = get_fields_from_path(self.model, given)[-1] if isinstance(given, str) else None
        if not isinstance(field, models.CharField):
            return given
        return given, ChoicesInWords if field.choices else ValuesInWords

    def get_list_select_related(self, request: HttpRequest) -> Any:
        """Also of the columns: Django finds only names of fields among them."""
        given = super().get_list_select_related(request)  # type: ignore[misc]
        if given is not False:
            return given
        keys = {field.name for field in self.model._meta.concrete_fields if isinstance(field, ForeignKey)}
        return [name for name in self.list_display if name in keys] or False  # type: ignore[attr-defined]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Without the columns of the list: they are among the read-only fields, and would stand there twice."""
        found = super().get_fields(request, obj)  # type: ignore[misc]
        return [each for each in found if not isinstance(each, Column)]

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        found = super().get_fieldsets(request, obj)  # type: ignore[misc]
        fixed = self._fixed(request, obj)
        if not fixed:
            return list(found)
        return [(title, {**options, "fields": self._shown(options["fields"], fixed)}) for title, options in found]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        names = super().get_readonly_fields(request, obj)  # type: ignore[misc]
        for name in names:
            self.column(name, is_page=True)
        # Django takes out of the form what is in here, so all columns are, also those of a page that is only shown.
        return (*names, *self.__dict__.get("_columns", {}).values())

    def _fixed(self, request: HttpRequest, obj: Any) -> Any:
        """Names that are shown and not entered: all where nobody may change the row, or add one to a table."""
        page = cast("admin.ModelAdmin[Any]", self)
        may_add = isinstance(self, InlineModelAdmin) and self.has_add_permission(request, obj)
        if obj is not None and not may_add and not page.has_change_permission(request, obj):
            return _Everything()
        return set(super().get_readonly_fields(request, obj))  # type: ignore[misc]

    def _shown(self, fields: Iterable[Any], fixed: Any) -> list[Any]:
        return [
            self._shown(each, fixed)
            if isinstance(each, list | tuple)
            else self.column(each, is_page=True)
            if each in fixed and not self._is_many(each)
            else each
            for each in fields
        ]

    def _is_many(self, name: Any) -> bool:
        try:
            return bool(self.model._meta.get_field(name).many_to_many)
        except FieldDoesNotExist:
            return False


class _Everything:
    def __contains__(self, name: object) -> bool:
        return True


M = TypeVar("M", bound=Model)
P = TypeVar("P", bound=Model)


class CountedInPart(Paginator[Any]):
    """Pages of a list of which at most MOST_COUNTED rows are counted and shown; filters and search find older ones."""

    most_counted = MOST_COUNTED

    @cached_property
    def count(self) -> int:
        rows: QuerySet[Any] = self.object_list  # type: ignore[assignment]  # of a list of the admin always
        return rows[: self.most_counted].count()


class RecordPage(Readable, admin.ModelAdmin[M]):
    """The pages of one kind of record: a list, and for each record its fields, its actions and its story."""

    paginator = CountedInPart
    refusals: ClassVar[Mapping[str, Callable[[Any], str]]] = {}
    """By action, a function that returns why it would refuse a record now, or nothing."""
    proposal_kinds: ClassVar[tuple[str, ...]] = ()
    """Kinds of proposals that are about records of this page."""
    states: ClassVar[tuple[str, ...]] = ()
    """Columns of which a preview shows the change, beside those of the list."""

    def previewed(self, row: Any) -> Iterable[Model]:
        """The records that an action on this one changes."""
        return (row,)

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **options: Any) -> HttpResponse:
        row = context.get("original")
        if row is not None:
            actions: Any = self.get_actions(request).items()
            offered = [(name, words) for name, (_, _, words) in actions if name != "delete_selected"]
            reasons = {name: self.refusals[name](row) for name, _ in offered if name in self.refusals}
            rest = [each for each in offered if not reasons.get(each[0])]
            refused = [(words, reasons[name]) for name, words in offered if reasons.get(name)]
            columns = [each for each in self.get_list_display(request) if isinstance(each, Column)]
            facts = [(each.short_description, each(row)) for each in columns]
            context |= {
                "story": context.get("story") or story_of(row),
                "facts": facts,
                "possible": rest,
                "refused": refused,
            }
        return super().render_change_form(request, context, *args, **options)


class Table(Readable, admin.TabularInline[M, P]):
    """Records of another kind on a record's page."""


class Details(Readable, admin.StackedInline[M, P]):
    """The same, each with all of its lines."""
