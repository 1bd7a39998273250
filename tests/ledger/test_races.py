"""Real threads on real connections. Each race also runs with its guard off, and must then go wrong."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import DatabaseError, IntegrityError, OperationalError, connection, transaction

from merchants.ledger import posting
from merchants.ledger.balances import balance
from merchants.ledger.models import Account, Entry, Posting
from merchants.ledger.posting import InsufficientFunds, Line, PostingDraft, post, post_draft, post_drafts
from tests.ledger.books import COINS, FEES, SANDBOX, available_account, move

THREADS = 16

pytestmark = pytest.mark.django_db(transaction=True)


def race(work: Callable[[int], None], times: int = 1) -> Counter[type[Exception] | None]:
    """Run `work(thread number)` in all threads at once, `times` times each; count what it raised."""
    start = Barrier(THREADS)

    def run(number: int) -> list[type[Exception] | None]:
        outcomes: list[type[Exception] | None] = []
        try:
            start.wait()
            for _ in range(times):
                try:
                    work(number)
                    outcomes.append(None)
                except (DatabaseError, InsufficientFunds) as error:
                    outcomes.append(type(error))
        finally:
            connection.close()
        return outcomes

    with ThreadPoolExecutor(THREADS) as pool:
        return Counter(outcome for outcomes in pool.map(run, range(THREADS)) for outcome in outcomes)


def assert_balances_are_sums_of_entries() -> None:
    for account in Account.objects.all():
        assert account.balance == sum(account.entries.values_list("amount", flat=True)), account


def test_postings_on_the_same_two_accounts_lose_nothing_and_never_deadlock() -> None:
    one, other = available_account(), available_account()
    move(1_000_000, debit=COINS, credit=one)
    move(1_000_000, debit=COINS, credit=other)

    def swap(number: int) -> None:
        debit, credit = (one, other) if number % 2 else (other, one)
        move(number + 1, debit=debit, credit=credit)

    assert race(swap, times=10) == {None: THREADS * 10}
    # Odd threads move 2, 4, … 16 from one to other, even threads 1, 3, … 15 back, ten times each.
    assert balance(one, environment=SANDBOX) == 1_000_000 - 10 * (72 - 64)
    assert balance(other, environment=SANDBOX) == 1_000_000 + 10 * (72 - 64)
    assert Entry.objects.count() == 2 * (2 + THREADS * 10)
    assert_balances_are_sums_of_entries()


def test_the_last_unit_is_spent_once() -> None:
    account = available_account()
    move(40, debit=COINS, credit=account)
    outcomes = race(lambda number: spend(account, number), times=5)
    assert outcomes == {None: 40, InsufficientFunds: THREADS * 5 - 40}
    assert balance(account, environment=SANDBOX) == 0
    assert_balances_are_sums_of_entries()


def test_without_the_lock_the_database_still_refuses_to_spend_it_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posting, "LOCK_ACCOUNTS", posting.LOCK_ACCOUNTS.replace("FOR UPDATE", ""))
    account = available_account()
    move(40, debit=COINS, credit=account)
    outcomes = race(lambda number: spend(account, number), times=5)
    assert outcomes[IntegrityError] > 0  # the lock would have seen it coming
    assert outcomes[None] == 40
    assert balance(account, environment=SANDBOX) == 0


def spend(account: posting.AccountRef, number: int) -> None:
    with transaction.atomic():
        post(
            height=1,
            environment=SANDBOX,
            kind="spent",
            reference=str(uuid.uuid4()),
            lines=[Line(account, 1), Line(FEES, -1)],
        )


def test_a_reference_is_posted_once_whoever_comes_first() -> None:
    account = available_account()

    def credit(number: int) -> None:
        with transaction.atomic():
            post(
                height=1, environment=SANDBOX, kind="once", reference="same", lines=[Line(COINS, 5), Line(account, -5)]
            )

    assert race(credit) == {None: THREADS}
    assert Posting.objects.count() == 1
    assert balance(account, environment=SANDBOX) == 5
    assert_balances_are_sums_of_entries()


def test_new_accounts_opened_by_many_at_once_are_opened_once() -> None:
    owners = [str(uuid.uuid4()) for _ in range(8)]

    def credit_all(number: int) -> None:
        order = owners[number % 8 :] + owners[: number % 8]
        lines = [Line(COINS, 8), *(Line(available_account(owner), -1) for owner in order)]
        with transaction.atomic():
            post(height=1, environment=SANDBOX, kind="spread", reference=str(number), lines=lines)

    assert race(credit_all) == {None: THREADS}
    assert Account.objects.exclude(balance=0).count() == 9
    assert balance(COINS, environment=SANDBOX) == 8 * THREADS
    assert_balances_are_sums_of_entries()


def opposite_drafts(number: int, account: posting.AccountRef) -> list[PostingDraft]:
    """Two postings that touch two hot accounts, in the one order or the other."""
    drafts = [
        PostingDraft("first", str(uuid.uuid4()), (Line(COINS, 1), Line(available_account(), -1)), height=1),
        PostingDraft("second", str(uuid.uuid4()), (Line(account, 1), Line(available_account(), -1)), height=1),
    ]
    return drafts if number % 2 else drafts[::-1]


def test_several_postings_of_one_call_never_deadlock() -> None:
    account = available_account()
    move(1000, debit=COINS, credit=account)

    def post_together(number: int) -> None:
        with transaction.atomic():
            post_drafts(opposite_drafts(number, account), environment=SANDBOX)

    assert race(post_together, times=5) == {None: THREADS * 5}
    assert_balances_are_sums_of_entries()


@pytest.mark.slow
def test_the_same_postings_one_by_one_would_deadlock() -> None:
    account = available_account()
    move(1000, debit=COINS, credit=account)

    def post_one_by_one(number: int) -> None:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL deadlock_timeout = '20ms'")
            for draft in opposite_drafts(number, account):
                post_draft(draft, environment=SANDBOX)

    assert race(post_one_by_one, times=5)[OperationalError] > 0
    assert_balances_are_sums_of_entries()
