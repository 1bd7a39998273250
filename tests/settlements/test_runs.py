"""Runs: what each takes, what it leaves behind, and that it happens once."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from decimal import Decimal

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from config import ids
from merchants.services import change_fee, update_settings
from payments.models import BalanceChange
from payments.states import BalanceChangeKind
from payments.suspense.acceptance import accept_discrepancy
from settlements import due_runs
from settlements.models import Settlement, SettlementRun
from settlements.services import preview, run_now
from settlements.states import SettlementStatus, Trigger
from tests.factories import make_merchant, suspend
from tests.payments import refunds
from tests.payments import scenes as payments
from tests.settlements.scenes import (
    ETHEREUM,
    OTHER_WALLETS,
    PRODUCTION,
    SANDBOX,
    STELLAR,
    WALLETS,
    assert_all_is_well,
    books,
    carried,
    counted,
    earn,
    events,
    make_merchant_who,
    owed,
    settle,
    settle_one,
    units,
)

pytestmark = pytest.mark.django_db


def tomorrow(hours: int = 0) -> datetime:
    """An instant after the next midnight, when a merchant who chose nothing is settled."""
    midnight = datetime.combine(timezone.now().date(), time(0), tzinfo=UTC)
    return midnight + timedelta(days=1, hours=hours)


def test_a_payment_that_was_undone_and_paid_again_counts_once() -> None:
    payment, transaction_hash = refunds.unfinal()
    payments.reorganise(payment, 6, "dropped", only=[transaction_hash])
    payments.pay(payment)
    payments.mine_and_watch(ETHEREUM, 6)
    paid = payment.balance_changes.filter(kind=BalanceChangeKind.PAYMENT)
    assert paid.count() == 2
    short = payments.pay_and_confirm(payments.make_payment(ETHEREUM, merchant=payment.merchant), "60")
    accept_discrepancy(payments.end_window(short).discrepancies.get(), resolved_by="Ada")
    assert short.balance_changes.get().posting_reference == f"{short.pk}:3"
    settlement = settle_one(payment.merchant)
    assert (settlement.payment_count, settlement.amount) == (2, 160_000_000)


def test_a_run_settles_what_payments_brought() -> None:
    merchant = make_merchant()
    paid = [payments.make_payment(amount=amount, merchant=merchant) for amount in ("100", "50.25")]
    for payment in paid:
        payments.pay_and_confirm(payment)
    run = settle(merchant)
    settlement = run.settlements.get()
    assert (settlement.status, settlement.version) == (SettlementStatus.PENDING, 1)
    assert (settlement.network, settlement.destination) == (ETHEREUM, payments.WALLETS[ETHEREUM])
    assert (settlement.gross, settlement.fee, settlement.refund, settlement.amount) == (150_250_000, 0, 0, 150_250_000)
    assert settlement.payment_count == 2
    assert settlement.period_start == run.period_start == merchant.created_at
    assert set(BalanceChange.objects.values_list("settlement", flat=True)) == {settlement.id}
    assert books() == {"USDC chain:deposit": 150_250_000, "USDC payout": 150_250_000}
    assert events(settlement) == [("settlement.created", 1)]
    assert_all_is_well()


def test_the_fee_is_earned_at_once_and_recorded() -> None:
    merchant = make_merchant()
    change_fee(merchant=merchant, fee_bps=125)
    earn(merchant, "80")
    earn(merchant, "-20", kind=BalanceChangeKind.REFUND)
    settlement = settle_one(merchant)
    assert (settlement.gross, settlement.fee, settlement.refund, settlement.amount) == (
        80_000_000,
        1_000_000,
        20_000_000,
        59_000_000,
    )
    assert settlement.fee_bps == 125
    assert books() == {"USDC chain:deposit": 60_000_000, "USDC payout": 59_000_000, "USDC fee:service": 1_000_000}


def test_without_a_fee_of_its_own_a_merchant_pays_that_of_its_plan(settings: Settings) -> None:
    settings.FEE_BPS = {"starter": 50}
    merchant = make_merchant()
    earn(merchant, "100")
    assert settle_one(merchant).fee == 500_000


def test_everything_is_settled_once() -> None:
    merchant = make_merchant()
    earn(merchant, "100")
    settle(merchant)
    again = settle(merchant)
    assert again.settlements.count() == 0
    assert again.carried_over == []
    assert Settlement.objects.count() == 1
    assert owed(merchant) == 0


def test_periods_follow_on_each_other() -> None:
    merchant = make_merchant()
    first, second = settle(merchant), settle(merchant)
    assert first.period_start == merchant.created_at
    assert first.period_end == second.period_start < second.period_end
    assert first.trigger == second.trigger == Trigger.PERSON
    assert first.requested_by == "a test"


def test_the_schedule_runs_each_period_once() -> None:
    merchant = make_merchant()
    earn(merchant, "10")
    assert due_runs.run_due(timezone.now()) == 0  # the first midnight is still to come
    assert due_runs.run_due(tomorrow()) == 2  # one for each environment
    assert due_runs.run_due(tomorrow(hours=1)) == 0
    run = SettlementRun.objects.get(environment=SANDBOX)
    assert run.period_key == f"{tomorrow():%Y-%m-%d}"
    assert run.period_end == run.scheduled_for == tomorrow()
    assert run.settlements.get().amount == 10_000_000
    empty = SettlementRun.objects.get(environment=PRODUCTION)
    assert (empty.carried_over, empty.settlements.count()) == ([], 0)


def test_what_happens_after_the_period_waits_for_the_next() -> None:
    merchant = make_merchant()
    end = tomorrow()
    earn(merchant, "10", at=end - timedelta(milliseconds=1))
    earn(merchant, "20", at=end)
    due_runs.run_due(end + timedelta(minutes=1))
    assert [each.amount for each in Settlement.objects.all()] == [10_000_000]
    due_runs.run_due(end + timedelta(days=1))
    assert [each.amount for each in Settlement.objects.order_by("id")] == [10_000_000, 20_000_000]


def test_a_refund_after_the_period_comes_off_at_once() -> None:
    """Else the run would promise more than there is."""
    merchant = make_merchant()
    end = tomorrow()
    earn(merchant, "10", at=end - timedelta(hours=1))
    earn(merchant, "-4", kind=BalanceChangeKind.REFUND, at=end + timedelta(seconds=10))
    due_runs.run_due(end + timedelta(minutes=1))
    settlement = Settlement.objects.get()
    assert (settlement.refund, settlement.amount) == (4_000_000, 6_000_000)


def test_after_an_outage_of_days_there_is_one_run() -> None:
    make_merchant()
    assert due_runs.run_due(tomorrow(hours=3 * 24 + 5)) == 2
    assert set(SettlementRun.objects.values_list("period_end", flat=True)) == {tomorrow(hours=3 * 24)}
    assert due_runs.run_due(tomorrow(hours=3 * 24 + 6)) == 0


def test_another_frequency_does_not_run_what_has_been_run() -> None:
    merchant = make_merchant()
    due_runs.run_due(tomorrow())
    update_settings(merchant=merchant, environment=SANDBOX, changes={"settlement_frequency": "monthly"})
    assert due_runs.run_due(tomorrow(hours=1), environment=SANDBOX) == 0


def test_a_run_that_was_asked_for_leaves_the_schedule_alone() -> None:
    merchant = make_merchant()
    earn(merchant, "10")
    settle(merchant)
    earn(merchant, "5")
    assert due_runs.run_due(tomorrow(), environment=SANDBOX) == 1
    assert [each.amount for each in Settlement.objects.order_by("id")] == [10_000_000, 5_000_000]


def test_manual_and_suspended_merchants_have_no_schedule() -> None:
    make_merchant_who(settlement_frequency="manual")
    suspended = make_merchant()
    suspend(suspended)
    assert due_runs.run_due(tomorrow(), environment=SANDBOX) == 0


def test_a_run_can_be_limited_to_a_merchant_and_an_environment() -> None:
    merchant, _ = make_merchant(), make_merchant()
    seen: list[SettlementRun] = []
    assert due_runs.run_due(tomorrow(), merchant=merchant, environment=SANDBOX, on_run=seen.append) == 1
    assert [(run.merchant, run.environment) for run in seen] == [(merchant, SANDBOX)]


def test_a_merchant_whose_run_fails_holds_up_nobody(caplog: pytest.LogCaptureFixture) -> None:
    broken, sound = make_merchant(), make_merchant()
    change = earn(broken, "10")
    # Rows that promise more than the ledger holds: no run may pay that out.
    BalanceChange.objects.filter(pk=change.pk).update(amount=20_000_000)
    earn(sound, "10")
    assert due_runs.run_due(tomorrow(), environment=SANDBOX) == 1
    assert [each.merchant for each in Settlement.objects.all()] == [sound]
    assert owed(broken) == 10_000_000
    assert not SettlementRun.objects.filter(merchant=broken).exists()


def test_networks_wallets_and_environments_are_settled_apart() -> None:
    merchant = make_merchant()
    earn(merchant, "1")
    earn(merchant, "2", wallet=OTHER_WALLETS[ETHEREUM])
    earn(merchant, "3", network=STELLAR)
    earn(merchant, "4", environment=PRODUCTION)
    other = make_merchant()
    earn(other, "5")
    made = settle(merchant).settlements.order_by("network", "amount")
    assert [(each.network, each.destination, each.amount) for each in made] == [
        (ETHEREUM, WALLETS[ETHEREUM], 1_000_000),
        (ETHEREUM, OTHER_WALLETS[ETHEREUM], 2_000_000),
        (STELLAR, WALLETS[STELLAR], 30_000_000),
    ]
    assert owed(other) == 5_000_000


def test_coins_of_a_wallet_are_settled_together() -> None:
    merchant = make_merchant()
    earn(merchant, "10", "DAI")
    earn(merchant, "5", "USDC")
    settlement = settle_one(merchant)
    assert (settlement.currency, settlement.decimals, settlement.amount) == ("USDC", 6, 15_000_000)
    assert [(part["coin"], part["net"]) for part in settlement.coins] == [
        ("DAI", "10000000000000000000"),
        ("USDC", "5000000"),
    ]
    assert settlement.converted_at is None
    assert books() == {
        "DAI chain:deposit": 10**19,
        "DAI payout": 10**19,
        "USDC chain:deposit": 5_000_000,
        "USDC payout": 5_000_000,
    }


def test_wallets_in_the_red_are_taken_along() -> None:
    merchant = make_merchant()
    earn(merchant, "10")
    earn(merchant, "-4", wallet=OTHER_WALLETS[ETHEREUM], kind=BalanceChangeKind.REFUND)
    settlement = settle_one(merchant)
    assert (settlement.gross, settlement.refund, settlement.amount) == (10_000_000, 4_000_000, 6_000_000)
    assert set(BalanceChange.objects.values_list("settlement", flat=True)) == {settlement.id}


def test_less_than_the_minimum_is_carried_over_until_there_is_more() -> None:
    merchant = make_merchant_who(settlement_minimum=Decimal(25))
    earn(merchant, "24.99")
    first = settle(merchant)
    assert carried(first) == [("USDC", "24990000", "below_minimum")]
    assert first.settlements.count() == 0
    assert owed(merchant) == 24_990_000
    earn(merchant, "0.01")
    assert settle_one(merchant).amount == 25_000_000


def test_wallets_new_on_the_allow_list_cool_off() -> None:
    merchant = make_merchant()
    earn(merchant, "1")
    earn(merchant, "2", wallet=OTHER_WALLETS[ETHEREUM])
    changed = update_settings(
        merchant=merchant, environment=SANDBOX, changes={"wallet_allow_list": [WALLETS[ETHEREUM]]}
    )
    assert sorted(carried(settle(merchant))) == [
        ("USDC", "1000000", "wallet_cooling_off"),
        ("USDC", "2000000", "wallet_not_allowed"),
    ]
    long_ago = {WALLETS[ETHEREUM]: (timezone.now() - timedelta(hours=24)).isoformat()}
    assert set(changed.wallets_allowed_at) == set(long_ago)
    type(changed).objects.filter(pk=changed.pk).update(wallets_allowed_at=long_ago)
    assert settle_one(merchant).amount == 1_000_000


def test_money_for_a_wallet_of_another_network_is_carried_over() -> None:
    merchant = make_merchant()
    earn(merchant, "3", wallet=WALLETS[STELLAR])
    assert carried(settle(merchant)) == [("USDC", "3000000", "wallet_invalid")]


def test_a_settlement_of_many_thousand_changes_reads_sums_only() -> None:
    merchant = make_merchant()
    first = earn(merchant, "2000")
    BalanceChange.objects.all().delete()
    BalanceChange.objects.bulk_create(
        BalanceChange(
            merchant=merchant,
            environment=SANDBOX,
            kind=BalanceChangeKind.PAYMENT,
            reference=first.reference,
            network=ETHEREUM,
            asset="USDC",
            decimals=6,
            wallet=WALLETS[ETHEREUM],
            amount=1_000_000,
            posting_kind="earned",
            posting_reference=f"many:{number}",
        )
        for number in range(2000)
    )
    assert settle_one(merchant).amount == units("2000")


def test_settlements_are_counted() -> None:
    merchant = make_merchant()
    earn(merchant, "1")
    earn(merchant, "2", network=STELLAR)
    settle(merchant)
    assert counted(merchant, "pending") == 2
    assert counted(merchant, "completed") == 0


def test_a_preview_shows_the_next_run_and_changes_nothing() -> None:
    merchant = make_merchant_who(settlement_minimum=Decimal(5))
    earn(merchant, "10")
    earn(merchant, "2", network=STELLAR)
    found = preview(merchant, merchant.settings.get(environment=SANDBOX), timezone.now() + timedelta(seconds=1))
    assert found.period is not None
    assert found.period.ends_at == tomorrow()
    assert [(each.network, each.totals.amount) for each in found.plan.settlements] == [(ETHEREUM, 10_000_000)]
    assert [(left.network, left.amount, left.reason) for left in found.plan.carried_over] == [
        (STELLAR, 20_000_000, "below_minimum")
    ]
    assert not SettlementRun.objects.exists()
    assert owed(merchant) == 10_000_000


def test_who_asks_for_runs_has_a_preview_without_a_date() -> None:
    merchant = make_merchant_who(settlement_frequency="manual")
    assert preview(merchant, merchant.settings.get(environment=SANDBOX), timezone.now()).period is None


def test_ids_of_runs_sort_by_time() -> None:
    merchant = make_merchant()
    run = run_now(merchant=merchant, environment=SANDBOX, requested_by="somebody")
    assert ids.created_at_of(run.id) == run.created_at
    assert run.period_key.startswith("now:")
