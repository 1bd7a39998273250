"""The providers of a network, as pages and alarms show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

LONGEST_PROVIDER_NAME = 100
"""What rows keep of the name of a provider."""


@dataclass(frozen=True, slots=True)
class ProviderState:
    """A provider of a network, and its present faults by kind: failing, old_head, disagrees, put_aside."""

    name: str
    problems: Mapping[str, str]


class ProviderPool(Protocol):
    """The providers that a network is read from."""

    def states(self) -> tuple[ProviderState, ...]:
        """Each provider, and what this process has found wrong with it. Queries none."""
        ...

    def let_back(self, decided_at: datetime) -> None:
        """Query those again that this process has put aside, once for each time that an operator ordered it."""
        ...
