"""The accounts whose sequences payouts use: a process with the wallet's key computes them, others query the network.

`manage.py setup_stellar` leaves a data entry of the wallet for each, which nobody else can write.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from django.core.exceptions import ImproperlyConfigured

from payments.chains.errors import NotSetUp
from payments.chains.stellar import addresses
from payments.chains.stellar.horizon import holdings
from payments.chains.stellar.horizon.client import Horizon
from payments.chains.stellar.horizon.providers import Horizons

if TYPE_CHECKING:
    from payments.chains.stellar.keys.wallet_keys import Signer


def entry_name(number: int) -> str:
    """The data entry that names a channel; they are counted from 1."""
    return f"ballast channel {number}"


class Channels:
    """Those of one wallet, in their order: the wallet itself where there is one."""

    def __init__(self, horizons: Horizons, *, wallet: str, count: int, keys: Callable[[], Signer]) -> None:
        self._horizons, self._wallet, self._count, self._keys = horizons, wallet, count, keys
        self._known: tuple[str, ...] = (wallet,) if count == 1 else ()

    def names(self) -> tuple[str, ...]:
        """All of them. NotSetUp where this process has no key and the wallet does not name them yet."""
        if not self._known:
            try:
                self._known = self._keys().channels
            except ImproperlyConfigured:
                self._known = self._horizons.agree(self._named, subject=f"The channels of {self._wallet}")
        return self._known

    def names_known(self) -> tuple[str, ...]:
        """The names as far as this process knows them, without a query."""
        return self._known

    def _named(self, horizon: Horizon) -> tuple[str, ...]:
        wallet = holdings.account(horizon, self._wallet)
        entries = {} if wallet is None else wallet.data
        try:
            return tuple(addresses.encode_account(entries[entry_name(number)]) for number in range(1, self._count + 1))
        except (LookupError, ValueError):
            raise NotSetUp(
                f"The hot wallet does not name its {self._count} channels yet: run manage.py setup_stellar."
            ) from None
