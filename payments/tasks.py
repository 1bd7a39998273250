"""Sweeps: find rows that are due and call services. Losing or repeating one changes nothing but the delay."""

from __future__ import annotations

from typing import Any

import structlog
from celery import shared_task
from django.core.exceptions import ImproperlyConfigured

from config.containment import contained
from config.turns import turn_at
from payments import booking_sweeps, crediting, native, strays, sweeping
from payments.chains.errors import ChainError
from payments.chains.registry import places_in_use
from payments.operations.services import note_providers
from payments.operations.states import AlarmKind
from payments.rates.quoting import refresh_rates as refresh
from payments.transfers.driving import check_set_up
from payments.watching import watch_network

logger = structlog.get_logger(__name__)

MAX_SCANS_IN_A_ROW = 20

USUAL = (ChainError, ImproperlyConfigured)
"""What a network that does not answer, or is not set up yet, may raise at any time."""


@shared_task(name="payments.watch_networks")
def watch_networks() -> None:
    """Read what is new on every network, then judge what that concerns."""
    for environment, network in places_in_use():
        place: dict[str, Any] = {"environment": environment, "network": network}
        with contained("network could not be read", **place):
            for _ in range(MAX_SCANS_IN_A_ROW):
                if not watch_network(environment, network):
                    break
        with contained("deposits of no payment could not be booked", **place):
            strays.book_strays(environment, network)
        with contained("providers could not be told of", **place):
            note_providers(environment, network)
    crediting.assess_due()


@shared_task(name="payments.assess_due")
def assess_due() -> None:
    """Judge what a crash or a halted network left due."""
    crediting.assess_due()


@shared_task(name="payments.expire_due")
def expire_due() -> None:
    """End the windows whose time is over."""
    if crediting.expire_due():
        crediting.assess_due()


@shared_task(name="payments.sweep")
def sweep() -> None:
    """Bring deposits to the hot wallets, and book what has arrived there."""
    for environment, network in places_in_use():
        place: dict[str, Any] = {"environment": environment, "network": network}
        with contained("nothing swept", expected=USUAL, **place), turn_at(f"sweep {environment} {network}") as is_ours:
            if is_ours:
                _sweep_network(environment, network)
        with contained("providers could not be told of", **place):  # what following payouts has found in this process
            note_providers(environment, network, kinds=[AlarmKind.PROVIDER_DISAGREES])
    with turn_at("book sweeps") as is_ours:
        if is_ours:
            booking_sweeps.book_sweeps()


def _sweep_network(environment: str, network: str) -> None:
    check_set_up(environment, network)
    with contained("no deposits swept", expected=USUAL, environment=environment, network=network):
        sweeping.sweep_due(environment, network)
    native.sweep_asked(environment, network)


@shared_task(name="payments.look_for_native_coin")
def look_for_native_coin() -> None:
    """Look at a few more deposit addresses for the network's own coin, which no event tells of."""
    for environment, network in places_in_use():
        with contained("not looked for native coin", expected=USUAL, environment=environment, network=network):
            native.look_for_some(environment, network)


@shared_task(name="payments.refresh_rates")
def refresh_rates() -> None:
    """Ask the rate sources."""
    done = refresh()
    if done.failures or done.disputed:
        logger.warning("rates incomplete", failures=done.failures, disputed=["/".join(pair) for pair in done.disputed])
