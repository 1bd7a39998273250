"""Alarms and time, in words the tests of operations share."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import F

from payments.models import ScanCursor
from payments.operations import tasks
from payments.operations.dangers import Danger
from payments.operations.models import Alarm
from payments.operations.services import set_alarms
from payments.operations.states import AlarmKind
from tests.payments.scenes import PRODUCTION, SANDBOX

__all__ = ["PRODUCTION", "SANDBOX"]

EVERY_KIND = tuple(AlarmKind)


def open_alarms() -> list[tuple[str, str]]:
    """Network and kind of each, in the order of networks."""
    found = Alarm.objects.filter(cleared_at__isnull=True).order_by("network", "kind", "subject")
    return list(found.values_list("network", "kind"))


def look() -> None:
    """One round of the worker that looks for dangers."""
    tasks.measure_networks()
    tasks.watch_dangers()


def there_is(*dangers: Danger, environment: str = PRODUCTION, network: str = "polygon") -> None:
    """These are the dangers of a network now, and no others."""
    set_alarms(environment=environment, network=network, kinds=EVERY_KIND, dangers=dangers)


def let_alarms_age(by: timedelta) -> None:
    """As if they had been raised, and last seen, so much earlier."""
    Alarm.objects.update(raised_at=F("raised_at") - by, last_seen_at=F("last_seen_at") - by)


def let_cursor_age(network: str, by: timedelta, *fields: str) -> None:
    """As if what these fields tell of had been so much earlier."""
    ScanCursor.objects.filter(network=network).update(**{name: F(name) - by for name in fields})
