"""Schedules that are moved: what is promised is run, and no period is run twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, time, timedelta
from typing import NamedTuple

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from merchants.models import Merchant, MerchantSettings
from merchants.services import SettingsChanges, update_settings
from settlements import due_runs
from settlements.models import SettlementRun
from settlements.plans.periods import coming_periods
from settlements.services import preview
from tests.factories import make_merchant
from tests.settlements.scenes import SANDBOX

pytestmark = pytest.mark.django_db

START = datetime(2027, 3, 1, 12, tzinfo=UTC)
ZONES = ["UTC", "Europe/Berlin", "Pacific/Kiritimati", "Pacific/Honolulu", "Asia/Kathmandu", "Pacific/Apia"]


def make_old_merchant() -> Merchant:
    merchant = make_merchant()
    Merchant.objects.filter(pk=merchant.pk).update(created_at=START)
    return Merchant.objects.get(pk=merchant.pk)


class Chosen(NamedTuple):
    """A schedule."""

    frequency: str
    at: time = time(0)
    zone: str = "UTC"
    weekday: int = 1
    monthday: int = 1


def move(merchant: Merchant, chosen: Chosen) -> None:
    changes = SettingsChanges(
        settlement_frequency=chosen.frequency,
        settlement_time=chosen.at,
        settlement_timezone=chosen.zone,
        settlement_weekday=chosen.weekday if chosen.frequency == "weekly" else None,
        settlement_monthday=chosen.monthday if chosen.frequency == "monthly" else None,
    )
    update_settings(merchant=merchant, environment=SANDBOX, changes=changes)


def run(merchant: Merchant, now: datetime) -> int:
    return due_runs.run_due(now, merchant=merchant, environment=SANDBOX)


def keys(merchant: Merchant) -> list[str]:
    found = SettlementRun.objects.filter(merchant=merchant, environment=SANDBOX).order_by("period_end")
    return list(found.values_list("period_key", flat=True))


def promised(merchant: Merchant, now: datetime, count: int = 1) -> list[tuple[str, datetime]]:
    chosen = MerchantSettings.objects.get(merchant=merchant, environment=SANDBOX)
    return [(period.key, period.ends_at) for period in coming_periods(chosen, now, count)]


@contextmanager
def no_run_is_tried() -> Iterator[None]:
    with CaptureQueriesContext(connection) as queries:
        yield
    tried = [query["sql"] for query in queries if "INSERT INTO" in query["sql"]]
    assert tried == []


def at(day: int, hour: int = 0, month: int = 3) -> datetime:
    return datetime(2027, month, day, hour, tzinfo=UTC)


MOVES = [
    # the schedule, its run, where it is moved to, what is promised then, and when it would run in the same period
    (Chosen("monthly", monthday=5), at(5), Chosen("monthly", monthday=20), ("2027-04", at(20, month=4)), at(20)),
    (Chosen("daily", time(9)), at(5, 9), Chosen("daily", time(18)), ("2027-03-06", at(6, 18)), at(5, 18)),
    (Chosen("weekly", weekday=2), at(2), Chosen("weekly", weekday=5), ("2027-W10", at(12)), at(5)),
    (
        Chosen("daily", time(9), "Pacific/Kiritimati"),
        at(4, 19),
        Chosen("daily", time(9)),
        ("2027-03-06", at(6, 9)),
        at(5, 9),
    ),
]


@pytest.mark.parametrize(("before", "first", "after", "following", "same_period"), MOVES)
def test_a_schedule_that_is_moved_inside_a_period_that_has_run_waits_for_the_next(
    before: Chosen, first: datetime, after: Chosen, following: tuple[str, datetime], same_period: datetime
) -> None:
    merchant = make_old_merchant()
    move(merchant, before)
    assert run(merchant, first) == 1
    move(merchant, after)

    now = first + timedelta(minutes=1)
    upcoming = preview(merchant, merchant.settings.get(environment=SANDBOX), now).period
    assert upcoming is not None
    assert (upcoming.key, upcoming.ends_at) == following == promised(merchant, now)[0]
    with no_run_is_tried():
        assert run(merchant, same_period + timedelta(minutes=1)) == 0
    assert run(merchant, following[1]) == 1
    assert keys(merchant)[-1] == following[0]


def test_periods_up_to_the_end_of_the_last_run_are_passed_over_at_once() -> None:
    merchant = make_old_merchant()
    assert run(merchant, datetime(2037, 3, 1, tzinfo=UTC)) == 1  # by a clock that went ten years ahead
    chosen = MerchantSettings.objects.select_related("merchant").get(merchant=merchant, environment=SANDBOX)
    with CaptureQueriesContext(connection) as queries:
        coming = [period.key for period in coming_periods(chosen, START, 3)]
    assert coming == ["2037-03-02", "2037-03-03", "2037-03-04"]
    assert len(queries) == 2


schedules = st.builds(
    Chosen,
    st.sampled_from(["daily", "weekly", "monthly"]),
    st.sampled_from([time(0), time(9), time(18, 30), time(23, 59)]),
    st.sampled_from(ZONES),
    st.integers(1, 7),
    st.integers(1, 31),
)
waits = st.integers(1, 100) | st.integers(20, 2000)
"""Hours in which nothing is run."""
steps = st.lists(st.one_of(schedules, waits, st.sampled_from(["a run", "three runs"])), min_size=4, max_size=14)


@pytest.mark.slow
@settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(first=schedules, steps=steps)
def test_however_a_schedule_is_moved_what_is_promised_is_run_and_no_period_twice(
    first: Chosen, steps: list[Chosen | int | str]
) -> None:
    with transaction.atomic():
        merchant, now = make_old_merchant(), START
        for step in [first, *steps]:
            if isinstance(step, Chosen):
                move(merchant, step)
                run(merchant, now)
            elif isinstance(step, int):
                now += timedelta(hours=step)
                assert run(merchant, now) <= 1  # after an outage of any length there is one run
            else:
                for key, ends_at in promised(merchant, now, 1 if step == "a run" else 3):
                    with no_run_is_tried():
                        assert run(merchant, ends_at - timedelta(microseconds=1)) == 0
                    assert run(merchant, ends_at) == 1
                    assert keys(merchant)[-1] == key
                    now = ends_at
            with no_run_is_tried():
                assert run(merchant, now) == 0
        made = keys(merchant)
        assert len(set(made)) == len(made)
        transaction.set_rollback(True)
