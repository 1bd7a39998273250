"""Checks that contracts, coins, people and key of a network agree with the settings."""

from __future__ import annotations

from collections.abc import Callable

from django.core.exceptions import ImproperlyConfigured

from config.money import Asset
from payments.chains.errors import ChainUnavailable, NotSetUp
from payments.chains.evm import abi
from payments.chains.evm.deposit_addresses import deployment
from payments.chains.evm.keys.signing import Signer
from payments.chains.evm.nodes import questions
from payments.chains.evm.nodes.providers import Providers
from payments.chains.evm.nodes.rpc import RpcError
from payments.chains.profiles import NetworkProfile
from payments.chains.readiness import Readiness

PEOPLE_SECONDS = 30.0
"""How long it is believed that the factory's owner, operator and treasury are ours. They can change at any block."""


class SetUp:
    def __init__(
        self,
        profile: NetworkProfile,
        providers: Providers,
        *,
        factory: str,
        owner: str,
        wallet: str,
        treasury: str = "",
        signer: Callable[[], Signer],
        readiness: Readiness | None = None,
    ) -> None:
        self._profile, self._providers = profile, providers
        self._factory, self._owner, self._wallet = factory, owner, wallet
        self._treasury = treasury or wallet
        self._signer = signer
        self._readiness = readiness or Readiness(profile.network)

    def require(self, *, signing: bool = False) -> None:
        """Raise NotSetUp unless everything agrees with the settings, with `signing` the key as well."""
        self._providers.require_enough()
        try:
            self._readiness.require("contracts and coins", self._check_contracts)
            self._readiness.require("people", self._check_people, believed_seconds=PEOPLE_SECONDS)
        except NotSetUp:
            raise
        except ChainUnavailable as error:
            if self._providers.are_elsewhere:
                problems = "; ".join(state.problems["failing"] for state in self._providers.states())
                raise NotSetUp(f"No provider of {self._profile.network} is one: {problems}.") from error
            raise
        if signing:
            self._readiness.require("key", self._check_key)

    def require_people_now(self, factory: str) -> None:
        """Raise NotSetUp unless whatever this factory sweeps at this moment goes to our treasury. Queries the
        network each time. The factory is the present one, or one of before whose addresses are still swept."""
        if factory == self._factory:
            self._readiness.require("people", self._check_people, believed_seconds=0)
            return
        self._readiness.require(f"contracts of {factory}", lambda: self._check_factory(factory))
        self._readiness.require(f"people of {factory}", lambda: self._check_people(factory), believed_seconds=0)

    def _check_factory(self, factory: str) -> None:
        try:
            deployment.check(self._providers, factory)
        except deployment.NotDeployed as error:
            raise NotSetUp(str(error)) from error

    def _check_contracts(self) -> None:
        self._check_factory(self._factory)
        for asset in self._profile.assets.values():
            self.check_decimals(asset)

    def _check_people(self, factory: str = "") -> None:
        if not self._owner:
            raise NotSetUp("EVM_OWNER is not set, which the owner of the factory is compared with.")
        people, former = deployment.people(self._providers, factory or self._factory), f" {factory}" if factory else ""
        if (people.owner, people.operator, people.treasury) != (self._owner, self._wallet, self._treasury):
            to = f" and it sweeps to {self._treasury}" if self._treasury != self._wallet else ""
            raise NotSetUp(
                f"The factory{former} on {self._profile.network} belongs to {people.owner} and sweeps to "
                f"{people.treasury} at the word of {people.operator}; by the settings it belongs to {self._owner}, "
                f"{'and ' if not to else ''}the hot wallet is {self._wallet}{to}."
            )

    def check_decimals(self, asset: Asset) -> None:
        question = questions.result(asset.contract, abi.call("decimals()"))
        try:
            answer = self._providers.agree_on(question)
        except RpcError as error:
            if not error.is_reverted:
                raise ChainUnavailable(f"{self._profile.network} cannot be queried for decimals: {error}") from error
            answer = b""
        if len(answer) != abi.WORD:
            raise NotSetUp(f"There is no token at {asset.contract} on {self._profile.network}, for {asset.code}.")
        if abi.uint(answer) != asset.decimals:
            raise NotSetUp(
                f"{asset.code} on {self._profile.network} has {abi.uint(answer)} decimals, not {asset.decimals}."
            )

    def _check_key(self) -> None:
        try:
            found = self._signer().address
        except ImproperlyConfigured as error:
            raise NotSetUp(str(error)) from error
        if found != self._wallet:
            raise NotSetUp(f"The hot wallet of {self._profile.network} is {self._wallet}, but the key is of {found}.")
