"""What a sweep takes for each deposit address that nothing has emptied before, as the network prices new state now."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from payments.chains.errors import ChainUnavailable
from payments.chains.evm import abi
from payments.chains.evm.nodes import questions
from payments.chains.evm.nodes.providers import Providers

USUAL_GAS = 51_500
"""As measured with the prices of 2026 (docs/contracts.md), and the least that is believed."""

MOST_TIMES_USUAL = 8
"""The most that is believed. EIP-8037 is expected to make it about five times as much."""

MEASURED_SECONDS = 3_600.0
"""For how long a measurement is believed, and how long after one that failed it is tried again."""

# Two salts that no payment has: payments are counted from 1, or have the hash of a number by a key.
_UNUSED = (2**256 - 1, 2**256 - 2)
# Nothing is held there: what a transfer takes more, as measured (docs/contracts.md).
_TRANSFER_GAS = 3_200


class NewAddresses:
    """Gas of a new address, of one network and factory, for the whole process."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._gas, self._next_at = USUAL_GAS, 0.0

    @property
    def known_gas(self) -> int:
        """The gas as last known, without a query."""
        return self._gas

    def gas(self, providers: Providers, *, operator: str, factory: str, coin: str) -> int:
        """The gas, queried from providers once an hour; where too few answer, the last known value stays."""
        if self._clock() >= self._next_at:
            self._next_at = self._clock() + MEASURED_SECONDS
            with suppress(ChainUnavailable):
                self._gas = _measured(providers, operator, factory, coin)
        return self._gas


def _measured(providers: Providers, operator: str, factory: str, coin: str) -> int:
    """By how much an estimate for two new addresses exceeds that for one."""
    calls = [abi.call("sweep(uint256[],address)", _UNUSED[:count], coin) for count in (1, 2)]
    one, two = (providers.upper_middle(questions.gas(operator, factory, call)) for call in calls)
    return min(max(two - one + _TRANSFER_GAS, USUAL_GAS), MOST_TIMES_USUAL * USUAL_GAS)
