"""The contract that deposit addresses are swept by: its sweeps, and who has which role of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from config.money import Asset
from payments.chains.evm import abi
from payments.chains.evm.deposit_addresses import deployment
from payments.chains.evm.deposit_addresses.derivation import Derivations
from payments.chains.evm.nodes.providers import Providers
from payments.chains.evm.nodes.questions import Receipt
from payments.chains.evm.readiness_checks import SetUp
from payments.chains.evm.reading import Reading
from payments.chains.evm.sending import Sending
from payments.chains.evm.simulation import TransferSimulation
from payments.chains.protocol.payouts import SignedTransfer
from payments.chains.protocol.roles import Role, RoleChange
from payments.chains.protocol.sweeps import SweptFrom, Unsweepable

FAILED = abi.topic("SweepFailed(address,address)")


class Sweeps:
    def __init__(
        self,
        derivations: Derivations,
        sending: Sending,
        reading: Reading,
        simulation: TransferSimulation,
        set_up: SetUp,
    ) -> None:
        self._derivations, self._sending, self._reading = derivations, sending, reading
        self._simulation, self._set_up = simulation, set_up

    def together(self, deposits: Sequence[int]) -> tuple[int, ...]:
        return self._derivations.together(deposits)[: self._sending.most_swept]

    def sign(
        self,
        asset: Asset,
        deposits: tuple[int, ...],
        *,
        sender: str,
        sequence: int,
        replacing: Collection[SignedTransfer] = (),
    ) -> SignedTransfer:
        derivation = self._derivations.of(deposits[0]) if deposits else self._derivations.present
        self._set_up.require_people_now(derivation.factory)
        return self._sending.sign_sweep(asset, deposits, sender=sender, sequence=sequence, replacing=replacing)

    def swept_by(
        self, transaction_hash: str, asset: Asset, deposits: Sequence[int], *, treasury: str
    ) -> tuple[SweptFrom, ...]:
        receipt = self._reading.receipt(transaction_hash)
        if receipt is None:
            return ()
        return swept_from(receipt, asset=asset, addresses=self._numbered(deposits), treasury=treasury)

    def why_unsweepable(self, asset: Asset, deposits: Sequence[int]) -> dict[int, Unsweepable]:
        return self._simulation.why_unsweepable(asset, self._numbered(deposits))

    def _numbered(self, deposits: Sequence[int]) -> list[tuple[int, str]]:
        return [(number, self._derivations.address(number)) for number in deposits]


class Roles:
    """Who has each role, who should by the settings (`expected`), and who got one when."""

    def __init__(
        self, providers: Providers, reading: Reading, derivations: Derivations, expected: Mapping[str, str]
    ) -> None:
        self._providers, self._reading, self._derivations, self._expected = providers, reading, derivations, expected

    def holders(self) -> tuple[Role, ...]:
        found = deployment.people(self._providers, self._derivations.present.factory)
        return tuple(Role(name, getattr(found, name), address) for name, address in self._expected.items())

    def changes(self, *, first_height: int, last_height: int) -> tuple[RoleChange, ...]:
        factories = self._derivations.factories
        return self._reading.role_changes(factories, first_height=first_height, last_height=last_height)


def swept_from(
    receipt: Receipt, *, asset: Asset, addresses: Sequence[tuple[int, str]], treasury: str
) -> tuple[SweptFrom, ...]:
    """What the on-chain transaction of a receipt did with a coin at each of these addresses, by number."""
    left: defaultdict[str, int] = defaultdict(int)
    arrived: defaultdict[str, int] = defaultdict(int)
    refused = set()
    for log in receipt.logs:
        if log.is_token_transfer and log.contract == asset.contract:
            left[log.sender] += log.amount
            arrived[log.sender] += log.amount * (log.recipient == treasury)
        elif len(log.topics) == 3 and log.topics[0] == FAILED and log.topics[1] == abi.address_topic(asset.contract):
            refused.add(log.topics[2])
    return tuple(
        SweptFrom(number, left[address], arrived[address], abi.address_topic(address) in refused)
        for number, address in addresses
    )
