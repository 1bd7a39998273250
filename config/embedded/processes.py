"""The processes of one embedded run: started, watched, started again when they fail, and never left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

STEADY_SECONDS = 60.0
"""A process that has run for so long has not failed again and again."""
LONGEST_PAUSE_SECONDS = 60.0


class Child:
    """One process and its descendants, in a process group of their own, so that all of them can be stopped."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
        self.name = name
        self._command = list(command)
        self._environment = dict(environment)
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._pause = 0.0
        self._started_at = self._start_at = 0.0

    @property
    def process_id(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def has_ended(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def start(self) -> None:
        # In a group of its own it does not get Ctrl-C: the supervisor decides what stops when.
        self._process = subprocess.Popen(  # noqa: S603 - our own programs
            self._command, env=self._environment, cwd=self._folder, stdin=subprocess.DEVNULL, start_new_session=True
        )

    def watch(self, now: float) -> bool:
        """Starts it again when it has ended, after a pause that is twice as long each time that it ends soon.

        True when the process was started again.
        """
        if self._process is not None:
            if (code := self._process.poll()) is None:
                return False
            self._note_failure(code, now)
        if now < self._start_at:
            return False
        self.start()
        self._started_at = now
        return True

    def stop(self, patience_seconds: float) -> None:
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(patience_seconds)
        kill_group(self._process.pid)
        self._process.wait()
        self._process = None

    def _note_failure(self, code: int, now: float) -> None:
        assert self._process is not None  # noqa: S101 - the caller has just checked it
        kill_group(self._process.pid)  # processes that it has started itself
        self._process = None
        is_soon = now - self._started_at < STEADY_SECONDS
        self._pause = min(2 * self._pause, LONGEST_PAUSE_SECONDS) if is_soon and self._pause else 1.0
        self._start_at = now + self._pause
        print(f"The {self.name} process ended ({code}); starting it again in {self._pause:g} s.", flush=True)


def kill_group(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def record(path: Path, children: Sequence[Child]) -> None:
    """Notes the running processes, for the next start in case this supervisor is killed."""
    running = []
    for child in children:
        with suppress(psutil.NoSuchProcess):
            if child.process_id is not None:
                running.append([child.process_id, psutil.Process(child.process_id).create_time()])
    path.write_text(json.dumps(running))


def stop_left_overs(path: Path, patience_seconds: float = 5.0) -> int:
    """Ends the noted processes of a supervisor that was killed. A process id that was reused since is left alone."""
    try:
        noted = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return 0
    left_over = []
    for process_id, created in noted:
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(process_id)
            if abs(process.create_time() - created) < 1.0:
                left_over.append(process)
    for process in left_over:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    psutil.wait_procs(left_over, timeout=patience_seconds)
    for process in left_over:
        kill_group(process.pid)
    deadline = time.monotonic() + patience_seconds
    while any(process.is_running() for process in left_over) and time.monotonic() < deadline:
        time.sleep(0.05)
    path.unlink(missing_ok=True)
    return len(left_over)
