"""One running Ballast: `python -m config.embedded run` of a source tree, with its own folder, port and clock."""

from __future__ import annotations

import ctypes
import json
import math
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

CLOCK = Path("postgres/data/sandbox_clock")
"""The file, below a run's folder, with the seconds by which its clock is ahead: where PostgreSQL can read it."""

START_SECONDS = 120.0
STOP_SECONDS = 90.0
"""More than its parts and PostgreSQL are given by Ballast itself: killed before, it would leave them behind."""
CATCH_UP_SECONDS = 60.0

LONG_MOVE_SECONDS = 300
"""A move, or moves together, after which networks are waited for: half of the time after which one that was not read
takes no payments."""

BLOCK_SECONDS = 4
"""The pace of the simulated networks. Payers' payments do not wait for it (`Sandbox.pay`); it leaves a busy machine the
time to notice what a reorganisation has undone."""

HANDED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR")
"""What a run gets of the caller's environment: a Django project under test has a SECRET_KEY and DATABASE_URL too."""


class NotStarted(Exception):
    """Ballast did not start; the message has the end of its log."""


class Product:
    """Ballast's processes, started and stopped as one."""

    def __init__(self, source: Path, python: Path, var: Path) -> None:
        self.source, self.python, self.var, self.port = source, python, var, _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = var / "sandbox.log"
        self._clock = var / CLOCK
        self._unwaited_seconds = 0
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *, has_moved_clock: bool = True) -> None:
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [self.python, "-m", "config.embedded", "run"],
                cwd=self.source,
                env=self._environment(has_moved_clock=has_moved_clock),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the sandbox, which then stops this one
                preexec_fn=_end_with_parent if sys.platform == "linux" else None,
            )
        ends_at = time.monotonic() + START_SECONDS
        while "Ballast is ready" not in self.log.read_text(errors="replace"):
            if self._process.poll() is not None or time.monotonic() > ends_at:
                self.stop()
                raise self._not_started("Ballast did not start")
            time.sleep(0.05)
        if has_moved_clock:
            try:
                self._wait_for_networks(times=1)
            except TimeoutError as error:
                raise self._not_started(str(error)) from None

    def _not_started(self, reason: str) -> NotStarted:
        return NotStarted(f"{reason}:\n{self.log.read_text(errors='replace')[-4000:]}")

    def stop(self) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process = None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def manage(self, *command: str) -> None:
        """Run a management command on this run."""
        subprocess.run(
            [self.python, "-m", "config.embedded", "manage", *command],
            cwd=self.source,
            env=self._environment(has_moved_clock=False),
            check=True,
            stdout=subprocess.DEVNULL,
        )

    def keys(self) -> dict[str, str]:
        """What the run wrote for the demo's merchant: its keys and wallet."""
        lines = (self.var / "demo.env").read_text().splitlines()
        return dict(pair.split("=", 1) for line in lines if "=" in line for pair in shlex.split(line)[:1])

    @property
    def seconds_ahead(self) -> int:
        return int(self._clock.read_text())

    def advance(self, seconds: int) -> None:
        """Move the clock of all processes and PostgreSQL on at one instant, and wait until networks are read again.

        A short move waits only if it comes to a long one together with those before it. What came due meanwhile follows
        by itself, once each, as after a machine slept.
        """
        if seconds < 0:
            raise ValueError("the clock goes on, never back")
        with self._clock.open("r+") as file:  # one write of the same length: nobody reads half of it
            file.write(str(self.seconds_ahead + seconds).rjust(20))
        self._unwaited_seconds += seconds
        if self._unwaited_seconds >= LONG_MOVE_SECONDS:
            self._wait_for_networks()
            self._unwaited_seconds = 0

    def _wait_for_networks(self, *, times: int = 2) -> None:
        """Wait until each was read so often: the first reading may have begun before the clock was moved.

        One that was last read long ago takes no payments.
        """
        ends_at = time.monotonic() + CATCH_UP_SECONDS
        for _ in range(times):
            began = time.monotonic()
            while self._unread_seconds() > time.monotonic() - began:
                if time.monotonic() > ends_at:
                    raise TimeoutError(f"A network was not read within {CATCH_UP_SECONDS:g} s; see {self.log}")
                time.sleep(0.05)

    def _unread_seconds(self) -> float:
        """How long ago the network was read that was not read for longest."""
        try:
            with urllib.request.urlopen(f"{self.url}/health/work", timeout=10) as reply:
                work: dict[str, Any] = json.load(reply)
        except urllib.error.HTTPError as error:  # 503: something is behind
            work = json.load(error)
        except OSError:
            return math.inf
        ages = [each["ageSeconds"] for each in work.get("work", ()) if each["name"] == "watcher"]
        return max((math.inf if age is None else age for age in ages), default=0.0 if "work" in work else math.inf)

    def _environment(self, *, has_moved_clock: bool) -> dict[str, str]:
        moved = {"BALLAST_SANDBOX_CLOCK": str(self._clock), "PYTHONPATH": str(Path(__file__).parent / "moved_clock")}
        return {
            **{name: os.environ[name] for name in HANDED_ON if name in os.environ},
            "BALLAST_MODE": "embedded",
            "BALLAST_VAR": str(self.var),
            "BALLAST_HOST": "127.0.0.1",
            "BALLAST_PORT": str(self.port),
            "PUBLIC_URL": self.url,
            # A .env of the source names the host above, and these, of its developer.
            "DATABASE_URL": "",
            "REDIS_URL": "",
            "SANDBOX_CHAIN": "simulated",
            "SIMULATED_BLOCK_SECONDS": str(BLOCK_SECONDS),
            "SANDBOX_REQUESTS_PER_MINUTE": "1000000",
            **(moved if has_moved_clock else {}),
        }


def _end_with_parent() -> None:
    """Ask the kernel to stop this process once its parent has died, however it died."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
