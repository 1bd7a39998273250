from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhooks.schedule import (
    ATTEMPTS,
    JITTER,
    RETRY_AFTER_MAX,
    WAITS,
    Outcome,
    Reply,
    next_attempt_at,
    parse_retry_after,
)

NOW = datetime(2027, 1, 31, 9, 30, tzinfo=UTC)


def wait_after(attempts_left: int, *, retry_after: timedelta | None = None, seed: int = 1) -> timedelta | None:
    due = next_attempt_at(NOW, attempts_left=attempts_left, retry_after=retry_after, chance=random.Random(seed))
    return None if due is None else due - NOW


def test_ten_attempts_over_a_little_more_than_three_days() -> None:
    assert ATTEMPTS == 10
    assert WAITS[0] == timedelta()
    assert [wait.total_seconds() for wait in WAITS[1:5]] == [5, 300, 1800, 7200]
    assert timedelta(days=3) < sum(WAITS, timedelta()) < timedelta(days=3, hours=6)


@given(attempts_left=st.integers(1, ATTEMPTS - 1), seed=st.integers())
def test_a_wait_is_within_a_fifth_of_the_schedule(attempts_left: int, seed: int) -> None:
    wait = wait_after(attempts_left, seed=seed)
    planned = WAITS[ATTEMPTS - attempts_left]
    assert wait is not None
    assert planned * (1 - JITTER) <= wait <= planned * (1 + JITTER)


def test_what_failed_together_does_not_come_back_together() -> None:
    waits = [wait_after(9, seed=seed) for seed in range(1000)]
    assert len(set(waits)) > 900
    assert max(filter(None, waits)) - min(filter(None, waits)) > timedelta(seconds=1.8)


def test_after_the_last_attempt_there_is_none() -> None:
    assert wait_after(0) is None
    assert wait_after(0, retry_after=timedelta(seconds=1)) is None


def test_retry_after_makes_a_wait_longer_and_never_shorter() -> None:
    assert wait_after(9, retry_after=timedelta(minutes=10)) == timedelta(minutes=10)
    shorter = wait_after(9, retry_after=timedelta(seconds=1))
    assert shorter is not None
    assert shorter >= timedelta(seconds=4)


def test_retry_after_is_at_most_a_day() -> None:
    assert wait_after(9, retry_after=timedelta(days=30)) == RETRY_AFTER_MAX == timedelta(days=1)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0), ("120", 120), (" 7 ", 7), ("99999999999999999999", 86_400), (None, None), ("", None), ("soon", None),
        ("-5", None), ("1.5", None), ("१२", None), ("Sun, 31 Jan 2027 09:40:00 GMT", 600),
        ("Sunday, 31-Jan-27 09:40:00 GMT", 600), ("Sun, 31 Jan 2027 09:40:00 -0000", 600),
        ("Sun, 31 Jan 2027 09:00:00 GMT", 0), ("Tue, 31 Jan 2057 09:00:00 GMT", 86_400),
    ],
)  # fmt: skip
def test_retry_after_is_seconds_or_a_date(text: str | None, seconds: int | None) -> None:
    wait = parse_retry_after(text, now=NOW)
    assert wait == (None if seconds is None else timedelta(seconds=seconds))


@given(st.text() | st.from_regex(r"\w{3}, \d{1,2} \w{3} \d{1,6} \d{1,3}:\d{1,3}:\d{1,3} [+-]?\d{0,9}"))
def test_retry_after_may_say_anything(text: str) -> None:
    wait = parse_retry_after(text, now=NOW)
    assert wait is None or timedelta() <= wait <= RETRY_AFTER_MAX


@given(st.integers(100, 999))
def test_only_2xx_is_success(status_code: int) -> None:
    outcome = Reply(status_code=status_code).outcome
    assert (outcome is Outcome.SUCCESS) == (200 <= status_code <= 299)
    assert (outcome is Outcome.GONE) == (status_code == 410)


def test_no_reply_is_a_failure() -> None:
    assert Reply(error="No reply within 15 seconds.").outcome is Outcome.FAILURE
