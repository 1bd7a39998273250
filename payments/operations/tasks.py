"""Sweeps: measure the networks, and let operators know what threatens money there.

Dangers are looked for on another queue than what talks to networks, so that its worker is missed when it stops.
"""

from __future__ import annotations

from celery import shared_task

from config.containment import contained
from payments.chains.registry import places_in_use
from payments.operations import dangers
from payments.operations.mailing import mail_alarms
from payments.operations.measuring import measure_network
from payments.operations.services import clear_alarms_of_unused, set_alarms
from payments.operations.states import HOUSE, HOUSE_ALARMS, ROW_ALARMS


@shared_task(name="operations.measure_networks")
def measure_networks() -> None:
    """Ask every network what its wallet holds, and what sending costs."""
    for environment, network in places_in_use():
        with contained("network not measured", environment=environment, network=network):
            measure_network(environment, network)


@shared_task(name="operations.watch_dangers")
def watch_dangers() -> None:
    """Raise and clear the alarms that rows tell of, then mail."""
    in_use = places_in_use()
    for environment, network in in_use:
        with contained("dangers not looked for", environment=environment, network=network):
            found = dangers.of_rows(environment, network)
            set_alarms(environment=environment, network=network, kinds=ROW_ALARMS, dangers=found)
    with contained("dangers to the installation not looked for"):
        environment, network = HOUSE
        set_alarms(environment=environment, network=network, kinds=HOUSE_ALARMS, dangers=dangers.of_house())
    with contained("alarms of unused networks not cleared"):
        clear_alarms_of_unused([*in_use, HOUSE])
    mail_alarms()
