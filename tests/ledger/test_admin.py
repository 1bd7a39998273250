"""What operators see of the ledger, and that they change nothing there."""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime

import pytest
from django.contrib.admin import site
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from config import ids
from merchants.ledger.admin import accounts
from merchants.ledger.models import Account, Posting, ReconcileOutcome, ReconcileRun, Stop
from merchants.models import User
from tests.accounting.clock import made_at
from tests.factories import make_user
from tests.ledger.books import COINS, FEES, HOT_WALLET, move, payment_account
from tests.stopping import stop_payouts

pytestmark = pytest.mark.django_db

MODELS = ["account", "posting", "reconcilerun", "stop"]


@pytest.fixture
def operator(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("operator@example.com", "a long enough password"))
    return client


@pytest.fixture
def payment_id() -> uuid.UUID:
    return ids.new_uuid()


@pytest.fixture
def posting(payment_id: uuid.UUID) -> Posting:
    return move(12_500_000, debit=COINS, credit=payment_account(str(payment_id)), reference=f"{payment_id}:1")


@pytest.fixture
def run() -> ReconcileRun:
    check = {"check": "I3", "title": "sums", "errors": 1, "warnings": 0, "seconds": 0.1, "crash": ""}
    finding = {
        "check": "I3",
        "severity": "error",
        "subject": "<b>an account</b>",
        "expected": "5",
        "actual": "6",
        "delta": "1",
        "proposal": "look",
    }
    pot = {"environment": "sandbox", "network": "ethereum", "asset": "USDC", "amount": "1234", "valueExplained": "99"}
    return ReconcileRun.objects.create(
        outcome=ReconcileOutcome.DISCREPANCY,
        checks=[check],
        findings=[finding],
        options={"environments": ["sandbox"], "network": "ethereum", "since": None, "atBlock": 7, "noChain": False},
        summary={"valueExplained": "99.9300", "unexplainedCount": 1, "unexplained": [pot]},
        breakers=[{"environment": "sandbox", "network": "ethereum", "reason": "<i>a loss</i>", "isNew": True}],
    )


def page(operator: Client, name: str, *arguments: object, **query: str) -> str:
    response = operator.get(reverse(f"admin:ledger_{name}", args=arguments), query)
    assert response.status_code == 200
    return response.content.decode()


def test_a_posting_is_found_by_the_start_of_its_reference(operator: Client, posting: Posting) -> None:
    assert posting.reference in page(operator, "posting_changelist", q=posting.reference[:20])
    assert posting.reference not in page(operator, "posting_changelist", q="ethereum:0x")


def test_postings_and_accounts_are_found_by_a_public_id(
    operator: Client, posting: Posting, payment_id: uuid.UUID
) -> None:
    public_id = ids.PAYMENT.encode(payment_id)
    assert posting.reference in page(operator, "posting_changelist", q=public_id)
    assert "12.50 USDC" in page(operator, "account_changelist", q=public_id)
    assert posting.reference in page(operator, "posting_changelist", q=str(posting.pk))


def test_a_posting_shows_both_sides_in_coins_and_what_each_account_then_held(
    operator: Client, posting: Posting
) -> None:
    move(1_000_000, debit=HOT_WALLET, credit=COINS)
    assert rows_of(page(operator, "posting_change", posting.pk))[:2] == [
        ["Coins at deposit addresses, Ethereum (simulated)", "the house", "12.50 USDC", "", "12.50 USDC"],
        ["Received for a payment, not yet released, Ethereum (simulated)", "unknown", "", "12.50 USDC", "12.50 USDC"],
    ]


def test_an_account_shows_its_entries_page_by_page_with_the_balance_after_each(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "ENTRIES_SHOWN", 2)
    days = [datetime(2026, 3, day, 23, 59, 59, 999_000, tzinfo=UTC) for day in range(1, 6)]
    for number, day in enumerate(days, 1):
        with made_at(day):
            move(number * 1_000_000, debit=COINS, credit=FEES)
    account = Account.objects.get(kind="fee:service")

    def shown(**query: str) -> tuple[list[list[str]], str]:
        text = page(operator, "account_change", account.pk, **query)
        return [row[-2:] for row in rows_of(text) if row[-2].startswith("+")], text

    newest, text = shown()
    assert newest == [["+5.00 USDC", "15.00 USDC"], ["+4.00 USDC", "10.00 USDC"]]
    [older] = re.findall(r'before=([0-9a-f-]+)">Older', text)
    assert shown(before=older)[0] == [["+3.00 USDC", "6.00 USDC"], ["+2.00 USDC", "3.00 USDC"]]
    third, text = shown(first="2026-03-03", last="2026-03-03")
    assert third == [["+3.00 USDC", "6.00 USDC"]]
    assert "Older" not in text
    assert "It held <strong>3.00 USDC</strong>" in shown(at="2026-03-03T23:59:58")[1]
    assert "It held <strong>6.00 USDC</strong>" in shown(at="2026-03-04T00:00:00")[1]
    assert "It held <strong>0.00 USDC</strong>" in shown(at="2026-02-01T00:00:00")[1]
    assert "before the first one" in shown(first="2026-03-03", last="2026-03-02")[1]
    assert "too far ahead" in shown(at="9999-12-31T23:59:59.999999")[1]


def rows_of(shown: str) -> list[list[str]]:
    """The cells of each row of the page's tables, without their tags."""
    rows = re.findall(r"<tr>(.*?)</tr>", shown, re.DOTALL)
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in rows]
    return [[re.sub("<.*?>", "", cell).strip() for cell in row] for row in cells if row]


def test_a_run_shows_its_findings_as_text(operator: Client, run: ReconcileRun) -> None:
    assert "discrepancy" in page(operator, "reconcilerun_changelist").lower()
    shown = page(operator, "reconcilerun_change", run.pk)
    assert "&lt;b&gt;an account&lt;/b&gt;" in shown
    assert "expected 5, found 6" in shown
    assert "&lt;i&gt;a loss&lt;/i&gt;" in shown
    for words in ("99.9300 %", ": 0.001234 USDC", "sandbox, ethereum, everything, wallets at block 7"):
        assert words in shown


def test_a_run_that_has_just_begun_can_be_looked_at(operator: Client) -> None:
    begun = ReconcileRun.objects.create()
    assert "all networks" in page(operator, "reconcilerun_change", begun.pk)


def lift(operator: Client, stop: Stop, **answer: str) -> str:
    chosen = {"action": "lift", "note": "Looked.", "_selected_action": [stop.pk], **answer}
    response = operator.post(reverse("admin:ledger_stop_changelist"), chosen, follow=True)
    assert response.status_code == 200
    return response.content.decode()


def lifted_by() -> str | None:
    """Who has lifted the stop; None while it stands."""
    stop = Stop.objects.get()
    return stop.lifted_by if stop.lifted_at else None


def test_a_stop_is_lifted_by_a_person_who_was_asked(operator: Client, settings: Settings) -> None:
    settings.SANDBOX_OPERATORS_TO_DECIDE = 1
    stop_payouts(environment="sandbox", network="ethereum", reason="<u>a loss</u>")
    stop = Stop.objects.get()
    asked = lift(operator, stop)
    assert "Let this go on?" in asked
    assert "&lt;u&gt;a loss&lt;/u&gt;" in asked
    assert lifted_by() is None
    assert "(sandbox): goes on." in lift(operator, stop, confirmed="yes")
    assert lifted_by() == "operator@example.com"
    assert LogEntry.objects.get().change_message == "Lifted: Looked."


def test_whoever_may_only_look_lifts_nothing(client: Client) -> None:
    stop_payouts(environment="sandbox", network="ethereum", reason="a loss")
    viewer = make_user(is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_stop"))
    client.force_login(viewer)
    lift(client, Stop.objects.get(), confirmed="yes")
    assert lifted_by() is None


@pytest.mark.parametrize("model", sorted({*MODELS} - {"stop"}))
def test_nobody_can_add(operator: Client, model: str) -> None:
    assert operator.get(reverse(f"admin:ledger_{model}_add")).status_code == 403


def test_nobody_can_change_or_delete(operator: Client, posting: Posting, run: ReconcileRun) -> None:
    account = Account.objects.get(kind="payment")
    for name, row in (("account", account), ("posting", posting), ("reconcilerun", run)):
        assert operator.post(reverse(f"admin:ledger_{name}_change", args=[row.pk]), {"memo": "x"}).status_code == 403
        assert operator.post(reverse(f"admin:ledger_{name}_delete", args=[row.pk]), {"post": "yes"}).status_code == 403
        bulk = {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
        operator.post(reverse(f"admin:ledger_{name}_changelist"), bulk)
        assert type(row)._default_manager.filter(pk=str(row.pk)).exists()
    posting.refresh_from_db()
    assert posting.memo == ""


def test_every_table_of_the_books_is_read_only_in_the_admin() -> None:
    registered = {model._meta.model_name for model in site._registry if model._meta.app_label == "ledger"}
    assert registered == {*MODELS, "explainedfinding"}, "what is explained is added, and nothing else"
