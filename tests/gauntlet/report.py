"""What a scenario claims, with the figure that shows it."""
# ruff: noqa: T201 - progress goes to standard output

from __future__ import annotations

import time
from dataclasses import dataclass


class Skipped(Exception):
    """The scenario cannot be played here; the message says why."""


@dataclass(frozen=True)
class Check:
    """One claim. A control arm's claim is that it fails where a guard is off."""

    claim: str
    figure: str
    holds: bool

    def __str__(self) -> str:
        return f"  {'ok    ' if self.holds else 'FAILED'}  {self.claim:<72} {self.figure}"


class Progress:
    """A line now and then, so that somebody who waits sees that something happens."""

    def __init__(self, every_seconds: float = 5.0) -> None:
        self._every_seconds = every_seconds
        self._started = time.monotonic()
        self._due = self._started

    def say(self, text: str, *, now: bool = False) -> None:
        if now or time.monotonic() >= self._due:
            self._due = time.monotonic() + self._every_seconds
            print(f"  {time.monotonic() - self._started:4.0f} s  {text}", flush=True)
