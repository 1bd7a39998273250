"""The one writer of the ledger: what it takes, what it refuses, and that it posts once."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from merchants.ledger.balances import balance
from merchants.ledger.chart import CHART, AccountKind
from merchants.ledger.models import Account, Entry, Posting
from merchants.ledger.posting import (
    AccountRef,
    InsufficientFunds,
    InvalidPosting,
    Line,
    PostingConflict,
    PostingDraft,
    lock_accounts,
    post,
    post_drafts,
)
from tests.ledger.books import (
    COINS,
    FEES,
    PRODUCTION,
    SANDBOX,
    available_account,
    move,
    payment_account,
)

LARGEST = 2**256 - 1


def draft(*lines: Line, kind: str = "deposit_credited", reference: str = "ethereum:0xabc:0:1") -> PostingDraft:
    return PostingDraft(kind, reference, lines, height=1)


class TestDraft:
    def test_a_balanced_draft_keeps_its_lines(self) -> None:
        account = payment_account()
        assert draft(Line(COINS, 5), Line(account, -5)).lines == (Line(COINS, 5), Line(account, -5))

    def test_lines_may_come_as_a_list(self) -> None:
        lines: Any = [Line(COINS, 1), Line(payment_account(), -1)]
        assert PostingDraft("a", "b", lines, height=1).lines == tuple(lines)

    @pytest.mark.parametrize("kind", [kind for kind, rules in CHART.items() if rules.has_height])
    def test_coins_do_not_move_without_a_block(self, kind: AccountKind) -> None:
        lines = (Line(AccountRef("ethereum", "USDC", kind), 5), Line(payment_account(), -5))
        with pytest.raises(InvalidPosting, match="none is named"):
            PostingDraft("a", "b", lines)

    @pytest.mark.parametrize(
        "lines",
        [
            (),
            (Line(COINS, 5),),
            (Line(COINS, 5), Line(payment_account(), -4)),
            (Line(COINS, 0), Line(payment_account(), 0)),
            (Line(COINS, 5), Line(COINS, -5)),
            (Line(COINS, 5), Line(AccountRef("polygon", "USDC", "chain:deposit"), -5)),
            (Line(COINS, 5), Line(AccountRef("ethereum", "DAI", "chain:deposit"), -5)),
            (Line(COINS, 5.0), Line(payment_account(), -5)),  # type: ignore[arg-type]  # what a caller without types may do
            (Line(COINS, True), Line(payment_account(), -1)),
        ],
        ids=["empty", "one", "unbalanced", "zero", "same account", "networks", "assets", "float", "bool"],
    )
    def test_what_is_not_double_entry_is_refused(self, lines: tuple[Line, ...]) -> None:
        with pytest.raises(InvalidPosting):
            draft(*lines)

    @pytest.mark.parametrize(("kind", "reference"), [("", "x"), ("x", "")])
    def test_a_nameless_draft_is_refused(self, kind: str, reference: str) -> None:
        with pytest.raises(InvalidPosting, match="kind and a reference"):
            draft(Line(COINS, 5), Line(payment_account(), -5), kind=kind, reference=reference)

    def test_two_assets_may_move_in_one_posting_when_each_sums_to_zero(self) -> None:
        lines = (
            Line(available_account(asset="USDT"), 7),
            Line(AccountRef("ethereum", "USDT", "treasury"), -7),
            Line(AccountRef("ethereum", "USDC", "treasury"), 6),
            Line(AccountRef("ethereum", "USDC", "payout", "intent"), -6),
        )
        assert draft(*lines).lines == lines


class TestAccountRef:
    @pytest.mark.parametrize(
        ("network", "asset", "kind", "owner"),
        [
            ("ethereum", "USDC", "merchant:gold", "someone"),
            ("ethereum", "USDC", "merchant:available", ""),
            ("ethereum", "USDC", "chain:hot", "someone"),
            ("", "USDC", "chain:hot", ""),
            ("ethereum", "", "chain:hot", ""),
        ],
    )
    def test_an_account_outside_the_chart_is_refused(self, network: str, asset: str, kind: str, owner: str) -> None:
        with pytest.raises(InvalidPosting):
            AccountRef(network, asset, kind, owner)


@pytest.mark.django_db
class TestPost:
    def test_moves_balances_and_keeps_the_entries(self) -> None:
        account = payment_account()
        posting = post(
            height=1,
            environment=SANDBOX,
            kind="deposit_credited",
            reference="ethereum:0xabc:0:1",
            lines=[Line(COINS, 5_000_000), Line(account, -5_000_000)],
            memo="first",
        )
        stored = Posting.objects.get()
        assert stored == posting
        assert (stored.environment, stored.kind, stored.reference, stored.memo) == (
            "sandbox",
            "deposit_credited",
            "ethereum:0xabc:0:1",
            "first",
        )
        entries = stored.entries.select_related("account").order_by("id")
        assert [(entry.account.kind, entry.amount) for entry in entries] == [
            ("chain:deposit", 5_000_000),
            ("payment", -5_000_000),
        ]
        assert balance(COINS, environment=SANDBOX) == 5_000_000
        assert balance(account, environment=SANDBOX) == 5_000_000
        assert str(stored) == "Deposit credited"
        assert str(stored.entries.get(amount__gt=0)) == "Coins at deposit addresses: USDC on ethereum (sandbox)"

    def test_the_largest_amount_a_token_can_have_stays_exact(self) -> None:
        account = payment_account()
        move(LARGEST, debit=COINS, credit=account)
        assert balance(account, environment=SANDBOX) == LARGEST
        assert Entry.objects.get(amount__gt=0).amount == LARGEST

    def test_environments_never_share_an_account(self) -> None:
        move(5, debit=COINS, credit=payment_account(), environment=SANDBOX)
        move(7, debit=COINS, credit=payment_account(), environment=PRODUCTION)
        assert balance(COINS, environment=SANDBOX) == 5
        assert balance(COINS, environment=PRODUCTION) == 7

    def test_the_same_reference_in_another_environment_is_another_posting(self) -> None:
        account = payment_account()
        first = move(5, debit=COINS, credit=account, environment=SANDBOX, reference="same")
        second = move(5, debit=COINS, credit=account, environment=PRODUCTION, reference="same")
        assert first != second

    def test_takes_five_statements_and_a_savepoint(self) -> None:
        move(5, debit=COINS, credit=payment_account())
        lines = [Line(COINS, 5), Line(payment_account(), -5)]
        with CaptureQueriesContext(connection) as queries:
            post(height=1, environment=SANDBOX, kind="deposit_credited", reference="counted", lines=lines)
        work = [query["sql"] for query in queries if "SAVEPOINT" not in query["sql"]]
        assert [sql.split()[0] for sql in work] == ["INSERT", "INSERT", "SELECT", "INSERT", "UPDATE"]


@pytest.mark.django_db
class TestRepeats:
    def test_the_same_posting_again_answers_the_first_and_changes_nothing(self) -> None:
        account = payment_account()
        first = move(5, debit=COINS, credit=account, reference="once")
        again = move(5, debit=COINS, credit=account, reference="once")
        assert again == first
        assert balance(account, environment=SANDBOX) == 5
        assert Entry.objects.count() == 2

    def test_lines_in_another_order_are_the_same_posting(self) -> None:
        account = payment_account()
        first = post(height=1, environment=SANDBOX, kind="k", reference="r", lines=[Line(COINS, 5), Line(account, -5)])
        again = post(height=1, environment=SANDBOX, kind="k", reference="r", lines=[Line(account, -5), Line(COINS, 5)])
        assert again == first

    def test_other_lines_under_the_same_reference_are_refused(self) -> None:
        account = payment_account()
        move(5, debit=COINS, credit=account, reference="once")
        with pytest.raises(PostingConflict):
            move(6, debit=COINS, credit=account, reference="once")
        with pytest.raises(PostingConflict):
            move(5, debit=COINS, credit=payment_account(), reference="once")
        assert balance(COINS, environment=SANDBOX) == 5

    def test_a_repeat_among_new_drafts_is_answered_in_its_place(self) -> None:
        account = payment_account()
        first = move(5, debit=COINS, credit=account, reference="once")
        drafts = [
            draft(Line(COINS, 2), Line(account, -2), kind="moved", reference="before"),
            draft(Line(COINS, 5), Line(account, -5), kind="moved", reference="once"),
            draft(Line(COINS, 3), Line(account, -3), kind="moved", reference="after"),
        ]
        postings = post_drafts(drafts, environment=SANDBOX)
        assert [posting.reference for posting in postings] == ["before", "once", "after"]
        assert postings[1] == first
        assert balance(account, environment=SANDBOX) == 10


@pytest.mark.django_db
class TestRefusals:
    def test_an_account_may_be_emptied_and_no_further(self) -> None:
        account = available_account()
        move(5, debit=COINS, credit=account)
        with pytest.raises(InsufficientFunds) as refusal:
            move(6, debit=account, credit=FEES)
        assert (refusal.value.account, refusal.value.available, refusal.value.needed) == (account, 5, 6)
        assert refusal.value.code == "insufficient_funds"
        assert balance(account, environment=SANDBOX) == 5
        assert Posting.objects.count() == 1
        move(5, debit=account, credit=FEES)
        assert balance(account, environment=SANDBOX) == 0

    def test_coins_that_are_not_there_cannot_leave(self) -> None:
        with pytest.raises(InsufficientFunds):
            move(1, debit=available_account(), credit=COINS)

    def test_income_may_change_sign(self) -> None:
        move(1, debit=FEES, credit=available_account())
        assert balance(FEES, environment=SANDBOX) == -1

    def test_after_a_refusal_the_database_transaction_can_go_on(self) -> None:
        account = available_account()
        with transaction.atomic():
            with pytest.raises(InsufficientFunds):
                post(height=1, environment=SANDBOX, kind="k", reference="r", lines=[Line(account, 1), Line(FEES, -1)])
            move(5, debit=COINS, credit=account)
        assert list(Posting.objects.values_list("kind", flat=True)) == ["moved"]
        assert balance(account, environment=SANDBOX) == 5

    def test_drafts_are_checked_in_their_order(self) -> None:
        account = available_account()
        earn = draft(Line(COINS, 5), Line(account, -5), reference="earn")
        spend = draft(Line(account, 5), Line(FEES, -5), reference="spend")
        with pytest.raises(InsufficientFunds):
            post_drafts([spend, earn], environment=SANDBOX)
        assert not Posting.objects.exists()
        post_drafts([earn, spend], environment=SANDBOX)
        assert balance(account, environment=SANDBOX) == 0
        assert balance(FEES, environment=SANDBOX) == 5

    def test_two_drafts_of_one_call_may_not_share_a_reference(self) -> None:
        one = draft(Line(COINS, 5), Line(payment_account(), -5))
        with pytest.raises(InvalidPosting, match="same kind and reference"):
            post_drafts([one, one], environment=SANDBOX)

    def test_no_drafts_are_no_postings(self) -> None:
        assert post_drafts([], environment=SANDBOX) == []


@pytest.mark.django_db(transaction=True)
class TestTransactions:
    def test_money_does_not_move_outside_a_database_transaction(self) -> None:
        with pytest.raises(transaction.TransactionManagementError):
            post(
                height=1,
                environment=SANDBOX,
                kind="k",
                reference="r",
                lines=[Line(COINS, 5), Line(payment_account(), -5)],
            )
        with pytest.raises(transaction.TransactionManagementError):
            lock_accounts([COINS], environment=SANDBOX)
        assert not Posting.objects.exists()

    def test_a_rolled_back_cause_takes_its_posting_with_it(self) -> None:
        with transaction.atomic():
            move(5, debit=COINS, credit=payment_account())
            transaction.set_rollback(True)
        assert not Posting.objects.exists()
        assert balance(COINS, environment=SANDBOX) == 0


@pytest.mark.django_db
class TestLockAccounts:
    def test_answers_natural_balances_and_opens_what_is_not_there(self) -> None:
        known, unknown = available_account(), available_account()
        move(5, debit=COINS, credit=known)
        assert lock_accounts([known, unknown, COINS], environment=SANDBOX) == {known: 5, unknown: 0, COINS: 5}
        assert Account.objects.count() == 4  # with what the one who was paid owes

    def test_no_accounts_are_no_locks(self) -> None:
        assert lock_accounts([], environment=SANDBOX) == {}
