"""Every action of operators that moves or frees money: a page with its consequence, before and after, who is told; a
reason; a second person; an audit row. A table of them, in one world."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.db import connection, transaction
from django.db.models import Model
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.urls import reverse
from pytest_django.fixtures import Settings

from config.admin.previews import BUSY, Change
from config.admin.values import money, place_of
from config.database.previews import is_preview, preview
from merchants.four_eyes.models import Proposal, ProposalKind, ProposalStatus
from merchants.four_eyes.people import people_needed
from merchants.four_eyes.services import NotPreviewed
from merchants.ledger.models import Account, Stop, StopKind
from merchants.ledger.stops import stop
from merchants.models import Merchant, User
from payments.chains.simulated import control
from payments.deposits import finality_halts
from payments.models import Discrepancy, Payment
from payments.states import DiscrepancyStatus
from payments.transfers.audit import adopt_unknown
from payments.transfers.models import Payout
from tests.admin.world import make_world
from tests.factories import make_merchant, make_user
from tests.networks import ETHEREUM, STELLAR
from tests.payments.scenes import WALLETS
from tests.settlements.scenes import advance, earn, settle_one
from tests.worlds import populated_once

pytestmark = pytest.mark.django_db

TWO = ""

MOVES_MONEY = {
    "house.AllowedAddress allow": TWO,
    "house.AllowedAddress remove": "less can leave afterwards",
    "house.Funding cancel": "nothing was booked",
    "house.Withdrawal cancel": "the coins stay where they are",
    "ledger.Stop lift": TWO,
    "losses.MissingCoins let_house_bear": TWO,
    "losses.MissingCoins let_merchant_bear": TWO,
    "payments.Deposit release": TWO,
    "payments.Discrepancy accept": TWO,
    "payments.Discrepancy attribute": TWO,
    "payments.NativeCoin bring_in": "it goes to our own wallet",
    "payments.PayerReturn call_back": "the money waits for a decision of two again",
    "payments.PayerReturn give_back": TWO,
    "settlements.Debt collected": TWO,
    "settlements.Debt write_off": TWO,
    "settlements.DebtDecision take_back": TWO,
    "settlements.Settlement retry": "it goes to the wallet that the merchant has named, under the same limits",
    "transfers.Payout approve": TWO,
    "transfers.Payout reject": "the money goes back to whose it was",
    "transfers.Payout release": TWO,
}
"""Actions that move or free money, with the reason one person is enough where it is."""

PICKED: dict[str, dict[str, Any]] = {
    "ledger.Stop lift": {"kind": StopKind.BREAKER},
    "transfers.Payout approve": {"status": "held", "merchant__isnull": False},
}
"""Which row of the world an action is about, where not any that it would not refuse."""


def agree_to_a_return(desk: Desk, second: Desk) -> None:
    for each in (desk, second):
        each.send("give_back", row_for("payments.PayerReturn give_back", desk), confirmed="yes", note=REASON)


def fail_a_settlement(desk: Desk, second: Desk) -> None:
    merchant = make_merchant()
    earn(merchant, "100", network=STELLAR)
    control.describe_account(STELLAR, WALLETS[STELLAR], refuses="destination_refused")
    advance(settle_one(merchant))


def name_a_recipient(desk: Desk, second: Desk) -> None:
    Payout.objects.filter(status="held").update(evidence="A list names it.")


PREPARED: dict[str, Callable[[Desk, Desk], None]] = {
    "payments.PayerReturn call_back": agree_to_a_return,
    "settlements.Settlement retry": fail_a_settlement,
    "transfers.Payout release": name_a_recipient,
}
"""Of what there is no row in the world."""

SHOWN_TO_THE_SECOND = "payments.Discrepancy attribute"
"""Its page cannot show what it does before a payment is named: whoever agrees sees it."""

MOVES_NONE = {
    "four_eyes.Proposal agree",  # what the proposer's page said, whose reason is shown
    "four_eyes.Proposal withdraw",
    "ledger.ExplainedFinding withdraw",
    "merchants.ApiKey revoke",
    "merchants.Merchant look",
    "merchants.Merchant look_in_sandbox",
    "merchants.Merchant resume",
    "merchants.Merchant suspend",
    "operations.Alarm acknowledge",
    "operations.NetworkSnapshot let_back",
    "operations.NetworkSnapshot sweep_now",  # from our deposit addresses to our wallet
    "operations.RoleChange know",
    "payments.ReadingRequest read_again",
    "people.Invitation delete_selected",
    "people.SignUp let_in",
    "people.SignUp turn_away",
    "transfers.Payout try_again",  # checks the same limits
    "transfers.Wallet freeze",
    "webhooks.Delivery redeliver",
    "webhooks.Endpoint enable",
}


REASON = "Because the auditors want it."


@pytest.fixture(autouse=True)
def two_decide(settings: Settings) -> None:
    settings.SIMULATED_BLOCK_SECONDS = 0
    settings.SIGN_UP = "open"
    settings.OPERATORS_TO_DECIDE = settings.SANDBOX_OPERATORS_TO_DECIDE = 2


@pytest.fixture
@populated_once
def merchant(db: None, tmp_path_factory: pytest.TempPathFactory) -> Merchant:
    return make_world(tmp_path_factory.mktemp("lists"))


class Desk:
    """An operator at the pages of the admin."""

    def __init__(self, name: str) -> None:
        self.user, self.client = User.objects.get(name=name), Client()
        self.client.force_login(self.user)

    @property
    def request(self) -> HttpRequest:
        request = RequestFactory().get("/")
        request.user = self.user
        return request

    def send(self, action: str, *rows: Model, **given: str) -> Any:
        """Choose an action for records; returns what its page is made of."""
        address = reverse(f"admin:{rows[0]._meta.app_label}_{rows[0]._meta.model_name}_changelist")
        answer: Any = self.client.post(
            address, {"action": action, "_selected_action": [row.pk for row in rows], **given}
        )
        return getattr(answer, "context_data", None)

    def story_of(self, proposal: Proposal) -> Any:
        answer: Any = self.client.get(reverse("admin:four_eyes_proposal_change", args=[proposal.pk]))
        return answer.context_data["story"]


@contextmanager
def undone() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def page_of(label: str) -> Any:
    return next(page for model, page in admin.site._registry.items() if model._meta.label == label.split()[0])


def proposal_about(label: str, row: Any) -> Proposal:
    kinds = page_of(label).proposal_kinds or (ProposalKind.DEBT,)
    subjects = (row.pk, f"debt {row.pk}", getattr(row, "public_id", ""))
    return Proposal.objects.get(kind__in=kinds, subject__in=subjects, status=ProposalStatus.WAITING)


def row_for(label: str, desk: Desk) -> Any:
    """A row of the world on which the action is possible."""
    page, action = page_of(label), label.split()[1]
    refusal = page.refusals.get(action, lambda row: "")
    rows = page.get_queryset(desk.request).filter(**PICKED.get(label, {})).order_by("pk")
    return next((row for row in rows if not refusal(row)), None)


def answer_for(label: str, row: Any) -> dict[str, str]:
    if label == SHOWN_TO_THE_SECOND:
        own = Payment.objects.filter(environment=row.environment, network=row.network, cryptocurrency=row.asset)
        return {"answer": own.latest("pk").public_id}
    return {"answer": "all"} if label.startswith("settlements.Debt ") else {}


def balances() -> dict[int, int]:
    return {key: int(balance) for key, balance in Account.objects.values_list("pk", "balance")}


def moved_since(before: dict[int, int]) -> set[tuple[str, str]]:
    """What the pages must have shown of the accounts whose balance has changed since."""
    found = set()
    for account in Account.objects.all():
        was, now = before.get(account.pk, 0), int(account.balance)
        if was != now:
            found.add(
                tuple(money(account.rules.natural(each), place_of(account), account.asset) for each in (was, now))
            )
    return found  # type: ignore[return-value]


def figures(shown: list[Change]) -> set[tuple[str, str]]:
    """Without names of people: the second person is one more."""
    return {(str(was), str(becomes).partition("@")[0]) for _, was, becomes in shown}


def cells(sections: Any) -> list[Change]:
    return [row for section in sections for row in section.rows if isinstance(row, Change)]


def faults_of(label: str, desk: Desk, second: Desk) -> Iterator[str]:
    """What is wrong with one action, from its page to its end."""
    action = label.split()[1]
    if prepare := PREPARED.get(label):
        prepare(desk, second)
    row = row_for(label, desk)
    if row is None:
        yield "the world has no row for it"
        return
    before, kept = balances(), type(row)._base_manager.filter(pk=row.pk).values().get()
    page = desk.send(action, row)
    yield from (f"no {part}" for part in ("title", "consequence", "told", "note_label") if not page.get(part))
    if not page.get("effects") and not page.get("not_previewed"):
        yield "nothing before and after"
    shown = cells(page.get("effects") or ())
    if not shown and label != SHOWN_TO_THE_SECOND:
        yield f"no figure: {[section.empty for section in page.get('effects') or ()]}"
    if (balances(), type(row)._base_manager.filter(pk=row.pk).values().get()) != (before, kept):
        yield "its page changes something"
    logged = set(LogEntry.objects.values_list("pk", flat=True))
    desk.send(action, row, confirmed="yes", note=REASON, **answer_for(label, row))
    rows = list(LogEntry.objects.exclude(pk__in=logged))
    if [(each.user, REASON in each.get_change_message()) for each in rows] != [(desk.user, True)]:
        yield f"audit: {[(str(each.user), each.get_change_message()) for each in rows]}"
    if MOVES_MONEY[label]:
        if lacking := moved_since(before) - {(was, becomes) for _, was, becomes in shown}:
            yield f"shown {shown}, and moved {lacking}"
        return
    if balances() != before or type(row)._base_manager.filter(pk=row.pk).values().get() != kept:
        yield "one person alone does it"
        return
    proposal = proposal_about(label, row)
    told = cells(second.story_of(proposal))
    if label != SHOWN_TO_THE_SECOND and figures(told) != figures(shown):
        yield f"the second person is shown {told}, the first {shown}"
    asked = cells(second.send("agree", proposal)["effects"])
    second.send("agree", proposal, confirmed="yes")
    proposal.refresh_from_db()
    if proposal.status != ProposalStatus.DONE or not asked:
        yield f"{proposal.get_status_display()}, shown {asked}"
    if lacking := moved_since(before) - {(was, becomes) for _, was, becomes in asked}:
        yield f"shown {asked}, and moved {lacking}"


def test_every_action_that_moves_money_shows_it_and_needs_a_reason_a_second_person_and_a_row(
    merchant: Merchant,
) -> None:
    desk, second = Desk("Al"), Desk("Bo")
    found = {
        f"{model._meta.label} {name}"
        for model, page in admin.site._registry.items()
        for name in page.get_actions(desk.request)
    }
    assert found == MOVES_NONE | MOVES_MONEY.keys()
    faults = []
    for label in MOVES_MONEY:
        with undone():
            faults += [f"{label}: {fault}" for fault in faults_of(label, desk, second)]
    assert not faults, "\n".join(faults)
    with undone():
        check_what_queries_a_network(desk)
    with undone():
        check_refusals_and_bounds(desk)


def check_what_queries_a_network(desk: Desk) -> None:
    with pytest.MonkeyPatch.context() as changes:
        for module, name in ((finality_halts, "_query"), (adopt_unknown, "_look")):
            changes.setattr(module, name, lambda *_: pytest.fail("the preview queries a network"))
        for kind in (StopKind.HALT, StopKind.WALLET):
            [section] = desk.send("lift", Stop.objects.standing().filter(kind=kind).latest("pk"))["effects"]
            assert (section.rows, NotPreviewed.message in section.empty) == ([], True)


def check_refusals_and_bounds(desk: Desk) -> None:
    rows = Discrepancy.objects.filter(payment__isnull=False)
    rows.update(status=DiscrepancyStatus.ACCEPTED)
    with patch("config.admin.previews.MOST_PREVIEWED", 1):
        first, others = desk.send("accept", *rows[:2])["effects"]
    assert (first.rows, first.empty.partition(": ")[2]) == (
        [],
        "It has already been decided what happens to this money.",
    )
    assert others.empty == "Only the first 1 are shown."


@pytest.mark.django_db(transaction=True)
def test_a_page_waits_for_nobody_who_holds_its_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("config.admin.previews.LOCK_WAIT", "1ms")
    stop(environment="sandbox", network=ETHEREUM, reason="I11")
    make_user("al@example.com", name="Al", is_staff=True, is_superuser=True)
    other = connection.copy()
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute(f"SELECT FROM {Stop._meta.db_table} FOR UPDATE")
        [section] = Desk("Al").send("lift", Stop.objects.get())["effects"]
    finally:
        other.close()
    assert (section.rows, section.empty) == ([], BUSY)


def test_a_preview_keeps_nothing_and_counts_one_person() -> None:
    ran: list[str] = []
    needed = people_needed("sandbox")
    with preview():
        assert (is_preview(), people_needed("sandbox")) == (True, 1)
        stop(environment="sandbox", network=ETHEREUM, reason="I11")
        transaction.on_commit(lambda: ran.append("sent"))
    assert (is_preview(), people_needed("sandbox"), Stop.objects.exists(), ran) == (False, needed, False, [])
    with pytest.raises(RuntimeError), preview():
        raise RuntimeError
    assert not is_preview()
