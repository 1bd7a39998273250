"""The limits of a day, and the kill switch, when several wallets sign at the same moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Barrier
from typing import Any

import pytest
from django.db import connection

from merchants.ledger import stops
from payments.chains.simulated.sending import Sending
from payments.transfers import services
from payments.transfers.execution import executor
from payments.transfers.models import Payout, PayoutPolicy, Transfer
from payments.transfers.payouts import carry, policy_of
from payments.transfers.states import HoldReason, PayoutStatus
from tests import stopping
from tests.factories import make_merchant
from tests.transfers.scenes import COIN, ETHEREUM, POLYGON, SANDBOX, ask, drive, fresh, stock

pytestmark = pytest.mark.django_db(transaction=True)

TOGETHER_SECONDS = 60


def set_policy(**changes: object) -> None:
    policy_of(SANDBOX)
    PayoutPolicy.objects.filter(environment=SANDBOX).update(**changes)


def drive_both_at_once() -> None:
    def work(network: str) -> None:
        try:
            executor.run_round(SANDBOX, network)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, [ETHEREUM, POLYGON]))


def meet_when_signing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of two wallets has found its payout within the limits before the other one's is stored."""
    both, sign = Barrier(2), Sending.sign

    def together(sending: Sending, *asked: Any, **named: Any) -> Any:
        both.wait(TOGETHER_SECONDS)
        return sign(sending, *asked, **named)

    monkeypatch.setattr(Sending, "sign", together)


@pytest.mark.parametrize("guard", ["as it is", "not asked again", "asked again without the lock"])
@pytest.mark.parametrize(
    ("limit", "reason"),
    [("daily_limit", HoldReason.DAILY_LIMIT), ("merchant_daily_limit", HoldReason.MERCHANT_LIMIT)],
)
def test_two_networks_cannot_pass_a_limit_of_a_day_together(
    monkeypatch: pytest.MonkeyPatch, limit: str, reason: HoldReason, guard: str
) -> None:
    set_policy(**{limit: 3})
    merchant = make_merchant()
    payouts = []
    for network in (ETHEREUM, POLYGON):
        stock(network, 10 * COIN)
        payouts.append(ask(network, 2 * COIN, merchant=merchant))
    meet_when_signing(monkeypatch)
    if guard == "not asked again":
        monkeypatch.setattr(services, "_hold_excess", lambda policy, payouts: False)
    elif guard == "asked again without the lock":
        both = Barrier(2)

        def carry_together(
            transfer: Transfer, payouts: Sequence[Payout], claimable_balances: Mapping[int, str]
        ) -> None:
            both.wait(TOGETHER_SECONDS)
            carry(transfer, payouts, claimable_balances)

        monkeypatch.setattr(services, "lock_policy", policy_of)
        monkeypatch.setattr(services, "carry", carry_together)
    drive_both_at_once()

    found = sorted((fresh(payout).status, fresh(payout).hold_reason) for payout in payouts)
    if guard == "as it is":
        assert found == [(PayoutStatus.HELD, reason), (PayoutStatus.SENDING, "")]
    else:
        assert found == [(PayoutStatus.SENDING, "")] * 2, "without the guard four of three dollars leave"


@pytest.mark.parametrize(
    ("network", "guard"), [("", "as it is"), (ETHEREUM, "as it is"), (ETHEREUM, "without the lock")]
)
def test_a_stop_waits_for_what_is_just_being_signed(monkeypatch: pytest.MonkeyPatch, network: str, guard: str) -> None:
    stock(ETHEREUM, 10 * COIN)
    payout = ask(ETHEREUM)
    came_back: list[bool] = []

    def stop() -> None:
        try:
            stopping.stop_payouts(environment=SANDBOX, network=network, reason="seen")
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:

        def stopped_meanwhile(*carried: Any) -> None:
            stopped = pool.submit(stop)
            wait([stopped], timeout=1)
            came_back.append(stopped.done())
            carry(*carried)

        if guard == "without the lock":
            monkeypatch.setattr(stops, "lock_signing", lambda environment: None)
        monkeypatch.setattr(services, "carry", stopped_meanwhile)
        drive(ETHEREUM)
    assert came_back == [guard == "without the lock"], "else something is signed after payouts were stopped"
    assert fresh(payout).status == PayoutStatus.SENDING


@pytest.mark.parametrize("at", ["sign", "broadcast"])
def test_the_kill_switch_holds_within_a_round(monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    stock(ETHEREUM, 10 * COIN)
    payouts = [ask(ETHEREUM) for _ in range(2)]
    real = getattr(Sending, at)

    def pulled_meanwhile(sending: Sending, *asked: Any, **named: Any) -> Any:
        stopping.stop_payouts(environment=SANDBOX, reason="seen")
        return real(sending, *asked, **named)

    monkeypatch.setattr(Sending, at, pulled_meanwhile)
    drive(ETHEREUM)
    if at == "sign":
        assert {fresh(payout).status for payout in payouts} == {PayoutStatus.READY}
        assert not Transfer.objects.exists()
    else:
        assert sorted(Transfer.objects.values_list("status", flat=True)) == ["sent", "signed"]
