"""Debts that operators write off, or note as collected outside: by two people, once, and taken back when need be."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from config.errors import InvalidParameter
from merchants.four_eyes.models import Proposal, ProposalStatus
from merchants.four_eyes.services import AnotherMustAgree, agree, withdraw
from merchants.ledger.balances import balance
from merchants.ledger.chart import AccountKind
from merchants.ledger.posting import AccountRef
from merchants.models import Merchant, User
from settlements.debts.ending import MoreThanOwed, TakenBack, propose_end, propose_taking_back
from settlements.models import Debt, DebtDecision, DebtEnding
from settlements.plans.reading import statement_of
from tests.dashboard.conftest import browser_of
from tests.factories import make_member, make_merchant, make_user
from tests.settlements.scenes import (
    ETHEREUM,
    POLYGON,
    SANDBOX,
    assert_all_is_well,
    earn,
    owed,
    settle,
    settle_one,
    units,
)
from tests.settlements.test_debt_offsets import debt, owe
from tests.worlds import populated_once

pytestmark = pytest.mark.django_db

WRITTEN_OFF, COLLECTED = DebtEnding.WRITTEN_OFF, DebtEnding.COLLECTED


@pytest.fixture
@populated_once
def owing() -> Merchant:
    """Owes 500 USDC on ethereum."""
    merchant = make_merchant("Mill & Co")
    owe(merchant, "500")
    return merchant


def operator() -> User:
    return make_user(is_staff=True, is_superuser=True)


def debt_of(merchant: Merchant) -> Debt:
    return Debt.objects.get(owner=str(merchant.pk), kind=AccountKind.MERCHANT_RECEIVABLE, asset="USDC")


def propose(merchant: Merchant, amount: str, ending: DebtEnding = WRITTEN_OFF, **changes: Any) -> Proposal:
    facts: dict[str, Any] = {"reason": "The shop is closed.", "by": operator(), **changes}
    return propose_end(debt_of(merchant), amount=units(amount), ending=ending, **facts)


def end(merchant: Merchant, amount: str, ending: DebtEnding = WRITTEN_OFF) -> DebtDecision:
    """Proposed by one and agreed to by another."""
    agree(propose(merchant, amount, ending), by=operator())
    return DebtDecision.objects.latest("pk")


def take_back(decision: DebtDecision) -> None:
    agree(propose_taking_back(decision, reason="The deposit is there again.", by=operator()), by=operator())


def house(kind: AccountKind) -> int:
    return balance(AccountRef(ETHEREUM, "USDC", kind), environment=SANDBOX)


@pytest.mark.parametrize(
    ("ending", "account"),
    [(WRITTEN_OFF, AccountKind.DEBT_WRITTEN_OFF), (COLLECTED, AccountKind.DEBT_COLLECTED)],
)
def test_two_people_end_a_debt(owing: Merchant, ending: DebtEnding, account: AccountKind) -> None:
    ada, ben = operator(), operator()
    proposal = propose(owing, "100.000001", ending, by=ada)
    assert (debt(owing), house(account)) == (units("500"), 0)
    with pytest.raises(AnotherMustAgree):
        agree(proposal, by=ada)
    assert (debt(owing), house(account)) == (units("500"), 0)
    agree(proposal, by=ben)
    assert (debt(owing), house(account)) == (units("399.999999"), units("100.000001"))
    decision = DebtDecision.objects.get()
    assert (decision.decided_by, decision.reason) == (f"{ada.email}, {ben.email}", "The shop is closed.")
    assert (decision.merchant, decision.amount, decision.ending) == (owing, units("100.000001"), ending)
    assert_all_is_well()


def test_what_is_withdrawn_is_never_booked(owing: Merchant) -> None:
    withdraw(propose(owing, "500"), by=operator())
    assert (debt(owing), DebtDecision.objects.count()) == (units("500"), 0)


def test_it_falls_when_less_is_owed_by_the_time_somebody_agrees(owing: Merchant) -> None:
    proposal = propose(owing, "500")
    earn(owing, "200")
    assert agree(proposal, by=operator()).status == ProposalStatus.FALLEN
    assert (debt(owing), DebtDecision.objects.count()) == (units("300"), 0)
    assert_all_is_well()


@pytest.mark.parametrize(
    ("amount", "reason", "error"),
    [
        ("500.000001", "Closed.", MoreThanOwed),
        ("0", "Closed.", InvalidParameter),
        ("-1", "Closed.", InvalidParameter),
        ("1", "  ", InvalidParameter),
        ("1", "x" * 501, InvalidParameter),
    ],
)
def test_what_cannot_be_is_refused(owing: Merchant, amount: str, reason: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        propose(owing, amount, reason=reason)
    assert not Proposal.objects.exists()


def test_the_statement_says_how_a_debt_ended(owing: Merchant) -> None:
    decision = end(owing, "100")
    earn(owing, "1000")
    settlement = settle_one(owing)
    assert (settlement.amount, settlement.debt_offset) == (units("600"), 0)
    lines = {line.type: line for line in statement_of(settlement).accounts[0].entries}
    assert (lines["debt_written_off"].amount, lines["debt_written_off"].reference) == (units("100"), decision.public_id)
    assert_all_is_well()


def test_what_ended_is_not_taken_from_other_coins(owing: Merchant) -> None:
    end(owing, "500", COLLECTED)
    earn(owing, "300", network=POLYGON)
    run = settle(owing)
    assert (run.offsets.count(), run.settlements.get().amount) == (0, units("300"))
    assert_all_is_well()


def test_what_ended_and_what_is_left_are_told_apart(owing: Merchant) -> None:
    end(owing, "450")
    earn(owing, "300", network=POLYGON)
    settlement = settle(owing).settlements.get()
    assert (settlement.amount, settlement.debt_offset) == (units("250"), units("50"))
    assert_all_is_well()


def test_a_decision_that_is_taken_back_comes_off_the_balance_first_and_the_rest_is_owed(owing: Merchant) -> None:
    decision = end(owing, "500")
    earn(owing, "120")
    proposal = propose_taking_back(decision, reason="The deposit is there again.", by=operator())
    assert (owed(owing), debt(owing)) == (units("120"), 0)
    agree(proposal, by=operator())
    assert (owed(owing), debt(owing), house(AccountKind.DEBT_WRITTEN_OFF)) == (0, units("380"), 0)
    assert_all_is_well()
    decision.refresh_from_db()
    with pytest.raises(TakenBack):
        propose_taking_back(decision, reason="Again.", by=operator())
    earn(owing, "1000")
    settlement = settle_one(owing)
    assert settlement.amount == units("620")
    assert_all_is_well()


def test_a_decision_is_taken_back_once(owing: Merchant) -> None:
    decision = end(owing, "500")
    waiting = propose_taking_back(decision, reason="The deposit is there again.", by=operator())
    DebtDecision.objects.update(taken_back_at="2026-01-01T00:00Z", taken_back_by="ada", taken_back_reason="a race")
    assert agree(waiting, by=operator()).status == ProposalStatus.FALLEN
    assert debt(owing) == 0


# Where operators and merchants see it.


def press(client: Client, page: str, action: str, row: Debt | DebtDecision | Proposal, **answer: str) -> str:
    chosen = {"action": action, "_selected_action": [str(row.pk)], **answer}
    return client.post(reverse(f"admin:{page}_changelist"), chosen, follow=True).text


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_operators_end_and_take_back_on_pages_of_their_own(owing: Merchant) -> None:
    ada, ben = client_of(operator()), client_of(operator())
    asked = press(ada, "settlements_debt", "write_off", debt_of(owing))
    assert "Mill &amp; Co owes 500.00 USDC on ethereum (sandbox)" in asked
    for nonsense in ("1,5", "0", "-1", "NaN", "0.0000001", "501"):
        shown = press(
            ada, "settlements_debt", "write_off", debt_of(owing), confirmed="yes", answer=nonsense, note="Closed."
        )
        assert ("USDC" in shown, Proposal.objects.exists()) == (True, False), nonsense
    shown = press(ada, "settlements_debt", "write_off", debt_of(owing), confirmed="yes", answer="ALL", note="Closed.")
    assert "Another operator must agree" in shown
    press(ben, "four_eyes_proposal", "agree", Proposal.objects.get(), confirmed="yes")
    assert (debt(owing), Proposal.objects.get().status) == (0, ProposalStatus.DONE)
    assert "Mill" not in ada.get(reverse("admin:settlements_debt_changelist")).text

    decision = DebtDecision.objects.get()
    shown = press(ben, "settlements_debtdecision", "take_back", decision, confirmed="yes", note="A mistake.")
    assert "Another operator must agree" in shown
    press(ada, "four_eyes_proposal", "agree", Proposal.objects.latest("pk"), confirmed="yes")
    assert debt(owing) == units("500")
    for page, row in (("debtdecision", decision), ("debt", debt_of(owing))):
        assert ada.get(reverse(f"admin:settlements_{page}_change", args=[row.pk])).status_code == 200
    assert LogEntry.objects.count() == 4
    assert_all_is_well()


def test_where_one_operator_is_enough_it_is_booked_at_once(owing: Merchant, settings: Settings) -> None:
    settings.SANDBOX_OPERATORS_TO_DECIDE = 1
    client = client_of(operator())
    shown = press(
        client, "settlements_debt", "collected", debt_of(owing), confirmed="yes", answer="20", note="By bank."
    )
    assert "Booked: 20.00 USDC that Mill &amp; Co owes on ethereum" in shown
    assert (debt(owing), house(AccountKind.DEBT_COLLECTED)) == (units("480"), units("20"))


def test_only_those_who_may_are_asked(owing: Merchant) -> None:
    looks_only = make_user(is_staff=True)
    press(client_of(looks_only), "settlements_debt", "write_off", debt_of(owing), confirmed="yes", answer="1", note="x")
    assert not Proposal.objects.exists()


def test_the_merchant_sees_what_ended(owing: Merchant) -> None:
    taken_back = end(owing, "100")
    take_back(taken_back)
    end(owing, "30", COLLECTED)
    page = browser_of(make_member(owing)).get(reverse("dashboard_settlements")).text
    words = " ".join(page.split())
    assert "Debts that ended" in words
    for shown in ("30.00 USDC", "have paid it outside settlements", "100.00 USDC", "owed again since"):
        assert shown in words
    stranger = browser_of(make_member(make_merchant())).get(reverse("dashboard_settlements")).text
    assert "Debts that ended" not in stranger
