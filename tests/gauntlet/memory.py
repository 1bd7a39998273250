"""Every process of an installation for a while, at rest but for the dispatcher: how fast its memory grows."""

from __future__ import annotations

import random
import statistics
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from config.celery import wake
from tests.bench.server import HOST, free_port
from tests.gauntlet.installation import BEAT, OPTIONS, WORKER, Installation
from tests.gauntlet.report import Check, Progress

WARM_UP_SECONDS, MEASURED_SECONDS = 180.0, 900.0
SAMPLE_SECONDS = 5.0
WAKES_PER_SAMPLE = 5
"""Runs of the dispatcher beside those at rest, of which there are few: the control leaks on each."""

FLAT_MIB_PER_HOUR, GROWING_MIB_PER_HOUR = 20.0, 60.0
"""Caches that still fill and the page size of the allocator make a short measurement uncertain by some MiB an hour."""

IS_CONTROLLED = True
SHORT: dict[str, Any] = {
    "WARM_UP_SECONDS": 15.0, "MEASURED_SECONDS": 6.0, "SAMPLE_SECONDS": 1.0,
    "FLAT_MIB_PER_HOUR": 5_000.0, "IS_CONTROLLED": False,
}  # fmt: skip
"""Shows that the processes start and are measured. No leak but a gross one shows in seconds, the control's neither."""

QUEUES = ("chain", "webhooks", "money", "reports")
CONTROL = "webhooks, frozen on each run"
FREEZING_WORKER = [sys.executable, "-m", "tests.gauntlet.freezing_worker", *WORKER[3:]]

Sample = tuple[float, Mapping[str, float]]


def run(installation: Installation, _chance: random.Random) -> list[Check]:
    progress = Progress(every_seconds=60.0)
    port = free_port()
    installation.start("web", _web(port))
    for queue in QUEUES:
        command = [sys.executable, "-m", "celery", "--app", "config.celery", "worker", "--queues", queue, *OPTIONS]
        installation.start(queue, [*command, "--hostname", f"{queue}@localhost"])
    if IS_CONTROLLED:
        installation.start(CONTROL, [*FREEZING_WORKER, "--hostname", "control@localhost"])
    installation.start("beat", BEAT)
    names = ["web", *QUEUES, "beat", *[CONTROL] * IS_CONTROLLED]
    samples: list[Sample] = []
    started = time.monotonic()
    while (passed := time.monotonic() - started) < WARM_UP_SECONDS + MEASURED_SECONDS:
        _ask(port)
        held = {name: installation.memory_mib(name) for name in names}
        if passed >= WARM_UP_SECONDS:
            samples.append((passed, held))
        progress.say(", ".join(f"{name} {mib:.0f}" for name, mib in held.items()) + " MiB")
        for _ in range(WAKES_PER_SAMPLE):
            wake("webhooks.deliver_due")
            time.sleep(SAMPLE_SECONDS / WAKES_PER_SAMPLE)
    slopes = {name: slope_per_hour([(at, held[name]) for at, held in samples]) for name in names}
    claims = {name: f"{name}: its memory stays flat" for name in names if name != CONTROL}
    return [
        *(
            Check(text, _figure(samples, name, slopes), slopes[name] < FLAT_MIB_PER_HOUR)
            for name, text in claims.items()
        ),
        *(
            Check(
                "control: frozen on each run, the dispatcher's worker grows",
                _figure(samples, name, slopes),
                slopes[name] > GROWING_MIB_PER_HOUR,
            )
            for name in names
            if name == CONTROL
        ),
    ]


def slope_per_hour(points: list[tuple[float, float]]) -> float:
    """By how much the values grow in an hour, by least squares; points are (seconds, value)."""
    seconds, values = zip(*points, strict=True)
    return float(statistics.linear_regression(seconds, values).slope) * 3600


def _figure(samples: list[Sample], name: str, slopes: Mapping[str, float]) -> str:
    return f"{slopes[name]:+.1f} MiB/hour, {samples[0][1][name]:.0f} to {samples[-1][1][name]:.0f} MiB"


def _web(port: int) -> list[str]:
    return [
        sys.executable, "-m", "config.web", "--interface", "wsgi", "--no-ws", "--host", HOST, "--port", str(port),
        "--workers", "1", "--blocking-threads", "256", "--log-level", "warning", "config.wsgi:application",
    ]  # fmt: skip


def _ask(port: int) -> None:
    """A page and a refusal of the API, so that the web process has something to do."""
    for path in ("/health/ready", "/login", "/v1/payments"):
        with suppress(urllib.error.URLError):
            urllib.request.urlopen(f"http://{HOST}:{port}{path}", timeout=5).read()
