"""Every action of operators that moves or frees money has one page: consequence, who is told, and a reason."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib import admin
from django.contrib.messages.storage.fallback import FallbackStorage
from django.test import RequestFactory

from tests.factories import make_user

pytestmark = pytest.mark.django_db

MOVES_MONEY = {
    "house.AllowedAddress allow",
    "house.AllowedAddress remove",
    "house.Funding cancel",
    "house.Withdrawal cancel",
    "ledger.Stop lift",
    "losses.MissingCoins let_house_bear",
    "losses.MissingCoins let_merchant_bear",
    "payments.Deposit release",
    "payments.Discrepancy accept",
    "payments.NativeCoin bring_in",
    "payments.PayerReturn call_back",
    "payments.PayerReturn give_back",
    "settlements.DebtDecision take_back",
    "settlements.Settlement retry",
    "transfers.Payout approve",
    "transfers.Payout reject",
    "transfers.Payout release",
}
ONE_ROW_AT_A_TIME = {"payments.Discrepancy attribute", "settlements.Debt collected", "settlements.Debt write_off"}
"""They move money as well, and take a row before they show their page: their own tests open it."""
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


def pages() -> dict[str, dict[str, Any]]:
    """What each action shows before it is confirmed, for no row at all."""
    request = RequestFactory().post("/", {})
    request.user, request.session = make_user(is_staff=True, is_superuser=True), {}  # type: ignore[assignment]
    found = {}
    for model, page in admin.site._registry.items():
        request._messages = FallbackStorage(request)  # type: ignore[attr-defined]
        for name, chosen in page.get_actions(request).items():
            assert chosen
            label = f"{model._meta.label} {name}"
            shown = None if label in MOVES_NONE else chosen[0](page, request, model._default_manager.none())
            found[label] = getattr(shown, "context_data", None) or {}
    return found


def test_every_action_that_moves_money_has_the_same_page() -> None:
    found = pages()
    assert found.keys() - MOVES_NONE == MOVES_MONEY | ONE_ROW_AT_A_TIME
    assert found.keys() >= MOVES_NONE
    parts = ("title", "consequence", "told", "note_label")
    lacking = {name: [part for part in parts if not found[name].get(part)] for name in MOVES_MONEY}
    assert {name: lacks for name, lacks in lacking.items() if lacks} == {}
