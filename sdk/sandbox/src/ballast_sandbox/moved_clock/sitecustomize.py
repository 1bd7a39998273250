"""Moves the clock of the Ballast that this Python runs: `ballast_sandbox.running` puts this folder on its PYTHONPATH.

The offset is in a file that PostgreSQL reads too (`running.CLOCK`), so every process goes on to the same time at the
same instant. Moved are the time that Django gives, the milliseconds in ids and the schedule of beat. `time.time()` is
not: by that Ballast signs webhooks and checks signed requests, and the shop has the clock of its machine.
"""

import os
import sys
import time
from datetime import UTC, datetime, timedelta

_FILE = os.environ.get("BALLAST_SANDBOX_CLOCK", "")

if _FILE:
    if os.environ.get("BALLAST_MODE") != "embedded" or os.environ.get("DATABASE_URL"):
        sys.exit("BALLAST_SANDBOX_CLOCK moves the clock of a sandbox alone: BALLAST_MODE=embedded and no DATABASE_URL.")

    _offset = os.open(_FILE, os.O_RDONLY | os.O_CLOEXEC)
    _time_ns = time.time_ns

    def _moved_ns() -> int:
        return _time_ns() + int(os.pread(_offset, 32, 0)) * 1_000_000_000

    def _moved_now() -> datetime:
        return datetime.now(UTC) + timedelta(seconds=int(os.pread(_offset, 32, 0)))

    time.time_ns = _moved_ns

    try:
        from django.utils import timezone
    except ImportError:  # another program of the same environment
        pass
    else:
        timezone.now = _moved_now
    if "config.embedded.background" in sys.orig_argv:
        from celery import Celery

        Celery.now = lambda self: _moved_now().astimezone(self.timezone)

        sys.path.append(os.getcwd())
        from config.periodic import due_work, task_runs

        # By clocks that are not moved, tasks without rows rest, and what was done is not noted again at once. Here each
        # looks at the new time at once, and /health/work shows when it has.
        due_work.REST_SECONDS = due_work.LONGEST_REST_SECONDS = task_runs.NOTE_EVERY_SECONDS = 0.0
