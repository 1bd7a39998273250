"""Processes that work until they die: at a named place, or wherever they happen to be when their time is over."""

from __future__ import annotations

import os
import random
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from django.db import connections

from tests.gauntlet.report import Check


@dataclass(frozen=True)
class Deaths:
    """Where the lives of a run have ended: at each of the places `must` once, at some of `may`, or anywhere."""

    must: Sequence[str]
    may: Sequence[str]
    least: int
    most: int
    """While a place is missed, more is given to do, until so many have died."""
    at: Counter[str] = field(default_factory=Counter[str])

    @property
    def missed(self) -> list[str]:
        return [name for name in self.must if not self.at[name]]

    @property
    def are_enough(self) -> bool:
        return self.at.total() >= (self.most if self.missed else self.least)

    def next(self, chance: random.Random) -> str:
        """The place to die at: one that was missed, if there is one."""
        return chance.choice(self.missed or [*self.must, *self.may])

    def __str__(self) -> str:
        return f"{self.at.total()} kills, {self.at['anywhere']} of them anywhere"

    def check(self) -> Check:
        figure = f"{self.at.total()} kills at {len(self.at.keys() - {'anywhere'})} places"
        if self.missed:
            figure += f", not at {', '.join(self.missed)}"
        holds = not self.missed and self.at.total() >= self.least
        return Check("the worker dies before and after signing, committing, sending, recording", figure, holds)


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
