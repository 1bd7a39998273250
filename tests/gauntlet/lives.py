"""Processes that work until they die: at a named place, or wherever they happen to be when their time is over."""

from __future__ import annotations

import os
import signal
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from django.db import connections


def live(prepare: Callable[[], None], work: Callable[[], None], *, seconds: float, crashes: Path) -> bool:
    """One life: prepare, then the same work again and again. Whether it killed itself; else it was killed at the end.

    What it fell over by itself is added to the file `crashes`.
    """
    child = start(prepare, work, crashes=crashes)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, how = os.waitpid(child, os.WNOHANG)
        if done:
            return os.WIFSIGNALED(how)
        time.sleep(0.02)
    end(child)
    return False


def start(prepare: Callable[[], None], work: Callable[[], None], *, crashes: Path) -> int:
    """A life that lasts until somebody calls `end` with the id of its process."""
    connections.close_all()
    child = os.fork()
    if child == 0:
        _work_until_killed(prepare, work, crashes)
    return child


def end(child: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _work_until_killed(prepare: Callable[[], None], work: Callable[[], None], crashes: Path) -> NoReturn:
    try:
        prepare()
        while True:
            work()
    except BaseException:
        with crashes.open("a") as log:
            traceback.print_exc(file=log)
    os._exit(1)
