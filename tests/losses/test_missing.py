"""Coins that vanish from a deposit address: found by name, held from settlements, decided by two people."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone
from pytest_django.fixtures import Settings

from config import ids
from config.errors import InvalidParameter
from merchants.four_eyes.models import ProposalStatus
from merchants.four_eyes.services import AnotherMustAgree, ProposalDecided, agree
from merchants.ledger.chart import AccountKind
from merchants.ledger.models import Account
from merchants.models import Merchant
from payments import tasks
from payments.deposits.models import ScanCursor
from payments.models import BalanceChange
from payments.monitoring.accounting.result import months_between, result_of
from payments.monitoring.models import Alarm
from payments.treasury.losses import holdings
from payments.treasury.losses.models import Bearer, MissingCoins
from payments.treasury.losses.services import MissingDecided, propose_loss
from payments.treasury.models import Sweep
from tests.factories import make_merchant
from tests.ledger.reconciling import run, stopped
from tests.losses.scenes import bring_back, destroy, look, lose, open_missing, person, send_unread, settleable, sweep
from tests.operations import scenes as alarms
from tests.payments.scenes import (
    BLOCKS_UNTIL_FINAL,
    ETHEREUM,
    SANDBOX,
    assert_all_is_well,
    books,
    events,
    findings,
    make_payment,
    mine,
    mine_and_watch,
    now,
    pay_and_confirm,
    spend,
    units,
)
from tests.transfers.scenes import drive, on_chain
from tests.webhooks.scenes import client_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def merchant() -> Merchant:
    return make_merchant()


@pytest.mark.django_db(transaction=True)
def test_each_difference_is_named_with_payment_merchant_address_coin_and_amount(merchant: Merchant) -> None:
    payment = pay_and_confirm(make_payment(ETHEREUM, amount="100", merchant=merchant))
    other = pay_and_confirm(make_payment(ETHEREUM, amount="40", merchant=merchant))
    assert run()[0] == 0
    destroy(payment, "30")
    code, out, _ = run()
    whose = f"of payment {payment.public_id}, merchant {ids.MERCHANT.encode(merchant.pk)}"
    assert f"error: {payment.deposit_address} USDC {whose}\n" in out
    assert "expected 100000000, found 70000000 (-30,000,000)\n" in out
    assert "30.000000 USDC are missing" in out
    assert "Value explained: 78.5714 %" in out
    assert (code, stopped()) == (2, [(SANDBOX, ETHEREUM)])
    assert (open_missing(payment).amount, other.missing_coins.count()) == (units(payment, "30"), 0)


def test_what_is_missing_is_not_settled_and_the_merchant_is_told(merchant: Merchant) -> None:
    payment = pay_and_confirm(make_payment(ETHEREUM, amount="100", merchant=merchant))
    pay_and_confirm(make_payment(ETHEREUM, amount="40", merchant=merchant))
    destroy(payment, "30")
    for _ in range(2):  # a second run finds it again and holds nothing twice
        assert [found.delta for found in look()] == [-units(payment, "30")]
        assert books(payment)["merchant:held"] == units(payment, "30")
        assert settleable(payment) == units(payment, "110")
        assert (now(payment).status, now(payment).status_reasons) == ("completed", ["coins_missing"])
        assert events(payment)[-1] == "payment.coins_missing"
        assert [change.kind for change in BalanceChange.objects.filter(payment=payment).order_by("pk")] == [
            "payment",
            "missing",
        ]
    assert_all_is_well(without=["I12d"])


def test_coins_that_are_there_again_are_given_back(merchant: Merchant) -> None:
    payment = pay_and_confirm(make_payment(ETHEREUM, amount="100", merchant=merchant))
    destroy(payment, "30")
    look()
    bring_back(payment)
    assert look() == []
    assert settleable(payment) == payment.due
    assert MissingCoins.objects.get().status == "returned"
    assert (events(payment)[-1], now(payment).status_reasons) == ("payment.coins_restored", [])
    assert "merchant:held" not in books(payment)


@pytest.mark.parametrize(
    ("bearer", "left", "expected_books", "told"),
    [
        (Bearer.MERCHANT, "70", {"merchant:available": "70", "chain:deposit": "70"}, "payment.coins_lost"),
        (
            Bearer.HOUSE,
            "100",
            {"merchant:available": "100", "chain:deposit": "70", "loss": "30"},
            "payment.coins_restored",
        ),
    ],
)
def test_a_loss_is_booked_to_whom_two_operators_name(
    merchant: Merchant, bearer: Bearer, left: str, expected_books: dict[str, str], told: str
) -> None:
    payment = pay_and_confirm(make_payment(ETHEREUM, amount="100", merchant=merchant))
    destroy(payment, "30")
    look()
    lose(payment, bearer)
    assert books(payment) == {kind: units(payment, amount) for kind, amount in expected_books.items()}
    assert settleable(payment) == units(payment, left)
    assert events(payment)[-1] == told
    assert look() == []
    short = [(found.severity, found.delta) for some in findings().values() for found in some]
    # The house owes more than it has until it puts coins in.
    assert short == ([] if bearer == Bearer.MERCHANT else [("warning", -units(payment, "30"))])


def test_what_the_house_lost_is_its_result(merchant: Merchant) -> None:
    lost = []
    for amount in ("10", "25"):
        payment = pay_and_confirm(make_payment(ETHEREUM, amount="100", merchant=merchant))
        destroy(payment, amount)
        look()
        lost.append(lose(payment, Bearer.HOUSE))
    today = lost[0].found_at.astimezone(UTC).date()
    [row] = (each for each in result_of("sandbox", months_between(today, today)) if each.kind == AccountKind.LOSS)
    assert -row.amount == sum(each.amount for each in lost)
    [account] = Account.objects.filter(kind=AccountKind.LOSS)
    assert account.natural_balance == -row.amount


def test_nobody_decides_alone_or_about_another_amount(merchant: Merchant) -> None:
    payment = pay_and_confirm(make_payment(ETHEREUM, amount="100", merchant=merchant))
    destroy(payment, "30")
    look()
    before = books(payment)
    with pytest.raises(InvalidParameter):
        propose_loss(open_missing(payment), bearer=Bearer.HOUSE, reason=" ", by=person("Ada"))
    proposal = propose_loss(open_missing(payment), bearer=Bearer.HOUSE, reason="Destroyed.", by=person("Ada"))
    with pytest.raises(AnotherMustAgree):
        agree(proposal, by=person("Ada"))
    assert books(payment) == before
    destroy(payment, "5")
    look()
    assert agree(proposal, by=person("Grace")).status == ProposalStatus.FALLEN
    lost = lose(payment, Bearer.HOUSE)
    assert lost.amount == units(payment, "35")
    with pytest.raises(MissingDecided):
        propose_loss(lost, bearer=Bearer.HOUSE, reason="Destroyed.", by=person("Grace"))
    with pytest.raises(IntegrityError), transaction.atomic():
        MissingCoins.objects.update(approved_by="")


def test_one_is_enough_where_the_operator_says_so(merchant: Merchant, settings: Settings) -> None:
    settings.SANDBOX_OPERATORS_TO_DECIDE = 1
    payment = pay_and_confirm(make_payment(ETHEREUM, amount="100", merchant=merchant))
    destroy(payment, "30")
    look()
    propose_loss(open_missing(payment), bearer=Bearer.HOUSE, reason="Destroyed.", by=person("Ada"))
    assert MissingCoins.objects.get().approved_by == "ada@example.com"


def test_a_loss_beyond_what_is_left_to_the_merchant_is_a_debt(merchant: Merchant) -> None:
    payment = pay_and_confirm(make_payment(ETHEREUM, amount="100", merchant=merchant))
    spend(payment, "90")
    destroy(payment, "30")
    look()
    assert (books(payment)["merchant:held"], settleable(payment)) == (units(payment, "10"), 0)
    lose(payment, Bearer.MERCHANT)
    assert books(payment)["merchant:receivable"] == units(payment, "20")
    assert settleable(payment) == -units(payment, "20")
    pay_and_confirm(make_payment(ETHEREUM, amount="50", merchant=merchant))
    assert settleable(payment) == units(payment, "30"), "what comes next repays it"


def test_what_is_left_at_the_address_is_swept_and_what_is_gone_is_not_waited_for(merchant: Merchant) -> None:
    payment = pay_and_confirm(make_payment(ETHEREUM, amount="100", merchant=merchant))
    destroy(payment, "30")
    look()
    lose(payment, Bearer.MERCHANT)
    sweep()
    assert [(each.expected, each.moved) for each in Sweep.objects.all()] == [
        (units(payment, "70"), units(payment, "70"))
    ]
    assert_all_is_well()


def test_coins_on_their_way_to_the_hot_wallet_are_not_missing(merchant: Merchant) -> None:
    payment = pay_and_confirm(make_payment(ETHEREUM, amount="100", merchant=merchant))
    tasks.sweep()
    drive(ETHEREUM, 2)
    mine(ETHEREUM, 1)
    assert on_chain(ETHEREUM, payment.deposit_address) == 0
    assert look() == [], "the last final block is older"
    mine_and_watch(ETHEREUM, BLOCKS_UNTIL_FINAL[ETHEREUM])
    assert Sweep.objects.get().booked_at is None
    assert look() == [], "moved, final, and not booked yet"


def test_coins_that_nobody_read_are_a_warning(merchant: Merchant) -> None:
    payment = pay_and_confirm(make_payment(ETHEREUM, amount="100", merchant=merchant))
    send_unread(payment, "7")
    [found] = look()
    assert (found.severity, found.delta) == ("warning", units(payment, "7"))
    assert not MissingCoins.objects.exists()


def test_quick_runs_go_round_all_addresses(merchant: Merchant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holdings, "ADDRESSES_OF_A_QUICK_RUN", 2)
    payments = [pay_and_confirm(make_payment(ETHEREUM, amount="10", merchant=merchant)) for _ in range(5)]
    first, *_, last = sorted(payments, key=lambda each: each.deposit_address)
    destroy(first, "1")
    destroy(last, "2")
    seen = []
    for _ in range(3):
        found = look(since=timezone.now())
        seen.append({each.subject.partition(" ")[0] for each in found})
    assert seen == [
        {first.deposit_address},
        {first.deposit_address},  # what is missing is listed by every run
        {first.deposit_address, last.deposit_address},
    ]
    assert ScanCursor.objects.get(environment=SANDBOX, network=ETHEREUM).holdings_read_to == ""


def test_what_is_held_is_shown_as_carried_over(merchant: Merchant) -> None:
    payment = pay_and_confirm(make_payment(ETHEREUM, amount="100", merchant=merchant))
    destroy(payment, "30")
    look()
    reply = client_of(merchant).call("GET", "/settlements/next").json()
    [planned] = reply["settlements"]
    assert (planned["amount"], planned["grossAmount"], planned["refundAmount"]) == (
        "70.000000",
        "70.000000",
        "0.000000",
    )
    [left] = reply["carriedOver"]
    assert (left["amount"], left["reason"]) == ("30.000000", "coins_missing")
    shown = client_of(merchant).call("GET", f"/payments/{payment.public_id}").json()
    assert (shown["statusReasons"], shown["transfers"][0]["missing"]) == (["coins_missing"], "30.000000")


def test_operators_are_alarmed_while_somebody_must_decide(merchant: Merchant) -> None:
    payment = pay_and_confirm(make_payment(ETHEREUM, amount="100", merchant=merchant))
    destroy(payment, "100")  # all of it: a part that is missing would stop the coin as well
    look()
    alarms.look()
    [alarm] = Alarm.objects.open()
    assert (alarm.kind, alarm.subject) == ("coins_missing", "USDC")
    assert alarm.message == "100.00 USDC are not at 1 of the deposit addresses."
    lose(payment, Bearer.HOUSE)
    alarms.look()
    assert not Alarm.objects.open().exists()


@pytest.mark.django_db(transaction=True)
def test_two_who_approve_at_once_book_the_loss_once(merchant: Merchant) -> None:
    payment = pay_and_confirm(make_payment(ETHEREUM, amount="100", merchant=merchant))
    destroy(payment, "30")
    look()
    proposal = propose_loss(open_missing(payment), bearer=Bearer.MERCHANT, reason="Destroyed.", by=person("Ada"))
    together = threading.Barrier(2)

    people = {name: person(name) for name in ("Grace", "Joan")}

    def approve(name: str) -> str:
        try:
            together.wait()
            return agree(proposal, by=people[name]).people
        except ProposalDecided:
            return ""
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        outcomes = sorted(pool.map(approve, ["Grace", "Joan"]))
    assert outcomes in (["", "ada@example.com, grace@example.com"], ["", "ada@example.com, joan@example.com"])
    assert books(payment) == {"merchant:available": units(payment, "70"), "chain:deposit": units(payment, "70")}
