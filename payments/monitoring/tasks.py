"""Periodic tasks: measure the networks, and raise alarms about what threatens money there.

Alarms are raised on another queue than the tasks that query networks, so that a stopped worker of those is noticed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from celery import shared_task
from django.db.models import QuerySet
from django.utils import timezone

from config.periodic import task_runs
from config.periodic.containment import contained
from config.periodic.due_work import rows_of
from payments.chains.registry import places_in_use
from payments.monitoring import alarm_rules
from payments.monitoring.auditing import audit_wallet
from payments.monitoring.mailing import mail_alarms
from payments.monitoring.measuring import measure_network
from payments.monitoring.models import Alarm, Pulse
from payments.monitoring.reconciling import reconcile_due
from payments.monitoring.services import clear_alarms_of_unused, set_alarms
from payments.monitoring.states import HOUSE, INSTALLATION_ALARMS, ROW_ALARMS
from payments.monitoring.watching_roles import watch_roles
from payments.suspense import review


@shared_task(name="operations.measure_networks")
def measure_networks() -> None:
    """Measure the wallet balances, the costs of sending and the roles of the factory on every network."""
    for environment, network in places_in_use():
        with contained("network not measured", environment=environment, network=network):
            measure_network(environment, network)
        with contained("roles not read", environment=environment, network=network):
            watch_roles(environment, network)


@shared_task(name="operations.audit_wallets")
def audit_wallets() -> None:
    """Compare the hot wallets that deposits arrive at with the ledger."""
    for environment, network in places_in_use():
        with contained("wallet not audited", environment=environment, network=network):
            audit_wallet(environment, network)


@shared_task(name="operations.reconcile")
def reconcile() -> None:
    """Run reconcile where it is due."""
    began = Pulse.objects.filter(kind=task_runs.BEGAN).values_list("at", flat=True).first()
    reconcile_due(timezone.now(), began_at=began)


@shared_task(name="operations.watch_dangers")
def raise_alarms() -> None:
    """Raise and clear the alarms that rows show, then mail."""
    in_use = places_in_use()
    with contained("nothing compared with new sanctions lists"):
        review.compare_due()
    for environment, network in in_use:
        with contained("alarms not updated", environment=environment, network=network):
            found = alarm_rules.of_rows(environment, network)
            set_alarms(environment=environment, network=network, kinds=ROW_ALARMS, conditions=found)
    with contained("alarms of the installation not updated"):
        environment, network = HOUSE
        set_alarms(
            environment=environment,
            network=network,
            kinds=INSTALLATION_ALARMS,
            conditions=alarm_rules.of_installation(),
        )
    with contained("alarms of unused networks not cleared"):
        clear_alarms_of_unused([*in_use, HOUSE])
    mail_alarms()


@rows_of("operations.watch_dangers")
def _open_alarms() -> Iterable[QuerySet[Any]]:
    """Open alarms: each is seen again, cleared, and mailed about. What raises one shows in no row in particular."""
    return [Alarm.objects.filter(cleared_at__isnull=True)]
