"""Random histories: whoever follows the scans ends up with exactly what the chain holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from payments.chains.errors import ChainUnavailable
from payments.chains.simulated.models import SimulatedTransaction, SimulatedTransfer
from payments.chains.simulated.networks import mint
from tests.chains.contract import Scene
from tests.chains.harness import Outcome, Reader
from tests.chains.simulation import Simulation

pytestmark = [pytest.mark.slow, pytest.mark.django_db, pytest.mark.usefixtures("stopped_clock")]

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("pay"), st.lists(st.integers(1, 50), min_size=1, max_size=3)),
        st.tuples(st.just("mine"), st.integers(1, 4)),
        st.tuples(
            st.just("reorg"), st.tuples(st.integers(1, 6), st.sampled_from(["moved", "kept", "dropped", "replaced"]))
        ),
        st.tuples(st.just("scan"), st.integers(1, 5)),
        st.tuples(st.just("outage"), st.none()),
    ),
    max_size=30,
)


@dataclass
class Expected:
    """What a history comes to, worked out by hand: the transactions in each block, and those that wait."""

    blocks: list[list[str]] = field(default_factory=lambda: [[]])
    waiting: list[str] = field(default_factory=list)
    amounts: dict[str, list[int]] = field(default_factory=dict)

    def mine(self, count: int) -> None:
        self.blocks.append(self.waiting)
        self.blocks += [[] for _ in range(count - 1)]
        self.waiting = []

    def reorg(self, depth: int, outcome: Outcome) -> None:
        if outcome == "kept":
            return
        undone = [transaction_hash for block in self.blocks[-depth:] for transaction_hash in block]
        self.blocks[-depth:] = [[] for _ in range(depth)]
        if outcome == "moved":
            self.waiting = undone + self.waiting

    def heights(self) -> dict[tuple[str, int], tuple[int, int]]:
        """(height, amount) by identity."""
        return {
            (transaction_hash, ordinal): (height, amount)
            for height, block in enumerate(self.blocks)
            for transaction_hash in block
            for ordinal, amount in enumerate(self.amounts[transaction_hash])
        }


@pytest.mark.parametrize("network", ["ethereum", "polygon", "stellar"])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_every_history_is_read_right(network: str, steps: list[tuple[str, Any]]) -> None:
    with transaction.atomic():
        play(Simulation(network), steps)
        transaction.set_rollback(True)


def play(simulation: Simulation, steps: list[tuple[str, Any]]) -> None:
    scene, expected = Scene(simulation), Expected()
    reader = Reader(scene.chain, scene.to.address)
    for step, argument in steps:
        if step == "pay":
            expected.waiting.append(simulation.pay(*(scene.part(amount) for amount in argument)))
            expected.amounts[expected.waiting[-1]] = argument
        elif step == "mine":
            simulation.mine(argument)
            expected.mine(argument)
        elif step == "reorg":
            depth, outcome = argument
            depth = min(depth, simulation.deepest_reorg, len(expected.blocks) - 1)
            if depth:
                simulation.reorg(depth, outcome)
                expected.reorg(depth, outcome)
        elif step == "scan":
            reader.chain = simulation.impatient(argument)
            reader.read_once()
        else:
            simulation.break_down()
            with pytest.raises(ChainUnavailable):
                reader.read_once()
            simulation.recover()

    reader.read()
    found = {identity: (transfer.height, transfer.amount) for identity, transfer in reader.known.items()}
    assert found == expected.heights()
    assert_money_is_conserved(scene, expected)


def assert_money_is_conserved(scene: Scene, expected: Expected) -> None:
    received = dict.fromkeys(range(len(expected.blocks)), 0)
    for height, amount in expected.heights().values():
        for later in range(height, len(expected.blocks)):
            received[later] += amount
    for height, amount in received.items():
        assert scene.chain.reading.balance(scene.to.address, scene.usdc, at_height=height) == amount

    network = scene.chain.profile.network
    holders = set(SimulatedTransaction.objects.values_list("sender", flat=True))
    holders |= set(SimulatedTransfer.objects.values_list("recipient", flat=True))
    balances = scene.chain.reading.balances([*holders, mint(network)], scene.usdc)
    assert sum(balances.values()) == 0  # what was made is what somebody holds
    assert all(balance >= 0 for holder, balance in balances.items() if holder != mint(network))
