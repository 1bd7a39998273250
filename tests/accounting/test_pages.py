"""Accounting in the admin: balances at an instant, and the ledger as a file, for operators who may see the ledger."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import cast

import pytest
from django.contrib.auth.models import Permission
from django.http import FileResponse
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from merchants.models import Merchant
from tests.accounting.clock import made_at
from tests.factories import make_merchant, make_user
from tests.ledger.books import COINS, PRODUCTION, available_account, move
from tests.payments.scenes import ETHEREUM, make_payment, pay_and_confirm

pytestmark = pytest.mark.django_db(transaction=True)

PAGE, FILE = reverse("operators_accounting"), reverse("operators_ledger")
FEBRUARY = {"environment": "sandbox", "first": "2026-02-01", "last": "2026-02-28", "form": "journal"}


def operator(*permissions: str) -> Client:
    user = make_user(is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def accountant() -> Client:
    return operator("view_account", "view_posting")


@pytest.fixture
def merchant() -> Merchant:
    """Credited in January and in February, in the sandbox; a stranger and the other environment beside it."""
    merchant, stranger = make_merchant("Coffee & Cake"), make_merchant("Coffee House")
    for owner, month, amount in ((merchant, 1, 5_000_000), (merchant, 2, 2_500_000), (stranger, 1, 1_000_000)):
        with made_at(datetime(2026, month, 15, 12, tzinfo=UTC)):
            move(amount, debit=COINS, credit=available_account(str(owner.pk)))
    with made_at(datetime(2026, 1, 15, tzinfo=UTC)):
        move(9_000_000, debit=COINS, credit=available_account(str(merchant.pk)), environment=PRODUCTION)
    return merchant


def shown(client: Client, **asked: str) -> str:
    reply = client.get(PAGE, {"environment": "sandbox", **asked})
    assert reply.status_code == 200
    return " ".join(reply.text.split())


def test_the_house_and_any_merchant_at_any_instant(accountant: Client, merchant: Merchant) -> None:
    january = shown(accountant, at="2026-01-31T23:59")
    assert "<td>Coins at deposit addresses (chain:deposit)</td> <td>6.00 USDC</td>" in january
    assert "<td>Available to a merchant (merchant:available)</td> <td>6.00 USDC</td>" in january
    assert '<th scope="row">Assets</th> <td>6.00 USDC</td>' in january
    assert "8.50 USDC" in shown(accountant)
    assert "The ledger had nothing at that time." in shown(accountant, at="2025-12-31T23:59")

    own = shown(accountant, at="2026-01-31T23:59", merchant=merchant.public_id)
    assert f"Coffee &amp; Cake ({merchant.public_id})" in own
    assert "<td>5.00 USDC</td>" in own
    assert "6.00 USDC" not in own
    assert "7.50 USDC" in shown(accountant, merchant="cake")
    choices = shown(accountant, merchant="coffee")
    assert "choose one" in choices
    assert f"merchant={merchant.public_id}" in choices
    assert "No merchant has this id" in shown(accountant, merchant="tea")


def test_what_waits_for_a_merchants_decision_is_beside_the_balance(accountant: Client, settings: Settings) -> None:
    settings.SIMULATED_BLOCK_SECONDS = 0
    merchant = make_merchant()
    pay_and_confirm(make_payment(ETHEREUM, merchant=merchant), "125")
    found = shown(accountant, merchant=merchant.public_id)
    assert "<td>100.00 USDC</td>" in found
    assert "waits for the merchant's decision</td> <td>25.00 USDC</td>" in found


def test_an_instant_to_come_is_refused(accountant: Client) -> None:
    assert "This instant is in the future" in shown(accountant, at="2999-01-01T00:00")


def test_the_ledger_of_a_period_is_a_file(accountant: Client, merchant: Merchant) -> None:
    reply = accountant.get(FILE, FEBRUARY)
    assert reply["Content-Disposition"] == ('attachment; filename="ballast-sandbox-2026-02-01-2026-02-28-journal.csv"')
    lines = b"".join(cast("FileResponse", reply)).decode().splitlines()
    assert len(lines) == 3
    assert merchant.public_id in lines[2]
    reply.close()
    refused = accountant.get(FILE, {**FEBRUARY, "last": "2026-01-31"})
    assert (refused.status_code, "The last day is before the first one" in refused.text) == (400, True)
    for wrong in ({"form": "pdf"}, {"last": "9999-12-31"}):
        assert accountant.get(FILE, {**FEBRUARY, **wrong}).status_code == 400


def test_who_may_not_see_the_ledger_sees_none_of_it(client: Client) -> None:
    for someone in (operator("view_account"), operator("view_posting"), operator("view_alarm")):
        assert someone.get(PAGE).status_code == 403
        assert someone.get(FILE, FEBRUARY).status_code == 403
    client.force_login(make_user())
    assert client.get(PAGE).status_code == 302
    assert client.get(FILE, FEBRUARY).status_code == 302
