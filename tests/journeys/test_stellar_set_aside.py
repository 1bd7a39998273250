"""A settlement and a refund that are set aside on stellar: what merchant and payer are told, and what the ledger has.

Production's registry, profiles and adapters do all of it, through two Horizons of a local network.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from html import unescape
from io import StringIO

import pytest
from django.core.management import call_command
from django.db.models import F
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings
from stellar_sdk.operation import ChangeTrust, ClaimClaimableBalance

from payments.claims.claims import explain_claim
from payments.claims.explanation import ClaimCode
from payments.monitoring import alarm_rules, tasks
from payments.transfers.execution import rounds
from payments.transfers.models import Payout
from payments.transfers.owners import follow_payouts
from refunds import tasks as refund_tasks
from refunds.destination_links import DestinationLink
from refunds.models import Refund
from refunds.pages.payer import view_of
from refunds.plans.planning import NewRefund
from refunds.records import refund_record
from refunds.services import create_refund
from settlements import tasks as settlement_tasks
from settlements.exports.formats import statement_csv, statement_record
from settlements.models import Settlement
from settlements.plans.reading import statement_of
from settlements.records import settlement_record
from tests.dashboard.conftest import browser_of
from tests.factories import make_member, make_merchant
from tests.networks import STELLAR, put_profile
from tests.stellar.network.horizon import LocalHorizon
from tests.stellar.shops import COIN, PRODUCTION, Shop, address_of, local_profile, reconcile, settings_for
from webhooks.models import Event

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

LATE = ("late merchant", "late payer")


@pytest.fixture
def shop(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    put_profile(monkeypatch, local_profile())
    monkeypatch.setattr(rounds, "ROUND_MAX", timedelta(hours=1))  # however busy the machine is, a round is a whole one
    with LocalHorizon() as horizon, horizon.another() as other:
        urls = [horizon.url, other.url.replace("127.0.0.1", "localhost")]
        for name, value in settings_for(urls, claimable_balances=True).items():
            setattr(settings, name, value)
        yield Shop(horizon, stock={"USDC": 500})


def let_money_move(shop: Shop, times: int = 3) -> None:
    """What beat asks of the workers, and ledgers between."""
    for _ in range(times):
        Payout.objects.filter(next_attempt_at__isnull=False).update(next_attempt_at=timezone.now())
        Settlement.objects.filter(next_step_at__isnull=False).update(next_step_at=timezone.now())
        refund_tasks.resolve_destinations()
        settlement_tasks.advance_due()
        shop.drive()
        shop.let_ledgers_close()
        shop.drive()
        follow_payouts()


def page(browser: Client, path: str) -> str:
    response = browser.get(path)
    assert response.status_code == 200
    return unescape(response.text)


def test_what_is_set_aside_is_told_booked_and_claimed_to_the_last_stroop(shop: Shop) -> None:
    shop.move_in("payer", "paid merchant")
    shop.move_in(*LATE, codes=())
    shop.stock_people("USDC", "payer")
    member = make_member(make_merchant(plan="enterprise"))
    merchant, browser = member.merchant, browser_of(member)
    session = browser.session
    session["environment"] = PRODUCTION
    session.save()
    payments = [shop.open(merchant, address_of(name), Decimal(50)) for name in ("late merchant", "paid merchant")]
    for payment in payments:
        shop.send("payer", ([shop.paying(payment)], int(payment.memo)))
    shop.let_ledgers_close()
    asked = NewRefund(amount=Decimal(7), destination=address_of("late payer"))
    refund = create_refund(payment=payments[0], request=asked, requested_by="a test")
    call_command("run_settlements", "--now", stdout=StringIO())
    let_money_move(shop)

    late = Settlement.objects.get(destination=address_of("late merchant"))
    assert Settlement.objects.get(destination=address_of("paid merchant")).status == "completed"
    assert (late.status, late.failure_code) == ("pending", "no_trustline")
    due = f"{late.payout.set_aside_at:%-d %b %Y, %H:%M}" if late.payout and late.payout.set_aside_at else "never"
    shown = page(browser, f"/dashboard/settlements/{late.public_id}")
    assert f"If the wallet does not hold the coin on {due}" in shown
    assert "the money is set aside, and the payer has to claim it" in page(
        browser, f"/dashboard/refunds/{refund.public_id}"
    )
    shop.assert_ledger_is_the_chain()
    assert reconcile() == 0

    Payout.objects.update(set_aside_at=F("set_aside_at") - timedelta(days=3))
    let_money_move(shop)
    late, refund = Settlement.objects.get(pk=late.pk), Refund.objects.get(pk=refund.pk)
    assert (late.status, refund.status) == ("completed", "completed")
    found = {each.id: (each.claimants[0][0], each.amount) for each in shop.horizon.network.state.claimable.values()}
    assert found == {
        late.claimable_balance: (address_of("late merchant"), int(late.amount)),
        refund.claimable_balance: (address_of("late payer"), 7 * COIN),
    }
    shop.assert_ledger_is_the_chain()
    tasks.audit_wallets()
    tasks.measure_networks()
    assert list(alarm_rules.of_rows(PRODUCTION, STELLAR)) == []
    assert reconcile() == 0

    assert settlement_record(late)["claimableBalanceId"] == late.claimable_balance
    assert refund_record(refund)["claimableBalanceId"] == refund.claimable_balance
    told = {each.type: each.payload["claimableBalanceId"] for each in Event.objects.filter(object_id=late.pk)}
    assert told == {"settlement.created": None, "settlement.completed": late.claimable_balance}
    [account] = statement_record(statement_of(late))["coins"]
    assert {each["reference"]: each["claimableBalanceId"] for each in account["entries"]} == {
        payments[0].public_id: None,
        refund.public_id: refund.claimable_balance,
        late.public_id: late.claimable_balance,
    }
    assert statement_csv(statement_of(late)).count(late.claimable_balance) == 1
    shown = page(browser, f"/dashboard/settlements/{late.public_id}")
    assert "Set aside for the wallet to claim" in shown
    assert late.claimable_balance in shown
    shown = page(browser, f"/dashboard/refunds/{refund.public_id}")
    assert "Set aside for the payer to claim" in shown
    assert refund.claimable_balance in shown
    view = view_of(refund, DestinationLink(refund.pk, refund.version, expired=False))
    assert (view.state.title, view.claimable_balance) == (
        "Your money is ready to claim",
        refund.claimable_balance,
    )

    claimed = explain_claim(payments[0], refund.transaction_hash)
    assert claimed.code == ClaimCode.OTHER_ADDRESS
    assert {each.recipient for each in claimed.transfers} == {address_of(name) for name in LATE}

    locked = shop.horizon.network.state.accounts
    for name, balance_id in zip(LATE, (late.claimable_balance, refund.claimable_balance), strict=True):
        shop.send(name, ([ChangeTrust(shop.horizon.asset("USDC")), ClaimClaimableBalance(balance_id)], None))
    assert (shop.held("late merchant"), shop.held("late payer")) == (int(late.amount), 7 * COIN)
    assert {each.sponsoring for each in locked.values()} == {0}
    shop.let_ledgers_close()
    tasks.audit_wallets()
    assert list(alarm_rules.of_rows(PRODUCTION, STELLAR)) == []
    assert reconcile() == 0
