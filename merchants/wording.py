"""Formats instants for a merchant: in its own time zone, and relative to now."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.utils.timezone import localtime

_UNITS = ((timedelta(days=1), "day"), (timedelta(hours=1), "hour"), (timedelta(minutes=1), "minute"))


def local(instant: datetime, timezone: str) -> str:
    """`Fri 22 Jan 2027, 09:30`, as the clocks of an IANA time zone show it."""
    return f"{instant.astimezone(ZoneInfo(timezone)):%a %-d %b %Y, %H:%M}"


def with_offset(instant: datetime, timezone: str) -> str:
    """`Sun 28 Mar 2027, 09:30 (UTC+2)`, so that a change of the clocks shows."""
    offset = instant.astimezone(ZoneInfo(timezone)).utcoffset() or timedelta()
    minutes = round(abs(offset).total_seconds() / 60)
    hours = f"{minutes // 60}:{minutes % 60:02}" if minutes % 60 else f"{minutes // 60}"
    return f"{local(instant, timezone)} (UTC{'−' if offset < timedelta() else '+'}{hours})"


def short(instant: datetime, timezone: str) -> str:
    """`22 Jan 2027, 09:30`, for tables."""
    return f"{instant.astimezone(ZoneInfo(timezone)):%-d %b %Y, %H:%M}"


def exact(instant: datetime | None) -> str:
    """`22 Jan 2027, 09:30:00 UTC`, for records, in the time zone of who looks; empty for None."""
    return f"{localtime(instant):%-d %b %Y, %H:%M:%S %Z}" if instant else ""


def zone(timezone: str) -> str:
    """`Buenos Aires time` for America/Argentina/Buenos_Aires."""
    city = timezone.rpartition("/")[2].replace("_", " ")
    return timezone if timezone in {"UTC", "GMT"} or "/" not in timezone else f"{city} time"


def from_now(instant: datetime, now: datetime) -> str:
    """`in 3 hours`, `2 days ago`, rounded to the largest unit of which there are two, or to one of the smallest."""
    distance = abs(instant - now)
    for unit, name in _UNITS:
        if distance >= 2 * unit or (unit, name) == _UNITS[-1]:
            number = round(distance / unit)
            break
    if number == 0:
        return "now"
    words = f"{number} {name}{'' if number == 1 else 's'}"
    return f"in {words}" if instant > now else f"{words} ago"


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
    return " on ".join(filter(None, (browser, system))) or user_agent.partition(" ")[0][:40]
