"""A world in which every table that the admin shows has rows, in the states that are seldom seen."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from pathlib import Path

from django.test import Client
from django.utils import timezone

from config.installation.models import BackupRun, Sign, Standstill
from merchants.ledger import explained_findings, stops
from merchants.ledger.checking import Scope, registered
from merchants.ledger.models import ReconcileOutcome, ReconcileRun, StopKind
from merchants.ledger.reconciliation import finding_record
from merchants.models import Merchant, User
from merchants.people.invitations import invite_merchant
from merchants.people.operator_rights import Terms, propose_member, propose_rights, set_terms
from payments.chains.simulated import control
from payments.deposits.watching import request_range
from payments.monitoring.alarm_rules import AlarmCondition
from payments.monitoring.models import NetworkSnapshot, RoleChange
from payments.monitoring.states import AlarmKind
from payments.rates.models import CurrentRate, RateSnapshot
from payments.rates.recording import record_rates
from payments.suspense.sender_returns import propose_return
from payments.transfers.models import PayoutPolicy, Wallet
from payments.transfers.payouts import policy_of, postpone_payouts
from payments.transfers.policy_changes import propose_policy
from payments.transfers.services import freeze_wallet
from payments.treasury.house.addresses import add_address
from payments.treasury.house.cold.moves import follow_cold, propose_explanation
from payments.treasury.losses.models import Bearer
from payments.treasury.losses.services import propose_loss
from payments.treasury.models import ColdMove, NativeCoin
from payments.treasury.native_deposits import ask_for
from settlements.debts.ending import propose_end
from settlements.models import Debt, DebtEnding
from tests.dashboard.addresses import make_records
from tests.dashboard.conftest import browser_of
from tests.factories import make_member, make_merchant, make_user
from tests.house.scenes import earn_fee, its_address, leave, propose, withdraw
from tests.house.test_cold_wallet import keepers_send, skim, stock_final
from tests.house.test_fundings import expect
from tests.losses import scenes as losses
from tests.operations.scenes import look, there_is
from tests.payments.scenes import ETHEREUM, POLYGON, SANDBOX, STELLAR, make_payment, pay_and_confirm
from tests.payments.test_giving_back import come, prove
from tests.payments.test_native_deposits import look as look_for_native
from tests.payments.test_native_deposits import send_native
from tests.people.conftest import sign_up
from tests.screening.scenes import put_in_force
from tests.screening.test_deposits import pay_from
from tests.settlements.scenes import advance, earn, settle
from tests.settlements.test_debt_offsets import owe
from tests.settlements.test_debts import settled_and_undone
from tests.transfers import scenes as transfers
from tests.transfers.scenes import COIN, somebody, stock
from tests.webhooks.scenes import answering, make_delivery, make_endpoint, send_due


def make_world(directory: Path) -> Merchant:
    """Everything; returns the merchant that most of it is about."""
    ada, bob = (make_user(f"{name}@example.com", name=name, is_staff=True, is_superuser=True) for name in ("Al", "Bo"))
    merchant = make_merchant("Harbour Coffee")
    make_records(merchant)
    _house_and_cold_wallet(ada, bob)
    _debts(ada, bob)
    _suspense_and_losses(directory, ada)
    _payouts(ada, merchant)
    _people(ada, merchant)
    _networks(merchant)
    _reconcile(ada)
    return merchant


def _house_and_cold_wallet(ada: User, bob: User) -> None:
    people = ada, bob
    earn_fee()  # a settlement that was paid, by a sweep and a transfer
    address = its_address(people)
    withdraw(address, 2, people)
    leave()
    propose(address, 3, by=ada)
    add_address(environment=SANDBOX, network=POLYGON, address=somebody(POLYGON), label="Other", by=ada)
    expect(STELLAR, 20, people)
    stock_final(50)
    skim(20, people)
    leave()
    waiting = withdraw(address, 1, people)
    postpone_payouts([waiting.payout_id], until=timezone.now() + timedelta(days=1))
    keepers_send(5, somebody(ETHEREUM, "nobody knows"))
    follow_cold()
    propose_explanation(ColdMove.objects.get(), is_lost=True, reason="Sent to a wrong address.", by=ada)


def _debts(ada: User, bob: User) -> None:
    offsetting = make_merchant("Lantern Books")
    owe(offsetting, "50")
    earn(offsetting, "40", "USDT")
    settle(offsetting)
    owing = make_merchant("Mill Bakery")
    advance(settled_and_undone(owing))
    debt = Debt.objects.filter(owner=str(owing.pk), balance__gt=0).get()
    for person in (ada, bob):
        propose_end(debt, amount=30 * COIN, ending=DebtEnding.WRITTEN_OFF, reason="Not worth a lawyer.", by=person)
    propose_end(debt, amount=10 * COIN, ending=DebtEnding.COLLECTED, reason="Paid by transfer.", by=ada)


def _suspense_and_losses(directory: Path, ada: User) -> None:
    returned = prove(come(STELLAR))
    propose_return(returned, by=ada, reason="No payment lacks it.")
    sender = somebody(ETHEREUM, "a listed sender")
    put_in_force(directory, sender)
    pay_from(make_payment(ETHEREUM, amount="100"), sender)
    for amount, bearer in (("100", None), ("200", Bearer.HOUSE)):
        payment = pay_and_confirm(make_payment(ETHEREUM, amount=amount))
        losses.destroy(payment, "30")
        losses.look()
        if bearer:
            propose_loss(losses.open_missing(payment), bearer=bearer, reason="Destroyed by the issuer.", by=ada)
    payment = make_payment(POLYGON)
    send_native(payment)
    look_for_native(POLYGON)
    ask_for(list(NativeCoin.objects.all()), asked_by="ada@example.com")


def _payouts(ada: User, merchant: Merchant) -> None:
    policy_of(SANDBOX)
    PayoutPolicy.objects.filter(environment=SANDBOX).update(approval_above=2)
    propose_policy(SANDBOX, {"daily_limit": None, "approval_above": 5_000}, by=ada)
    stock(POLYGON, 100 * COIN)
    transfers.ask(POLYGON, 3 * COIN)
    transfers.drive(POLYGON)
    transfers.ask(POLYGON, COIN, merchant=merchant)
    transfers.finish(POLYGON)
    refusing = somebody(POLYGON, "a contract")
    control.describe_account(POLYGON, refusing, refuses="destination_refused")
    transfers.ask(POLYGON, COIN, to=refusing)
    transfers.finish(POLYGON)


def _people(ada: User, merchant: Merchant) -> None:
    sign_up(Client())
    invite_merchant(by=ada, email="kim@lantern.example")
    browser_of(make_member(merchant)).post("/dashboard/members/invite", {"email": "lee@example.com", "role": "support"})
    friend = make_user("friend@example.com")
    propose_member(merchant=merchant, user=friend, role="owner", by=ada)
    propose_rights(friend, {"is_staff": True}, by=ada)
    set_terms(merchant=merchant, terms=Terms(plan=merchant.plan, requests_per_minute=None, fee_bps=2000), by=ada)
    endpoint = make_endpoint(merchant)
    make_delivery(endpoint)
    send_due(answering(500, b"out of order"))


def _networks(merchant: Merchant) -> None:
    there_is(AlarmCondition(AlarmKind.GAS_TANK_LOW, "The hot wallet holds 1 POL; it should hold 2 POL."))
    look()
    _rates()
    NetworkSnapshot.objects.filter(network=ETHEREUM).update(providers=["one.example"])
    factory = somebody(ETHEREUM, "the factory")
    RoleChange.objects.create(
        environment=SANDBOX,
        network=ETHEREUM,
        factory=factory,
        role="treasury",
        account=somebody(ETHEREUM, "a keeper"),
        made_by=somebody(ETHEREUM, "an owner"),
        transaction_hash="0x" + "7a" * 32,
        ordinal=0,
        height=1_234_567,
        happened_at=timezone.now(),
    )
    request_range(environment=SANDBOX, network=ETHEREUM, first=1, last=3)
    stops.stop(environment=SANDBOX, network=ETHEREUM, asset="USDT", reason="It trades at 0.80.")
    stops.stop(StopKind.HALT, environment=SANDBOX, network=POLYGON, reason="Its finality is in doubt.")
    freeze_wallet(Wallet.objects.get(network=POLYGON), reason="odd")
    stops.stop(environment=SANDBOX, merchant=merchant, reason="Chargebacks.")
    BackupRun.objects.create(kind=BackupRun.Kind.MADE, fault="The disk is full.")
    Standstill.objects.create(
        sign=Sign.LOST,
        message="The database is older than what Redis remembers.",
        complete_until=timezone.now(),
        ended_at=timezone.now(),
        ended_by="ada@example.com",
        was_restored=False,
        reason="A fail-over.",
    )


def _rates() -> None:
    now, pair = timezone.now(), {"base": "USDC", "quote": "EUR", "rate": Decimal("0.921234")}
    RateSnapshot.objects.create(**pair, source="kraken", observed_at=now, fetched_at=now)
    CurrentRate.objects.create(**pair, sources=["kraken", "coinbase"], observed_at=now, agreed_at=now)
    record_rates()


def _reconcile(ada: User) -> None:
    [check] = [known for known in registered() if known.code == "I12d"]
    records = [finding_record(check, finding) for finding in check.check(Scope())]
    options = {
        "environments": ["sandbox"],
        "network": ETHEREUM,
        "since": "2026-11-29T10:00:00+00:00",
        "atBlock": 1_234_567,
    }
    pot = {
        "environment": "sandbox",
        "network": ETHEREUM,
        "asset": "USDC",
        "amount": "1234567890",
        "valueExplained": "99",
    }
    result = {"check": "I12d", "title": check.title, "errors": 2, "warnings": 0, "seconds": 0.1, "crash": ""}
    ReconcileRun.objects.create(
        outcome=ReconcileOutcome.DISCREPANCY,
        finished_at=timezone.now(),
        options=options,
        checks=[result],
        findings=records,
        summary={"valueExplained": "99.9300", "unexplainedCount": 1, "unexplained": [pot]},
        breakers=[{"environment": "sandbox", "network": ETHEREUM, "reason": "I12d", "isNew": True}],
        error_count=2,
    )
    until = timezone.now() + timedelta(days=3)
    explained_findings.explain(records[0]["id"], note="Known since Monday.", until=until, explained_by=ada.email)
