"""The operators' admin as a whole: every list has its place, and everybody sees those they may see."""

from __future__ import annotations

from collections import Counter

import pytest
from django.contrib import admin
from django.urls import reverse
from pytest_django.fixtures import Settings

from config.admin.columns import CountedInPart
from config.admin.site import GROUPS
from tests.ledger.books import COINS, FEES, move
from tests.operations.test_admin import operator

pytestmark = pytest.mark.django_db


def test_every_registered_model_is_in_one_group() -> None:
    registered = Counter(model._meta.label for model in admin.site._registry)
    assert Counter(label for labels in GROUPS.values() for label in labels) == registered


def test_a_page_is_in_its_group_and_leads_to_the_others() -> None:
    shown = operator().get(reverse("admin:payments_payment_changelist")).context
    assert [group["name"] for group in shown["available_apps"]] == list(GROUPS)
    assert (shown["current_group"]["name"], shown["current_list"]["name"]) == ("Money", "Payments")


@pytest.mark.parametrize(
    ("permissions", "groups"),
    [
        (("view_payment",), {"Money": ["Payments"]}),
        (("view_account",), {"Ledger": ["Accounts"]}),
        (("view_account", "view_posting"), {"Ledger": ["Accounts", "Postings", "Accounting", "The house's result"]}),
    ],
)
def test_operators_see_the_groups_that_they_may_see(permissions: tuple[str, ...], groups: dict[str, list[str]]) -> None:
    client = operator(*permissions)
    shown = client.get(reverse("admin:index")).context["available_apps"]
    assert {group["name"]: [row["name"] for row in group["models"]] for group in shown} == groups
    assert client.get(reverse("admin:group", args=["people"])).status_code == 404
    assert client.get(shown[0]["app_url"]).status_code == 200


def test_simulated_networks_are_listed_where_there_are_any(settings: Settings) -> None:
    address = reverse("admin:group", args=["technical"])
    assert "Simulated networks" in operator().get(address).text
    settings.SANDBOX_CHAIN = "testnet"
    assert "Simulated networks" not in operator().get(address).text


def test_a_long_list_counts_no_more_than_can_be_paged_through(monkeypatch: pytest.MonkeyPatch) -> None:
    address = reverse("admin:ledger_posting_changelist")
    for _ in range(3):
        move(1_000_000, debit=COINS, credit=FEES)
    assert "At least" not in operator().get(address).text
    monkeypatch.setattr(CountedInPart, "most_counted", 2)
    shown = operator().get(address)
    assert "At least" in shown.text
    assert shown.context["cl"].result_count == 2
    assert "By kind" in shown.text, "the kinds that there are can be chosen"
    assert "?kind=moved" in shown.text
