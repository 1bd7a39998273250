"""How instants read to a merchant: on the clocks of its own time zone, and how far off they are."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

_UNITS = ((timedelta(days=1), "day"), (timedelta(hours=1), "hour"), (timedelta(minutes=1), "minute"))


def local(instant: datetime, timezone: str) -> str:
    """`Fri 22 Jan 2027, 09:30`, as the clocks of an IANA time zone show it."""
    return f"{instant.astimezone(ZoneInfo(timezone)):%a %-d %b %Y, %H:%M}"


def short(instant: datetime, timezone: str) -> str:
    """`22 Jan 2027, 09:30`, for tables."""
    return f"{instant.astimezone(ZoneInfo(timezone)):%-d %b %Y, %H:%M}"


def exact(instant: datetime | None) -> str:
    """`22 Jan 2027, 09:30:00 UTC`, for records; nothing of what has not happened."""
    return f"{instant:%-d %b %Y, %H:%M:%S} UTC" if instant else ""


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
