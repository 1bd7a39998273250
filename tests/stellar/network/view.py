"""What one Horizon knows of the network: up to the ledger it has ingested, and no older than what it retains."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.stellar.network.entries import State
from tests.stellar.network.history import AppliedTransaction, Ledger
from tests.stellar.network.network import Network


@dataclass(slots=True)
class View:
    network: Network
    elder: int = 1
    """The oldest ledger it retains."""
    _paused: State | None = field(default=None)

    @property
    def state(self) -> State:
        """The entries as of the newest ledger it has ingested."""
        return self._paused or self.network.state

    @property
    def latest(self) -> Ledger:
        return self.network.history.ledgers[self.state.ledger - 1]

    @property
    def is_paused(self) -> bool:
        return self._paused is not None

    def pause(self) -> None:
        """Stay at the ledger of now while the network goes on."""
        with self.network.lock:
            self._paused = self._paused or self.network.state.copy()

    def resume(self) -> None:
        """Ingest everything that was missed, at once."""
        with self.network.lock:
            self._paused = None
            self.network.closed.notify_all()

    def transaction(self, digest: str) -> AppliedTransaction | None:
        """By either hash; None when it is in no ledger that this Horizon has."""
        found = self.network.history.by_hash.get(digest)
        return found if found is not None and self.elder <= found.ledger <= self.state.ledger else None

    def closed_at(self, number: int) -> int:
        """When a ledger of this number closed, in seconds since 1970."""
        return self.network.history.ledgers[number - 1].closed_at
