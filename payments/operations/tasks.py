"""Sweeps: measure the networks, and let operators know what threatens money there.

Dangers are looked for on another queue than what talks to networks, so that its worker is missed when it stops.
"""

from __future__ import annotations

from celery import shared_task

from config.environments import Environment
from payments.chains.registry import networks
from payments.operations import dangers
from payments.operations.mailing import mail_alarms
from payments.operations.measuring import measure_network
from payments.operations.services import clear_alarms_of_unused, set_alarms
from payments.operations.states import ROW_ALARMS


@shared_task(name="operations.measure_networks")
def measure_networks() -> None:
    """Ask every network what its wallet holds, and what sending costs."""
    for environment, network in _in_use():
        measure_network(environment, network)


@shared_task(name="operations.watch_dangers")
def watch_dangers() -> None:
    """Raise and clear the alarms that rows tell of, then mail."""
    in_use = _in_use()
    for environment, network in in_use:
        found = dangers.of_rows(environment, network)
        set_alarms(environment=environment, network=network, kinds=ROW_ALARMS, dangers=found)
    clear_alarms_of_unused(in_use)
    mail_alarms()


def _in_use() -> list[tuple[str, str]]:
    return [(str(environment), network) for environment in Environment.values for network in networks(environment)]
