"""Ends of a merchant's periods, to the second, also when the clocks of its time zone change. Pure.

Every local date, ISO week or month has one period. A time of day that the clocks skip means the first instant after the
gap; a time that occurs twice means the first one.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from merchants.models import MerchantSettings, SettlementFrequency

_ONE_DAY = timedelta(days=1)
_ONE_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Period:
    """The time up to `ends_at` that was not settled before. That instant is also when it is due."""

    key: str
    ends_at: datetime


@dataclass(frozen=True, slots=True)
class Schedule:
    frequency: str
    time: time
    timezone: str
    weekday: int
    """1 Monday to 7 Sunday."""
    monthday: int
    """1 to 31; a shorter month has its last day instead."""

    @classmethod
    def of(cls, settings: MerchantSettings) -> Schedule:
        return cls(
            settings.settlement_frequency,
            settings.settlement_time,
            settings.settlement_timezone,
            settings.settlement_weekday or 1,
            settings.settlement_monthday or 1,
        )


def ended_periods(settings: MerchantSettings, now: datetime) -> list[Period]:
    """The periods that ended last, newest at the end; none when the merchant requests each settlement itself."""
    return sorted((period for period in _around(settings, now) if period.ends_at <= now), key=_by_end)


def periods_after(settings: MerchantSettings, now: datetime) -> Iterator[Period]:
    """All periods that end after `now`, in their order, without end; none when the merchant requests each."""
    while following := [period for period in _around(settings, now) if period.ends_at > now]:
        period = min(following, key=_by_end)
        yield period
        now = period.ends_at


def requested_period(now: datetime) -> Period:
    """The period of a settlement on request."""
    return Period(f"now:{now.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}", now)


def first_instant(day: date, at: time, zone: ZoneInfo) -> datetime:
    """The first instant the zone's clocks show this time of that day or, if they skip it, the first instant after; in
    UTC."""
    wall = datetime.combine(day, at, tzinfo=zone)
    instant = wall.astimezone(UTC)
    if instant.astimezone(zone).replace(tzinfo=None) == wall.replace(tzinfo=None):
        return instant
    # In a gap, PEP 495 reads the first form with the offset from before it and the second with the one from after it,
    # which gives an instant after the change and one before it.
    before, after = wall.replace(fold=1).astimezone(UTC), instant
    offset = after.astimezone(zone).utcoffset()
    while after - before > _ONE_SECOND:
        middle = before + (after - before) // 2 // _ONE_SECOND * _ONE_SECOND
        if middle.astimezone(zone).utcoffset() == offset:
            after = middle
        else:
            before = middle
    return after


def _by_end(period: Period) -> datetime:
    return period.ends_at


def _around(settings: MerchantSettings, now: datetime) -> tuple[Period, ...]:
    """The periods near an instant: two or more on either side of it, fewer where the calendar has holes."""
    schedule = Schedule.of(settings)
    if schedule.frequency == SettlementFrequency.MANUAL:
        return ()
    return _near(schedule, now.astimezone(ZoneInfo(schedule.timezone)).date())


@lru_cache(maxsize=4096)
def _near(schedule: Schedule, today: date) -> tuple[Period, ...]:
    """Most merchants share a schedule, and all of them a day, so that the result is cached for all of them."""
    zone = ZoneInfo(schedule.timezone)
    match schedule.frequency:
        case SettlementFrequency.DAILY:
            days = _days_near(today, zone)
        case SettlementFrequency.WEEKLY:
            days = _weekdays_near(today, schedule.weekday)
        case _:
            days = _monthdays_near(today, schedule.monthday)
    return tuple(Period(key, first_instant(day, schedule.time, zone)) for key, day in days)


def _days_near(today: date, zone: ZoneInfo) -> Iterator[tuple[str, date]]:
    for distance in range(-3, 4):
        day = today + distance * _ONE_DAY
        # A country that moves across the date line skips a whole date: it has no period.
        if first_instant(day, time(0), zone).astimezone(zone).date() == day:
            yield day.isoformat(), day


def _weekdays_near(today: date, weekday: int) -> Iterator[tuple[str, date]]:
    monday = today - today.weekday() * _ONE_DAY
    for distance in range(-2, 3):
        day = monday + timedelta(weeks=distance, days=weekday - 1)
        year, week, _ = day.isocalendar()
        yield f"{year}-W{week:02}", day


def _monthdays_near(today: date, monthday: int) -> Iterator[tuple[str, date]]:
    for distance in range(-2, 3):
        years, month = divmod(today.month - 1 + distance, 12)
        year, month = today.year + years, month + 1
        yield f"{year}-{month:02}", date(year, month, min(monthday, monthrange(year, month)[1]))
