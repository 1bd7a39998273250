"""Every admin page in words: no base units, no UUIDs, no names of the code. Links lead to what a role may open."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from typing import Any

import pytest
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.urls import resolve, reverse
from pytest_django.fixtures import Settings

from config.admin.roles import Role
from merchants.models import Merchant, User
from payments.models import Discrepancy
from payments.transfers.models import Payout
from tests.admin.test_roles import client_of, operator_of
from tests.admin.world import make_world
from tests.factories import make_user
from tests.worlds import populated_once

pytestmark = pytest.mark.django_db

NOT_WORDS = {
    "a UUID": re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"),
    "digits without groups": re.compile(r"(?:(?<![\w.…@/-])|(?<!\S)-)\d{7,}(?![\w…])"),
    "a name of the code": re.compile(r"\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b(?<!_set)"),
    "None": re.compile(r"\bNone\b(?!:)|\bTrue\b|\bFalse\b"),
    "an object": re.compile(r"<\w+[ :]|object at 0x|\bobject \("),
    "base units": re.compile(r"base units?", re.IGNORECASE),
    "a field": re.compile(r"^(?:Is|Was|Has) [a-z ]+:?$|\bbps\b|^Told:?$", re.MULTILINE),
    "a raw date": re.compile(r"(?<![\w-])20\d\d-\d\d-\d\d(?![\w-])|\d\dT\d\d:\d\d"),
    "a class": re.compile(r"\b(?!USDC|USDT|PostgreSQL|JavaScript)[A-Z][a-z]+[A-Z][a-z]+[A-Za-z]*\b"),
}
ALLOWED = re.compile(
    r"\b[a-z]{3}_[0-9a-z]{26}\b|\w+…\w+|pk_test_\w+|pk_live_\w+|\b(?:payment|refund|settlement)\.\w+"
    r"|bundled table of [\d-]+|memo \d+|manage\.py \w+"
)
"""Public ids, what is shortened, and names of events, which the API and the dashboard show as well."""


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


WITHOUT_ROWS: Mapping[str, str] = {}
"""Models of which the world has no row, and why."""

BY = ("status", "kind", "outcome", "purpose", "ending", "booked_to")
"""Fields whose every value is another page of a record."""


@pytest.fixture(autouse=True)
def open_to_all(settings: Settings) -> None:
    settings.SIMULATED_BLOCK_SECONDS = 0
    settings.OPERATOR_EMAILS = ["ada@example.com"]
    settings.SIGN_UP = "open"
    settings.OPERATORS_TO_DECIDE = settings.SANDBOX_OPERATORS_TO_DECIDE = 2


@pytest.fixture
@populated_once
def merchant(db: None, tmp_path_factory: pytest.TempPathFactory) -> Merchant:
    return make_world(tmp_path_factory.mktemp("lists"))


@pytest.fixture
def client() -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(make_user(email="ada@example.com", name="Ada", is_staff=True, is_superuser=True))
    return client


def test_a_record_has_a_button_for_each_action_that_it_allows(merchant: Merchant, client: Client) -> None:
    row = Discrepancy.objects.latest("pk")
    page = client.get(reverse("admin:payments_discrepancy_change", args=[row.pk])).text
    assert "Accept: the merchant gets the money" in page
    asked = client.post(
        reverse("admin:payments_discrepancy_changelist"), {"action": "accept", "_selected_action": str(row.pk)}
    ).text
    assert "Give this money to the merchant?" in asked


def test_what_a_record_would_refuse_has_its_reason_in_place_of_a_button(merchant: Merchant, client: Client) -> None:
    paid, held = (Payout.objects.filter(status=status).latest("pk") for status in ("paid", "held"))
    reason = "Reject: the money goes back to where it came from – not now: it is not held: Paid."
    pages = [client.get(reverse("admin:transfers_payout_change", args=[row.pk])).text for row in (paid, held)]
    assert [(reason in page, 'value="reject"' in page) for page in pages] == [(True, False), (False, True)]


def test_no_page_speaks_to_machines(merchant: Merchant, client: Client) -> None:
    request = RequestFactory().get("/admin/")
    request.user = User.objects.get(email="ada@example.com")
    faults: list[str] = []
    empty: list[str] = []
    for model, page in admin.site._registry.items():
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        rows = one_of_each(page.get_queryset(request))
        if not rows:
            empty.append(model._meta.label)
        addresses = [reverse(f"{name}_changelist"), *(reverse(f"{name}_change", args=[row.pk]) for row in rows)]
        if page.has_add_permission(request):
            addresses.append(reverse(f"{name}_add"))
        for address in addresses:
            response = client.get(address)
            found = faults_of(response.text) if response.status_code == 200 else [str(response.status_code)]
            faults += [f"{address}: {fault}" for fault in found]
    faults += [f"{label}: the world has no row" for label in set(empty) ^ set(WITHOUT_ROWS)]
    assert not faults, "\n".join(faults)


def test_no_link_leads_a_role_to_what_it_may_not_open(merchant: Merchant) -> None:
    """And every page that a role may view opens."""
    faults = [f"{role.label}, {fault}" for role in Role for fault in closed_links(operator_of(role))]
    assert faults == []


def closed_links(user: User) -> Iterator[str]:
    """Links on the pages that somebody may open, of one record of each kind, which lead to what they may not open."""
    request = RequestFactory().get("/admin/")
    request.user = user
    client, found = client_of(user), dict[str, str]()
    pages = ["/admin/", "/admin/account", "/admin/search?q=Harbour"]
    for model, page in admin.site._registry.items():
        if page.has_view_permission(request):
            name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
            newest: Any = page.get_queryset(request).order_by("-pk").first()
            pages += [reverse(f"{name}_changelist"), reverse(f"{name}_change", args=[newest.pk])]
    for page_address in pages:
        response = client.get(page_address)
        assert response.status_code == 200, page_address
        found |= dict.fromkeys(re.findall(r'href="(/admin/[^"?#]*)', response.text), page_address)
    yield from (f"{on}: {address}" for address, on in found.items() if not opens(address, client, request))


NOT_AN_AMOUNT = re.compile(r"\d\.\d\d\d*0(?!\d)|(?<![\d.,\w…])\d{4,}(?:\.\d+)? [A-Z]{3,4}\b")
"""An amount with needless zeros, or of a coin without groups of digits."""


def test_titles_of_records_have_amounts_as_pages_show_them(merchant: Merchant) -> None:
    request = RequestFactory().get("/admin/")
    request.user = make_user(is_staff=True, is_superuser=True)
    pages = admin.site._registry.values()
    titles = [str(row) for page in pages for row in one_of_each(page.get_queryset(request))]
    assert [title for title in titles if NOT_AN_AMOUNT.search(title)] == []
    assert any(" USDC" in title for title in titles)


def opens(address: str, client: Client, request: HttpRequest) -> bool:
    match = resolve(address)
    page, kind = getattr(match.func, "model_admin", None), (match.url_name or "").rpartition("_")[2]
    if page is not None and kind in ("changelist", "change", "history", "add"):
        return bool(page.has_add_permission(request) if kind == "add" else page.has_view_permission(request))
    return client.get(address).status_code != 403


def one_of_each(rows: QuerySet[Any]) -> list[Any]:
    """The newest row of each value of a field of BY, and the newest of all."""
    names = {field.name for field in rows.model._meta.get_fields()}
    by = next((name for name in BY if name in names), None)
    found = {getattr(row, by) if by else None: row for row in rows.order_by("pk")}
    return list(found.values())


def faults_of(html: str) -> Iterator[str]:
    parser = VisibleText()
    parser.feed(html)
    for text in dict.fromkeys(parser.texts):
        for kind, pattern in NOT_WORDS.items():
            if found := pattern.search(ALLOWED.sub("", text)):
                yield f"{kind}: {found[0]!r} in {text[:120]!r}"
