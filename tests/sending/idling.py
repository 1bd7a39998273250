"""How much a process grows by in idle runs of the dispatcher: `python -m tests.sending.idling`, on the database that
DATABASE_URL names, says so in MiB. First without any fault, then while each run freezes what it finds.

In a process of its own: others that ran before leave memory behind that is freed, and taken again, at any time.
"""
# ruff: noqa: T201 - it says what it measured

from __future__ import annotations

import gc

import django
import psutil

WARM_UP_RUNS, RUNS = 60, 150


def main() -> None:
    from webhooks.sending.dispatch import Dispatcher

    def run(times: int, *, freezes_each_run: bool = False) -> float:
        gc.collect()
        before = process.memory_info().rss
        for _ in range(times):
            if freezes_each_run:
                gc.freeze()
            assert Dispatcher().run(run_seconds=60, idle_seconds=0) == 0
        gc.collect()
        return float(process.memory_info().rss - before) / 2**20

    process = psutil.Process()
    run(WARM_UP_RUNS)
    print(run(RUNS), run(RUNS, freezes_each_run=True))


if __name__ == "__main__":
    django.setup()
    main()
