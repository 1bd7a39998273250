"""A credit to a merchant's balance repays the merchant's debt first, whoever posts it."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest
from django.db import transaction

from merchants.ledger.balances import balance
from merchants.ledger.models import Posting
from merchants.ledger.posting import (
    InvalidPosting,
    Line,
    PostingConflict,
    PostingDraft,
    lock_accounts,
    post_draft,
    post_drafts,
)
from tests.ledger.books import COINS, SANDBOX, available_account, move, payment_account, receivable_account
from tests.ledger.test_races import THREADS, race

pytestmark = pytest.mark.django_db

OWNER = "00000000-0000-7000-8000-00000000000a"
AVAILABLE, RECEIVABLE = available_account(OWNER), receivable_account(OWNER)


def held() -> tuple[int, int]:
    """What is available to the merchant, and what the merchant owes."""
    return balance(AVAILABLE, environment=SANDBOX), balance(RECEIVABLE, environment=SANDBOX)


def credit(amount: int, *, reference: str = "") -> None:
    move(amount, debit=COINS, credit=AVAILABLE, reference=reference or None)


def owe(amount: int) -> None:
    move(amount, debit=RECEIVABLE, credit=COINS)


def entries(reference: str) -> dict[str, int]:
    posting = Posting.objects.get(reference=reference)
    return {entry.account.kind: int(entry.amount) for entry in posting.entries.select_related("account")}


@pytest.mark.parametrize(
    ("amount", "expected", "written"),
    [
        (30, (0, 70), {"merchant:receivable": -30}),
        (100, (0, 0), {"merchant:receivable": -100}),
        (130, (30, 0), {"merchant:receivable": -100, "merchant:available": -30}),
    ],
)
def test_a_credit_repays_what_is_owed_and_the_rest_is_available(
    amount: int, expected: tuple[int, int], written: dict[str, int]
) -> None:
    move(500, debit=COINS, credit=payment_account())
    owe(100)
    credit(amount, reference="it")
    assert held() == expected
    assert entries("it") == {"chain:deposit": amount, **written}


def test_debts_of_others_and_in_other_coins_stay_as_they_are() -> None:
    move(500, debit=COINS, credit=payment_account())
    owe(100)
    credit_other = available_account(OWNER, asset="USDT")
    coins = replace(COINS, asset="USDT")
    move(50, debit=coins, credit=credit_other)
    move(50, debit=COINS, credit=available_account())
    assert held() == (0, 100)
    assert balance(credit_other, environment=SANDBOX) == 50


def test_several_postings_of_one_call_see_the_debts_of_those_before() -> None:
    credit(100)
    taken = PostingDraft("taken", "1", (Line(AVAILABLE, 100), Line(RECEIVABLE, 20), Line(COINS, -120)), height=1)
    given = PostingDraft("given", "1", (Line(COINS, 60), Line(AVAILABLE, -60)), height=1)
    more = PostingDraft("given", "2", (Line(COINS, 60), Line(AVAILABLE, -60)), height=1)
    with transaction.atomic():
        move(50, debit=COINS, credit=payment_account())
        post_drafts([taken, given, more], environment=SANDBOX)
    assert held() == (100, 0)


def test_a_posting_cannot_say_by_itself_what_of_a_credit_repays() -> None:
    with pytest.raises(InvalidPosting, match="repays"):
        PostingDraft("given", "1", (Line(COINS, 60), Line(AVAILABLE, -40), Line(RECEIVABLE, -20)), height=1)


def test_a_posting_that_repaid_a_debt_is_known_again() -> None:
    move(500, debit=COINS, credit=payment_account())
    owe(100)
    draft = PostingDraft("given", "1", (Line(COINS, 130), Line(AVAILABLE, -130)), height=1)
    with transaction.atomic():
        first = post_draft(draft, environment=SANDBOX)
        assert post_draft(draft, environment=SANDBOX) == first
        assert held() == (30, 0)
        with pytest.raises(PostingConflict):
            post_draft(
                PostingDraft("given", "1", (Line(COINS, 131), Line(AVAILABLE, -131)), height=1), environment=SANDBOX
            )


@pytest.mark.django_db(transaction=True)
def test_nobody_owes_beside_a_balance_however_credits_and_losses_meet() -> None:
    move(10_000, debit=COINS, credit=payment_account())
    owe(20)

    def either(number: int) -> None:
        if number % 2:
            credit(3)
            return
        with transaction.atomic():
            there = min(2, lock_accounts([COINS, AVAILABLE, RECEIVABLE], environment=SANDBOX)[AVAILABLE])
            lines = (Line(AVAILABLE, there), Line(RECEIVABLE, 2 - there), Line(COINS, -2))
            draft = PostingDraft("taken", str(uuid.uuid4()), tuple(each for each in lines if each.amount), height=1)
            post_draft(draft, environment=SANDBOX)

    assert race(either, times=5) == {None: THREADS * 5}
    assert held() == (20, 0)  # 8 threads gave 3 and 8 took 2, five times each
