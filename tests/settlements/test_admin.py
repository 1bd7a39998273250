"""What operators see of settlements, and the one thing they can do about them."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from payments.chains.simulated import control
from settlements.models import Settlement
from tests.factories import make_merchant, make_user
from tests.settlements.scenes import advance, earn, fresh, settle_one

pytestmark = pytest.mark.django_db


@pytest.fixture
def settlement() -> Settlement:
    """One that failed, for its wallet."""
    merchant = make_merchant("Corner shop")
    earn(merchant, "10")
    made = settle_one(merchant)
    control.describe_account(made.network, made.destination, refuses="destination_refused")
    return advance(made)


def log_in(client: Client, *permissions: str) -> None:
    operator = make_user(is_staff=True)
    operator.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client.force_login(operator)


def test_settlements_and_runs_are_looked_up(client: Client, settlement: Settlement) -> None:
    log_in(client, "view_settlement", "view_settlementrun")
    found = client.get(reverse("admin:settlements_settlement_changelist"), {"q": settlement.public_id})
    assert found.status_code == 200
    assert "10.00 USDC" in found.content.decode()
    one = client.get(reverse("admin:settlements_settlement_change", args=[settlement.pk]))
    assert settlement.destination in one.content.decode()
    assert client.get(reverse("admin:settlements_settlement_changelist"), {"q": "Corner"}).status_code == 200
    run = client.get(reverse("admin:settlements_settlementrun_change", args=[settlement.run_id]))
    assert settlement.destination in run.content.decode()
    assert client.get(reverse("admin:settlements_settlementrun_changelist")).status_code == 200


def test_nothing_is_edited_by_hand(client: Client, settlement: Settlement) -> None:
    log_in(client, "view_settlement", "change_settlement", "delete_settlement")
    address = reverse("admin:settlements_settlement_change", args=[settlement.pk])
    assert client.post(address, {"status": "completed"}).status_code == 403
    assert client.get(reverse("admin:settlements_settlement_delete", args=[settlement.pk])).status_code == 403
    assert fresh(settlement).status == "failed"


@pytest.mark.parametrize(("permission", "may"), [("change_settlement", True), ("view_settlementrun", False)])
def test_who_may_change_settlements_lets_them_be_retried(
    client: Client, settlement: Settlement, permission: str, may: bool
) -> None:
    log_in(client, "view_settlement", permission)
    asked = {"action": "retry", "_selected_action": [str(settlement.pk)]}
    asking = client.post(reverse("admin:settlements_settlement_changelist"), asked)
    assert ("Pay these wallets again?" in asking.content.decode()) is may
    assert not fresh(settlement).may_retry
    asked |= {"confirmed": "yes", "note": "the wallet has its trustline now"}
    client.post(reverse("admin:settlements_settlement_changelist"), asked)
    assert fresh(settlement).may_retry is may


def test_one_that_has_not_failed_is_refused_with_the_reason(client: Client) -> None:
    merchant = make_merchant()
    earn(merchant, "10")
    pending = settle_one(merchant)
    log_in(client, "view_settlement", "change_settlement")
    asked = {"action": "retry", "_selected_action": [str(pending.pk)], "confirmed": "yes", "note": "now"}
    reply = client.post(reverse("admin:settlements_settlement_changelist"), asked, follow=True)
    assert "Only a settlement that failed can be paid again." in reply.content.decode()
