"""Every admin page in words: no base units, no UUIDs, no names of the code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest
from django.contrib import admin
from django.test import Client, RequestFactory
from django.urls import reverse
from pytest_django.fixtures import Settings

from merchants.ledger.models import Posting
from merchants.models import Merchant
from payments.models import Discrepancy, Payment
from payments.monitoring.alarm_rules import AlarmCondition
from payments.monitoring.states import AlarmKind
from payments.stories.postings import cause_of
from tests.dashboard.addresses import make_records
from tests.factories import make_merchant, make_user
from tests.operations.scenes import look, there_is
from tests.worlds import populated_once

pytestmark = pytest.mark.django_db

NOT_WORDS = {
    "a UUID": re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"),
    "digits without groups": re.compile(r"(?<![\w.…@/-])\d{7,}(?![\w…])"),
    "a name of the code": re.compile(r"\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b(?<!_set)"),
    "None": re.compile(r"\bNone\b|\bTrue\b|\bFalse\b"),
    "an object": re.compile(r"<\w+[ :]|object at 0x|\bobject \("),
    "base units": re.compile(r"base units?", re.IGNORECASE),
    "a class": re.compile(r"\b(?!USDC|USDT|PostgreSQL|JavaScript)[A-Z][a-z]+[A-Z][a-z]+[A-Za-z]*\b"),
}
ALLOWED = re.compile(
    r"\b[a-z]{3}_[0-9a-z]{26}\b|\b[a-z]{3}_…\w{8}|pk_test_\w+|pk_live_\w+|\b(?:payment|refund|settlement)\.\w+"
)
"""Public ids and names of events, which the API and the dashboard show as well."""


class VisibleText(HTMLParser):
    """The text of a page that a person reads: no attributes, scripts or choices, and nothing that is there to be
    copied as it is."""

    SKIPPED = ("script", "style", "option", "code", "pre", "textarea", "title")

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._depth += tag in self.SKIPPED

    def handle_endtag(self, tag: str) -> None:
        self._depth -= tag in self.SKIPPED

    def handle_data(self, data: str) -> None:
        if not self._depth and data.strip():
            self.texts.append(" ".join(data.split()))


@pytest.fixture(autouse=True)
def stopped_clock(settings: Settings) -> None:
    settings.SIMULATED_BLOCK_SECONDS = 0
    settings.OPERATOR_EMAILS = ["ada@example.com"]


@pytest.fixture
@populated_once
def merchant(db: None) -> Merchant:
    merchant = make_merchant("Harbour Coffee")
    make_records(merchant)
    there_is(AlarmCondition(AlarmKind.GAS_TANK_LOW, "The hot wallet holds 1 POL; it should hold 2 POL."))
    look()
    return merchant


def test_no_page_speaks_to_machines(merchant: Merchant) -> None:
    client, request = Client(), RequestFactory().get("/admin/")
    request.user = make_user(email="ada@example.com", name="Ada", is_staff=True, is_superuser=True)
    client.force_login(request.user)
    faults: list[str] = []
    for model, page in admin.site._registry.items():
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        addresses = [reverse(f"{name}_changelist")]
        addresses += [
            reverse(f"{name}_change", args=[row.pk]) for row in page.get_queryset(request).order_by("-pk")[:2]
        ]
        for address in addresses:
            response = client.get(address)
            assert response.status_code == 200, address
            faults += [f"{address}: {fault}" for fault in faults_of(response.text)]
    assert not faults, "\n".join(faults)


def faults_of(html: str) -> Iterator[str]:
    parser = VisibleText()
    parser.feed(html)
    for text in dict.fromkeys(parser.texts):
        for kind, pattern in NOT_WORDS.items():
            if found := pattern.search(ALLOWED.sub("", text)):
                yield f"{kind}: {found[0]!r} in {text[:120]!r}"


def test_every_posting_leads_to_the_record_that_it_was_made_for(merchant: Merchant) -> None:
    found = {posting: cause_of(posting) for posting in Posting.objects.order_by("pk")}
    # "moved" is the kind of what tests themselves post.
    assert {posting.kind for posting, record in found.items() if record is None} <= {"moved"}
    assert {type(record).__name__ for record in found.values()} >= {"Payment", "Deposit", "Refund", "Settlement"}
    client, posting = Client(), next(each for each, record in found.items() if isinstance(record, Payment))
    client.force_login(make_user(is_staff=True, is_superuser=True))
    page = client.get(reverse("admin:ledger_posting_change", args=[posting.pk])).text
    assert f">{found[posting]}</a>" in page
    assert "Payment: what happened" in page


def test_a_record_has_a_button_for_each_action_that_it_allows(merchant: Merchant) -> None:
    client, row = Client(), Discrepancy.objects.latest("pk")
    client.force_login(make_user(is_staff=True, is_superuser=True))
    page = client.get(reverse("admin:payments_discrepancy_change", args=[row.pk])).text
    assert "Accept: the merchant gets the money" in page
    asked = client.post(
        reverse("admin:payments_discrepancy_changelist"), {"action": "accept", "_selected_action": str(row.pk)}
    ).text
    assert "Give this money to the merchant?" in asked
