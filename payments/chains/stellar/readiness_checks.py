"""Checks that wallet, trustlines, channels and key agree with the settings."""

from __future__ import annotations

from collections.abc import Callable

from django.core.exceptions import ImproperlyConfigured

from payments.chains.errors import ChainUnavailable, NotSetUp
from payments.chains.profiles import NetworkProfile
from payments.chains.readiness import Readiness
from payments.chains.stellar.horizon import holdings
from payments.chains.stellar.horizon.providers import Horizons
from payments.chains.stellar.horizon.records import AccountRecord

COMMAND = "manage.py setup_stellar"


class SetUp:
    def __init__(
        self,
        profile: NetworkProfile,
        horizons: Horizons,
        *,
        wallet: str,
        channels: Callable[[], tuple[str, ...]],
        key_of: Callable[[], str],
        readiness: Readiness | None = None,
    ) -> None:
        self._profile, self._horizons, self._wallet = profile, horizons, wallet
        self._channels, self._key_of = channels, key_of
        self._readiness = readiness or Readiness(profile.network)

    def require(self, *, signing: bool = False) -> None:
        """Raise NotSetUp unless everything agrees with the settings, with `signing` key and channels as well."""
        self._horizons.require_enough()
        try:
            self._readiness.require("wallet", self._check_wallet)
            if signing:
                self._readiness.require("key", self._check_key)
                self._readiness.require("channels", self._check_channels)
        except NotSetUp:
            raise
        except ChainUnavailable as error:
            if self._horizons.are_elsewhere:
                problems = "; ".join(state.problems["failing"] for state in self._horizons.states())
                raise NotSetUp(f"No Horizon of {self._profile.network} is one: {problems}.") from error
            raise

    def _check_wallet(self) -> None:
        trusted = self._horizons.agree(lambda horizon: _trusted(holdings.account(horizon, self._wallet)))
        if trusted is None:
            missing_account = f"The hot wallet {self._wallet} does not exist on {self._profile.name}"
            raise NotSetUp(f"{missing_account}: send it XLM, then run {COMMAND}.")
        missing = [code for code, asset in self._profile.assets.items() if asset.contract not in trusted]
        if missing:
            raise NotSetUp(f"The hot wallet has no trustline for {' and '.join(missing)}: run {COMMAND}.")

    def _check_key(self) -> None:
        try:
            found = self._key_of()
        except ImproperlyConfigured as error:
            raise NotSetUp(str(error)) from error
        if found != self._wallet:
            raise NotSetUp(f"The hot wallet of {self._profile.network} is {self._wallet}, but the key is of {found}.")

    def _check_channels(self) -> None:
        channels = self._channels()
        missing = sum(not self._exists(each) for each in channels)
        if missing:
            raise NotSetUp(f"{missing} of {len(channels)} channel accounts do not exist yet: run {COMMAND}.")

    def _exists(self, address: str) -> bool:
        return self._horizons.agree(lambda horizon: holdings.account(horizon, address) is not None)


def _trusted(account: AccountRecord | None) -> frozenset[str] | None:
    return None if account is None else frozenset(account.trustlines)
