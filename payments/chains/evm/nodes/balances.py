"""Balances of coins and of the native coin, as enough providers return them."""

from __future__ import annotations

from collections.abc import Sequence

from config.money import Asset
from payments.chains.errors import ChainUnavailable
from payments.chains.evm.nodes import questions
from payments.chains.evm.nodes.providers import Providers
from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.scans import Head

BALANCES_PER_BATCH = 200
"""Addresses in one JSON-RPC batch: few enough for public providers, which count each as a request."""


class Balances:
    def __init__(self, profile: NetworkProfile, providers: Providers) -> None:
        self._network, self._native, self._providers = profile.network, profile.native, providers

    def balances(self, addresses: Sequence[str], asset: Asset, *, at_height: int | None = None) -> dict[str, int]:
        height = self._height(at_height)
        held: dict[str, int] = {}
        for start in range(0, len(addresses), BALANCES_PER_BATCH):
            some = addresses[start : start + BALANCES_PER_BATCH]
            answers = self._providers.agree(*(self._balance(address, asset, height) for address in some))
            held |= {address: units for address, units in zip(some, answers, strict=True) if units}
        return held

    def balance(self, address: str, asset: Asset, *, at_height: int | None = None) -> int:
        return self._providers.agree_on(self._balance(address, asset, self._height(at_height)))

    def reached(self, height: int) -> Head:
        """The head; ChainUnavailable while the block at this height is still to come."""
        head = self._providers.head()
        if height > head.height:
            raise ChainUnavailable(f"{self._network} has not reached height {height} yet.")
        return head

    def _height(self, requested: int | None) -> int:
        head = self.reached(requested or 0)
        return head.height if requested is None else requested

    def _balance(self, address: str, asset: Asset, height: int) -> questions.Question[int]:
        if asset == self._native:
            return questions.native_balance(address, height)
        return questions.token_balance(asset.contract, address, height)
