"""Blocks that appear on their own, and what happens in them by itself."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django.fixtures import Settings

from payments.chains.errors import ChainUnavailable
from payments.chains.simulated import control
from payments.chains.simulated.adapter import SimulatedChain
from payments.chains.simulated.clock import locked
from payments.chains.simulated.models import ScheduledAction, SimulatedNetwork, SimulatedTransaction, Stretch
from payments.chains.simulated.networks import first_sequence, simulated_profile
from tests.chains.contract import Scene
from tests.chains.simulation import Simulation

pytestmark = pytest.mark.django_db
SECONDS = timedelta(seconds=1)


def height_after(network: str, seconds: float) -> int:
    """Where the network stands so long after its first block."""
    with locked(network):
        started_at = Stretch.objects.filter(network=network).earliest("first_height").started_at
    with locked(network, started_at + seconds * SECONDS) as row:
        return row.height


@pytest.fixture
def two_seconds(settings: Settings) -> None:
    settings.SIMULATED_BLOCK_SECONDS = 2.0


@pytest.mark.usefixtures("two_seconds")
class TestRunningClock:
    def test_a_block_appears_every_two_seconds(self) -> None:
        assert [height_after("polygon", seconds) for seconds in (0, 1.9, 2, 3.9, 4, 61)] == [0, 0, 1, 1, 2, 30]

    def test_a_clock_that_is_set_back_undoes_nothing(self) -> None:
        assert [height_after("polygon", seconds) for seconds in (60, 10)] == [30, 30]

    def test_a_month_of_silence_is_one_step(self) -> None:
        height_after("polygon", 0)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert height_after("polygon", 30 * 86_400) == 1_296_000
        assert len(queries) < 20
        assert Stretch.objects.count() == 1

    def test_empty_blocks_leave_no_rows_and_still_have_hash_and_time(self) -> None:
        chain = SimulatedChain(simulated_profile("ethereum"))
        first = chain.reading.head()
        height_after("ethereum", 1_000)
        later = chain.reading.head()
        assert later.height == 500
        assert later.block_hash != first.block_hash
        assert later.closed_at - first.closed_at == 1_000 * SECONDS
        assert later.finalized_height == 494

    def test_who_pays_stands_in_the_very_next_block_however_late_it_is_looked_at(self) -> None:
        scene = Scene(Simulation("polygon"))
        transaction_hash = scene.pay()
        height = scene.chain.reading.head().height
        height_after("polygon", 86_400)
        (transfer,) = scene.chain.reading.find_transfers(transaction_hash)
        assert transfer.height == height + 1
        assert scene.reader.read().transfers == (transfer,)

    def test_a_read_only_snapshot_sees_it_as_it_was_left(self) -> None:
        chain = SimulatedChain(simulated_profile("polygon"))
        with locked("polygon"):
            Stretch.objects.filter(network="polygon").update(started_at=timezone.now() - 60 * SECONDS)
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
            assert chain.reading.head().height == 0
            assert chain.reading.find_transfers("0x" + "ab" * 32) == ()
            transaction.set_rollback(True)
        assert chain.reading.head().height >= 30

    def test_what_was_scheduled_happens_at_its_height_however_late_it_is_looked_at(self) -> None:
        scene = Scene(Simulation("ethereum"))
        transaction_hash = scene.pay(7)
        height = scene.chain.reading.head().height
        control.schedule("ethereum", "pay", after_blocks=2, parts=[control.Part(*scene.part(8))])
        control.schedule("ethereum", "reorg", after_blocks=4, depth=4)
        height_after("ethereum", 3_600)
        scene.reader.read()
        found = {transfer.amount: transfer.height - height for transfer in scene.reader.known.values()}
        assert found == {7: 5, 8: 5}
        assert SimulatedNetwork.objects.get(pk="ethereum").generation == 1
        assert scene.chain.reading.find_transfers(transaction_hash)[0].amount == 7
        assert not ScheduledAction.objects.exists()

    def test_mining_by_hand_does_not_stop_the_clock(self) -> None:
        height_after("polygon", 0)
        control.mine("polygon", 5)
        head = SimulatedChain(simulated_profile("polygon")).reading.head()
        assert head.height == 5
        with locked("polygon", head.closed_at + 2 * SECONDS) as row:
            assert row.height == 6

    def test_another_pace_leaves_past_blocks_alone(self, settings: Settings) -> None:
        height_after("polygon", 100)
        chain = SimulatedChain(simulated_profile("polygon"))
        before = chain.reading.head()
        settings.SIMULATED_BLOCK_SECONDS = 10.0
        with locked("polygon", before.closed_at):
            pass
        assert chain.reading.head() == before
        with locked("polygon", before.closed_at + 20 * SECONDS) as row:
            assert row.height == before.height + 2

    def test_a_reorg_keeps_the_timetable(self) -> None:
        height_after("ethereum", 100)
        chain = SimulatedChain(simulated_profile("ethereum"))
        before = chain.reading.head()
        control.reorg("ethereum", 3, "kept")
        after = chain.reading.head()
        assert (after.height, after.closed_at) == (before.height, before.closed_at)
        assert after.block_hash != before.block_hash

    def test_looking_at_a_network_that_stands_still_takes_no_lock(self) -> None:
        chain = SimulatedChain(simulated_profile("polygon"))
        chain.reading.head()
        with CaptureQueriesContext(connection) as queries:
            chain.reading.head()
        assert not any("FOR UPDATE" in query["sql"] for query in queries)


@pytest.mark.usefixtures("stopped_clock")
class TestActions:
    def test_a_reorg_never_reaches_a_final_block_unless_forced(self) -> None:
        for network in ("stellar", "ethereum", "polygon"):
            control.mine(network, 20)
            depth = control.deepest_reorg(network)
            with pytest.raises(control.ReorgTooDeep):
                control.reorg(network, depth + 1)
            if depth:
                control.reorg(network, depth)
            control.reorg(network, depth + 1, force=True)

    def test_a_reorg_of_more_blocks_than_there_are_is_refused(self) -> None:
        control.mine("ethereum", 2)
        for depth in (0, 3):
            with pytest.raises(control.ReorgTooDeep):
                control.reorg("ethereum", depth, force=True)

    def test_a_scheduled_reorg_that_became_too_deep_is_left_out(self) -> None:
        control.schedule("polygon", "reorg", after_blocks=1, depth=5)
        control.mine("polygon", 9)
        assert SimulatedNetwork.objects.get(pk="polygon").generation == 0

    def test_a_scheduled_outage_begins_by_itself(self) -> None:
        simulation = Simulation("polygon")
        scene = Scene(simulation)
        control.schedule("polygon", "outage", after_blocks=2, seconds=60)
        simulation.mine(2)
        with pytest.raises(ChainUnavailable, match="No provider of polygon answers"):
            scene.chain.reading.head()

    def test_only_what_can_be_carried_out_is_scheduled(self) -> None:
        contract = simulated_profile("polygon").assets["USDC"].contract
        with pytest.raises(ValueError, match="still to come"):
            control.schedule("polygon", "outage", after_blocks=0, seconds=1)
        with pytest.raises(TypeError):
            control.schedule("polygon", "reorg", after_blocks=1, deep=1)
        with pytest.raises(ValueError, match="starts with 0x"):
            control.schedule("polygon", "pay", after_blocks=1, parts=[control.Part(contract, 1, "nobody")])
        assert not ScheduledAction.objects.exists()

    def test_a_reorg_can_single_out_one_payment(self) -> None:
        scene = Scene(Simulation("ethereum"))
        lost, spared = scene.pay(1), scene.pay(2)
        scene.harness.mine()
        control.reorg("ethereum", 1, "dropped", only=[lost])
        scene.harness.mine()
        scene.reader.read()
        assert scene.reader.hashes() == [spared]

    def test_payers_differ_and_a_named_one_counts_on(self) -> None:
        scene = Scene(Simulation("stellar"))
        payer = scene.harness.stranger(1)
        hashes = [scene.pay(), scene.pay(), *(scene.harness.pay(scene.part(), sender=payer) for _ in range(3))]
        scene.harness.mine()
        senders = [transfer.sender for transfer in scene.reader.read().transfers]
        assert len(set(senders)) == 3
        assert senders[2:] == [payer] * 3
        sequences = SimulatedTransaction.objects.filter(transaction_hash__in=hashes, sender=payer)
        first = first_sequence("stellar")
        assert list(sequences.order_by("id").values_list("sequence", flat=True)) == [first, first + 1, first + 2]

    def test_a_text_memo_longer_than_the_network_carries_is_refused(self) -> None:
        scene = Scene(Simulation("stellar"))
        with pytest.raises(ValueError, match="at most 28 bytes"):
            scene.harness.pay((scene.usdc.contract, 1, scene.to.address, "ü" * 15))

    def test_an_evm_payment_with_a_memo_is_refused(self) -> None:
        scene = Scene(Simulation("polygon"))
        with pytest.raises(ValueError, match="knows no memos"):
            scene.harness.pay((scene.usdc.contract, 1, scene.to.address, "17"))

    def test_a_time_given_for_a_block_never_goes_back(self) -> None:
        chain = SimulatedChain(simulated_profile("stellar"))
        now = timezone.now()
        control.mine("stellar", at=now + 60 * SECONDS)
        control.mine("stellar", at=now)
        assert chain.reading.head().closed_at == now + 60 * SECONDS
