"""Alarms and time, in words the tests of operations share."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import F

from payments.deposits.models import ScanCursor
from payments.monitoring import tasks
from payments.monitoring.alarm_rules import AlarmCondition
from payments.monitoring.models import Alarm
from payments.monitoring.services import set_alarms
from payments.monitoring.states import AlarmKind
from tests.payments.scenes import PRODUCTION, SANDBOX

__all__ = ["PRODUCTION", "SANDBOX"]

EVERY_KIND = tuple(AlarmKind)


def open_alarms() -> list[tuple[str, str]]:
    """Network and kind of each, in the order of networks."""
    found = Alarm.objects.filter(cleared_at__isnull=True).order_by("network", "kind", "subject")
    return list(found.values_list("network", "kind"))


def look() -> None:
    """One round of the task that raises alarms."""
    tasks.measure_networks()
    tasks.raise_alarms()


def there_is(*conditions: AlarmCondition, environment: str = PRODUCTION, network: str = "polygon") -> None:
    """Let exactly these conditions hold on a network."""
    set_alarms(environment=environment, network=network, kinds=EVERY_KIND, conditions=conditions)


def let_alarms_age(by: timedelta) -> None:
    """As if they had been raised, and last seen, so much earlier."""
    Alarm.objects.update(raised_at=F("raised_at") - by, last_seen_at=F("last_seen_at") - by)


def let_cursor_age(network: str, by: timedelta, *fields: str) -> None:
    """As if what these fields tell of had been so much earlier."""
    ScanCursor.objects.filter(network=network).update(**{name: F(name) - by for name in fields})
