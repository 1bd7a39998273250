"""The page of a merchant in the operators' admin: its health, terms, people and wallets."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags

from config.admin.story import story_of
from config.environments import Environment
from merchants.ledger import stops
from merchants.ledger.chart import AccountKind
from merchants.ledger.posting import AccountRef, Line, post
from merchants.models import Merchant
from merchants.services import change_fee, change_plan
from payments.deposits.turnover.models import TurnoverDelta
from tests.dashboard.addresses import make_records
from tests.factories import make_member, make_merchant, make_user
from webhooks.models import Delivery, Endpoint
from webhooks.services import disable_endpoint
from webhooks.states import DisabledReason

pytestmark = pytest.mark.django_db
SANDBOX = Environment.SANDBOX


@pytest.fixture
def merchant() -> Merchant:
    """One with a trouble of each kind, beside another one with the same."""
    for name in ("Somebody Else", "Harbour Coffee"):
        merchant = make_merchant(name)
        make_records(merchant)
        owed = AccountRef("polygon", "USDC", AccountKind.MERCHANT_RECEIVABLE, str(merchant.pk))
        lines = [Line(owed, 12_500_000), Line(AccountRef("polygon", "USDC", AccountKind.ROUNDING), -12_500_000)]
        with transaction.atomic():
            post(height=1, environment=SANDBOX, kind="lost", reference=merchant.public_id, lines=lines)
        TurnoverDelta.objects.create(
            merchant_id=merchant.pk,
            environment=SANDBOX,
            hour=timezone.now() - timedelta(days=40),
            currency="EUR",
            paid=3,
            unpaid=1,
            volume=0,
            seconds=0,
        )
        stops.stop(environment=SANDBOX, merchant=merchant, reason="Chargebacks elsewhere.")
        Delivery.objects.filter(merchant=merchant).update(status="failed", next_attempt_at=None)
        disable_endpoint(endpoint=Endpoint.objects.get(merchant=merchant), reason=DisabledReason.GONE)
    change_plan(merchant=merchant, plan="enterprise", requests_per_minute=9_000)
    change_fee(merchant=merchant, fee_bps=150)
    return merchant


def told(merchant: Merchant) -> dict[str, list[list[str]]]:
    """The sections of the page, in words."""
    return {each.title: [[strip_tags(cell) for cell in row] for row in each.rows] for each in story_of(merchant)}


def test_what_is_wrong_with_a_merchant_is_on_top_of_its_page_and_leads_to_its_lists(merchant: Merchant) -> None:
    sections = told(merchant)
    assert list(sections)[:5] == ["Health", "Terms", "People", "Wallets", "Balances"]
    health = {(environment, what): (now, more) for what, environment, now, more in sections["Health"]}
    paid = "Payments paid, of those that ended in 30 days"
    assert health["Production", paid] == ("none", "none in the 30 days before")
    assert health["Sandbox", paid] == ("100.0 %", "4 of 4; 75.0 % in the 30 days before")
    assert health["Sandbox", "Payouts stopped"][1] == "Chargebacks elsewhere."
    assert health["Sandbox", "Owed by the merchant"] == ("12.50 USDC", "on Polygon (simulated)")
    assert health["Sandbox", "Webhook deliveries given up"] == ("1", "in 7 days")
    assert health["Sandbox", "Webhook endpoints that fail"][0] == "1"
    number, more = health["Sandbox", "Decisions of merchants"]
    assert number == "1"
    assert re.fullmatch(r"the oldest \d+ s ago, worth 25.00 USD", more)
    assert ["Fee", "1.50 % of what is settled, its own"] in sections["Terms"]
    assert ["Requests a minute", "100 in Sandbox, 9,000 in Production"] in sections["Terms"]
    assert [row[1:4] for row in sections["People"]] == [["Support", "no", "never"]]
    assert [row[3].partition(",")[0] for row in sections["Wallets"]] == ["In use", "Waiting"]

    client = Client()
    client.force_login(make_user(is_staff=True, is_superuser=True))
    address = reverse("admin:merchants_merchant_change", args=[merchant.pk])
    with CaptureQueriesContext(connection) as queries:
        page = client.get(address).text
    for _ in range(3):
        make_member(merchant)
    with CaptureQueriesContext(connection) as with_more:
        client.get(address)
    assert len(with_more) <= len(queries) <= 25, "each member is read by itself"
    links = re.findall(r'href="([^"]+)"', page[page.index("<h2>Health") : page.index("<h2>Terms")])
    assert len(links) == len(health)
    for link in links:
        shown = client.get(link.replace("&amp;", "&"))
        assert shown.status_code == 200, link
        assert "Somebody Else" not in shown.text, link
