"""A time of day that stands still, for codes that are good for half a minute."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from django.core.cache import cache


class Clock:
    """The time of day as log-ins and codes see it; it stands still."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        cache.clear()  # the codes that were used
        self.now = float(int(time.time()) // 30 * 30 + 5)
        monkeypatch.setattr(time, "time", lambda: self.now)

    def advance(self, **duration: float) -> None:
        self.now += timedelta(**duration).total_seconds()
