"""The simulated networks keep the contract of every chain adapter."""

from __future__ import annotations

import pytest

from payments.chains.protocol.chain import Chain
from tests.chains.contract import AddressContract, CursorContract, ReadingContract, ReorgContract, scene
from tests.chains.fees import FeeContract, ReplacingContract
from tests.chains.harness import Harness
from tests.chains.outgoing import OutgoingContract
from tests.chains.recipients import RecipientContract
from tests.chains.sending import SendingContract, till
from tests.chains.simulation import Simulation
from tests.chains.sweeping import SweepContract, deposits

__all__ = ["deposits", "scene", "till"]

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("stopped_clock")]


@pytest.fixture(params=["stellar", "polygon", pytest.param("ethereum", marks=pytest.mark.slow)])
def harness(request: pytest.FixtureRequest, stopped_clock: None) -> Harness:
    return Simulation(request.param)


class TestSimulatedChain(
    AddressContract,
    ReadingContract,
    CursorContract,
    ReorgContract,
    SendingContract,
    OutgoingContract,
    FeeContract,
    ReplacingContract,
    SweepContract,
    RecipientContract,
):
    def test_it_is_a_chain(self, harness: Harness) -> None:
        assert isinstance(harness.chain, Chain)
