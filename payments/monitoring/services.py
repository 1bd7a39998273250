"""Raises, keeps up and clears alarms, so that the open ones are the conditions that hold now."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import timedelta

import structlog
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction

from config.database.database_time import database_now
from payments.chains import registry
from payments.monitoring.alarm_rules import AlarmCondition, of_providers
from payments.monitoring.models import Alarm, NetworkSnapshot, RoleChange
from payments.monitoring.states import PROVIDER_ALARMS, STEADY_FOR, AlarmKind

logger = structlog.get_logger(__name__)

SEEN_AGAIN_AFTER = timedelta(seconds=5)
"""Interval between updates of the time when an alarm was last seen."""


def set_alarms(
    *, environment: str, network: str, kinds: Collection[AlarmKind], conditions: Iterable[AlarmCondition]
) -> None:
    """Make the open alarms of these kinds equal to the conditions that hold now."""
    found = {(condition.kind, condition.subject): condition for condition in conditions}
    here = Alarm.objects.filter(environment=environment, network=network, kind__in=kinds, cleared_at__isnull=True)
    if not found and not here.exists():
        return
    with transaction.atomic():
        known = {(AlarmKind(alarm.kind), alarm.subject): alarm for alarm in here.order_by("pk").select_for_update()}
        for key, condition in found.items():
            alarm = known.pop(key, None)
            if alarm is None:
                _raise(environment, network, condition)
            else:
                _keep_up(alarm, condition)
        for alarm in known.values():
            _clear(alarm)


def note_providers(
    environment: str, network: str, *, kinds: Collection[AlarmKind] = tuple(PROVIDER_ALARMS.values())
) -> None:
    """Raise and clear alarms about the providers of this process, whose state is only in its memory.

    Only of `kinds`: a process that rarely queries a provider cannot know that it is well.
    """
    try:
        chain = registry.chain(environment, network)
    except ImproperlyConfigured:
        return  # the process that reads the network reports it
    snapshot = NetworkSnapshot.objects.filter(environment=environment, network=network).only("let_back_at").first()
    if chain.providers and snapshot and snapshot.let_back_at:
        chain.providers.let_back(snapshot.let_back_at)
    states = chain.providers.states() if chain.providers else ()
    found = [condition for condition in of_providers(states) if condition.kind in kinds]
    set_alarms(environment=environment, network=network, kinds=kinds, conditions=found)


def let_providers_back(snapshot: NetworkSnapshot, *, said_by: str) -> None:
    """Have each process query its quarantined providers again, from its next look at its providers on."""
    NetworkSnapshot.objects.filter(pk=snapshot.pk).update(let_back_at=database_now())
    logger.info("providers let back", network=snapshot.network, environment=snapshot.environment, said_by=said_by)


def clear_alarms_of_unused(networks: Collection[tuple[str, str]]) -> None:
    """End the alarms of networks that are no longer in use."""
    for alarm in Alarm.objects.filter(cleared_at__isnull=True).order_by("pk"):
        if (alarm.environment, alarm.network) not in networks:
            _clear(alarm, at_once=True)


def acknowledge_alarm(alarm: Alarm, *, acknowledged_by: str) -> bool:
    """Note that an operator takes care of it; False when another does already, or it has ended."""
    mine = Alarm.objects.filter(pk=alarm.pk, acknowledged_at__isnull=True, cleared_at__isnull=True)
    is_mine = mine.update(acknowledged_at=database_now(), acknowledged_by=acknowledged_by) > 0
    if is_mine:
        logger.info("alarm acknowledged", alarm=str(alarm), acknowledged_by=acknowledged_by)
    return is_mine


def _raise(environment: str, network: str, condition: AlarmCondition) -> None:
    now = database_now()
    alarm, is_new = Alarm.objects.get_or_create(
        environment=environment,
        network=network,
        kind=condition.kind,
        subject=condition.subject,
        cleared_at=None,
        defaults={"message": condition.message, "raised_at": now, "last_seen_at": now},
    )
    if is_new:
        _log("alarm raised", alarm)


def _keep_up(alarm: Alarm, condition: AlarmCondition) -> None:
    now = database_now()
    if alarm.message == condition.message and now - alarm.last_seen_at < SEEN_AGAIN_AFTER:
        return
    alarm.message, alarm.last_seen_at = condition.message, now
    alarm.save(update_fields=["message", "last_seen_at"])


def _clear(alarm: Alarm, *, at_once: bool = False) -> None:
    now = database_now()
    steady_for = STEADY_FOR.get(AlarmKind(alarm.kind), timedelta())
    if not at_once and now - alarm.last_seen_at < steady_for:
        return
    alarm.cleared_at = now
    alarm.save(update_fields=["cleared_at"])
    _log("alarm cleared", alarm)


def _log(event: str, alarm: Alarm) -> None:
    log = logger.error if alarm.cleared_at is None else logger.info
    log(
        event,
        environment=alarm.environment,
        network=alarm.network,
        kind=alarm.kind,
        subject=alarm.subject,
        message=alarm.message,
    )


def know_role_change(change: RoleChange, *, known_by: str) -> bool:
    """Note that an operator knows of a change of roles, which ends its alarm; False when one did before."""
    unknown = RoleChange.objects.filter(pk=change.pk, known_at__isnull=True)
    return unknown.update(known_at=database_now(), known_by=known_by) > 0
