"""How long a guesser waits."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from merchants.access import attempts
from merchants.access.attempts import Patience, forget, give_back, take_attempt
from merchants.models import AttemptCount

NOW = datetime(2027, 1, 1, tzinfo=UTC)
PATIENCE = Patience(free=3, first_wait_seconds=2, longest_wait_seconds=60, forget_after_seconds=600)


def later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("failures", "wait"), [(0, 0), (2, 0), (3, 2), (4, 4), (5, 8), (7, 32), (8, 60), (9, 60), (10_000, 60)]
)
def test_the_wait_doubles_up_to_the_longest(failures: int, wait: int) -> None:
    assert PATIENCE.wait_seconds(failures, NOW, NOW) == wait


def test_time_already_waited_counts_and_rounds_up() -> None:
    assert [PATIENCE.wait_seconds(5, NOW, later(seconds)) for seconds in (0.5, 7, 7.9, 8, 100)] == [8, 1, 1, 0, 0]


def test_after_enough_quiet_all_is_forgotten() -> None:
    assert not PATIENCE.has_forgotten(NOW, later(599.9))
    assert PATIENCE.has_forgotten(NOW, later(600))


@given(gaps=st.lists(st.floats(0, 200), max_size=300))
def test_no_more_than_the_free_guesses_are_looked_at_in_any_minute(gaps: list[float]) -> None:
    """The rule for API keys, walked through without a database."""
    patience, failures, last, now, looked_at = attempts.KEYS_FROM_ADDRESS, 0, NOW, NOW, []
    for gap in gaps:
        now += timedelta(seconds=gap)
        if failures and patience.wait_seconds(failures, last, now):
            continue
        failures = 1 if patience.has_forgotten(last, now) else failures + 1
        last = now
        looked_at.append(now)
    for first, twentieth_after in zip(looked_at, looked_at[20:], strict=False):
        assert twentieth_after - first >= timedelta(seconds=60)


@pytest.mark.django_db
class TestCounting:
    def test_free_attempts_are_taken_at_once_and_the_next_one_waits(self) -> None:
        assert [take_attempt("x", PATIENCE, now=NOW) for _ in range(5)] == [0, 0, 0, 2, 2]
        assert AttemptCount.objects.get().failures == 3
        assert take_attempt("x", PATIENCE, now=later(2)) == 0
        assert take_attempt("x", PATIENCE, now=later(2)) == 4

    def test_subjects_are_counted_apart(self) -> None:
        for _ in range(3):
            take_attempt("x", PATIENCE, now=NOW)
        assert take_attempt("y", PATIENCE, now=NOW) == 0

    def test_quiet_forgets(self) -> None:
        for _ in range(4):
            take_attempt("x", PATIENCE, now=NOW)
        assert [take_attempt("x", PATIENCE, now=later(600)) for _ in range(4)] == [0, 0, 0, 2]

    def test_what_was_right_is_given_back_or_forgotten(self) -> None:
        for _ in range(3):
            take_attempt("x", PATIENCE, now=NOW)
        give_back("x")
        assert AttemptCount.objects.get().failures == 2
        forget("x")
        give_back("x")
        assert not AttemptCount.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_guesses_in_parallel_count_one_after_another() -> None:
    start = threading.Barrier(8)
    waits: list[int] = []

    def guess() -> None:
        start.wait()
        waits.append(take_attempt("x", PATIENCE, now=NOW))
        connection.close()

    threads = [threading.Thread(target=guess) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(waits) == [0, 0, 0, 2, 2, 2, 2, 2]
