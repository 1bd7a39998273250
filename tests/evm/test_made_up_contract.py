"""A network declared by data alone keeps the contract of every chain adapter, on a node that charges for data."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from payments.chains.networks import NETWORKS
from tests.chains.harness import payout
from tests.evm.contract import EvmContract, deposits, scene, till
from tests.evm.harness import prepared
from tests.evm.made_up import MADE_UP, NETWORK, PLACE, DataFeeHarness
from tests.evm.network import devnet

pytestmark = pytest.mark.slow

__all__ = ["deposits", "scene", "till"]


@pytest.fixture
def harness(monkeypatch: pytest.MonkeyPatch) -> Iterator[DataFeeHarness]:
    monkeypatch.setitem(NETWORKS, MADE_UP, NETWORK)
    monkeypatch.setitem(devnet.PLACES, MADE_UP, PLACE)
    with prepared(MADE_UP).node.put_back():
        yield DataFeeHarness(MADE_UP)


class TestMadeUpNetwork(EvmContract):
    def test_the_fee_for_its_data_is_part_of_what_a_transfer_cost(self, harness: DataFeeHarness) -> None:
        chain, wallet = harness.chain, harness.chain.payout_address()
        native = chain.profile.native
        harness.fund(wallet, "USDC", 5)
        harness.mine()
        before = chain.reading.balance(wallet, native)
        wanted = (payout(chain, harness.stranger(1), 5),)
        sent = chain.sending.sign(wanted, sender=wallet, sequence=chain.hot_wallet.next_sequence(wallet))
        chain.sending.broadcast(sent)
        harness.mine()
        status = chain.sending.status(sent)
        assert status.fee_units == before - chain.reading.balance(wallet, native)
        assert status.fee_units > harness.data_fees.paid[sent.transaction_hash] > 0
