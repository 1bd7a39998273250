"""The background process of an embedded run: prepares the database, then is a Celery worker, with beat in a thread.

Without Redis the broker lives in this process's memory, which is why the two share one.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from types import FrameType

from celery.beat import Service
from celery.worker import state

from config.celery import QUEUES, app
from config.embedded import preparing

THREADS = 8


def main() -> int:
    preparing.note_loading()
    # Without these two, threads of the pool look tasks up in another app: accepted, and never run.
    app.finalize()
    app.set_default()
    gc.disable()  # nothing that is loaded becomes garbage, and looking for it takes a fifth of the time
    app.loader.import_default_modules()
    gc.freeze()
    gc.enable()
    preparing.prepare()

    worker = app.WorkController(
        app=app,
        pool_cls="threads",
        concurrency=THREADS,
        queues=list(QUEUES),
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    )
    beat = Service(app, scheduler_cls=app.conf.beat_scheduler, max_interval=app.conf.beat_max_loop_interval)

    def stop(_number: int, _frame: FrameType | None) -> None:
        state.should_stop = os.EX_OK

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)

    def schedule() -> None:
        try:
            beat.start()
        finally:
            state.should_stop = state.should_stop or os.EX_SOFTWARE  # a worker without beat would do nothing

    thread = threading.Thread(target=schedule, name="beat", daemon=True)
    thread.start()
    worker.start()
    beat.stop()
    thread.join(timeout=5)
    return int(worker.exitcode or os.EX_OK)


if __name__ == "__main__":
    os.environ["BALLAST_PROCESS"] = "background"
    sys.exit(main())
