"""Payouts before sweeps, and no wallet held for long: neither by a slow network nor by one payout's trouble."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django.fixtures import Settings

from payments import tasks as payment_tasks
from payments.chains import registry
from payments.chains.errors import ChainUnavailable
from payments.chains.simulated.sending import HotWallet, Sending
from payments.chains.simulated.sweeps import Sweeps
from payments.transfers.execution import executor, rounds
from payments.transfers.execution.rounds import Round
from payments.transfers.models import Payout, Transfer
from payments.transfers.states import PayoutStatus, TransferPurpose
from payments.transfers.wallets import wallet_of
from payments.treasury.models import Sweep
from tests.networks import put_simulated
from tests.payments.scenes import make_payment, pay_and_confirm
from tests.transfers.scenes import (
    COIN,
    ETHEREUM,
    POLYGON,
    SANDBOX,
    ask,
    drive,
    finish,
    fresh,
    on_chain,
    somebody,
    stock,
    the_wallet,
)

pytestmark = pytest.mark.django_db

WAIT_SECONDS = 300
QUERIES: tuple[tuple[type, str], ...] = (
    (HotWallet, "check_recipient"),
    (Sending, "sign"),
    (Sending, "broadcast"),
    (Sending, "status"),
)
"""What a round sends to a network."""


# --- payouts and sweeps ------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("part", "step"), [(HotWallet, "costs"), (Sweeps, "sign")])
def test_payouts_go_on_while_a_sweep_hangs(monkeypatch: pytest.MonkeyPatch, part: type, step: str) -> None:
    pay_and_confirm(make_payment(ETHEREUM))
    stock(ETHEREUM, 10 * COIN)
    hangs, may_go_on = threading.Event(), threading.Event()
    real = getattr(part, step)

    def hang(chain: Any, *asked: Any, **named: Any) -> Any:
        hangs.set()
        assert may_go_on.wait(WAIT_SECONDS)
        return real(chain, *asked, **named)

    monkeypatch.setattr(part, step, hang)

    def sweep() -> None:
        try:
            payment_tasks.sweep()
        finally:
            connection.close()

    sweeper = threading.Thread(target=sweep)
    sweeper.start()
    try:
        assert hangs.wait(WAIT_SECONDS)
        payment_tasks.sweep()  # beat asks again: it does not wait for the one that hangs
        payout = ask(ETHEREUM)
        finish(ETHEREUM)
        assert fresh(payout).status == PayoutStatus.PAID
    finally:
        may_go_on.set()
        sweeper.join(WAIT_SECONDS)
    monkeypatch.undo()
    payment_tasks.sweep()  # what was signed for a sequence that is used by now was forgotten
    finish(ETHEREUM)
    payment_tasks.sweep()
    assert [sweep.moved for sweep in Sweep.objects.all()] == [100 * COIN]
    assert sorted(Transfer.objects.values_list("sequence", flat=True)) == [0, 1]


def test_a_sweep_waits_while_payouts_are_due() -> None:
    pay_and_confirm(make_payment(ETHEREUM))
    stock(ETHEREUM, 10 * COIN)
    ask(ETHEREUM)
    payment_tasks.sweep()
    assert not Transfer.objects.exists()
    drive(ETHEREUM)
    payment_tasks.sweep()
    purposes = list(Transfer.objects.order_by("sequence").values_list("purpose", flat=True))
    assert purposes == [TransferPurpose.PAYOUT, TransferPurpose.SWEEP]


def test_sweeps_leave_places_to_payouts(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.SWEEP_THRESHOLD = 1
    put_simulated(monkeypatch, ETHEREUM, transfers_in_flight=4)
    monkeypatch.setattr(rounds, "SWEEPS_OPEN_MAX", 2)
    stock(ETHEREUM, 10 * COIN)
    for _ in range(4):
        pay_and_confirm(make_payment(ETHEREUM))
        payment_tasks.sweep()
    assert Transfer.objects.filter(purpose=TransferPurpose.SWEEP).count() == 2
    payouts = [ask(ETHEREUM) for _ in range(3)]
    drive(ETHEREUM)
    assert [fresh(payout).status for payout in payouts] == ["sending", "sending", "ready"]


# --- a turn is bounded -------------------------------------------------------------------------------


class SlowNetwork:
    """Each question takes so long on the clock that rounds are given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: int) -> None:
        self.now = timezone.now()
        self.asked: list[str] = []
        for part, step in QUERIES:
            monkeypatch.setattr(part, step, self._slow(step, getattr(part, step), seconds))

    def clock(self) -> datetime:
        return self.now

    def round(self) -> timedelta:
        """One round; how long it held the wallet."""
        chain = registry.chain(SANDBOX, ETHEREUM)
        began_at = self.now
        Round(wallet_of(SANDBOX, ETHEREUM, chain), chain, clock=self.clock).run()
        return self.now - began_at

    def _slow(self, step: str, real: Callable[..., Any], seconds: int) -> Callable[..., Any]:
        def slow(*asked: Any, **named: Any) -> Any:
            self.now += timedelta(seconds=seconds)
            self.asked.append(step)
            return real(*asked, **named)

        return slow


@pytest.mark.parametrize("seconds", [1, 4, 60])
def test_a_slow_network_holds_the_wallet_for_a_bounded_time_and_everybody_is_paid(
    monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    stock(ETHEREUM, 100 * COIN)
    payouts = [ask(ETHEREUM, to=somebody(ETHEREUM, str(number))) for number in range(6)]
    network = SlowNetwork(monkeypatch, seconds)
    monkeypatch.setattr(rounds, "ROUND_MAX", timedelta(seconds=20))
    lengths: list[timedelta] = []
    while len(lengths) < 40 and Payout.objects.filter(status=PayoutStatus.READY).exists():
        lengths.append(network.round())
    assert max(lengths) <= rounds.ROUND_MAX + timedelta(seconds=4 * seconds), "one question of each kind more at most"
    assert {fresh(payout).status for payout in payouts} == {PayoutStatus.SENDING}
    monkeypatch.undo()
    finish(ETHEREUM)
    assert {fresh(payout).status for payout in payouts} == {PayoutStatus.PAID}


def test_networks_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    for network in (ETHEREUM, POLYGON):
        stock(network, 10 * COIN)
        ask(network)
    rounds: list[str] = []

    def busy(environment: str, network: str) -> bool:
        rounds.append(network)
        return len(rounds) < 5

    monkeypatch.setattr(executor, "run_round", busy)
    executor.run_due()
    assert rounds == [ETHEREUM, POLYGON, ETHEREUM, POLYGON, ETHEREUM, POLYGON]


# --- one payout's trouble ----------------------------------------------------------------------------


class Planted(Exception):
    """What nobody foresaw."""


@pytest.mark.parametrize("trouble", [Planted, ChainUnavailable])
@pytest.mark.parametrize(("part", "step"), QUERIES)
def test_trouble_with_one_payout_keeps_no_other_from_being_paid(
    monkeypatch: pytest.MonkeyPatch, part: type, step: str, trouble: type[Exception]
) -> None:
    stock(ETHEREUM, 10 * COIN)
    poisoned, other = somebody(ETHEREUM, "poisoned"), somebody(ETHEREUM, "other")
    bad, good = ask(ETHEREUM, to=poisoned), ask(ETHEREUM, to=other)
    real = getattr(part, step)

    def fail(chain: Any, *asked: Any, **named: Any) -> Any:
        if poisoned in repr(asked):
            raise trouble("planted")
        return real(chain, *asked, **named)

    monkeypatch.setattr(part, step, fail)
    finish(ETHEREUM)
    assert fresh(bad).status != PayoutStatus.PAID
    if step == "broadcast":  # it is sent, and the network waits for the sequence before it
        assert Transfer.objects.get(payouts=good).sent_at is not None
    else:
        assert fresh(good).status == PayoutStatus.PAID
    monkeypatch.undo()
    Payout.objects.filter(next_attempt_at__isnull=False).update(next_attempt_at=timezone.now())
    Transfer.objects.filter(next_step_at__isnull=False).update(next_step_at=timezone.now())
    finish(ETHEREUM)
    assert (on_chain(ETHEREUM, poisoned), on_chain(ETHEREUM, other)) == (COIN, COIN)


def test_a_network_that_answers_nothing_is_asked_a_few_times_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    stock(ETHEREUM, 10 * COIN)
    payouts = [ask(ETHEREUM) for _ in range(8)]
    asked: list[object] = []

    def silent(hot_wallet: HotWallet, payout: object) -> None:
        asked.append(payout)
        raise ChainUnavailable("No provider of ethereum answers.")

    monkeypatch.setattr(HotWallet, "check_recipient", silent)
    drive(ETHEREUM)
    assert len(asked) == rounds.SILENCES_MAX
    assert the_wallet(ETHEREUM).last_error == "No provider of ethereum answers."
    assert the_wallet(ETHEREUM).checked_at is None
    assert not Payout.objects.filter(status=PayoutStatus.FAILED).exists()
    assert len(payouts) == Payout.objects.count()
