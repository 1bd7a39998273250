"""Where sessions of PostgreSQL wait while they execute statements, by samples of `pg_stat_activity`."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.bench.load import CONNECTIONS, LoadGenerator, request_bytes
from tests.bench.report import Line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from merchants.services import IssuedKey

SAMPLE_SECONDS = 0.005
GOAL = 0.05
"""Of a writer's time, for each kind of wait."""

SECONDS = 10.0

_SAMPLE = """
    SELECT coalesce(wait_event_type || ' ' || wait_event, ''), count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
        AND state = 'active' AND wait_event_type IS DISTINCT FROM 'Client' AND query NOT LIKE '%simulated_chain%'
    GROUP BY 1
"""


class Waits:
    """Samples of what sessions that executed a statement waited for, without those that waited for their client.

    Statements of the simulated networks are left out: a real network is no table."""

    def __init__(self) -> None:
        self.samples = 0
        self.seen = Counter[str]()

    @property
    def of_statements(self) -> Mapping[str, float]:
        """The part of the time of statements that went into each kind of wait, the largest first, from 0 to 1."""
        return {wait: count / self.seen.total() for wait, count in self.seen.most_common() if wait}

    def of_writers(self, number: int) -> Mapping[str, float]:
        """The same of the time of so many, who each wait for the reply to one request after the other."""
        return {wait: count / (self.samples * number) for wait, count in self.seen.most_common() if wait}


def shown(shares: Mapping[str, float]) -> str:
    """The largest of them."""
    return ", ".join(f"{wait} {share:.1%}" for wait, share in list(shares.items())[:3]) or "none"


@contextmanager
def sampled() -> Iterator[Waits]:
    """Samples while it is entered, through a session of its own."""
    waits, over = Waits(), threading.Event()

    def watch() -> None:
        from django.db import connection

        with connection.cursor() as cursor:
            while not over.wait(SAMPLE_SECONDS):
                cursor.execute(_SAMPLE)
                waits.seen.update(dict(cursor.fetchall()))
                waits.samples += 1
        connection.close()

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield waits
    finally:
        over.set()
        thread.join()


def lines(generator: LoadGenerator, body: object, keys: Mapping[str, Iterable[IssuedKey]]) -> list[Line]:
    """Payments made through as many connections as the benchmark has, by the merchants of these keys."""
    found = []
    for name, issued in keys.items():
        requests = [
            request_bytes(
                "POST",
                "/sandbox/v1/payments",
                {"Authorization": f"Bearer {each.key.public_key}", "X-Api-Secret": each.secret},
                json.dumps(body).encode(),
            )
            for each in issued
        ]
        with sampled() as waits:
            generator.measure(requests, status=201, seconds=SECONDS)
        shares = waits.of_writers(CONNECTIONS)
        worst = max(shares.values(), default=0.0)
        found += [
            Line(
                f"waits, {CONNECTIONS} writers of {name}",
                shown(shares),
                f"{waits.samples} samples",
                f"{worst:.1%}",
                f"<= {GOAL:.0%} each",
                worst <= GOAL,
            ),
            Line("the same of the time of statements", shown(waits.of_statements)),
        ]
    return found
