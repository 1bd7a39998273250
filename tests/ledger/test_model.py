"""The ledger against a reference small enough to be believed: the same random steps, the same books."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from merchants.ledger.balances import balance
from merchants.ledger.checking import Scope, registered
from merchants.ledger.models import Account, Entry, Posting
from merchants.ledger.posting import (
    AccountRef,
    InsufficientFunds,
    Line,
    PostingConflict,
    PostingDraft,
    post_drafts,
    receivable_beside,
)
from tests.ledger.books import PRODUCTION, SANDBOX, balance_at

OWNERS = ("one", "two")
ACCOUNTS = [
    AccountRef(network, asset, kind, owner)
    for network, asset in (("ethereum", "USDC"), ("stellar", "USDC"), ("ethereum", "DAI"))
    for kind, owners in (
        ("chain:deposit", ("",)),
        ("payment", OWNERS),
        ("merchant:available", OWNERS),
        ("merchant:receivable", OWNERS),
        ("suspense:late", OWNERS),
        ("fee:service", ("",)),
    )
    for owner in owners
]
NEVER_NEGATIVE_AS_DEBIT = ("chain:deposit", "merchant:receivable")
MAY_GO_EITHER_WAY = ("fee:service",)


class ReferenceLedger:
    """Double entry in a dictionary. It knows the signs by its own table, not by the chart."""

    def __init__(self) -> None:
        self.balances: Counter[AccountRef] = Counter()
        self.postings: dict[tuple[str, str], frozenset[Line]] = {}
        self.entries = 0

    def post(self, drafts: list[PostingDraft]) -> type[Exception] | None:
        balances, postings = self.balances.copy(), dict(self.postings)
        conflict, entries = False, self.entries
        for draft in drafts:
            lines = frozenset(draft.lines)
            known = postings.setdefault((draft.kind, draft.reference), lines)
            if (draft.kind, draft.reference) in self.postings:
                conflict = conflict or known != lines
                continue
            for line in draft.lines:
                repaid = 0
                if line.account.kind == "merchant:available" and line.amount < 0:
                    debt = replace(line.account, kind="merchant:receivable")
                    repaid = min(balances[debt], -line.amount)
                    balances[debt] -= repaid
                balances[line.account] += line.amount + repaid
                entries += bool(repaid) + bool(line.amount + repaid)
                if self._is_overdrawn(line.account.kind, balances[line.account]):
                    return InsufficientFunds
        if conflict:
            return PostingConflict
        self.balances, self.postings, self.entries = balances, postings, entries
        return None

    @staticmethod
    def _is_overdrawn(kind: str, signed: int) -> bool:
        if kind in MAY_GO_EITHER_WAY:
            return False
        return signed < 0 if kind in NEVER_NEGATIVE_AS_DEBIT else signed > 0


@st.composite
def drafts(draw: st.DrawFn) -> PostingDraft:
    """Double entry over two to five accounts of one pot, by a reference that may have been used before."""
    pot = draw(st.sampled_from([("ethereum", "USDC"), ("stellar", "USDC"), ("ethereum", "DAI")]))
    inside = [account for account in ACCOUNTS if (account.network, account.asset) == pot]
    accounts = draw(st.lists(st.sampled_from(inside), min_size=2, max_size=5, unique=True))
    amount = st.integers(-(10**24), 10**24) | st.integers(-5, 5)
    amounts = [draw(amount.filter(bool)) for _ in accounts[1:]]
    if sum(amounts) == 0:
        amounts[0] += 1 if amounts[0] != -1 else 2
    amounts.insert(0, -sum(amounts))
    lines = tuple(Line(account, amount) for account, amount in zip(accounts, amounts, strict=True))
    assume(not {debt for line in lines if (debt := receivable_beside(line))} & set(accounts))  # refused
    return PostingDraft(draw(st.sampled_from(["earned", "spent"])), str(draw(st.integers(1, 40))), lines, height=1)


@st.composite
def deposits(draw: st.DrawFn) -> PostingDraft:
    """Money that comes in, so that there is something to spend."""
    network, asset = draw(st.sampled_from([("ethereum", "USDC"), ("stellar", "USDC"), ("ethereum", "DAI")]))
    amount = draw(st.integers(1, 10**24))
    account = AccountRef(network, asset, "merchant:available", draw(st.sampled_from(OWNERS)))
    lines = (Line(AccountRef(network, asset, "chain:deposit"), amount), Line(account, -amount))
    return PostingDraft("deposited", str(draw(st.integers(1, 10**6))), lines, height=1)


def unique_names(calls: list[PostingDraft]) -> bool:
    return len({(draft.kind, draft.reference) for draft in calls}) == len(calls)


class LedgerMachine(RuleBasedStateMachine):
    @initialize()
    def open_books(self) -> None:
        self.reference = ReferenceLedger()
        self.atomic = transaction.atomic()
        self.atomic.__enter__()

    @rule(calls=st.lists(drafts() | deposits(), min_size=1, max_size=3).filter(unique_names))
    def post(self, calls: list[PostingDraft]) -> None:
        expected = self.reference.post(calls)
        if expected:
            with pytest.raises(expected), transaction.atomic():
                post_drafts(calls, environment=SANDBOX)
            return
        postings = post_drafts(calls, environment=SANDBOX)
        assert [(posting.kind, posting.reference) for posting in postings] == [
            (draft.kind, draft.reference) for draft in calls
        ]

    @rule(draft=deposits())
    def repeat(self, draft: PostingDraft) -> None:
        with transaction.atomic():
            self.reference.post([draft])
            try:
                first = post_drafts([draft], environment=SANDBOX)
            except PostingConflict:
                return
            assert post_drafts([draft], environment=SANDBOX) == first

    @invariant()
    def the_books_agree(self) -> None:
        if not hasattr(self, "reference"):
            return
        books = {
            AccountRef(account.network, account.asset, account.kind, account.owner): account.balance
            for account in Account.objects.filter(environment=SANDBOX)
        }
        for account in ACCOUNTS:
            assert books.get(account, 0) == self.reference.balances[account]
        assert not Account.objects.filter(environment=PRODUCTION).exists()
        assert Posting.objects.count() == len(self.reference.postings)
        assert Entry.objects.count() == self.reference.entries
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("SET CONSTRAINTS ALL DEFERRED")

    def teardown(self) -> None:
        if not hasattr(self, "reference"):
            return
        end_of_time = datetime(2200, 1, 1, tzinfo=UTC)
        for account, signed in self.reference.balances.items():
            natural = account.rules.natural(signed)
            assert balance(account, environment=SANDBOX) == natural
            assert balance_at(account, end_of_time, environment=SANDBOX) == natural
        # The random postings give away fees that were never earned, so solvency (I14) is not asked for.
        for known in registered():
            if known.code in ("I1", "I2", "I3", "I4", "I5"):
                assert list(known.check(Scope())) == []
        transaction.set_rollback(True)
        self.atomic.__exit__(None, None, None)


@pytest.mark.parametrize("examples", [8, pytest.param(25, marks=pytest.mark.slow)])
@pytest.mark.django_db
def test_any_run_of_postings_leaves_the_books_a_reference_would(examples: int) -> None:
    run_state_machine_as_test(
        LedgerMachine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=12,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
