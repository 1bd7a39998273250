"""Formats instants for a merchant: in its own time zone, and relative to now."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.utils.dateformat import format as date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext, ngettext_lazy

_FROM_NOW = {
    timedelta(days=1): (ngettext_lazy("%d day ago", "%d days ago"), ngettext_lazy("in %d day", "in %d days")),
    timedelta(hours=1): (ngettext_lazy("%d hour ago", "%d hours ago"), ngettext_lazy("in %d hour", "in %d hours")),
    timedelta(minutes=1): (
        ngettext_lazy("%d minute ago", "%d minutes ago"),
        ngettext_lazy("in %d minute", "in %d minutes"),
    ),
}
"""By unit, the largest first: the words for what is past, and for what is to come, of one and of several."""


def local(instant: datetime, timezone: str) -> str:
    """`Fri 22 Jan 2027, 09:30`, as the clocks of an IANA time zone show it."""
    return date_format(instant.astimezone(ZoneInfo(timezone)), "D j M Y, H:i")


def with_offset(instant: datetime, timezone: str) -> str:
    """`Sun 28 Mar 2027, 09:30 (UTC+2)`, so that a change of the clocks shows."""
    offset = instant.astimezone(ZoneInfo(timezone)).utcoffset() or timedelta()
    minutes = round(abs(offset).total_seconds() / 60)
    hours = f"{minutes // 60}:{minutes % 60:02}" if minutes % 60 else f"{minutes // 60}"
    return f"{local(instant, timezone)} (UTC{'−' if offset < timedelta() else '+'}{hours})"


def short(instant: datetime, timezone: str) -> str:
    """`22 Jan 2027, 09:30`, for tables."""
    return date_format(instant.astimezone(ZoneInfo(timezone)), "j M Y, H:i")


def exact(instant: datetime | None) -> str:
    """`22 Jan 2027, 09:30:00 UTC`, for records, in the time zone of who looks; empty for None."""
    return date_format(localtime(instant), "j M Y, H:i:s T") if instant else ""


def zone(timezone: str) -> str:
    """`Buenos Aires time` for America/Argentina/Buenos_Aires."""
    city = timezone.rpartition("/")[2].replace("_", " ")
    if timezone in {"UTC", "GMT"} or "/" not in timezone:
        return timezone
    return gettext("%(city)s time") % {"city": city}


def from_now(instant: datetime, now: datetime) -> str:
    """`in 3 hours`, `2 days ago`, rounded to the largest unit of which there are two, or to one of the smallest."""
    distance = abs(instant - now)
    unit = next((each for each in _FROM_NOW if distance >= 2 * each), timedelta(minutes=1))
    number = round(distance / unit)
    if number == 0:
        return gettext("now")
    return str(_FROM_NOW[unit][instant > now] % number)


_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
"""The first that is found: many browsers name others as well."""

_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


def device(user_agent: str) -> str:
    """`Firefox on Linux`, from what a browser calls itself; the first word of what is no browser; empty for nothing."""
    browser = next((name for mark, name in _BROWSERS if mark in user_agent), "")
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), "")
    if browser and system:
        return gettext("%(browser)s on %(system)s") % {"browser": browser, "system": system}
    return browser or system or user_agent.partition(" ")[0][:40]
