"""When a merchant is settled, worked out day by day. Zones whose clocks never change: their hours stand here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta

HOURS = {"UTC": 0, "Asia/Tokyo": 9, "America/Phoenix": -7}
DAYS_BACK, DAYS_AHEAD = 70, 140


@dataclass(eq=False)
class Calendar:
    """A schedule, and what was run by it: every date, week or month once, however the schedule is moved."""

    frequency: str = "daily"
    at: time = time(0)
    zone: str = "UTC"
    weekday: int = 1
    monthday: int = 1
    run_keys: set[str] = field(default_factory=set)
    last_end: datetime | None = None

    def due(self, now: datetime) -> tuple[str, datetime] | None:
        """The period that ended last of those that were not run: one run after a time without any."""
        ended = [period for period in self._periods(now) if period[1] <= now and self._is_open(*period)]
        return max(ended, key=lambda period: period[1], default=None)

    def coming(self, now: datetime) -> tuple[str, datetime]:
        """The next period that will be run."""
        later = [period for period in self._periods(now) if period[1] > now and self._is_open(*period)]
        return min(later, key=lambda period: period[1])

    def run(self, key: str, end: datetime) -> None:
        self.run_keys.add(key)
        self.last_end = end

    def _is_open(self, key: str, end: datetime) -> bool:
        return key not in self.run_keys and (self.last_end is None or end > self.last_end)

    def _periods(self, now: datetime) -> Iterator[tuple[str, datetime]]:
        for distance in range(-DAYS_BACK, DAYS_AHEAD):
            day = now.date() + timedelta(days=distance)
            if key := self._key_of(day):
                local = datetime.combine(day, self.at, tzinfo=UTC)
                yield key, local - timedelta(hours=HOURS[self.zone])

    def _key_of(self, day: date) -> str:
        """The key of the period that ends on this local date; empty when none does."""
        if self.frequency == "daily":
            return f"{day:%Y-%m-%d}"
        if self.frequency == "weekly":
            year, week, weekday = day.isocalendar()
            return f"{year}-W{week:02}" if weekday == self.weekday else ""
        is_last = (day + timedelta(days=1)).month != day.month
        is_its_day = day.day == self.monthday or (is_last and day.day < self.monthday)
        return f"{day:%Y-%m}" if is_its_day else ""
