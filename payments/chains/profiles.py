"""What is always true of a network: its coins, its pace, when a deposit counts. Asked without talking to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from config.money import Asset


@dataclass(frozen=True, slots=True)
class CreditRule:
    """When a deposit counts: so many confirmations and, if asked for, only once its block is final."""

    confirmations: int
    require_finalized: bool = False

    def satisfied(self, *, height: int, head_height: int, finalized_height: int) -> bool:
        confirmed = head_height - height + 1 >= self.confirmations
        return confirmed and (not self.require_finalized or height <= finalized_height)


STALLED_BLOCKS, SHORTEST_STALL_SECONDS = 20, 60.0
"""A network without a new block for the time of so many is delayed, but no sooner than after a minute."""


@dataclass(frozen=True, slots=True)
class NetworkProfile:
    """What is always true of a network, asked without talking to it."""

    network: str
    name: str
    family: Literal["evm", "stellar"]
    chain_id: int | None
    block_seconds: float
    assets: Mapping[str, Asset]
    """Accepted coins by code."""
    rules: tuple[tuple[int | None, CreditRule], ...]
    """Credit rules by amount: (USD limit, rule), ascending; the limit None matches everything."""
    native: Asset
    """The network's own coin, in which its fees are paid. Nobody is paid in it."""
    payouts_per_transfer: int = 1
    """How many payouts one on-chain transaction can carry."""
    finality_stall_seconds: float = 120
    """How long no further block may become final before it is called a delay; several times what is usual."""
    sweeps_per_transfer: int = 0
    """How many deposit addresses one on-chain transaction can empty; 0: deposits arrive where payouts leave from."""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def head_stall_seconds(self) -> float:
        """How long the newest block may stay the same before it is called a delay."""
        return max(SHORTEST_STALL_SECONDS, STALLED_BLOCKS * self.block_seconds)

    def credit_rule(self, usd_amount: int) -> CreditRule:
        """The rule for an amount worth so many whole US dollars."""
        for limit, rule in self.rules:
            if limit is None or usd_amount < limit:
                return rule
        raise LookupError("the last rule of a profile has no limit")
