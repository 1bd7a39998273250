"""Debts in one coin are repaid from other coins and networks before those are paid out, and stay repaid."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django.fixtures import Settings

from config import ids
from merchants.ledger.balances import balance
from merchants.ledger.chart import AccountKind
from merchants.ledger.checking import Severity
from merchants.ledger.posting import AccountRef, Line, post
from merchants.models import Merchant
from merchants.services import change_fee
from payments.chains.simulated import control
from payments.models import BalanceChange
from payments.states import BalanceChangeKind
from settlements import run_creation
from settlements.exports.formats import statement_csv, statement_record
from settlements.models import DebtOffset
from settlements.plans.facts import facts_of
from settlements.plans.planning import plan
from settlements.plans.reading import statement_of
from settlements.plans.schedule import Period
from settlements.records import preview_record, settlement_record
from settlements.services import preview, redirect_failed
from settlements.states import SettlementStatus, Trigger
from tests.dashboard.conftest import browser_of
from tests.factories import make_member, make_merchant
from tests.payments import scenes as payments
from tests.settlements.scenes import (
    ETHEREUM,
    OTHER_WALLETS,
    POLYGON,
    SANDBOX,
    WALLETS,
    advance,
    assert_all_is_well,
    earn,
    owed,
    pay_out,
    settle,
    settle_one,
    stock_treasury,
    units,
)
from tests.worlds import populated_once

pytestmark = pytest.mark.django_db


def owe(merchant: Merchant, amount: str, coin: str = "USDC", network: str = ETHEREUM) -> None:
    """What a merchant was paid is undone: its coins are gone, and the merchant owes them."""
    lost = units(amount, coin, network)
    earn(merchant, amount, coin, network=network)
    stock_treasury(amount, coin, network)
    settled = pay_out(settle_one(merchant))
    assert (settled.status, settled.amount) == (SettlementStatus.COMPLETED, lost)
    with transaction.atomic():
        lines = [Line(receivable(merchant, coin, network), lost)]
        lines.append(Line(AccountRef(network, coin, AccountKind.CHAIN_DEPOSIT), -lost))
        post(height=1, environment=SANDBOX, kind="lost", reference=settled.public_id, lines=lines)
        change = BalanceChange.objects.get(settlement=settled.pk)
        change.id, change.settlement, change.amount = ids.new_uuid(), None, -lost
        change.kind, change.posting_kind = BalanceChangeKind.REVERSAL, "lost"
        change.posting_reference = settled.public_id
        change.save(force_insert=True)


def receivable(merchant: Merchant, coin: str = "USDC", network: str = ETHEREUM) -> AccountRef:
    return AccountRef(network, coin, AccountKind.MERCHANT_RECEIVABLE, str(merchant.pk))


def debt(merchant: Merchant, coin: str = "USDC", network: str = ETHEREUM) -> int:
    return balance(receivable(merchant, coin, network), environment=SANDBOX)


def house(coin: str, network: str, kind: AccountKind = AccountKind.DEBT_OFFSET) -> int:
    return balance(AccountRef(network, coin, kind), environment=SANDBOX)


@pytest.fixture
@populated_once
def owing() -> Merchant:
    """Owes 500 USDC on ethereum, and has 400 USDT there and 400 USDC on polygon."""
    merchant = make_merchant()
    owe(merchant, "500")
    earn(merchant, "400", "USDT")
    earn(merchant, "400", network=POLYGON)
    return merchant


def test_a_debt_is_repaid_from_other_coins_before_they_are_paid_out(owing: Merchant) -> None:
    chosen, now = owing.settings.get(environment=SANDBOX), timezone.now()
    found = plan(facts_of(owing, chosen, before=ids.first_uuid_at(now), now=now))
    assert len(found.offsets) == 2
    assert debt(owing) == units("500"), "a proposal changes nothing"

    run = settle(owing)
    same, other = run.offsets.order_by("debt_network", "network", "asset").order_by("-asset").reverse()
    assert (same.asset, same.network, same.amount, same.repaid, same.rate_source) == (
        *("USDC", POLYGON, 400_000_000, 400_000_000, ""),
    )
    assert (other.asset, other.network, other.repaid) == ("USDT", ETHEREUM, 100_000_000)
    assert other.rate_source
    assert debt(owing) == 0
    assert owed(owing, network=POLYGON) == 0
    settlement = run.settlements.get()
    assert (settlement.network, settlement.debt_offset, settlement.refund) == (
        *(ETHEREUM, settlement.refund, settlement.refund),
    )
    assert settlement.coins[0]["offset"] == str(other.amount)
    assert house("USDC", POLYGON) == 400_000_000
    assert house("USDT", ETHEREUM) == other.amount
    assert house("USDC", ETHEREUM) == -500_000_000 - other.rounding
    assert_all_is_well(without={"S5"})


def test_what_is_repaid_is_shown_everywhere(owing: Merchant) -> None:
    chosen = owing.settings.get(environment=SANDBOX)
    shown = preview_record(preview(owing, chosen, timezone.now()), period_start=timezone.now(), environment=SANDBOX)
    assert [(each["cryptocurrency"], each["network"], each["debtAmount"]) for each in shown["debtOffsets"]] == [
        ("USDC", POLYGON, "400.000000"),
        ("USDT", ETHEREUM, "100.000000"),
    ]
    settlement = settle_one(owing)
    other = DebtOffset.objects.get(asset="USDT")
    record = settlement_record(settlement)
    assert record["debtAmount"] == record["refundAmount"] != "0.000000"
    statement = statement_of(settlement)
    [line] = [each for coin in statement_record(statement)["coins"] for each in coin["entries"] if each["debtOffset"]]
    assert (line["type"], line["reference"], line["debtOffset"]["amount"]) == (
        *("debt_offset", other.public_id, "100.000000"),
    )
    assert line["debtOffset"]["source"] == other.rate_source
    assert f",USDC,{other.rate.normalize():f}," in statement_csv(statement)
    assert ",ethereum,100.000000" in statement_csv(statement)


def test_the_pages_show_what_is_repaid(owing: Merchant) -> None:
    client = browser_of(make_member(owing))
    page = client.get("/dashboard/settlements").text
    assert "Repays what you owe, before anything is paid" in page
    assert page.count("that you owed on Ethereum") == 2
    settlement = settle_one(owing)
    page = client.get("/dashboard/settlements").text
    assert "Debts repaid from other coins" in page
    assert page.count("that you owed on Ethereum") == 2
    address = f"/dashboard/settlements/{settlement.public_id}"
    page = client.get(address).text
    assert "Debts repaid in other coins" in page
    assert "Taken for a debt in another coin or on another network" in page
    assert "100.00 USDC on Ethereum (simulated), at 1.00" in page
    assert "100.00 USDC on Ethereum (simulated), at 1.00" in client.get(f"{address}/print").text


def test_the_operator_may_leave_other_coins_alone(owing: Merchant, settings: Settings) -> None:
    settings.OFFSET_DEBTS = False
    run = settle(owing)
    assert (run.settlements.count(), run.offsets.count()) == (2, 0)
    assert debt(owing) == units("500")


def test_an_offset_stays_when_its_settlement_fails(owing: Merchant) -> None:
    settlement = settle_one(owing)
    control.describe_account(ETHEREUM, WALLETS[ETHEREUM], refuses="destination_refused")
    back = settlement.coins[0]["net"]
    assert advance(settlement).status == SettlementStatus.FAILED
    assert (debt(owing), owed(owing, "USDT")) == (0, int(back))
    assert DebtOffset.objects.count() == 2
    assert_all_is_well()

    redirect_failed(settlement, wallet=OTHER_WALLETS[ETHEREUM], requested_by="a test")
    again = settle_one(owing)
    assert (again.destination, again.debt_offset, again.coins[0]["net"]) == (OTHER_WALLETS[ETHEREUM], 0, back)
    stock_treasury("400")
    assert pay_out(again).status == SettlementStatus.COMPLETED
    assert statement_of(again).accounts[-1].closing == 0
    assert_all_is_well()


def test_a_payment_that_is_undone_after_its_money_repaid_a_debt_becomes_a_debt() -> None:
    merchant = make_merchant()
    owe(merchant, "100", network=POLYGON)
    payments.pay(payments.make_payment(amount="100", merchant=merchant))
    payments.mine_and_watch(ETHEREUM, 3)
    run = settle(merchant)
    assert (run.settlements.count(), run.offsets.count()) == (0, 1)
    assert (debt(merchant, network=POLYGON), owed(merchant)) == (0, 0)
    control.reorg(ETHEREUM, 3, "dropped")
    payments.mine_and_watch(ETHEREUM)
    assert (debt(merchant), debt(merchant, network=POLYGON)) == (units("100"), 0)
    stock_treasury("100")
    earn(merchant, "250", "USDT")
    [offset] = settle(merchant).offsets.all()
    assert (offset.debt_network, offset.repaid, debt(merchant)) == (ETHEREUM, units("100"), 0)
    assert_all_is_well(without={"S5"})


def test_a_debt_that_turns_up_again_gives_its_money_back() -> None:
    """The deposit that was lost is there after all: what repaid the debt has become the merchant's in that coin."""
    merchant = make_merchant()
    owe(merchant, "500")
    earn(merchant, "500", network=POLYGON)
    settle(merchant)
    earn(merchant, "500")
    assert (debt(merchant), owed(merchant), owed(merchant, network=POLYGON)) == (0, units("500"), 0)
    assert settle_one(merchant).amount == units("500")
    assert_all_is_well(without={"S5"})


def test_what_repays_a_debt_counts_at_once_although_the_period_has_ended() -> None:
    """The fee of what was undone is given back, so there is something to settle beside what was repaid."""
    merchant = make_merchant()
    change_fee(merchant=merchant, fee_bps=100)
    payments.pay(payments.make_payment(amount="100", merchant=merchant))
    payments.mine_and_watch(ETHEREUM, 3)
    settle(merchant)
    control.reorg(ETHEREUM, 3, "dropped")
    payments.mine_and_watch(ETHEREUM)
    ended = timezone.now() - timedelta(minutes=1)
    earn(merchant, "300", network=POLYGON, at=ended - timedelta(minutes=1))
    run = run_creation.run_once(
        merchant_id=merchant.pk, environment=SANDBOX, period=Period("one", ended), trigger=Trigger.SCHEDULE
    )
    assert run is not None
    made = [
        (each.network, int(each.amount), int(each.fee), int(each.debt_offset))
        for each in run.settlements.order_by("network")
    ]
    assert made == [(ETHEREUM, units("1"), -units("1"), 0), (POLYGON, units("197"), units("3"), units("100"))]
    assert (debt(merchant), owed(merchant), owed(merchant, network=POLYGON)) == (0, 0, 0)
    assert_all_is_well(without={"I14"})
    # The coins owed are gone, and those taken for them are elsewhere: the operator puts some in, and knows why.
    [missing] = payments.findings()["I14"]
    assert (missing.network, missing.severity, missing.delta) == (ETHEREUM, Severity.WARNING, -units("100"))


def test_the_fee_on_what_repays_a_debt_is_taken_with_the_next_settlement() -> None:
    merchant = make_merchant()
    owe(merchant, "500")
    change_fee(merchant=merchant, fee_bps=100)
    earn(merchant, "300", network=POLYGON)
    settle(merchant)
    assert (debt(merchant), owed(merchant, network=POLYGON)) == (units("203"), units("3"))


def test_a_run_plans_again_when_the_debt_was_repaid_meanwhile(owing: Merchant, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def read_early(*arguments: object, **facts: object) -> object:
        found = facts_of(*arguments, **facts)  # type: ignore[arg-type]  # passed on as it came
        if not asked:
            earn(owing, "450")  # repays most of the debt once the plan is made
        asked.append(found)
        return found

    monkeypatch.setattr(run_creation, "facts_of", read_early)
    run = settle(owing)
    assert len(asked) == 2, "the first plan would have repaid more than was owed by then"
    assert run.offsets.count() == DebtOffset.objects.count() == 2, "nothing of the first one is kept"
    assert debt(owing) == 0
    assert_all_is_well(without={"S5"})
