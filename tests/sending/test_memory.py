"""A worker runs the dispatcher every few seconds for months: its memory stays what it was."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import psutil
import pytest

from webhooks.sending.dispatch import Dispatcher

pytestmark = pytest.mark.django_db(transaction=True)

WARM_UP_RUNS, RUNS = 60, 300
BOUND_MIB = 6.0


@pytest.fixture(autouse=True)
def thaw() -> Iterator[None]:
    """What a run has frozen would never be freed in this process."""
    yield
    gc.unfreeze()
    gc.collect()


def growth_mib(runs: int, *, freezes_each_run: bool = False) -> float:
    """By how much this process has grown after so many idle runs, once its pools and caches are filled."""
    process = psutil.Process()
    before = 0
    for number in range(WARM_UP_RUNS + runs):
        if number == WARM_UP_RUNS:
            gc.collect()
            before = process.memory_info().rss
        if freezes_each_run:
            gc.freeze()
        assert Dispatcher().run(run_seconds=5, idle_seconds=0) == 0
    gc.collect()
    return float(process.memory_info().rss - before) / 2**20


def test_three_hundred_runs_leave_nothing_behind() -> None:
    growth = growth_mib(RUNS)
    assert growth < BOUND_MIB


def test_freezing_on_each_run_keeps_the_garbage_of_the_last() -> None:
    growth = growth_mib(RUNS, freezes_each_run=True)
    assert growth > 4 * BOUND_MIB
