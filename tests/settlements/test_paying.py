"""From a settlement to money in the merchant's wallet, and everything that can be in the way."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from merchants.services import change_fee, update_settings
from payments.chains import network_table, registry
from payments.chains.simulated import control
from payments.chains.simulated.adapter import SimulatedChain
from payments.chains.simulated.networks import address_named
from payments.rates.models import CurrentRate
from payments.rates.quoting import forget_rates
from payments.states import BalanceChangeKind
from payments.transfers.models import Payout, PayoutPolicy
from payments.transfers.payouts import approve_payout, reject_payout
from payments.transfers.states import HoldReason
from settlements import due_runs, services
from settlements.models import Settlement
from settlements.payouts import handover, outcome
from settlements.states import WAITS, SettlementProblem, SettlementStatus
from tests import stopping
from tests.factories import make_merchant, make_user
from tests.networks import with_set
from tests.settlements.scenes import (
    ETHEREUM,
    POLYGON,
    PRODUCTION,
    SANDBOX,
    STELLAR,
    WALLETS,
    advance,
    assert_all_is_well,
    books,
    carried,
    counted,
    earn,
    events,
    failed,
    finish,
    fresh,
    on_chain,
    owed,
    pay_out,
    settle,
    settle_one,
    stock_treasury,
)

pytestmark = pytest.mark.django_db

PENDING, COMPLETED = SettlementStatus.PENDING, SettlementStatus.COMPLETED


def waits(settlement: Settlement, problem: SettlementProblem) -> bool:
    """It waits for this, with nothing handed over, and will be looked at again."""
    settlement = fresh(settlement)
    assert problem in WAITS
    assert settlement.next_step_at is not None
    assert settlement.failure_message
    return (settlement.status, settlement.failure_code, settlement.version) == (PENDING, problem, 1)


# --- paid --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("network", [ETHEREUM, POLYGON, STELLAR])
def test_a_settlement_is_paid(network: str) -> None:
    merchant = make_merchant()
    earn(merchant, "100", network=network)
    stock_treasury("100", network=network)
    settlement = pay_out(settle_one(merchant))
    assert (settlement.status, settlement.version, settlement.failure_code) == (COMPLETED, 2, "")
    assert settlement.transaction_hash
    assert settlement.completed_at == settlement.ended_at is not None
    assert settlement.next_step_at is None
    assert on_chain(network, WALLETS[network]) == settlement.amount
    assert "USDC payout" not in books()
    assert "USDC chain:hot" not in books()  # the operator's coins are gone, and the payer's are there in their place
    assert events(settlement) == [("settlement.created", 1), ("settlement.completed", 2)]
    assert counted(merchant, "pending") == 0
    assert counted(merchant, "completed") == 1
    assert_all_is_well()


def test_looking_again_changes_nothing() -> None:
    merchant = make_merchant()
    earn(merchant, "100")
    stock_treasury("100")
    settlement = settle_one(merchant)
    for _ in range(3):
        handover.advance(settlement.pk)
    assert Payout.objects.count() == 1
    settlement = pay_out(settlement)
    before = fresh(settlement)
    handover.advance(settlement.pk)
    outcome.follow_payout(settlement)
    handover.wait_for(settlement.pk, problem=SettlementProblem.RATE_UNAVAILABLE, message="late")
    handover.fail_unpaid(settlement.pk, problem=SettlementProblem.NO_TRUSTLINE, message="late")
    after = fresh(settlement)
    assert {field: getattr(after, field) for field in ("status", "version", "failure_code", "ended_at")} == {
        field: getattr(before, field) for field in ("status", "version", "failure_code", "ended_at")
    }
    assert len(events(settlement)) == 2


@pytest.mark.usefixtures("rates")
def test_other_coins_are_bought_out_of_the_treasury() -> None:
    merchant = make_merchant()
    change_fee(merchant=merchant, fee_bps=100)
    earn(merchant, "100", "DAI")
    earn(merchant, "50", "USDT")
    earn(merchant, "-10", "USDT", kind=BalanceChangeKind.REFUND)
    earn(merchant, "7", "USDC")
    stock_treasury("1007")
    settlement = pay_out(settle_one(merchant))
    assert settlement.status == COMPLETED
    dai, usdc, usdt = settlement.coins
    assert (dai["rate"], usdt["rate"], usdc["rate"]) == ("0.998001998001", "1.000999000999", "")
    assert dai["source"] == "kraken, coinbase"
    assert dai["quotedAt"]
    # 99 DAI and 39.5 USDT net, rounded down, and 6.93 USDC.
    assert (dai["converted"], usdt["converted"], usdc["converted"]) == ("98802197", "39539460", "6930000")
    assert settlement.amount == 98_802_197 + 39_539_460 + 6_930_000
    assert settlement.fee == 998_001 + 500_499 + 70_000
    assert settlement.refund == 10_009_990
    assert settlement.gross == settlement.amount + settlement.fee + settlement.refund
    assert on_chain(ETHEREUM, WALLETS[ETHEREUM]) == settlement.amount
    assert {name: held for name, held in books().items() if name.startswith(("DAI", "USD"))} == {
        "DAI chain:deposit": 100 * 10**18,
        "DAI treasury": 99 * 10**18,
        "DAI fee:service": 10**18,
        "USDT chain:deposit": 40_000_000,
        "USDT treasury": 39_500_000,
        "USDT fee:service": 500_000,
        "USDC chain:deposit": 7_000_000,
        "USDC chain:hot": 1_007_000_000 - settlement.amount,
        "USDC treasury": 1_007_000_000 - 98_802_197 - 39_539_460,
        "USDC fee:service": 70_000,
    }
    assert_all_is_well()


@pytest.mark.usefixtures("rates")
def test_what_rounding_leaves_of_a_conversion_has_an_account_of_its_own() -> None:
    merchant = make_merchant()
    earn(merchant, "39.5", "USDT", network=STELLAR)
    stock_treasury("1000", network=STELLAR)
    settlement = pay_out(settle_one(merchant))
    # 39.5 USDT are worth 39.5394605… USDC: seven digits on stellar, of which six are paid.
    assert (settlement.status, settlement.amount) == (COMPLETED, 395_394_600)
    assert books()["USDC rounding"] == 5
    assert books()["USDC treasury"] == 10_000_000_000 - 395_394_605
    assert_all_is_well()


@pytest.mark.usefixtures("rates")
def test_until_it_is_converted_a_settlement_shows_an_estimate() -> None:
    merchant = make_merchant()
    earn(merchant, "100", "DAI")
    settlement = settle_one(merchant)
    assert (settlement.amount, settlement.converted_at) == (99_800_199, None)
    CurrentRate.objects.filter(base="DAI").update(rate=Decimal("1.001"))
    forget_rates()
    stock_treasury("1000")
    settlement = advance(settlement)
    assert (settlement.amount, settlement.coins[0]["rate"]) == (100_000_000, "1.000000000000")
    assert settlement.converted_at is not None


# --- waiting -----------------------------------------------------------------------------------------


def test_insufficient_liquidity_a_treasury_with_too_little_is_waited_for() -> None:
    merchant = make_merchant()
    earn(merchant, "100", "DAI")
    stock_treasury("99.999999")
    settlement = settle_one(merchant)
    assert waits(advance(settlement), SettlementProblem.INSUFFICIENT_LIQUIDITY)
    assert not Payout.objects.exists()
    assert books()["USDC treasury"] == 99_999_999
    stock_treasury("0.000001")
    settlement = pay_out(settlement)
    assert (settlement.status, settlement.failure_code, settlement.failure_message) == (COMPLETED, "", "")
    assert_all_is_well()


def test_insufficient_liquidity_a_hot_wallet_with_too_little_is_waited_for() -> None:
    merchant = make_merchant()
    earn(merchant, "100")
    settlement = advance(settle_one(merchant))
    finish(ETHEREUM)
    assert waits(advance(settlement), SettlementProblem.INSUFFICIENT_LIQUIDITY)
    stock_treasury("100")
    Payout.objects.update(next_attempt_at=timezone.now())
    settlement = pay_out(settlement)
    assert (settlement.status, settlement.failure_code) == (COMPLETED, "")


def test_over_limit_operators_let_it_go() -> None:
    PayoutPolicy.objects.create(environment=SANDBOX, approval_above=50)
    merchant = make_merchant()
    earn(merchant, "100")
    stock_treasury("100")
    settlement = advance(settle_one(merchant))
    finish(ETHEREUM)
    assert waits(advance(settlement), SettlementProblem.OVER_LIMIT)
    payout = Payout.objects.get()
    for _ in range(2):
        approve_payout(payout, by=make_user(is_staff=True, is_superuser=True))
    settlement = pay_out(settlement)
    assert (settlement.status, settlement.failure_code) == (COMPLETED, "")
    assert_all_is_well()


def test_rejected_operators_refuse_it_and_the_wallet_waits_for_a_word() -> None:
    PayoutPolicy.objects.create(environment=SANDBOX, transfer_limit=50)
    merchant = make_merchant()
    earn(merchant, "100")
    settlement = advance(settle_one(merchant))
    finish(ETHEREUM)
    assert waits(advance(settlement), SettlementProblem.OVER_LIMIT)
    reject_payout(Payout.objects.get(), operator=make_user(), note="Who is this?")
    settlement = advance(settlement)
    assert failed(settlement, SettlementProblem.REJECTED)
    assert settlement.failure_message == "Who is this?"
    assert owed(merchant) == 100_000_000
    assert carried(settle(merchant)) == [("USDC", "100000000", "wallet_blocked")]


def test_rate_unavailable_the_rate_is_waited_for(settings: Settings) -> None:
    settings.RATE_SOURCES = ["kraken", "coinbase", "bitstamp"]
    forget_rates()
    merchant = make_merchant()
    earn(merchant, "100", "DAI")
    stock_treasury("100")
    settlement = settle_one(merchant)
    assert settlement.amount == 100_000_000  # at par, for want of anything better
    assert waits(advance(settlement), SettlementProblem.RATE_UNAVAILABLE)
    settings.RATE_SOURCES = ["bundled"]
    assert pay_out(settlement).status == COMPLETED


def test_network_unavailable_an_outage_is_waited_for() -> None:
    merchant = make_merchant()
    earn(merchant, "100")
    stock_treasury("100")
    settlement = settle_one(merchant)
    control.outage(ETHEREUM, 60)
    assert waits(advance(settlement), SettlementProblem.NETWORK_UNAVAILABLE)
    control.outage(ETHEREUM, 0)
    assert pay_out(settlement).status == COMPLETED


def test_network_unavailable_fees_above_the_cap_are_waited_for() -> None:
    merchant = make_merchant()
    earn(merchant, "100")
    stock_treasury("100")
    settlement = advance(settle_one(merchant))
    control.set_fee_level(ETHEREUM, 101)
    finish(ETHEREUM)
    settlement = advance(settlement)
    assert waits(settlement, SettlementProblem.NETWORK_UNAVAILABLE)
    assert settlement.failure_message == HoldReason.FEES.label
    control.set_fee_level(ETHEREUM, 1)
    Payout.objects.update(next_attempt_at=timezone.now())
    settlement = pay_out(settlement)
    assert (settlement.status, settlement.failure_code, settlement.failure_message) == (COMPLETED, "", "")


@pytest.mark.parametrize("has_payout", [False, True], ids=["before it is handed over", "afterwards"])
@pytest.mark.parametrize("problem", [SettlementProblem.COIN_PAUSED, SettlementProblem.HOT_WALLET_BLOCKED])
def test_a_coin_that_can_be_sent_to_nobody_is_waited_for(problem: SettlementProblem, has_payout: bool) -> None:
    def set_trouble(*, is_there: bool) -> None:
        if problem is SettlementProblem.COIN_PAUSED:
            control.pause_coin(ETHEREUM, "USDC", is_paused=is_there)
        else:
            hot_wallet = registry.chain(SANDBOX, ETHEREUM).payout_address()
            control.describe_account(ETHEREUM, hot_wallet, refuses="destination_refused" if is_there else "")

    merchant = make_merchant()
    earn(merchant, "100")
    stock_treasury("100")
    settlement = settle_one(merchant)
    if has_payout:
        advance(settlement)
    set_trouble(is_there=True)
    finish(ETHEREUM)
    assert waits(advance(settlement), problem)
    assert fresh(settlement).payout_id == (settlement.pk if has_payout else None)
    set_trouble(is_there=False)
    Payout.objects.update(next_attempt_at=timezone.now())
    assert pay_out(settlement).status == COMPLETED


def test_whatever_holds_a_payout_means_something_for_its_settlement() -> None:
    assert set(outcome.PROBLEM_OF_HOLD) == set(HoldReason)


@pytest.mark.parametrize("stopped", ["network", "environment"])
def test_network_unavailable_nothing_is_converted_while_payouts_are_stopped(stopped: str) -> None:
    merchant = make_merchant()
    earn(merchant, "100", "DAI")
    stock_treasury("100")
    settlement = settle_one(merchant)
    stopping.stop_payouts(environment=SANDBOX, network=ETHEREUM if stopped == "network" else "", reason="a test")
    assert waits(advance(settlement), SettlementProblem.NETWORK_UNAVAILABLE)
    assert books()["USDC treasury"] == 100_000_000
    stopping.lift(environment=SANDBOX, network=ETHEREUM if stopped == "network" else "")
    assert pay_out(settlement).status == COMPLETED


def test_currency_unavailable_until_it_is_in_use_or_another_is_chosen(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stellar has no USDT that everybody means: an operator may name one, and in the meantime there is USDC."""
    monkeypatch.setitem(network_table.ADAPTERS, "stellar", SimulatedChain)
    settings.PRODUCTION_NETWORKS = [STELLAR]
    merchant = make_merchant()
    update_settings(merchant=merchant, environment=PRODUCTION, changes={"settlement_currency": "USDT"})
    earn(merchant, "100", network=STELLAR, environment=PRODUCTION)
    run = services.run_now(merchant=merchant, environment=PRODUCTION, requested_by="a test")
    settlement = run.settlements.get()
    assert waits(advance(settlement), SettlementProblem.CURRENCY_UNAVAILABLE)

    settings.NETWORK_SETTINGS = with_set(STELLAR, issuers={"USDT": address_named(STELLAR, "an issuer")})
    assert waits(advance(settlement), SettlementProblem.RATE_UNAVAILABLE)  # one step further

    settings.NETWORK_SETTINGS = with_set(STELLAR, issuers={})
    update_settings(merchant=merchant, environment=PRODUCTION, changes={"settlement_currency": "USDC"})
    settlement = advance(settlement)
    assert (settlement.currency, settlement.decimals, settlement.failure_code) == ("USDC", 7, "")
    assert Payout.objects.get().asset == "USDC"


def test_the_longer_it_waits_the_longer_until_the_next_look() -> None:
    merchant = make_merchant()
    earn(merchant, "100", "DAI")
    settlement = settle_one(merchant)
    before = timezone.now()
    assert due_runs.advance_due() == 0
    young = fresh(settlement).next_step_at
    assert young is not None
    assert before + handover.WAIT_MIN <= young <= timezone.now() + handover.WAIT_MIN
    assert due_runs.advance_due(before) == 0
    assert fresh(settlement).next_step_at == young  # not due
