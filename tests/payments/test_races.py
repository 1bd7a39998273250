"""Real threads on real connections. Each race also runs with its guard off, and must then go wrong."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from threading import Barrier, Event
from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.db.models import QuerySet

from config.states import MoveNotAllowed
from merchants.ledger.models import Account, Posting
from merchants.ledger.posting import PostingConflict
from payments import services
from payments.chains import network_table
from payments.chains.simulated import control
from payments.chains.simulated.adapter import SimulatedChain
from payments.deposits import crediting, recording, watching
from payments.deposits.models import ScanCursor
from payments.deposits.turnover.counting import Share
from payments.deposits.watching import watch_network
from payments.models import Deposit, Discrepancy, Payment
from payments.services import PaymentNotCancellable, PaymentNotClosable, cancel_payment, close_payment
from payments.states import PaymentStatus
from payments.suspense.acceptance import DiscrepancyResolved, accept_discrepancy
from tests.factories import make_merchant
from tests.patience import until
from tests.payments.scenes import (
    SANDBOX,
    STELLAR,
    assert_all_is_well,
    assess,
    books,
    discrepancy,
    findings,
    make_payment,
    mine,
    now,
    part_of,
    pay,
    read,
    units,
    watch,
)
from tests.worlds import populated_once

pytestmark = pytest.mark.django_db(transaction=True)


def race(*runners: Callable[[], Any]) -> list[Any]:
    """Run all at once, each in a thread and on a connection of its own; what each answered or raised, in order."""
    start = Barrier(len(runners))

    def run(runner: Callable[[], Any]) -> Any:
        try:
            start.wait()
            return runner()
        except Exception as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(runners)) as pool:
        return list(pool.map(run, runners))


@contextmanager
def without_row_locks() -> Iterator[None]:
    """`select_for_update` locks no payment, deposit or discrepancy."""
    real = QuerySet.select_for_update

    def lock_nothing(self: QuerySet[Any], **options: Any) -> QuerySet[Any]:
        return self.all() if self.model in (Payment, Deposit, Discrepancy) else real(self, **options)

    QuerySet.select_for_update = lock_nothing  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        QuerySet.select_for_update = real  # type: ignore[method-assign]


@populated_once
def paid_but_unread(count: int, *, in_one_block: int) -> list[Payment]:
    """Payments of one merchant whose money stands in blocks that nobody has read yet."""
    merchant = make_merchant()
    payments = [make_payment(STELLAR, merchant=merchant) for _ in range(count)]
    for start in range(0, count, in_one_block):
        control.pay_together(STELLAR, [part_of(payment, "100") for payment in payments[start : start + in_one_block]])
        mine(STELLAR)
    return payments


# Cancel against credit.

CANCELLED_AT_ONCE, PAYMENTS_IN_A_BLOCK = 40, 4


@contextmanager
def hesitant_cancelling(*, seconds: float) -> Iterator[None]:
    """Between looking and writing, cancelling takes so long, unless the payment is completed meanwhile."""

    def hesitate(payment: Payment, status: PaymentStatus, *, fields: list[str], counted: Share) -> None:
        completed, ends = Payment.objects.filter(pk=payment.pk, status="completed"), time.monotonic() + seconds
        while time.monotonic() < ends and not completed.exists():
            time.sleep(0.005)
        recording.save_payment(payment, status, fields=fields, counted=counted)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(services, "save_payment", hesitate)
        yield


@pytest.fixture
def one_block_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_table, "SimulatedChain", partial(SimulatedChain, scan_transactions=1))


def cancel_while_it_is_credited(payments: list[Payment]) -> Counter[str]:
    """One thread cancels while another reads and two assess; what the cancellations came to."""
    done = Event()
    outcomes: Counter[str] = Counter()

    def cancel_all() -> None:
        try:
            until(Payment.objects.filter(status="completed").exists)  # those of the first block are refused
            for payment in payments:
                try:
                    cancel_payment(payment)
                    outcomes["cancelled"] += 1
                except PaymentNotCancellable:
                    outcomes["refused"] += 1
        finally:
            done.set()

    def read_all() -> None:
        for block in range(len(payments) // PAYMENTS_IN_A_BLOCK):
            # A little ahead of who cancels, so that they meet.
            while not done.is_set() and outcomes.total() < block * PAYMENTS_IN_A_BLOCK - 1:
                time.sleep(0.001)
            watch_network(SANDBOX, STELLAR)

    def assess_all() -> None:
        while not done.is_set():
            crediting.assess_due()

    assert race(cancel_all, read_all, assess_all, assess_all) == [None] * 4
    return outcomes


def wrong_ends(payments: list[Payment]) -> list[str]:
    """Payments whose money is not where their status says."""
    faults = []
    for payment in map(now, payments):
        accounts = Account.objects.filter(owner=str(payment.pk)).exclude(balance=0)
        held = [(account.kind, account.natural_balance) for account in accounts]
        right = {"cancelled": (0, [("suspense:late", payment.due)]), "completed": (payment.due, [])}
        if (payment.released, held) != right.get(payment.status):
            faults.append(f"{payment}: {payment.status}, released {payment.released}, {held}")
    return faults


@pytest.mark.usefixtures("one_block_at_a_time")
def test_a_payment_cancelled_while_it_is_credited_ends_one_way_or_the_other() -> None:
    payments = paid_but_unread(CANCELLED_AT_ONCE, in_one_block=PAYMENTS_IN_A_BLOCK)
    with hesitant_cancelling(seconds=0.02):
        outcomes = cancel_while_it_is_credited(payments)
    watch()
    assert outcomes["cancelled"] + outcomes["refused"] == CANCELLED_AT_ONCE
    assert min(outcomes["cancelled"], outcomes["refused"]) > 0  # they did meet
    assert wrong_ends(payments) == []
    statuses = Counter(Payment.objects.values_list("status", flat=True))
    assert statuses == {"cancelled": outcomes["cancelled"], "completed": outcomes["refused"]}
    each = payments[0].due
    assert books(payments[0]) == {
        "chain:hot": CANCELLED_AT_ONCE * each,
        "merchant:available": outcomes["refused"] * each,
        "suspense:late": outcomes["cancelled"] * each,
    }
    assert_all_is_well()


@pytest.mark.slow
@pytest.mark.usefixtures("one_block_at_a_time")
def test_without_the_lock_a_payment_is_cancelled_and_credited() -> None:
    payments = paid_but_unread(2 * PAYMENTS_IN_A_BLOCK, in_one_block=PAYMENTS_IN_A_BLOCK)
    with without_row_locks(), hesitant_cancelling(seconds=10):
        cancel_while_it_is_credited(payments)
    watch()
    assert findings()


# Close early against the rest that arrives.

CLOSED_AT_ONCE = 24


@populated_once
def short_with_the_rest_unread(count: int) -> list[Payment]:
    """Payments of which six tenths are credited and the rest stands in blocks that nobody has read yet."""
    merchant = make_merchant()
    payments = [make_payment(STELLAR, merchant=merchant) for _ in range(count)]
    control.pay_together(STELLAR, [part_of(payment, "60") for payment in payments])
    mine(STELLAR)
    watch()
    for start in range(0, count, PAYMENTS_IN_A_BLOCK):
        some = payments[start : start + PAYMENTS_IN_A_BLOCK]
        control.pay_together(STELLAR, [part_of(payment, "40") for payment in some])
        mine(STELLAR)
    return payments


@contextmanager
def hesitant_closing(*, seconds: float) -> Iterator[None]:
    """Between looking and writing, closing takes so long, unless the payment is completed meanwhile."""
    real = services._read_until

    def hesitate(payment: Payment) -> Any:
        completed, ends = Payment.objects.filter(pk=payment.pk, status="completed"), time.monotonic() + seconds
        while time.monotonic() < ends and not completed.exists():
            time.sleep(0.005)
        return real(payment)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(services, "_read_until", hesitate)
        yield


def close_while_the_rest_arrives(payments: list[Payment]) -> tuple[Counter[str], list[Exception]]:
    """One thread closes while another reads and two assess; what closing came to, and what they stumbled over."""
    done = Event()
    outcomes: Counter[str] = Counter()
    errors: list[Exception] = []

    def close_all() -> None:
        try:
            until(Payment.objects.filter(status="completed").exists)  # those of the first block are refused
            for payment in payments:
                try:
                    close_payment(payment)
                    outcomes["closed"] += 1
                except PaymentNotClosable:
                    outcomes["refused"] += 1
                except Exception as error:
                    errors.append(error)
        finally:
            done.set()

    def read_all() -> None:
        for block in range(len(payments) // PAYMENTS_IN_A_BLOCK):
            while not done.is_set() and outcomes.total() < block * PAYMENTS_IN_A_BLOCK - 1:
                time.sleep(0.001)
            watch_network(SANDBOX, STELLAR)

    def assess_all() -> None:
        while not done.is_set():
            crediting.assess_due()

    race(close_all, read_all, assess_all, assess_all)
    return outcomes, errors


@pytest.mark.usefixtures("one_block_at_a_time")
def test_a_payment_closed_while_the_rest_arrives_is_completed_or_closed_and_never_both() -> None:
    payments = short_with_the_rest_unread(CLOSED_AT_ONCE)
    with hesitant_closing(seconds=0.02):
        outcomes, errors = close_while_the_rest_arrives(payments)
    watch()
    assert errors == []
    assert outcomes.total() == CLOSED_AT_ONCE
    assert min(outcomes["closed"], outcomes["refused"]) > 0  # they did meet
    short, rest, due = units(payments[0], "60"), units(payments[0], "40"), int(payments[0].due)
    assert books(payments[0]) == {
        "chain:hot": CLOSED_AT_ONCE * due,
        "merchant:available": outcomes["refused"] * due,
        "suspense:underpaid": outcomes["closed"] * short,
        "suspense:late": outcomes["closed"] * rest,
    }
    assert Counter((each.status, each.closed_at is not None) for each in Payment.objects.all()) == {
        ("underpaid", True): outcomes["closed"],
        ("completed", False): outcomes["refused"],
    }
    assert_all_is_well()


@pytest.mark.slow
@pytest.mark.usefixtures("one_block_at_a_time")
def test_without_the_lock_closing_and_crediting_get_into_each_other_s_way() -> None:
    payments = short_with_the_rest_unread(2 * PAYMENTS_IN_A_BLOCK)
    with without_row_locks(), hesitant_closing(seconds=10):
        _, errors = close_while_the_rest_arrives(payments)
    watch()
    assert errors or findings()


# Watchers and assessments side by side.


def test_two_watchers_and_two_assessors_credit_each_payment_once() -> None:
    payments = paid_but_unread(100, in_one_block=2)

    def watch_all() -> None:
        for _ in range(5):
            watch_network(SANDBOX, STELLAR)

    def assess_all() -> None:
        deadline = time.monotonic() + 120
        while Payment.objects.exclude(status="completed").exists() and time.monotonic() < deadline:
            crediting.assess_due()

    assert race(watch_all, watch_all, assess_all, assess_all) == [None] * 4
    assert wrong_ends(payments) == []
    assert Deposit.objects.count() == 100
    assert {(payment.status, payment.booking_count) for payment in Payment.objects.all()} == {("completed", 1)}
    assert Posting.objects.count() == 200  # one credit, one release each
    assert_all_is_well()


@pytest.mark.usefixtures("one_block_at_a_time")
def test_without_the_lease_the_version_still_drops_the_slower_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    watch()
    payments = paid_but_unread(40, in_one_block=2)
    monkeypatch.setattr(watching, "_lease", lambda environment, network: ScanCursor.objects.get(network=network))
    recorded: list[bool] = []
    record = watching._record_scan

    def keep_count(*scan: Any) -> bool:
        recorded.append(record(*scan))
        return recorded[-1]

    monkeypatch.setattr(watching, "_record_scan", keep_count)

    def watch_all() -> None:
        while watch_network(SANDBOX, STELLAR) or Deposit.objects.count() < len(payments):
            pass

    assert race(watch_all, watch_all, watch_all) == [None] * 3
    assert False in recorded  # they did meet
    assert Deposit.objects.count() == 40
    watch()
    assert wrong_ends(payments) == []
    assert_all_is_well()


def assess_the_same(payments: list[Payment]) -> list[Exception]:
    """Four threads go through the same payments in the same order; what they stumbled over."""

    def assess_all() -> list[Exception]:
        errors: list[Exception] = []
        for payment in payments:
            try:
                assess(payment)
            except Exception as error:
                errors.append(error)
        return errors

    return [error for errors in race(*[assess_all] * 4) for error in errors]


def test_four_assessments_of_the_same_payments_agree() -> None:
    payments = paid_but_unread(50, in_one_block=10)
    read(STELLAR)
    assert assess_the_same(payments) == []
    assert wrong_ends(payments) == []
    assert Posting.objects.count() == 100
    assert_all_is_well()


@pytest.mark.slow
def test_without_the_lock_assessments_get_into_each_other_s_way() -> None:
    payments = paid_but_unread(50, in_one_block=10)
    read(STELLAR)
    with without_row_locks():
        errors = assess_the_same(payments)
    assert errors  # the constraints of the database refuse what the lock would have prevented
    assert all(isinstance(error, DatabaseError | PostingConflict | MoveNotAllowed) for error in errors)
    watch()
    assert wrong_ends(payments) == []


# Two people decide at once.


def accept_at_once(payments: list[Payment]) -> list[Counter[str]]:
    """Four people accept the same discrepancies in the same order; for each, how that ended."""
    waiting = [discrepancy(payment) for payment in payments]
    together = Barrier(4)

    def accept_all() -> list[str]:
        outcomes = []
        for each in waiting:
            together.wait()
            try:
                accept_discrepancy(each, resolved_by="Ada")
                outcomes.append("accepted")
            except DiscrepancyResolved:
                outcomes.append("refused")
            except DatabaseError:
                outcomes.append("failed")
        return outcomes

    return [Counter(outcomes) for outcomes in zip(*race(*[accept_all] * 4), strict=True)]


@populated_once
def overpaid_payments() -> list[Payment]:
    merchant = make_merchant()
    payments = [make_payment(STELLAR, merchant=merchant) for _ in range(20)]
    for payment in payments:
        pay(payment, "130")
    mine(STELLAR)
    watch()
    return payments


def test_only_one_of_four_people_decides() -> None:
    payments = overpaid_payments()
    assert accept_at_once(payments) == [Counter(accepted=1, refused=3)] * 20
    assert books(payments[0]) == {
        "chain:hot": 20 * units(payments[0], "130"),
        "merchant:available": 20 * units(payments[0], "130"),
    }
    assert_all_is_well()


@pytest.mark.slow
def test_without_the_lock_several_people_decide() -> None:
    payments = overpaid_payments()
    with without_row_locks():
        outcomes = accept_at_once(payments)
    assert any(each["accepted"] > 1 or each["failed"] for each in outcomes)
