"""Money that nobody had asked for when it came: kept apart, told, and in nobody's way."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.models import F

from config.database.database_time import CLOCKS_APART
from payments import tasks
from payments.chains import registry
from payments.chains.simulated import control
from payments.chains.simulated.models import SimulatedTransfer, Stretch
from payments.claims.claims import explain_claim
from payments.deposits.addresses import LOOK_AHEAD
from payments.deposits.models import ReadingRequest, ScanCursor
from payments.models import Deposit, Discrepancy, Payment
from payments.suspense.acceptance import take_discrepancy
from payments.treasury import sweep_booking
from payments.treasury.models import Sweep
from tests import stopping
from tests.payments.scenes import (
    BLOCKS_UNTIL_FINAL,
    ETHEREUM,
    SANDBOX,
    STELLAR,
    assert_all_is_well,
    books,
    discrepancies,
    make_payment,
    mine,
    mine_and_watch,
    now,
    pay,
    pay_and_confirm,
    watch,
)
from tests.transfers.scenes import drive, hot, on_chain, the_wallet
from webhooks.models import Event

pytestmark = pytest.mark.django_db(transaction=True)

FAR = 5 * LOOK_AHEAD


def send_to_number(ahead: int, amount: int = 1, network: str = ETHEREUM) -> str:
    """A stranger pays the address of a payment that does not exist yet; returns the address."""
    address = registry.chain(SANDBOX, network).deposit_address(last_number() + ahead).address
    usdc = registry.asset(SANDBOX, network, "USDC")
    control.pay(network, recipient=address, contract=usdc.contract, amount=amount)
    return address


def last_number() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT last_value FROM payments_deposit_sequence")
        return int(cursor.fetchone()[0])


def sweep(network: str = ETHEREUM) -> None:
    tasks.sweep()
    drive(network, 2)
    mine_and_watch(network, BLOCKS_UNTIL_FINAL[network])
    drive(network)
    tasks.sweep()


def reconcile() -> tuple[int, str]:
    """The exit code of a full run, and what it said."""
    said = StringIO()
    try:
        call_command("reconcile", "--full", stdout=said)
    except SystemExit as ended:
        return int(ended.code or 0), said.getvalue()
    return 0, said.getvalue()


def held() -> list[tuple[str, int]]:
    """What waits in suspense for operators."""
    waiting = Discrepancy.objects.filter(payment=None, status="open").order_by("id")
    assert {each.merchant for each in waiting} <= {None}
    return [(each.kind, int(each.amount)) for each in waiting]


def assert_the_chain_has_what_the_books_say(payment: Payment) -> None:
    assert hot(ETHEREUM) == on_chain(ETHEREUM, the_wallet(ETHEREUM).address)
    assert books(payment).get("chain:deposit", 0) == on_chain(ETHEREUM, payment.deposit_address)
    assert not Sweep.objects.filter(booked_at=None).exists()
    assert not stopping.stands(environment=SANDBOX, network=ETHEREUM)


def test_money_at_the_next_address_is_held_and_goes_with_the_sweep_of_its_payment() -> None:
    make_payment(ETHEREUM)
    address = send_to_number(1)
    mine_and_watch(ETHEREUM, BLOCKS_UNTIL_FINAL[ETHEREUM])
    assert held() == [("unasked", 1)]

    payment = make_payment(ETHEREUM)
    assert payment.deposit_address == address
    payment = pay_and_confirm(payment)
    assert (payment.status, payment.received, payment.deposit_count) == ("completed", payment.due, 1)
    sweep()
    assert set(Deposit.objects.values_list("sweep__moved", flat=True)) == {payment.due + 1}
    assert_the_chain_has_what_the_books_say(payment)
    assert reconcile()[0] == 0
    assert_all_is_well()

    take_discrepancy(Discrepancy.objects.get(), resolved_by="Ada", note="nobody missed it")
    assert books(payment)["treasury"] == 1
    assert reconcile()[0] == 0


def test_money_at_an_address_that_is_watched_no_more_is_not_taken_for_undone() -> None:
    """The numbers move on by a million when a restored database resumes, and blocks are read more than once."""
    pay_and_confirm(make_payment(ETHEREUM))
    read_from = ScanCursor.objects.get(network=ETHEREUM).cursor
    send_to_number(1)
    mine_and_watch(ETHEREUM, BLOCKS_UNTIL_FINAL[ETHEREUM])
    assert held() == [("unasked", 1)]
    give_out(last_number() + 10**6)
    ScanCursor.objects.filter(network=ETHEREUM).update(cursor=read_from)
    mine_and_watch(ETHEREUM)
    assert held() == [("unasked", 1)]
    assert_all_is_well()


def let_time_pass(network: str = ETHEREUM) -> None:
    """What is on the network so far is that much older than what is made from now on."""
    Stretch.objects.filter(network=network).update(started_at=F("started_at") - 2 * CLOCKS_APART)


def give_out(number: int, network: str = ETHEREUM) -> Payment:
    """A payment of this number."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT setval('payments_deposit_sequence', %s, false)", [number])
    return make_payment(network)


@pytest.mark.parametrize("is_reconciled", [True, False])
def test_money_at_an_address_far_ahead_stops_nobody_and_is_held(is_reconciled: bool) -> None:
    pay_and_confirm(make_payment(ETHEREUM))
    number, address = last_number() + FAR, send_to_number(FAR)
    mine_and_watch(ETHEREUM, BLOCKS_UNTIL_FINAL[ETHEREUM])
    assert held() == []
    let_time_pass()
    payment = give_out(number)
    assert payment.deposit_address == address
    payment = pay_and_confirm(payment)
    if is_reconciled:
        code, said = reconcile()
        assert (code, "1 that nobody had asked for" in said) == (1, True)
        mine_and_watch(ETHEREUM)
        assert held() == [("unasked", 1)]
    sweep()
    assert held() == [("unasked", 1)]
    assert [deposit.is_surplus for deposit in Deposit.objects.filter(payment=None)] == [not is_reconciled]
    assert Sweep.objects.get(deposits__payment=payment).moved == 2 * payment.due + 1
    assert_the_chain_has_what_the_books_say(payment)
    assert reconcile()[0] == 0
    assert_all_is_well()


def test_what_a_sweep_took_in_is_not_booked_again_when_its_transfer_is_read_after_all() -> None:
    number, address = last_number() + FAR, send_to_number(FAR, 7)
    mine_and_watch(ETHEREUM, BLOCKS_UNTIL_FINAL[ETHEREUM])
    [sent] = SimulatedTransfer.objects.filter(recipient=address).values_list("transaction__transaction_hash", flat=True)
    let_time_pass()
    payment = pay_and_confirm(give_out(number))
    sweep()
    ReadingRequest.objects.create(environment=SANDBOX, network=ETHEREUM, transaction_hash=sent)
    mine_and_watch(ETHEREUM)
    assert not ReadingRequest.objects.exists()
    assert held() == [("unasked", 7)]
    assert Deposit.objects.count() == 2
    assert_the_chain_has_what_the_books_say(payment)


def test_a_surplus_waits_until_the_block_of_its_sweep_has_been_read() -> None:
    number = last_number() + FAR
    send_to_number(FAR)
    mine_and_watch(ETHEREUM, BLOCKS_UNTIL_FINAL[ETHEREUM])
    let_time_pass()
    pay_and_confirm(give_out(number))
    tasks.sweep()
    drive(ETHEREUM, 2)
    mine(ETHEREUM, BLOCKS_UNTIL_FINAL[ETHEREUM])
    drive(ETHEREUM)
    assert sweep_booking.book_sweeps() == 0
    assert held() == []
    watch()
    assert sweep_booking.book_sweeps() == 1
    assert held() == [("unasked", 1)]


@pytest.mark.parametrize("network", [ETHEREUM, STELLAR])
def test_a_transfer_older_than_its_payment_is_never_credited_to_it(network: str) -> None:
    """As after a restore of the database: the number of a payment that was paid is given out again."""
    lost = make_payment(network)
    pay(lost)
    mine(network, BLOCKS_UNTIL_FINAL[network] or 1)
    let_time_pass(network)
    forget(lost)
    payment = give_out(lost.sequence, network)
    assert (payment.deposit_address, payment.memo) == (lost.deposit_address, lost.memo)
    watch()
    assert (now(payment).status, now(payment).deposit_count, discrepancies(payment)) == ("created", 0, [])
    assert held() == [("unasked", lost.due)]
    assert payment.public_id in Discrepancy.objects.get().note
    payment = pay_and_confirm(payment)
    assert (payment.status, payment.received) == ("completed", payment.due)
    assert_all_is_well(without={"C1"})  # of the payment that is gone, the count is left


def test_a_block_that_looks_a_little_older_than_the_payment_is_only_a_clock_that_differs() -> None:
    payment = make_payment(ETHEREUM)
    pay(payment)
    mine(ETHEREUM, BLOCKS_UNTIL_FINAL[ETHEREUM])
    Stretch.objects.filter(network=ETHEREUM).update(started_at=F("started_at") - CLOCKS_APART / 2)
    watch()
    assert now(payment).status == "completed"


def test_a_claim_says_that_it_was_sent_before_the_payment_existed() -> None:
    lost = make_payment(ETHEREUM)
    transaction_hash = pay(lost)
    mine(ETHEREUM, BLOCKS_UNTIL_FINAL[ETHEREUM])
    let_time_pass()
    forget(lost)
    payment = give_out(lost.sequence)
    watch()
    explanation = explain_claim(payment, transaction_hash)
    assert explanation.code == "too_early"
    assert explanation.message == (
        "It came to this payment's address before the payment existed, so it was not sent for it and is not credited. "
        "It is kept until somebody decides to accept it or to give it back."
    )


def forget(payment: Payment) -> None:
    """The database is one from before this payment."""
    Event.objects.filter(object_id=payment.pk).delete()
    payment.delete()
