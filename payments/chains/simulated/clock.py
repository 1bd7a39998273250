"""How a simulated network moves on: its lock and its clock.

A block's contents never change once it is visible: whoever waits goes into the next one, in the same database
transaction that makes it visible.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import cast

from django.conf import settings
from django.db import connection, transaction

from config.database.database_time import database_now
from payments.chains.errors import ChainUnavailable
from payments.chains.simulated.actions import Action, perform
from payments.chains.simulated.blocks import newest_stretch
from payments.chains.simulated.filling import fill
from payments.chains.simulated.models import ScheduledAction, SimulatedNetwork, Stretch

_WITH_NEWEST_STRETCH = """
    SELECT clock_timestamp() AS queried_at, network.*, newest.first_height, newest.started_at, newest.block_seconds
    FROM simulated_chain_simulatednetwork AS network
    JOIN simulated_chain_stretch AS newest ON newest.network_id = network.network
    WHERE network.network = %s
    ORDER BY newest.first_height DESC LIMIT 1
"""
"""Run before every query of a network: in plain SQL, which Django need not make anew each time."""


@contextmanager
def steady(network: str) -> Iterator[SimulatedNetwork]:
    """The network's row, as it stays while it is read: locked, or as a read-only database transaction sees it."""
    if _only_reads():
        yield current(network)
        return
    with locked(network) as row:
        yield row


@contextmanager
def locked(network: str, now: datetime | None = None) -> Iterator[SimulatedNetwork]:
    """The network's row, locked and brought up to the present; it is made on first use."""
    with transaction.atomic():
        row = SimulatedNetwork.objects.select_for_update().filter(network=network).first() or _make(network)
        advance(row, now or database_now())
        yield row


def current(network: str) -> SimulatedNetwork:
    """The network's row, brought up to the present; locked only when there is something to add.

    A read-only database transaction, such as the snapshot of `reconcile`, sees it as it was left.
    """
    for row in SimulatedNetwork.objects.raw(_WITH_NEWEST_STRETCH, [network]):
        newest = Stretch(**{name: getattr(row, name) for name in ("first_height", "started_at", "block_seconds")})
        now: datetime = row.queried_at  # type: ignore[attr-defined]  # a column of the query alone
        if newest.block_seconds == _pace() and newest.height_at(now) <= row.height:
            return row
        if _only_reads():
            return row
    with locked(network) as row:
        return row


def answering(network: str) -> SimulatedNetwork:
    """The network as it is now; ChainUnavailable while nobody answers for it."""
    row = current(network)
    refuse_in_outage(row)
    return row


def refuse_in_outage(row: SimulatedNetwork) -> None:
    if row.outage_until is not None and database_now() < row.outage_until:
        raise ChainUnavailable(f"No provider of {row.network} answers.")


def _make(network: str) -> SimulatedNetwork:
    row, made = SimulatedNetwork.objects.get_or_create(network=network)
    if made:
        row.stretches.create(first_height=0, started_at=database_now(), block_seconds=_pace(), generation=0)
    return SimulatedNetwork.objects.select_for_update().get(network=network)


def _only_reads() -> bool:
    if not connection.in_atomic_block:
        return False
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('transaction_read_only') = 'on'")
        (answer,) = cursor.fetchone()
    return bool(answer)


def _pace() -> float:
    pace: float = settings.SIMULATED_BLOCK_SECONDS
    return pace


def advance(row: SimulatedNetwork, now: datetime) -> None:
    """Bring a locked network to the time of its clock. A long gap is one step, however many blocks it holds."""
    newest = newest_stretch(row)
    if newest.block_seconds != _pace():
        newest = _change_pace(row, newest)
    extend(row, newest.height_at(now))


def mine(row: SimulatedNetwork, count: int, now: datetime) -> None:
    """Add blocks to a locked network at once, all closed now; its clock goes on from the last of them."""
    if count < 1:
        raise ValueError("at least one block is mined")
    now = max(now, newest_stretch(row).closed_at(row.height))
    if count > 1:
        row.stretches.create(first_height=row.height + 1, started_at=now, block_seconds=0, generation=row.generation)
    row.stretches.create(
        first_height=row.height + count, started_at=now, block_seconds=_pace(), generation=row.generation
    )
    extend(row, row.height + count)


def extend(row: SimulatedNetwork, height: int) -> None:
    """Make the blocks up to a height visible, doing on the way what was scheduled."""
    if height <= row.height:
        return
    for scheduled in ScheduledAction.objects.filter(network=row, height__lte=height):
        _close_blocks(row, scheduled.height)
        perform(row, cast(Action, scheduled.action), scheduled.arguments)
        scheduled.delete()
    _close_blocks(row, height)


def _close_blocks(row: SimulatedNetwork, height: int) -> None:
    if height <= row.height:
        return
    fill(row, row.height + 1)
    row.height = height
    row.save(update_fields=["height"])


def _change_pace(row: SimulatedNetwork, newest: Stretch) -> Stretch:
    """Go on at another pace after the head, whose own time stays as it was."""
    changed, _ = row.stretches.update_or_create(
        first_height=row.height,
        defaults={
            "started_at": newest.closed_at(row.height),
            "block_seconds": _pace(),
            "generation": newest.generation,
        },
    )
    return changed
