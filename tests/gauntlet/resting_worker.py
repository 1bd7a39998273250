"""A worker that also knows a task that takes its time, so that an outage meets it at work.

For the control arms `--kombu` leaves kombu as it is, and `--no-guard` takes the guard off.
"""

from __future__ import annotations

import sys
import time

from celery.__main__ import main
from kombu.transport import redis as transport

from config.celery import app
from config.periodic import consumer, task_runs

REST, REST_SECONDS = "gauntlet.rest", 1.0
RESTING = "resting"


@app.task(name=REST)
def rest(queue: str) -> None:
    """Say that it has begun, and end a while later. Those that wait behind it are taken up then."""
    task_runs.note(RESTING, queue)
    time.sleep(REST_SECONDS)


def take_guards_off() -> None:
    if "--kombu" in sys.argv:
        sys.argv.remove("--kombu")
        transport.Channel.QoS = transport.QoS
    if "--no-guard" in sys.argv:
        sys.argv.remove("--no-guard")
        app.steps["worker"].discard(consumer.Guard)


if __name__ == "__main__":
    import django

    django.setup()
    take_guards_off()
    main()
