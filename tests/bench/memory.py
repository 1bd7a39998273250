"""What the web tier keeps in memory: granian's parent and two workers, each page that they share counted once.

They run on the packages of an installation. REST framework, redis and structlog load others where they find them, eight
MiB of what this bench itself runs on.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench.load import LoadGenerator, request_bytes
from tests.bench.report import Line
from tests.bench.server import HOST, Server, server

if TYPE_CHECKING:
    from merchants.services import IssuedKey

GOAL_MIB = 200.0
PYTHON = Path(sys.prefix, "installation", "bin", "python")
"""`make bench` puts it there."""
WORKERS, SECONDS = 2, 3.0
NAME = f"web tier, {WORKERS} workers"
LISTS = (3, 100)
"""Payments of a list; some hundred lists of each are read."""


def line(issued: IssuedKey) -> Line:
    if not PYTHON.exists():
        return Line(NAME, "skipped. `make bench` installs the packages of an installation")
    headers = {"Authorization": f"Bearer {issued.key.public_key}", "X-Api-Secret": issued.secret}
    own = {"DJANGO_SETTINGS_MODULE": "config.settings", "SANDBOX_REQUESTS_PER_MINUTE": "10000000"}
    with server("config.wsgi:application", workers=WORKERS, python=str(PYTHON), **own) as running:
        at_start = _mebibytes(running)
        generator = LoadGenerator(HOST, running.port)
        for limit in LISTS:
            asked = [request_bytes("GET", f"/sandbox/v1/payments?limit={limit}", headers)]
            generator.measure(asked, status=200, seconds=SECONDS)
        found = _mebibytes(running)
    figure = f"{found:.0f} MiB after lists of {LISTS[0]} and {LISTS[1]}"
    return Line(
        NAME,
        figure,
        f"{at_start:.0f} MiB at start",
        "",
        f"<= {GOAL_MIB:g} MiB",
        found <= GOAL_MIB,
    )


def _mebibytes(running: Server) -> float:
    processes = [running.process, *running.process.children(recursive=True)]
    lines = [line for each in processes for line in Path(f"/proc/{each.pid}/smaps_rollup").read_text().splitlines()]
    return sum(int(each.split()[1]) for each in lines if each.startswith("Pss:")) / 1024
