"""How an admin page shows single values: money, instants, ids, addresses, other records and JSON.

Links lead only to what whoever looks may open; the rest stands there as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any, Protocol, cast

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.dateformat import format as date_format
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from config import ids
from config.coins import USD_SCALE
from config.hooks import Hook
from config.money import Asset
from config.pages import wording

EMPTY = "–"

_UUID = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_TOKEN = re.compile(r"[a-z][a-z0-9]*([_:][a-z0-9]+)+")

_CAMEL = re.compile(r"[a-z]+([A-Z][a-z]+)+")
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d.*")

YES_NO = {True: "yes", False: "no"}


class Profile(Protocol):
    """What the table of networks knows of one."""

    @property
    def name(self) -> str: ...
    @property
    def native(self) -> Asset: ...
    @property
    def decimals(self) -> Mapping[str, int]: ...
    @property
    def explorer(self) -> str: ...
    @property
    def explorer_of_accounts(self) -> str: ...


profile_of: Hook[[str, str], Profile] = Hook("profile_of")
"""Data of a network by environment and network; payments provide it."""

_looking: ContextVar[HttpRequest | None] = ContextVar("looking", default=None)

Shown = str | SafeString
Place = tuple[str, str]
"""Environment and network."""


# --- single values -----------------------------------------------------------------------------------


def instant(at: datetime, *, is_page: bool = True) -> Shown:
    """`24 Nov 2026, 02:17 · 3 hours ago`; on a page with its seconds and time zone."""
    local = timezone.localtime(at)
    words = date_format(local, "j M Y, H:i:s T" if is_page else "j M Y, H:i")
    return format_html('<time datetime="{}">{}</time> <small>{}</small>', at.isoformat(), words, ago(at))


def ago(at: datetime) -> str:
    """`3 h ago`, `in 2 days`."""
    seconds = (timezone.now() - at).total_seconds()
    days = round(abs(seconds) / 86_400)
    words = f"{days:,} days" if days > 1 else wording.duration(abs(seconds))
    return f"{words} ago" if seconds >= 0 else f"in {words}"


def words_of(value: str) -> str:
    """`Partly refunded` of `partly_refunded`; other text as it is."""
    if _TOKEN.fullmatch(value):
        return re.sub("[_:]", " ", value).capitalize()
    if _CAMEL.fullmatch(value):
        return re.sub("([A-Z])", r" \1", value).capitalize()
    return _UUID.sub(lambda found: f"…{found[0][-8:]}", value)


def words_of_line(line: str) -> str:
    """The names and the value of a line `name › name: value`, each in words as by `words_of`."""
    names, colon, value = line.rpartition(": ")
    return f"{' › '.join(map(words_of, names.split(' › ')))}{colon}{words_of(value)}"


def copied(text: str, *, is_page: bool = True) -> Shown:
    """A hash or an address: whole on a page, to be copied with one click; its two ends in a list."""
    if is_page:
        return format_html('<code class="whole">{}</code>', text)
    short = wording.short_hash(text)
    return text if short == text else format_html('<span title="{}">{}</span>', text, short)


def on_explorer(text: str, base: str, *, is_page: bool) -> Shown:
    """The same with a link to the block explorer where there is one."""
    shown = copied(text, is_page=is_page)
    if not base:
        return shown
    title = "In the block explorer"
    return format_html('{} <a href="{}{}" title="{}" rel="noreferrer">↗</a>', shown, base, text, title)


def record_id(public_id: str, *, is_page: bool, is_link: bool = True) -> Shown:
    """A public id, with a link to its record where that has a page: whole on a page, its end in a list."""
    shown: Shown = public_id
    if not is_page:
        shown = format_html('<span title="{}">{}</span>', public_id, wording.short_id(public_id))
    return link(url_of(public_id) if is_link else "", shown)


def url_of(public_id: str) -> str:
    """The admin's page of a record; empty where it has none."""
    model = _models_by_prefix().get(public_id.partition("_")[0])
    key = model.public_ids.decode(public_id) if model else None
    return page_of(cast("type[Model]", model), key) if key else ""


def record_of(public_id: str) -> Model | None:
    """The record with a public id, of a kind that has a page."""
    model = _models_by_prefix().get(public_id.partition("_")[0])
    key = model.public_ids.decode(public_id) if model else None
    return cast("Model | None", model._default_manager.filter(pk=key).first()) if model and key else None


@contextmanager
def links_for(request: HttpRequest) -> Iterator[None]:
    """Inside, links lead only to what the person of this request may open."""
    before = _looking.set(request)
    try:
        yield
    finally:
        _looking.reset(before)


def may(*permissions: str) -> bool:
    """True if whoever looks has all of these permissions, and where nobody does."""
    request = _looking.get()
    return request is None or request.user.has_perms(permissions)


def page_of(model: type[Model], key: Any) -> str:
    """Address of a record's page; empty where it has none that whoever looks may open."""
    return _address(model, "change", key)


def list_of(model: type[Model], filters: Mapping[str, str]) -> str:
    """Address of the list of a kind of record with these filters; empty where whoever looks may not open it."""
    address = _address(model, "changelist")
    return f"{address}?{urlencode(filters)}" if address else ""


def _address(model: type[Model], view: str, *keys: Any) -> str:
    page, request = admin.site._registry.get(model), _looking.get()
    if page is None or (request is not None and not page.has_view_permission(request)):
        return ""
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{view}", args=keys)


def link(url: str, words: Shown) -> Shown:
    """The words, as a link where there is an address."""
    return format_html('<a href="{}">{}</a>', url, words) if url else words


@cache
def _models_by_prefix() -> dict[str, Any]:
    found = [model for model in admin.site._registry if issubclass(model, ids.PublicRecord)]
    return {model.public_ids.prefix: model for model in found}


def name_of(row: Model, *, is_page: bool = False) -> str:
    """What people call a record: its name, its public id or its own words."""
    if isinstance(row, ids.PublicRecord) and not getattr(row, "name", ""):
        return row.public_id if is_page else wording.short_id(row.public_id)
    return str(row)


def related(row: Model, *, is_page: bool, is_link: bool = True) -> Shown:
    """Another record, with a link to its page where it has one."""
    return link(page_of(type(row), row.pk) if is_link else "", name_of(row, is_page=is_page))


def table(headings: Sequence[str], rows: SafeString) -> SafeString:
    """A table within a page; "none" without rows."""
    if not rows:
        return format_html("{}", "none")
    heads = format_html_join("", '<th scope="col">{}</th>', ((heading,) for heading in headings))
    return format_html(
        '<div class="op-scrolls" tabindex="0" role="region" aria-label="{}">'
        "<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>",
        ", ".join(filter(None, headings)),
        heads,
        rows,
    )


def lines(values: Iterable[Any]) -> SafeString:
    return format_html_join("", "<div>{}</div>", ((each,) for each in values))


def readable(value: Any, prefix: str = "") -> Iterable[str]:
    """JSON as lines of `name: value`, nested names after each other."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from readable(inner, f"{prefix} › {name}" if prefix else str(name))
    elif isinstance(value, list | tuple):
        if all(not isinstance(each, Mapping | list) for each in value):
            yield f"{prefix}: {', '.join(map(_plain, value)) or EMPTY}" if prefix else ", ".join(map(_plain, value))
        else:
            for number, inner in enumerate(value, 1):
                yield from readable(inner, f"{prefix} {number}".strip())
    else:
        yield f"{prefix}: {_plain(value)}" if prefix else _plain(value)


def _plain(value: Any) -> str:
    if value is None:
        return EMPTY
    if isinstance(value, bool):
        return YES_NO[value]
    if isinstance(value, int):
        return wording.whole(value)
    if isinstance(value, str) and _INSTANT.fullmatch(value):
        return date_format(timezone.localtime(datetime.fromisoformat(value)), "j M Y, H:i:s")
    return wording.number(value) if isinstance(value, Decimal) else str(value)


def network_name(environment: str, network: str) -> str:
    """Its name for people; the stored name of a network that is set wrongly or is known no longer."""
    profile = profile_at(environment, network)
    return profile.name if profile else network


def profile_at(environment: str, network: str) -> Profile | None:
    try:
        return profile_of(environment, network)
    except Exception:  # whatever is wrong with its settings: the page is shown all the same
        return None


def money(units: int, place: Place, code: str = "", decimals: int | None = None) -> str:
    """`1,212.50 USDC` of base units; native coins of the network without a code."""
    profile = profile_at(*place)
    if not code and profile:
        code, decimals = profile.native.code, profile.native.decimals
    if decimals is None and profile:
        decimals = profile.decimals.get(code)
    return wording.whole(units) if decimals is None else wording.coins(units, decimals, code)


def dollars(usd: int) -> str:
    """Text such as `1,212.50 USD`, of an amount in 10^-18 dollars."""
    return wording.fiat(usd // 10 ** (USD_SCALE - 2), "USD")


def place_of(row: Any) -> Place:
    """Environment and network of a row, its own or those of the row that it belongs to."""
    if not (hasattr(row, "environment") and hasattr(row, "network")):  # else none of them is read for it
        for name in ("transfer", "wallet", "network", "transaction", "payment"):
            if isinstance(owner := getattr(row, name, None), Model):
                return place_of(owner)
    return str(getattr(row, "environment", "sandbox")), str(getattr(row, "network_id", getattr(row, "network", "")))
