"""A suspended merchant: what is refused, what goes on, who is told, and how it ends."""

from __future__ import annotations

import getpass

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django.fixtures import Settings

from merchants.audit.models import LoggedAction
from merchants.ledger.models import Stop, StopKind
from merchants.models import Merchant
from merchants.people.models import Mail
from merchants.roles import Role
from tests.dashboard.addresses import FIELDS, READS, WRITES, Records, everything, make_records
from tests.factories import PASSWORD, api_client, make_key, make_member, make_merchant, make_user, suspend

pytestmark = pytest.mark.django_db

LIST = "/admin/merchants/merchant/"
OF_THE_PERSON = {
    "/dashboard/environment",
    "/dashboard/first-steps/hide",
    "/dashboard/merchant",
    "/dashboard/payments/exports",
    "/dashboard/payments/views",
    "/dashboard/payments/views/delete",
    "/dashboard/preferences",
    "/dashboard/members/leave",
    "/dashboard/webhooks/bench/check",
}
"""Addresses that change nothing of the business."""


def operator() -> Client:
    client = Client()
    client.force_login(make_user(is_staff=True, is_superuser=True))
    return client


def choose(client: Client, action: str, merchant: Merchant, note: str = "") -> str:
    form = {"action": action, "_selected_action": str(merchant.pk)}
    return client.post(LIST, form | ({"confirmed": "yes", "note": note} if note else {}), follow=True).text


def test_suspending_asks_first_is_listed_and_told_and_takes_two_to_end(settings: Settings) -> None:
    settings.OPERATORS_TO_DECIDE = 2
    owner = make_member()
    merchant, keys = owner.merchant, api_client(make_key(owner.merchant))
    make_member(merchant, role=Role.VIEWER)
    first, second = operator(), operator()

    asked = choose(first, "suspend", merchant)
    assert f"{merchant}: active → suspended; a mail goes to {owner.user.email}" in asked
    assert (keys.call("GET", "/merchant").status_code, Stop.objects.count()) == (200, 0)

    choose(first, "suspend", merchant, "Stolen goods.")
    assert keys.call("GET", "/merchant").status_code == 403
    stop = Stop.objects.get()
    assert (stop.kind, stop.environment, str(stop)) == (StopKind.SUSPENSION, "", f"{merchant}, suspended")
    assert stop.reason.startswith("Stolen goods. (person")
    assert [(mail.to, mail.subject) for mail in Mail.objects.all()] == [(owner.user.email, f"{merchant} is suspended")]
    assert "Stolen" not in Mail.objects.get().text + str(LoggedAction.objects.values())
    assert "was suspended before" in choose(first, "suspend", merchant, "Again.")
    assert "Stolen goods." in first.get("/admin/ledger/stop/").text
    page = first.get(f"/admin/merchants/merchant/{merchant.pk}/change/").text
    assert ('value="suspend"' in page, 'value="resume"' in page) == (False, True)
    assert "not now: it is suspended." in page

    choose(first, "resume", merchant, "A mistake.")
    assert keys.call("GET", "/merchant").status_code == 403
    choose(second, "resume", merchant, "A mistake.")
    assert keys.call("GET", "/merchant").status_code == 200
    stop.refresh_from_db()
    assert stop.lifted_at is not None
    logged = list(LoggedAction.objects.order_by("pk").values_list("action", "role"))
    assert logged == [("merchant.suspend", "operator"), ("merchant.go_on", "operator")]
    assert Mail.objects.latest("pk").subject == f"{merchant} is no longer suspended"
    assert "is not suspended" in choose(first, "resume", merchant, "Once more.")


def test_a_command_suspends_a_merchant_in_the_name_of_an_operator_and_ends_it_by_two(
    settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.OPERATORS_TO_DECIDE = 2
    owner = make_member(make_merchant("Harbour Coffee"))
    merchant, by, support = owner.merchant, make_user(is_staff=True, is_superuser=True), make_user(is_staff=True)
    place = {"merchant": merchant.public_id, "suspend": "Stolen goods."}
    for person, password, refusal in (
        ("", PASSWORD, "no operator"),
        (support.email, PASSWORD, "no operator"),
        (by.email, "a guess", "not the password"),
    ):
        monkeypatch.setattr(getpass, "getpass", lambda prompt="", typed=password: typed)
        with pytest.raises(CommandError, match=refusal):
            call_command("stops", **place, by=person)
    assert not Stop.objects.exists()

    monkeypatch.setattr(getpass, "getpass", lambda prompt="": PASSWORD)
    with pytest.raises(CommandError, match="--merchant"):
        call_command("stops", suspend="why", by=by.email)
    call_command("stops", **place, by=by.email)
    merchant.refresh_from_db()
    stop, row = Stop.objects.get(), LoggedAction.objects.get()
    assert (merchant.is_active, stop.kind, stop.reason) == (False, StopKind.SUSPENSION, f"Stolen goods. ({by})")
    assert (row.action, row.person, Mail.objects.get().to) == ("merchant.suspend", by, owner.user.email)
    with pytest.raises(CommandError, match="suspended already"):
        call_command("stops", **place, by=by.email)
    call_command("stops")
    assert "Harbour Coffee, suspended" in capsys.readouterr().out

    call_command("stops", lift=stop.pk, by=by.email)
    assert not Merchant.objects.get().is_active
    choose(operator(), "resume", merchant, "A mistake.")
    assert Merchant.objects.get().is_active


def test_people_of_a_suspended_merchant_look_at_everything_and_change_nothing_of_it() -> None:
    merchant = make_merchant("Harbour Coffee")
    records: Records = make_records(merchant)
    owner = make_member(merchant)
    suspend(merchant)
    client = Client()
    client.force_login(owner.user)
    before = everything()
    for path in (path for path in WRITES if path not in OF_THE_PERSON):
        reply = client.post(records.in_path(path), FIELDS)
        assert (reply.status_code, reply.headers.get("Location")) == (302, "/dashboard"), path
    assert everything() == before
    for path in READS:
        assert client.get(records.in_path(path)).status_code == 200, path
    assert "has suspended this business" in client.get("/dashboard/payments").text
    assert client.post("/dashboard/preferences", {"language": "de"}).status_code != 403
