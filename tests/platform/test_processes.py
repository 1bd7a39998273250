"""A process that fails is started again, one that keeps failing after growing pauses, and none outlives it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import psutil

from config.embedded.processes import Child, record, stop_left_overs
from tests.patience import until

FOLDER = Path(__file__).parent


def child(code: str) -> Child:
    return Child("test", [sys.executable, "-c", code], os.environ, FOLDER)


def wait_until_gone(process_id: int) -> None:
    def is_gone() -> bool:
        try:
            return psutil.Process(process_id).status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    until(is_gone)


def test_a_process_that_ends_is_started_again_after_a_pause() -> None:
    one = child("raise SystemExit(3)")
    one.start()
    wait_until_gone(one.process_id or 0)
    assert one.watch(now=100.0) is False
    assert one.watch(now=100.9) is False
    assert one.watch(now=101.1) is True
    one.stop(patience_seconds=5)


def test_a_process_that_keeps_failing_is_started_again_for_ever_at_growing_intervals() -> None:
    one = child("raise SystemExit(3)")
    pauses, now = [], 100.0
    for ran_for in (0, 1, 1, 1, 1, 1, 1, 1, 60):
        one.start()
        wait_until_gone(one.process_id or 0)
        now += ran_for
        assert one.watch(now) is False
        began = now
        while not one.watch(now):
            now += 1
        pauses.append(int(now - began))
        one.stop(patience_seconds=5)
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 1]


def test_a_process_that_ignores_the_request_is_killed_with_all_it_started(tmp_path: Path) -> None:
    note = tmp_path / "started"
    one = child(
        "import pathlib, signal, subprocess, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "inner = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);"
        f"pathlib.Path({str(tmp_path / 'part')!r}).write_text(str(inner.pid));"
        f"pathlib.Path({str(tmp_path / 'part')!r}).rename({str(note)!r}); time.sleep(60)"
    )
    one.start()
    outer = one.process_id
    assert outer is not None
    until(note.exists)
    one.stop(patience_seconds=0.2)
    wait_until_gone(outer)
    wait_until_gone(int(note.read_text()))


def test_what_a_killed_supervisor_left_behind_is_stopped(tmp_path: Path) -> None:
    one = child("import time; time.sleep(60)")
    one.start()
    assert one.process_id is not None
    record(tmp_path / "processes.json", [one])
    assert stop_left_overs(tmp_path / "processes.json") == 1
    wait_until_gone(one.process_id)
    assert stop_left_overs(tmp_path / "processes.json") == 0
    one.stop(patience_seconds=1)


def test_a_process_that_took_the_number_of_another_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "processes.json").write_text(f"[[{os.getpid()}, 12345.0]]")
    assert stop_left_overs(tmp_path / "processes.json") == 0
