"""The part of the ledger's coins that is unexplained: the one figure of a run of `reconcile`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from decimal import ROUND_FLOOR, Decimal, localcontext
from typing import Any

from merchants.ledger.chart import kinds_where
from merchants.ledger.checking import Finding, Invariant, Scope

HELD = """
    SELECT environment, network, asset, sum(balance) FROM ledger_account
    WHERE kind = ANY(%(coins)s) AND environment = ANY(%(environments)s)
        AND (%(network)s::text IS NULL OR network = %(network)s)
    GROUP BY environment, network, asset
"""

PLACES = ("I12d", "I12w")
"""Checks that count the coins of one place each, deposit addresses and hot wallets: what is missing there adds up.
Whatever other checks miss may be the same loss."""

SHOWN = Decimal("0.0001")

Pot = tuple[str, str, str]
"""Environment, network and coin. Base units of different coins cannot be added up, so each pot has its own figure."""


class Explained:
    """Adds up what findings leave unexplained."""

    def __init__(self) -> None:
        self._held: dict[Pot, int] = {}
        self._unexplained: defaultdict[Pot, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
        self._count = 0

    def read_ledger(self, scope: Scope) -> None:
        for environment, network, asset, held in scope.rows(HELD, coins=kinds_where(on_chain=True)):
            self._held[environment, network, asset] = int(held)

    def take(self, invariant: Invariant, finding: Finding) -> None:
        if finding.asset and finding.environment and finding.network and finding.delta:
            pot = (finding.environment, finding.network, finding.asset)
            self._unexplained[pot][invariant.code] += abs(finding.delta)
            self._count += 1

    def summary(self, *, is_complete: bool) -> Mapping[str, Any]:
        """The percentage of the worst pot, rounded down, and what is unexplained in each, in base units as text.

        Explained findings count as well, because the coins are missing. When not everything was checked, it is only
        a bound.
        """
        sums = {
            pot: max(*by_check.values(), sum(by_check[code] for code in PLACES if code in by_check))
            for pot, by_check in self._unexplained.items()
        }
        shares = {pot: _share(self._held.get(pot, 0), unexplained) for pot, unexplained in sums.items()}
        return {
            "valueExplained": str(min(shares.values(), default=Decimal("100.0000"))),
            "isComplete": is_complete,
            "unexplainedCount": self._count,
            "unexplained": [
                {
                    "environment": environment,
                    "network": network,
                    "asset": asset,
                    "amount": str(sums[environment, network, asset]),
                    "valueExplained": str(shares[environment, network, asset]),
                }
                for environment, network, asset in sorted(sums)
            ],
        }


def _share(held: int, unexplained: int) -> Decimal:
    """The part of what is held that is explained, in percent. What counts of several checks: `PLACES`."""
    with localcontext(prec=100, rounding=ROUND_FLOOR):
        explained = max(0, held - unexplained)
        return (Decimal(100) * explained / held if held else Decimal(0)).quantize(SHOWN)
