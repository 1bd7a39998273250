"""What is read of a network block by block."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from payments.chains.protocol.transfers import IncomingTransfer, UnreadRecord

Cursor = dict[str, Any]
"""Where the next scan goes on: made and read by the adapter alone, stored as JSON by the watcher."""


@dataclass(frozen=True, slots=True)
class Head:
    """The tip of a network, as far as its providers agree on it."""

    height: int
    block_hash: str
    closed_at: datetime
    finalized_height: int


@dataclass(frozen=True, slots=True)
class Scan:
    """What one scan found.

    `transfers` is complete for the heights `first_height..last_height`: a transfer known from one of these
    heights that is missing here, or stands under another block hash, was moved or undone by a reorg. One that
    was moved may stand in the same scan at another height: match by identity before calling it undone.
    A scan re-reads everything above the finalised height of the cursor, so both bounds may go back.
    `first_height > last_height` when there was nothing to read. Blocks up to `last_block_time` have been read;
    `caught_up` is False when there is more to read at once.
    """

    first_height: int
    last_height: int
    last_block_time: datetime
    head: Head
    transfers: tuple[IncomingTransfer, ...]
    cursor: Cursor
    caught_up: bool
    unread: tuple[UnreadRecord, ...] = ()
    """What was passed over in these heights: it may hold transfers."""


class WatchList(Protocol):
    """The addresses deposits may arrive at. It can be large: query as little as possible."""

    def addresses(self, at_most: int) -> Collection[str] | None:
        """All that money is expected at now; None when they are more than so many."""
        ...

    def matching(self, candidates: Collection[str]) -> set[str]:
        """Those of `candidates` that are watched, also those that nothing is expected at any more."""
        ...
