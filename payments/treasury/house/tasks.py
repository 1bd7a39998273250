"""Periodic tasks: coins of the house that have come, what cold wallets move."""

from __future__ import annotations

from celery import shared_task

from config.database.advisory_locks import named_lock
from payments.treasury.house import fundings
from payments.treasury.house.cold import moves


@shared_task(name="house.book_fundings")
def book_fundings() -> None:
    """Book what the house puts in, once it is seen."""
    with named_lock("book fundings") as is_ours:
        if is_ours:
            fundings.book_fundings()


@shared_task(name="house.follow_cold")
def follow_cold() -> None:
    """Book what has left the cold wallets."""
    with named_lock("follow cold wallets") as is_ours:
        if is_ours:
            moves.follow_cold()
