"""What payouts are for, such as a refund: each room registers its records here, and how they follow their payouts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import QuerySet

from config.containment import contained

BATCH: Final = 500
"""Records of a room that are followed in a row, at most: then it is another room's turn."""


@dataclass(frozen=True, slots=True)
class Owners:
    """The records of a room that own payouts.

    `due` are those whose payout has changed since they were updated; `follow` updates one, and changes nothing when
    there is nothing new. It locks the record before the payout.
    """

    due: Callable[[], QuerySet[Any]]
    follow: Callable[[Any], object]


_ROOMS: dict[str, Owners] = {}


def register_owners(room: str, owners: Owners) -> None:
    """Register the records of a room, in its AppConfig.ready."""
    _ROOMS[room] = owners


def to_follow() -> list[QuerySet[Any]]:
    """The records of each room whose payout has been sent, paid, held or given up since they were updated."""
    return [owners.due() for owners in _ROOMS.values()]


def follow_payouts() -> int:
    """Update the records whose payout has been sent, paid, held or given up; returns how many. One that fails is
    logged, and the others go on."""
    done = 0
    for room, owners in _ROOMS.items():
        for record in owners.due().order_by("pk")[:BATCH]:
            with contained("payout not followed", room=room, owner=str(record.pk)):
                _follow(owners, record)
                done += 1
    return done


def _follow(owners: Owners, record: Any) -> None:
    owners.follow(record)
