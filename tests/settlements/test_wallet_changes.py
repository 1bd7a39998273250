"""Settlements before, during and after the change of a wallet: money goes only to what was agreed, and all of it."""

from __future__ import annotations

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from merchants.services import change_fee
from payments.chains.simulated import control
from payments.chains.simulated.networks import address_named
from payments.merchant_wallets.proving import simulate_proof
from settlements.plans.planning import CarryReason
from settlements.services import WalletWaits, preview, redirect_failed
from settlements.states import SettlementProblem
from tests.merchant_wallets.scenes import make_owner, name, wait_is_over
from tests.settlements.scenes import (
    ETHEREUM,
    OTHER_WALLETS,
    SANDBOX,
    STELLAR,
    WALLETS,
    advance,
    assert_all_is_well,
    carried,
    earn,
    failed,
    fresh,
    owed,
    pay_out,
    settle,
    settle_one,
    stock_treasury,
)

pytestmark = pytest.mark.django_db

OLD, NEW = WALLETS[ETHEREUM], OTHER_WALLETS[ETHEREUM]


@pytest.fixture(autouse=True)
def _waiting(settings: Settings) -> None:
    settings.SANDBOX_WALLET_CHANGE_WAIT_HOURS = 24


def test_during_the_wait_the_old_wallet_is_paid_and_afterwards_the_new_one_is_paid_for_both() -> None:
    owner = make_owner()
    merchant = owner.merchant
    change_fee(merchant=merchant, fee_bps=100)
    stock_treasury("400")
    name(owner, OLD, network=ETHEREUM)
    change = name(owner, NEW, network=ETHEREUM)

    earn(merchant, "100")
    planned_before = settle_one(merchant)
    assert planned_before.destination == OLD

    wait_is_over(change)
    earn(merchant, "60")  # of payments that still name the old wallet
    earn(merchant, "40", wallet=NEW)
    earn(merchant, "-10", wallet=OLD, kind="refund")
    settlement = settle_one(merchant)
    assert settlement.destination == NEW
    assert (settlement.gross, settlement.fee, settlement.refund) == (100_000_000, 1_000_000, 10_000_000)
    assert [part["coin"] for part in settlement.coins] == ["USDC"]

    assert pay_out(planned_before).status == pay_out(settlement).status == "completed"
    assert fresh(planned_before).destination == OLD  # what was made before goes where it was made for
    assert owed(merchant) == 0
    assert_all_is_well()


def test_money_that_comes_back_from_the_old_wallet_goes_to_the_new_one() -> None:
    owner = make_owner()
    merchant = owner.merchant
    stock_treasury("100", network=STELLAR)
    name(owner, WALLETS[STELLAR], network=STELLAR)
    change = name(owner, OTHER_WALLETS[STELLAR], network=STELLAR)
    earn(merchant, "100", network=STELLAR)
    control.describe_account(STELLAR, WALLETS[STELLAR], refuses="destination_invalid")
    lost = settle_one(merchant)
    assert failed(advance(lost), SettlementProblem.DESTINATION_INVALID)
    assert carried(settle(merchant)) == [("USDC", "1000000000", CarryReason.WALLET_BLOCKED)]
    wait_is_over(change)
    settlement = settle_one(merchant)
    assert (settlement.destination, settlement.amount) == (OTHER_WALLETS[STELLAR], 1_000_000_000)
    assert pay_out(settlement).status == "completed"
    assert_all_is_well()


def test_a_redirect_does_not_go_around_the_wait() -> None:
    owner = make_owner()
    merchant = owner.merchant
    earn(merchant, "100", network=STELLAR)
    control.describe_account(STELLAR, WALLETS[STELLAR], refuses="destination_invalid")
    lost = settle_one(merchant)
    assert failed(advance(lost), SettlementProblem.DESTINATION_INVALID)
    named = name(owner, OTHER_WALLETS[STELLAR], network=STELLAR)
    stranger = address_named(STELLAR, "a stranger")
    with pytest.raises(WalletWaits):
        redirect_failed(lost, wallet=stranger, requested_by="a thief")
    assert carried(settle(merchant)) == [("USDC", "1000000000", CarryReason.WALLET_BLOCKED)]
    redirect_failed(lost, wallet=named.address, requested_by="the owner")
    assert settle_one(merchant).destination == named.address


def test_another_wallet_that_payments_name_is_paid_as_before() -> None:
    owner = make_owner()
    name(owner, OLD, network=ETHEREUM)
    wait_is_over(name(owner, NEW, network=ETHEREUM))
    elsewhere = address_named(ETHEREUM, "the second shop")
    earn(owner.merchant, "5", wallet=elsewhere)
    assert settle_one(owner.merchant).destination == elsewhere


def test_going_back_to_a_wallet_pays_it_again() -> None:
    owner = make_owner()
    name(owner, OLD, network=ETHEREUM)
    wait_is_over(name(owner, NEW, network=ETHEREUM))
    wait_is_over(name(owner, OLD, network=ETHEREUM))
    earn(owner.merchant, "5", wallet=NEW)
    earn(owner.merchant, "7", wallet=OLD)
    planned = preview(owner.merchant, owner.merchant.settings.get(environment=SANDBOX), timezone.now()).plan.settlements
    assert [(each.wallet, each.totals.amount) for each in planned] == [(OLD, 12_000_000)]


def test_where_the_operator_wants_it_only_a_proven_wallet_in_use_is_paid(settings: Settings) -> None:
    settings.REQUIRE_PROVEN_WALLETS = True
    owner = make_owner()
    earn(owner.merchant, "5", wallet=NEW)
    wallet = name(owner, OLD, network=ETHEREUM)
    earn(owner.merchant, "7", wallet=OLD)
    unproven = CarryReason.WALLET_NOT_PROVEN
    assert sorted(carried(settle(owner.merchant))) == [("USDC", "5000000", unproven), ("USDC", "7000000", unproven)]
    simulate_proof(wallet)
    run = settle(owner.merchant)
    assert run.settlements.get().destination == OLD
    assert carried(run) == [("USDC", "5000000", unproven)]
