"""Contracts that name sanctioned accounts, on networks that have one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Whether each of some accounts is named, after the block at this height."""

    height: int
    named: Mapping[str, bool]


class SanctionsOracle(Protocol):
    address: str

    def verdicts(self, accounts: Sequence[str]) -> Verdicts:
        """Query the contract about these accounts; those it gives no answer about are left out."""
        ...
