"""Postings made at an instant: the clock of their keys stands still meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from unittest import mock

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@contextmanager
def made_at(instant: datetime) -> Iterator[None]:
    """Inside, what is made has the millisecond of this instant in its key."""
    nanoseconds = (instant - _EPOCH) // timedelta(microseconds=1) * 1_000
    with mock.patch("config.ids.time.time_ns", return_value=nanoseconds):
        yield


def zone_far_from_midnight() -> str:
    """A time zone in which no month ends for hours, whenever a test runs."""
    return "UTC" if 3 <= datetime.now(UTC).hour < 21 else "Asia/Tokyo"
