"""Periods of whole days. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo


@dataclass(frozen=True, slots=True)
class Days:
    """Whole days from `first` to `last`, both included, in a time zone."""

    first: date
    last: date
    zone: tzinfo = UTC

    def __post_init__(self) -> None:
        if self.last < self.first:
            raise ValueError("the last day is before the first")

    @property
    def start(self) -> datetime:
        """The instant at which the first day begins, UTC."""
        return self._midnight(self.first)

    @property
    def end(self) -> datetime:
        """The instant at which the day after the last one begins, UTC: the first that is not in the period."""
        return self._midnight(self.day_after)

    @property
    def day_after(self) -> date:
        return self.last + timedelta(days=1)

    def _midnight(self, day: date) -> datetime:
        return datetime(day.year, day.month, day.day, tzinfo=self.zone).astimezone(UTC)
