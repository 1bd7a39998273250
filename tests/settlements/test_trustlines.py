"""Wallets on stellar that do not hold the coin yet: their settlements wait, say what to do, and go on."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from merchants.services import update_settings
from payments.chains import registry
from payments.chains.simulated import control
from payments.transfers.models import Payout
from payments.transfers.payouts import PayoutNotCancellable
from settlements.models import Settlement
from settlements.plans.reading import statement_of
from settlements.services import redirect_failed, retry_failed
from settlements.states import SettlementProblem, SettlementStatus
from tests import stopping
from tests.factories import make_merchant
from tests.settlements.scenes import (
    ETHEREUM,
    OTHER_WALLETS,
    SANDBOX,
    STELLAR,
    WALLETS,
    advance,
    assert_all_is_well,
    carried,
    drive,
    earn,
    finish,
    fresh,
    owed,
    pay_out,
    settle,
    settle_one,
    stock_treasury,
)
from tests.transfers.scenes import on_chain

pytestmark = pytest.mark.django_db

COMPLETED = SettlementStatus.COMPLETED


def refuse(problem: str = "no_trustline") -> None:
    control.describe_account(STELLAR, WALLETS[STELLAR], refuses=problem)  # type: ignore[arg-type]  # a Literal


@pytest.fixture(params=[False, True])
def waiting(request: pytest.FixtureRequest) -> Settlement:
    """One that waits for a trustline, found to be missing before or after a payout was asked for."""
    return wait(is_handed_over=request.param)


def wait(*, is_handed_over: bool) -> Settlement:
    merchant = make_merchant()
    earn(merchant, "100", network=STELLAR)
    stock_treasury("100", network=STELLAR)
    settlement = settle_one(merchant)
    if is_handed_over:
        advance(settlement)
    refuse()
    advance(settlement)
    drive(STELLAR)
    return advance(settlement)


def test_it_waits_and_says_how_to_add_the_trustline(waiting: Settlement) -> None:
    assert (waiting.status, waiting.failure_code) == (SettlementStatus.PENDING, SettlementProblem.NO_TRUSTLINE)
    code, _, issuer = registry.asset(SANDBOX, STELLAR, "USDC").contract.partition(":")
    assert f"add the asset {code} of the issuer {issuer}" in waiting.failure_message
    assert {each.hold_reason for each in Payout.objects.all()} <= {"no_trustline"}
    assert_all_is_well()


def test_it_goes_on_by_itself_once_the_trustline_is_there(waiting: Settlement) -> None:
    refuse("")
    Payout.objects.update(next_attempt_at=timezone.now())
    settlement = pay_out(waiting)
    assert (settlement.status, settlement.failure_code, settlement.failure_message) == (COMPLETED, "", "")
    assert on_chain(STELLAR, WALLETS[STELLAR]) == settlement.amount
    assert_all_is_well()


def test_it_is_asked_about_less_and_less_often_but_at_once_when_the_merchant_asks(waiting: Settlement) -> None:
    long_ago = timezone.now() - timedelta(days=2)
    Payout.objects.update(held_since=long_ago, next_attempt_at=timezone.now())
    drive(STELLAR)
    for payout in Payout.objects.all():
        assert payout.next_attempt_at is not None
        assert timedelta(minutes=59) < payout.next_attempt_at - timezone.now() <= timedelta(hours=1)
    refuse("")
    Settlement.objects.update(next_step_at=timezone.now() + timedelta(hours=1))
    retry_failed(fresh(waiting), requested_by="a test")
    due = fresh(waiting).next_step_at if waiting.payout is None else Payout.objects.get().next_attempt_at
    assert due is not None
    assert due <= timezone.now()
    assert pay_out(fresh(waiting)).status == COMPLETED


def test_the_money_can_be_sent_to_another_wallet_instead(waiting: Settlement) -> None:
    redirect_failed(waiting, wallet=OTHER_WALLETS[STELLAR], requested_by="a test")
    assert (fresh(waiting).status, fresh(waiting).failure_code) == ("failed", "no_trustline")
    assert owed(waiting.merchant, network=STELLAR) == 1_000_000_000
    refuse("")
    finish(STELLAR)
    assert not on_chain(STELLAR, WALLETS[STELLAR]), "what was given up is not paid as well"
    again = pay_out(settle_one(waiting.merchant))
    assert (again.status, again.destination, again.amount) == (COMPLETED, OTHER_WALLETS[STELLAR], 1_000_000_000)
    assert_all_is_well()


def test_what_is_on_its_way_by_now_is_not_redirected() -> None:
    waiting = wait(is_handed_over=True)
    refuse("")
    Payout.objects.update(next_attempt_at=timezone.now())
    drive(STELLAR)
    with pytest.raises(PayoutNotCancellable):
        redirect_failed(waiting, wallet=OTHER_WALLETS[STELLAR], requested_by="a test")
    assert pay_out(waiting).status == COMPLETED


# --- the runs after it -------------------------------------------------------------------------------


def test_later_runs_leave_the_money_until_the_wallet_holds_the_coin(waiting: Settlement) -> None:
    merchant = waiting.merchant
    earn(merchant, "40", network=STELLAR)
    runs = [settle(merchant), settle(merchant)]
    assert [carried(run) for run in runs] == [[("USDC", "400000000", "no_trustline")]] * 2
    assert owed(merchant, network=STELLAR) == 400_000_000
    assert list(Settlement.objects.all()) == [waiting]
    assert_all_is_well()

    refuse("")
    Payout.objects.update(next_attempt_at=timezone.now())
    assert pay_out(waiting).status == COMPLETED
    stock_treasury("40", network=STELLAR)
    later = pay_out(settle_one(merchant))
    assert (later.status, later.amount) == (COMPLETED, 400_000_000)
    [account] = statement_of(later).accounts
    assert (account.opening, account.closing) == (400_000_000, 0), "it came in before this period"
    assert on_chain(STELLAR, WALLETS[STELLAR]) == 1_400_000_000
    assert_all_is_well()


def test_what_was_left_goes_to_the_other_wallet_as_well(waiting: Settlement) -> None:
    earn(waiting.merchant, "40", network=STELLAR)
    settle(waiting.merchant)
    redirect_failed(waiting, wallet=OTHER_WALLETS[STELLAR], requested_by="a test")
    again = settle_one(waiting.merchant)
    assert (again.destination, again.amount) == (OTHER_WALLETS[STELLAR], 1_400_000_000)
    assert_all_is_well()


def test_only_this_wallet_in_this_coin_is_left_out(waiting: Settlement) -> None:
    merchant = waiting.merchant
    earn(merchant, "40", network=STELLAR)
    earn(merchant, "5", network=STELLAR, wallet=OTHER_WALLETS[STELLAR])
    earn(merchant, "6")
    made = settle(merchant).settlements.values_list("network", "destination")
    assert sorted(made) == [(ETHEREUM, WALLETS[ETHEREUM]), (STELLAR, OTHER_WALLETS[STELLAR])]
    update_settings(merchant=merchant, environment=SANDBOX, changes={"settlement_currency": "USDT"})
    assert (settle_one(merchant).destination, carried(settle(merchant))) == (WALLETS[STELLAR], [])


@pytest.mark.parametrize("trouble", ["the network is silent", "payouts are stopped"])
def test_it_waits_for_the_trustline_while_nobody_can_be_asked(waiting: Settlement, trouble: str) -> None:
    earn(waiting.merchant, "40", network=STELLAR)
    if trouble == "payouts are stopped":
        stopping.stop_payouts(environment=SANDBOX, reason="a test")
    else:
        control.outage(STELLAR, 60)
    Payout.objects.update(next_attempt_at=timezone.now())
    drive(STELLAR)
    settlement = advance(waiting)
    assert (settlement.failure_code, settlement.failure_message) == (waiting.failure_code, waiting.failure_message)
    assert carried(settle(waiting.merchant)) == [("USDC", "400000000", "no_trustline")]
