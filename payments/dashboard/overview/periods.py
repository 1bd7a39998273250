"""The times that the overview can show, each beside as long a time before it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from payments.deposits.turnover.models import Span

_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)


@dataclass(frozen=True)
class Period:
    """So many bars, each of so many hours or days; the last one is still going on."""

    name: str
    label: str | Promise
    before: str | Promise
    span: Span
    bars: int
    spans_in_bar: int = 1

    @property
    def bar(self) -> timedelta:
        return (_HOUR if self.span == Span.HOUR else _DAY) * self.spans_in_bar

    def end(self, now: datetime) -> datetime:
        """The end of the hour or day that is going on, UTC."""
        if self.span == Span.HOUR:
            return now.replace(minute=0, second=0, microsecond=0) + _HOUR
        return now.replace(hour=0, minute=0, second=0, microsecond=0) + _DAY

    def starts(self, now: datetime) -> list[datetime]:
        """Start of each bar, the oldest first."""
        end = self.end(now)
        return [end - self.bar * number for number in range(self.bars, 0, -1)]

    def first(self, now: datetime) -> datetime:
        return self.end(now) - self.bar * self.bars

    def first_before(self, now: datetime) -> datetime:
        """Start of the preceding period used for comparison."""
        return self.end(now) - self.bar * self.bars * 2


PERIODS = (
    Period("24h", _("24 hours"), _("the 24 hours before"), Span.HOUR, 24),
    Period("7d", _("7 days"), _("the 7 days before"), Span.DAY, 7),
    Period("30d", _("30 days"), _("the 30 days before"), Span.DAY, 30),
    Period("90d", _("90 days"), _("the 90 days before"), Span.DAY, 30, 3),
    Period("12m", _("12 months"), _("the 12 months before"), Span.DAY, 52, 7),
)
USUAL = PERIODS[2]


def period_named(name: str) -> Period:
    """The period of this name; thirty days for anything else."""
    return next((period for period in PERIODS if period.name == name), USUAL)
