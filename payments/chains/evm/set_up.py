"""Whether contracts, coins, people and key of a network are what the settings say."""

from __future__ import annotations

from collections.abc import Callable

from django.core.exceptions import ImproperlyConfigured

from config.money import Asset
from payments.chains.errors import ChainUnavailable, NotSetUp
from payments.chains.evm import abi, deployment, questions
from payments.chains.evm.providers import Providers
from payments.chains.evm.readiness import Readiness
from payments.chains.evm.rpc import RpcError
from payments.chains.evm.signing import Signer
from payments.chains.profiles import NetworkProfile

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
        signer: Callable[[], Signer],
        readiness: Readiness | None = None,
    ) -> None:
        self._profile, self._providers = profile, providers
        self._factory, self._owner, self._wallet = factory, owner, wallet
        self._signer = signer
        self._readiness = readiness or Readiness(profile.network)

    def require(self, *, signing: bool) -> None:
        """NotSetUp unless all is what the settings say, with `signing` the key as well."""
        self._providers.require_enough()
        try:
            self._readiness.require("contracts and coins", self._check_contracts)
            self._readiness.require("people", self._check_people, believed_seconds=PEOPLE_SECONDS)
        except NotSetUp:
            raise
        except ChainUnavailable as error:
            if self._providers.are_elsewhere:
                said = "; ".join(state.problems["failing"] for state in self._providers.states())
                raise NotSetUp(f"No provider of {self._profile.network} is one: {said}.") from error
            raise
        if signing:
            self._readiness.require("key", self._check_key)

    def require_people_now(self) -> None:
        """NotSetUp unless whatever is swept at this moment goes to the hot wallet. Asks the network each time."""
        self._readiness.require("people", self._check_people, believed_seconds=0)

    def _check_contracts(self) -> None:
        try:
            deployment.check(self._providers, self._factory)
        except deployment.NotDeployed as error:
            raise NotSetUp(str(error)) from error
        for asset in self._profile.assets.values():
            self._check_decimals(asset)

    def _check_people(self) -> None:
        if not self._owner:
            raise NotSetUp("EVM_OWNER is not set, which the owner of the factory is compared with.")
        people = deployment.people(self._providers, self._factory)
        if (people.owner, people.operator, people.treasury) != (self._owner, self._wallet, self._wallet):
            raise NotSetUp(
                f"The factory on {self._profile.network} belongs to {people.owner} and sweeps to {people.treasury} at "
                f"the word of {people.operator}; by the settings it belongs to {self._owner}, and the hot wallet is "
                f"{self._wallet}."
            )

    def _check_decimals(self, asset: Asset) -> None:
        asked = questions.result(asset.contract, abi.call("decimals()"))
        try:
            answer = self._providers.agree_on(asked)
        except RpcError as error:
            if not error.is_reverted:
                raise ChainUnavailable(f"{self._profile.network} cannot be asked for decimals: {error}") from error
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
