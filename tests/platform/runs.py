"""A real `make run` on a port and in a folder of its own, and what a shell sees of it."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

import psutil

ROOT = Path(__file__).resolve().parents[2]
READY_SECONDS = 120  # a machine busy with other tests; alone it takes about four


class Run:
    """One `python -m config.embedded run` on a port and in a folder of its own. Enter it to have it ended."""

    def __init__(self, var: Path, port: int, **variables: str) -> None:
        self.var, self.port = var, port
        kept = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LANG"}}
        self.environment = {
            **kept, "BALLAST_VAR": str(var), "BALLAST_PORT": str(port), "BALLAST_MODE": "embedded",
            "DATABASE_URL": "", "REDIS_URL": "", "PUBLIC_URL": "", "LOG_FORMAT": "json", **variables,
        }  # fmt: skip
        descriptor, name = tempfile.mkstemp()
        self.output = Path(name)
        with os.fdopen(descriptor, "wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "config.embedded", "run"], cwd=ROOT, env=self.environment,
                stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.stop()
        for process in self.family():
            process.kill()

    @property
    def printed(self) -> str:
        return self.output.read_text()

    def wait_until(self, words: str) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while words not in self.printed:
            assert self.process.poll() is None, self.printed
            assert time.monotonic() < deadline, self.printed
            time.sleep(0.1)

    def manage(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "config.embedded", "manage", *arguments], cwd=ROOT, env=self.environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    def family(self) -> list[psutil.Process]:
        """Every process that works for this run, the database's too: they name its folder, or carry it along."""
        marks = (str(self.var), f"BALLAST_VAR={self.var}")
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                environment = [f"{name}={value}" for name, value in process.environ().items()]
                words = [*process.cmdline(), *environment]
                if process.status() != psutil.STATUS_ZOMBIE and any(mark in word for mark in marks for word in words):
                    found.append(process)
        return [process for process in found if process.pid != os.getpid()]

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(60)


def demo(var: Path) -> dict[str, str]:
    """What a shell sees after sourcing demo.env."""
    script = f". {shlex.quote(str(var / 'demo.env'))} && env"
    text = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True, env={}).stdout
    pairs = (line.partition("=") for line in text.splitlines())
    return {name: value for name, _, value in pairs if name.startswith("BALLAST_")}
