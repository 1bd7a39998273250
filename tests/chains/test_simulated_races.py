"""Several threads on one simulated network: whoever follows a cursor misses nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TypeVar

import pytest
from django.db import connection
from pytest_django.fixtures import Settings

from payments.chains.errors import TransferRefused
from payments.chains.protocol.payouts import SignedTransfer
from payments.chains.simulated import blocks, clock, control
from payments.chains.simulated.models import SimulatedNetwork, Stretch
from tests.chains.contract import Scene
from tests.chains.fees import bump
from tests.chains.harness import Reader
from tests.chains.sending import Till
from tests.chains.simulation import Simulation

Result = TypeVar("Result")
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def in_thread(work: Callable[[], Result]) -> Callable[[], Result]:
    """Work that leaves no database connection behind."""

    def run() -> Result:
        try:
            return work()
        finally:
            connection.close()

    return run


@pytest.mark.parametrize("network", ["stellar", "ethereum"])
def test_payers_miners_and_readers_at_once_lose_nothing(network: str, settings: Settings) -> None:
    settings.SIMULATED_BLOCK_SECONDS = 0.02
    scene = Scene(Simulation(network))
    reader = Reader(scene.chain, scene.to.address)
    done = threading.Event()

    def pay() -> list[str]:
        return [scene.pay() for _ in range(25)]

    def read() -> None:
        while not done.is_set():
            reader.read()

    def mine() -> None:
        while not done.is_set():
            control.mine(network, 2)

    with ThreadPoolExecutor(5) as pool:
        payers = [pool.submit(in_thread(pay)) for _ in range(3)]
        others = [pool.submit(in_thread(work)) for work in (read, mine)]
        sent = [transaction_hash for payer in payers for transaction_hash in payer.result(timeout=60)]
        done.set()
        for other in others:
            other.result(timeout=60)

    control.mine(network)
    reader.read()
    assert sorted(reader.hashes()) == sorted(sent)
    assert len(reader.arrivals) == 75


@pytest.mark.parametrize("is_guarded", [True, False])
def test_a_block_is_never_filled_behind_a_reader(
    is_guarded: bool, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One thread is held up while it adds a block; others meanwhile add more blocks, read them and pay.

    Without the network's lock, the late thread puts the payment into a block that has been read already.
    """
    settings.SIMULATED_BLOCK_SECONDS = 60.0
    if not is_guarded:
        monkeypatch.setattr(SimulatedNetwork.objects, "select_for_update", SimulatedNetwork.objects.all)
    scene = Scene(Simulation("stellar"))
    reader = Reader(scene.chain, scene.to.address)
    reader.read()
    started_at = Stretch.objects.get(network="stellar").started_at
    inside, others_are_done = threading.Event(), threading.Event()
    genuine = blocks.newest_stretch

    def held_up(row: SimulatedNetwork) -> Stretch:
        found = genuine(row)
        if threading.current_thread().name.startswith("late") and not inside.is_set():
            inside.set()
            others_are_done.wait(timeout=1 if is_guarded else 60)  # with the lock they cannot before this has ended
        return found

    def let_minutes_pass(minutes: int) -> None:
        with clock.locked("stellar", started_at + timedelta(minutes=minutes)):
            pass

    def read_and_pay() -> str:
        inside.wait(timeout=60)
        let_minutes_pass(2)
        reader.read()
        transaction_hash = scene.pay()
        others_are_done.set()
        return transaction_hash

    monkeypatch.setattr(clock, "newest_stretch", held_up)
    with ThreadPoolExecutor(1, "late") as late, ThreadPoolExecutor(1) as other:
        adding = late.submit(in_thread(lambda: let_minutes_pass(1)))
        transaction_hash = other.submit(in_thread(read_and_pay)).result(timeout=120)
        adding.result(timeout=120)

    let_minutes_pass(10)
    reader.read()
    assert reader.hashes() == ([transaction_hash] if is_guarded else [])


def test_versions_sent_by_many_at_once_pay_once(settings: Settings) -> None:
    settings.SIMULATED_BLOCK_SECONDS = 0.02
    till = Till(Simulation("ethereum"))
    versions = [till.sign(100)]
    for _ in range(5):
        versions.append(bump(till, *versions))

    def send(version: SignedTransfer) -> None:
        for _ in range(5):
            with suppress(TransferRefused):
                till.chain.sending.broadcast(version)

    with ThreadPoolExecutor(6) as pool:
        for sending in [pool.submit(in_thread(partial(send, version))) for version in versions]:
            sending.result(timeout=60)
    control.mine("ethereum")
    states = sorted(till.chain.sending.status(version).state for version in versions)
    assert states == ["included"] + ["replaced"] * 5
    assert till.held(till.recipient) == 100
    assert till.chain.hot_wallet.next_sequence(till.sender) == 1
