"""A worker runs the dispatcher every few seconds for months: its memory stays what it was."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.database_address import database_address

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

ROOT = Path(__file__).parents[2]

BOUND_MIB = 6.0
"""Of 150 runs. Freezing on each run, the fault this is for, keeps a quarter of a MiB a time."""


def test_many_runs_leave_nothing_behind_and_the_garbage_of_each_would_be_seen() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.sending.idling"],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": database_address()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    growth, growth_when_freezing = map(float, done.stdout.split())
    assert growth < BOUND_MIB
    assert growth_when_freezing > 4 * BOUND_MIB
