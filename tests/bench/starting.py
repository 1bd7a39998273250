"""How long `make run` takes until it is ready, for the first time and with the data of another run."""

from __future__ import annotations

import re
import tempfile
from contextlib import suppress
from pathlib import Path

import psutil

from tests.bench.report import Line
from tests.bench.server import free_port
from tests.platform.runs import Run

GOALS = {"first start of make run": 10.0, "start on existing data": 5.0}
"""Seconds, once everything is installed."""


def lines() -> list[Line]:
    with tempfile.TemporaryDirectory(prefix="ballast-bench-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL runs as another account when the benchmark runs as root
        return [_line(name, goal, Path(folder)) for name, goal in GOALS.items()]


def _line(name: str, goal: float, var: Path) -> Line:
    with Run(var, free_port()) as run:
        run.wait_until("Ctrl-C stops everything.")
        [seconds] = re.findall(r"ready after ([\d.]+) s", run.printed)
        used = sum(map(_processor_seconds, run.family()))
        run.stop()
    figure = f"{seconds} s, {used:.1f} s of the processor"
    return Line(name, figure, "", "", f"<= {goal:g} s", float(seconds) <= goal)


def _processor_seconds(process: psutil.Process) -> float:
    """Its own and of those it has waited for, as PostgreSQL does for sessions that have ended."""
    with suppress(psutil.NoSuchProcess):
        return sum(process.cpu_times()[:4])
    return 0.0
