"""Wallets that cannot be paid, what becomes of the money, and how it is paid after all."""

from __future__ import annotations

from typing import get_args

import pytest
from django.utils import timezone

from config.errors import InvalidParameter
from merchants.services import change_fee, update_settings
from payments.chains.errors import RecipientProblem
from payments.chains.simulated import control
from payments.models import BalanceChange
from payments.transfers.models import Payout, PayoutPolicy
from payments.transfers.payouts import reject_payout
from settlements.models import Settlement
from settlements.services import NothingToRedirect, SettlementNotFailed, redirect_failed, retry_failed
from settlements.states import BLOCKING, WAITS, SettlementProblem, SettlementStatus
from tests.factories import make_merchant, make_user
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
    failed,
    finish,
    fresh,
    owed,
    pay_out,
    settle,
    settle_one,
    stock_treasury,
)

pytestmark = pytest.mark.django_db

COMPLETED = SettlementStatus.COMPLETED


@pytest.mark.parametrize("problem", sorted({*get_args(RecipientProblem)} - {"no_trustline"}))
def test_a_wallet_that_cannot_be_paid_gets_nothing_until_somebody_says_it_can(problem: RecipientProblem) -> None:
    merchant = make_merchant()
    change_fee(merchant=merchant, fee_bps=100)
    earn(merchant, "100", network=STELLAR)
    earn(merchant, "10", "DAI", network=STELLAR)
    stock_treasury("149", network=STELLAR)
    control.describe_account(STELLAR, WALLETS[STELLAR], refuses=problem)
    settlement = settle_one(merchant)
    assert failed(advance(settlement), SettlementProblem(problem))
    assert problem in BLOCKING
    assert owed(merchant, network=STELLAR) == 990_000_000
    assert owed(merchant, "DAI", network=STELLAR) == 99_000_000  # unconverted, as it was
    assert not Payout.objects.exists()

    earn(merchant, "1", network=STELLAR)
    assert carried(settle(merchant)) == [
        ("DAI", "99000000", "wallet_blocked"),
        ("USDC", "1000000000", "wallet_blocked"),
    ]

    control.describe_account(STELLAR, WALLETS[STELLAR])
    retry_failed(settlement, requested_by="a test")
    again = pay_out(settle_one(merchant))
    assert again.status == COMPLETED
    # The fee of what failed has been taken once; only what came in since is charged.
    assert (again.gross, again.fee, again.amount) == (1_099_000_000, 100_000, 1_098_900_000)
    assert_all_is_well()


def test_a_wallet_that_turns_bad_after_it_was_handed_over_fails_too() -> None:
    merchant = make_merchant()
    earn(merchant, "100", "DAI")
    stock_treasury("100")
    settlement = advance(settle_one(merchant))
    control.describe_account(ETHEREUM, WALLETS[ETHEREUM], refuses="destination_refused")
    finish(ETHEREUM)
    assert failed(advance(settlement), SettlementProblem.DESTINATION_REFUSED)
    assert owed(merchant) == 100_000_000  # converted: it comes back in the settlement currency
    assert owed(merchant, "DAI") == 0


def test_a_later_completed_settlement_unblocks_the_wallet() -> None:
    """Two settlements of a wallet were under way at once, and the earlier one failed last."""
    merchant = make_merchant()
    earn(merchant, "60")
    PayoutPolicy.objects.create(environment=SANDBOX, transfer_limit=50)
    held = advance(settle_one(merchant))
    finish(ETHEREUM)
    earn(merchant, "40")
    stock_treasury("100")
    assert pay_out(settle_one(merchant)).status == COMPLETED
    reject_payout(Payout.objects.get(status="held"), operator=make_user(), note="No.")
    assert failed(advance(held), SettlementProblem.REJECTED)
    assert settle_one(merchant).amount == 60_000_000


def test_transfer_failed_the_next_run_tries_again() -> None:
    merchant = make_merchant()
    earn(merchant, "100")
    stock_treasury("100")
    settlement = advance(settle_one(merchant))
    for _ in range(3):
        # The wallet is found good, and refuses once the transfer is in a block.
        Payout.objects.filter(status="ready").update(next_attempt_at=timezone.now())
        finish_refused()
    settlement = advance(settlement)
    assert failed(settlement, SettlementProblem.TRANSFER_FAILED)
    assert settlement.failure_code not in BLOCKING
    again = pay_out(settle_one(merchant))
    assert (again.status, again.amount) == (COMPLETED, 100_000_000)


def finish_refused() -> None:
    drive(ETHEREUM)
    control.describe_account(ETHEREUM, WALLETS[ETHEREUM], refuses="destination_refused")
    control.mine(ETHEREUM, control.deepest_reorg(ETHEREUM) + 1)
    control.describe_account(ETHEREUM, WALLETS[ETHEREUM])
    drive(ETHEREUM)


def test_a_problem_is_either_waited_for_or_fails() -> None:
    assert {SettlementProblem.NO_TRUSTLINE} == WAITS & BLOCKING  # it fails once the merchant waits no longer
    fails = BLOCKING | {SettlementProblem.TRANSFER_FAILED, SettlementProblem.WALLET_LOST}
    assert set(SettlementProblem) == WAITS | fails


# --- another wallet ----------------------------------------------------------------------------------


def fail(settlement: Settlement) -> Settlement:
    control.describe_account(settlement.network, settlement.destination, refuses="destination_refused")
    return advance(settlement)


def test_returned_money_is_paid_to_another_wallet() -> None:
    merchant = make_merchant()
    earn(merchant, "100")
    settlement = fail(settle_one(merchant))
    earn(merchant, "5")
    stock_treasury("105")
    redirected = redirect_failed(settlement, wallet=OTHER_WALLETS[ETHEREUM].lower(), requested_by="a test")
    assert redirected.may_retry
    again = pay_out(settle_one(merchant))
    assert (again.status, again.destination, again.amount) == (COMPLETED, OTHER_WALLETS[ETHEREUM], 105_000_000)
    with pytest.raises(NothingToRedirect):
        redirect_failed(settlement, wallet=OTHER_WALLETS[ETHEREUM], requested_by="a test")


def test_money_is_redirected_to_an_allowed_wallet_only() -> None:
    merchant = make_merchant()
    earn(merchant, "100")
    settlement = fail(settle_one(merchant))
    with pytest.raises(InvalidParameter) as refused:
        redirect_failed(settlement, wallet="0x12", requested_by="a test")
    assert refused.value.param == "wallet"
    with pytest.raises(InvalidParameter, match="could not be paid"):
        redirect_failed(settlement, wallet=settlement.destination, requested_by="a test")
    allowed = {"wallet_allow_list": [WALLETS[ETHEREUM]]}
    update_settings(merchant=merchant, environment=SANDBOX, changes=allowed)  # type: ignore[arg-type]  # a TypedDict
    with pytest.raises(InvalidParameter, match="allow list"):
        redirect_failed(settlement, wallet=OTHER_WALLETS[ETHEREUM], requested_by="a test")
    assert set(BalanceChange.objects.values_list("wallet", flat=True)) == {settlement.destination}
    assert not fresh(settlement).may_retry

    allowed = {"wallet_allow_list": [OTHER_WALLETS[ETHEREUM]]}
    update_settings(merchant=merchant, environment=SANDBOX, changes=allowed)  # type: ignore[arg-type]  # a TypedDict
    redirect_failed(settlement, wallet=OTHER_WALLETS[ETHEREUM], requested_by="a test")
    assert carried(settle(merchant)) == [("USDC", "100000000", "wallet_cooling_off")]


def test_only_a_failed_settlement_is_retried_or_redirected() -> None:
    merchant = make_merchant()
    earn(merchant, "100")
    settlement = settle_one(merchant)
    with pytest.raises(SettlementNotFailed):
        retry_failed(settlement, requested_by="a test")
    with pytest.raises(SettlementNotFailed):
        redirect_failed(settlement, wallet=OTHER_WALLETS[ETHEREUM], requested_by="a test")


def test_a_retry_lets_all_failed_settlements_of_the_wallet_go() -> None:
    merchant = make_merchant()
    earn(merchant, "1")
    one = settle_one(merchant)
    earn(merchant, "2")
    other = settle_one(merchant)
    fail(one)
    fail(other)
    retry_failed(one, requested_by="a test")
    retry_failed(one, requested_by="a test")
    assert fresh(other).may_retry
    assert settle_one(merchant).amount == 3_000_000
