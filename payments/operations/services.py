"""Alarms are raised, kept up and cleared here, so that those which are open are what is true now."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import timedelta

import structlog
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.utils import timezone

from payments.chains import registry
from payments.operations.dangers import Danger, of_providers
from payments.operations.models import Alarm
from payments.operations.states import PROVIDER_ALARMS, STEADY_FOR, AlarmKind

logger = structlog.get_logger(__name__)

SEEN_AGAIN_AFTER = timedelta(seconds=5)
"""How often it is written down that an alarm goes on."""


def set_alarms(*, environment: str, network: str, kinds: Collection[AlarmKind], dangers: Iterable[Danger]) -> None:
    """Make the open alarms of these kinds equal to the dangers there are now: raise, keep up, clear."""
    found = {(danger.kind, danger.subject): danger for danger in dangers}
    here = Alarm.objects.filter(environment=environment, network=network, kind__in=kinds, cleared_at__isnull=True)
    if not found and not here.exists():
        return
    with transaction.atomic():
        known = {(AlarmKind(alarm.kind), alarm.subject): alarm for alarm in here.order_by("pk").select_for_update()}
        for key, danger in found.items():
            alarm = known.pop(key, None)
            if alarm is None:
                _raise(environment, network, danger)
            else:
                _keep_up(alarm, danger)
        for alarm in known.values():
            _clear(alarm)


def note_providers(
    environment: str, network: str, *, kinds: Collection[AlarmKind] = tuple(PROVIDER_ALARMS.values())
) -> None:
    """Raise and clear alarms about those whom this process asks: what it found is nowhere but in its memory.

    Of `kinds` alone: who asks some of them now and then cannot say that the others are well.
    """
    try:
        states = registry.chain(environment, network).provider_states()
    except ImproperlyConfigured:
        return  # whoever reads the network says so
    found = [danger for danger in of_providers(states) if danger.kind in kinds]
    set_alarms(environment=environment, network=network, kinds=kinds, dangers=found)


def clear_alarms_of_unused(networks: Collection[tuple[str, str]]) -> None:
    """Nobody looks after networks that are in use no longer: what was said of them is over."""
    for alarm in Alarm.objects.filter(cleared_at__isnull=True).order_by("pk"):
        if (alarm.environment, alarm.network) not in networks:
            _clear(alarm, at_once=True)


def acknowledge_alarm(alarm: Alarm, *, acknowledged_by: str) -> bool:
    """Somebody looks after it; False when somebody else does already, or it is over."""
    mine = Alarm.objects.filter(pk=alarm.pk, acknowledged_at__isnull=True, cleared_at__isnull=True)
    is_mine = mine.update(acknowledged_at=timezone.now(), acknowledged_by=acknowledged_by) > 0
    if is_mine:
        logger.info("alarm acknowledged", alarm=str(alarm), acknowledged_by=acknowledged_by)
    return is_mine


def _raise(environment: str, network: str, danger: Danger) -> None:
    now = timezone.now()
    alarm, is_new = Alarm.objects.get_or_create(
        environment=environment,
        network=network,
        kind=danger.kind,
        subject=danger.subject,
        cleared_at=None,
        defaults={"message": danger.message, "raised_at": now, "last_seen_at": now},
    )
    if is_new:
        _log("alarm raised", alarm)


def _keep_up(alarm: Alarm, danger: Danger) -> None:
    now = timezone.now()
    if alarm.message == danger.message and now - alarm.last_seen_at < SEEN_AGAIN_AFTER:
        return
    alarm.message, alarm.last_seen_at = danger.message, now
    alarm.save(update_fields=["message", "last_seen_at"])


def _clear(alarm: Alarm, *, at_once: bool = False) -> None:
    now = timezone.now()
    steady_for = STEADY_FOR.get(AlarmKind(alarm.kind), timedelta())
    if not at_once and now - alarm.last_seen_at < steady_for:
        return
    alarm.cleared_at = now
    alarm.save(update_fields=["cleared_at"])
    _log("alarm cleared", alarm)


def _log(event: str, alarm: Alarm) -> None:
    say = logger.error if alarm.cleared_at is None else logger.info
    say(
        event,
        environment=alarm.environment,
        network=alarm.network,
        kind=alarm.kind,
        subject=alarm.subject,
        message=alarm.message,
    )
