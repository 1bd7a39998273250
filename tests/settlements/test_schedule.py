"""Periods: one for each local date, week or month, to the second, whatever clocks do."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from itertools import islice, pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from merchants.models import MerchantSettings
from settlements.plans.schedule import Period, ended_periods, first_instant, periods_after, requested_period

ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",  # by half an hour
    "Africa/Casablanca",  # twice a year, by the moon
    "Pacific/Apia",
    "Pacific/Kiritimati",
    "Asia/Kathmandu",
    "America/St_Johns",
    "America/Nuuk",  # late in the evening
    "Asia/Beirut",  # at midnight
    "Africa/Cairo",  # at midnight
]
TIMES = [time(0), time(0, 30), time(2, 30), time(23, 59)]
FIRST_DAY, LAST_DAY = date(2025, 1, 1), date(2027, 12, 31)


def schedule(frequency: str = "daily", at: time = time(0), zone: str = "UTC", **fields: Any) -> MerchantSettings:
    return MerchantSettings(settlement_frequency=frequency, settlement_time=at, settlement_timezone=zone, **fields)


def latest_period(chosen: MerchantSettings, now: datetime) -> Period | None:
    return ended_periods(chosen, now)[-1] if ended_periods(chosen, now) else None


def next_period(chosen: MerchantSettings, now: datetime) -> Period | None:
    return next(periods_after(chosen, now), None)


def coming_periods(chosen: MerchantSettings, now: datetime, count: int) -> list[Period]:
    return list(islice(periods_after(chosen, now), count))


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def periods(chosen: MerchantSettings, start: datetime, end: datetime) -> list[Period]:
    """Every period that ends after `start` and not after `end`."""
    found = []
    while (period := next_period(chosen, start)) is not None and period.ends_at <= end:
        found.append(period)
        start = period.ends_at
    return found


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("at", TIMES)
def test_every_local_date_of_three_years_has_one_period(zone: str, at: time) -> None:
    midnight = first_instant(FIRST_DAY, time(0), ZoneInfo(zone))
    found = periods(schedule(at=at, zone=zone), midnight - timedelta(seconds=1), midnight + timedelta(days=1096))
    dates = [FIRST_DAY + timedelta(days=number) for number in range(1095)]
    assert [period.key for period in found][:1095] == [day.isoformat() for day in dates]
    for day, period in zip(dates, found, strict=False):
        wall = period.ends_at.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        # The time itself, or less than an hour later where the clocks skip it.
        assert timedelta() <= wall - datetime.combine(day, at) <= timedelta(hours=1), (day, wall)


@pytest.mark.parametrize("zone", ZONES)
def test_a_beat_every_few_minutes_finds_the_same_periods_as_the_calendar(zone: str) -> None:
    chosen = schedule(at=time(2, 30), zone=zone)
    for around in (datetime(2027, 3, 12, tzinfo=UTC), datetime(2027, 10, 28, tzinfo=UTC)):
        end = around + timedelta(days=5)
        seen = {latest_period(chosen, around + timedelta(minutes=number)) for number in range(0, 5 * 1440 + 1, 5)}
        latest = latest_period(chosen, around)
        assert latest is not None
        assert seen == {latest, *periods(chosen, around, end)}


@pytest.mark.parametrize(
    ("zone", "at", "day", "expected"),
    [
        ("Europe/Berlin", time(2, 30), date(2027, 3, 28), "2027-03-28T01:00:00"),  # missing: 03:00 there
        ("Europe/Berlin", time(2, 30), date(2027, 10, 31), "2027-10-31T00:30:00"),  # twice: the first, at +02:00
        ("Australia/Lord_Howe", time(2, 15), date(2026, 10, 4), "2026-10-03T15:30:00"),  # 02:00 becomes 02:30
        ("Australia/Lord_Howe", time(1, 45), date(2027, 4, 4), "2027-04-03T14:45:00"),  # 02:00 becomes 01:30
        ("America/New_York", time(2), date(2027, 3, 14), "2027-03-14T07:00:00"),
        ("Africa/Cairo", time(0), date(2026, 4, 24), "2026-04-23T22:00:00"),  # no midnight that day
        ("Asia/Kathmandu", time(9, 15), date(2026, 6, 1), "2026-06-01T03:30:00"),
        ("America/Toronto", time(23, 45), date(1919, 3, 30), "1919-03-31T04:30:00"),  # the gap runs past midnight
    ],
)
def test_a_local_time_is_one_instant(zone: str, at: time, day: date, expected: str) -> None:
    assert first_instant(day, at, ZoneInfo(zone)) == instant(expected)


def test_a_date_that_a_country_skipped_has_no_period() -> None:
    chosen = schedule(at=time(12), zone="Pacific/Apia")  # 30 December 2011 never was
    found = periods(chosen, instant("2011-12-28T23:00:00"), instant("2012-01-01T00:00:00"))
    assert [period.key for period in found] == ["2011-12-29", "2011-12-31", "2012-01-01"]


def test_after_an_outage_only_the_latest_period_is_caught_up() -> None:
    chosen = schedule(at=time(6), zone="Europe/Berlin")
    before, after = instant("2027-03-26T12:00:00"), instant("2027-03-28T12:00:00")
    assert latest_period(chosen, before) == Period("2027-03-26", instant("2027-03-26T05:00:00"))
    assert latest_period(chosen, after) == Period("2027-03-28", instant("2027-03-28T04:00:00"))


def test_weeks_are_iso_weeks() -> None:
    chosen = schedule("weekly", time(8), settlement_weekday=7)
    found = periods(chosen, instant("2026-12-21T00:00:00"), instant("2027-01-11T00:00:00"))
    assert found == [
        Period("2026-W52", instant("2026-12-27T08:00:00")),
        Period("2026-W53", instant("2027-01-03T08:00:00")),
        Period("2027-W01", instant("2027-01-10T08:00:00")),
    ]


def test_a_short_month_ends_on_its_last_day() -> None:
    chosen = schedule("monthly", time(0), settlement_monthday=31)
    found = periods(chosen, instant("2028-01-01T00:00:00"), instant("2028-05-01T00:00:00"))
    assert [(period.key, period.ends_at.day) for period in found] == [
        ("2028-01", 31),
        ("2028-02", 29),
        ("2028-03", 31),
        ("2028-04", 30),
    ]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("frequency", ["weekly", "monthly"])
def test_three_years_of_weeks_and_months_have_one_period_each(zone: str, frequency: str) -> None:
    chosen = schedule(frequency, time(2, 30), zone, settlement_weekday=7, settlement_monthday=28)
    found = periods(chosen, instant("2025-01-01T12:00:00"), instant("2027-12-31T12:00:00"))
    assert len({period.key for period in found}) == len(found) == {"weekly": 156, "monthly": 36}[frequency]
    assert all(one.ends_at < other.ends_at for one, other in pairwise(found))


def test_who_asks_for_each_settlement_has_no_periods() -> None:
    now = instant("2026-11-21T12:00:00")
    assert latest_period(schedule("manual"), now) is next_period(schedule("manual"), now) is None
    assert requested_period(now) == Period("now:2026-11-21T12:00:00.000000Z", now)


@given(
    st.sampled_from(["daily", "weekly", "monthly"]),
    st.times().map(lambda at: at.replace(microsecond=0)),
    st.sampled_from(ZONES),
    st.integers(1, 7),
    st.integers(1, 31),
    st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - it gets a zone
)
def test_the_latest_has_ended_and_the_next_has_not(
    frequency: str, at: time, zone: str, weekday: int, monthday: int, now: datetime
) -> None:
    chosen = schedule(frequency, at, zone, settlement_weekday=weekday, settlement_monthday=monthday)
    latest, following = latest_period(chosen, now), next_period(chosen, now)
    assert latest is not None
    assert following is not None
    assert latest.ends_at <= now < following.ends_at
    assert latest.key != following.key
    assert next_period(chosen, latest.ends_at) == following
    assert latest_period(chosen, following.ends_at) == following


def test_the_next_three_runs_keep_their_time_when_the_clocks_change() -> None:
    chosen = schedule(at=time(9), zone="Europe/Berlin")
    coming = coming_periods(chosen, instant("2027-03-26T12:00:00"), 3)
    assert [period.ends_at for period in coming] == [
        instant("2027-03-27T08:00:00"),
        instant("2027-03-28T07:00:00"),
        instant("2027-03-29T07:00:00"),
    ]
    assert coming_periods(schedule("manual"), instant("2027-03-26T12:00:00"), 3) == []


def test_the_next_three_months_come_one_after_the_other() -> None:
    chosen = schedule("monthly", settlement_monthday=31)
    coming = coming_periods(chosen, instant("2027-12-31T00:00:00"), 3)
    assert [period.key for period in coming] == ["2028-01", "2028-02", "2028-03"]
