"""Who sees the merchant's pages, and what every one of them refuses."""

from __future__ import annotations

import pytest
from django.test import Client

from config.environments import Environment
from config.urls import page_routes
from merchants.models import Member
from tests.dashboard.addresses import (
    FIELDS,
    IN_BOTH_ENVIRONMENTS,
    READS,
    UNKNOWN,
    WRITES,
    Records,
    everything,
    malformed,
    unknown,
)
from tests.dashboard.conftest import browser_of
from tests.factories import make_member, make_merchant

PUBLIC = {
    "",
    "login",
    "logout",
    "dashboard/",
    "dashboard/stop-looking",
    "brand/<str:version>/logo.png",
    "brand/<str:version>/style.css",
    "connect/exchange",
    "docs",
    "docs/",
    "docs/<path:path>",
    "docs/api",
    "docs/api/<slug:page>",
    "docs/search",
    "llms.txt",
    "link/<str:code>",
    "pay/<str:payment_id>",
    "pay/<str:payment_id>/claim",
    "pay/<str:payment_id>/receipt",
    "pay/<str:payment_id>/receipt.<str:form>",
    "pay/<str:payment_id>/mail",
    "pay/<str:payment_id>/choose",
    "pay.js",
    "button.css",
    "pay/<str:payment_id>/simulate",
    "pay/<str:payment_id>/status",
    "pay/<str:payment_id>/wallet",
    "pay/<str:payment_id>/wallet/signed",
    "receipts/verify",
    "receipts/verify.py",
    ".well-known/ballast-receipts.json",
    "refund/<str:token>",
    "refund/<str:token>/receipt",
    "refund/<str:token>/receipt.<str:form>",
    "return/<str:token>",
}
NAMED = [path for path in READS if "{" in path]


@pytest.fixture
def member(records: Records) -> Member:
    return make_member(records.payment.merchant)


def test_the_tables_of_addresses_leave_no_page_out() -> None:
    routes = {str(route.pattern) for route in page_routes} - PUBLIC
    names = {name: f"<str:{name}_id>" for name in UNKNOWN}
    assert routes == {path.removeprefix("/").format(**names) for path in READS + WRITES}


def test_a_stranger_is_sent_to_log_in_and_then_back(records: Records) -> None:
    for path in READS:
        address = records.in_path(path)
        response = Client().get(address)
        assert (response.status_code, response.headers["Location"]) == (302, f"/login?next={address}")


def test_a_stranger_changes_nothing(records: Records) -> None:
    before = everything()
    for path in WRITES:
        response = Client().post(records.in_path(path), FIELDS)
        assert response.status_code == 302, path
        assert response.headers["Location"].startswith("/login?next="), path
    assert everything() == before


def test_pages_with_a_merchants_data_are_never_stored(client: Client, records: Records) -> None:
    for path in READS:
        response = client.get(records.in_path(path))
        assert response.status_code == 200, path
        assert {"no-store", "private"} <= set(response.headers.get("Cache-Control", "").split(", ")), path


def test_another_merchants_record_answers_as_one_that_never_was(records: Records) -> None:
    stranger = browser_of(make_member(make_merchant("Somebody Else")))
    for path in NAMED:
        replies = [stranger.get(address) for address in (records.in_path(path), unknown(path), malformed(path))]
        assert [reply.status_code for reply in replies] == [404, 404, 404], path
        assert len({reply.content for reply in replies}) == 1, path


def test_another_merchants_record_cannot_be_changed(records: Records) -> None:
    stranger = browser_of(make_member(make_merchant("Somebody Else")))
    before = everything()
    for path in WRITES:
        if "{" in path:
            assert stranger.post(records.in_path(path), FIELDS).status_code == 404, path
    assert everything() == before


def test_records_of_the_other_environment_do_not_exist(client: Client, records: Records) -> None:
    client.post("/dashboard/environment", {"environment": Environment.PRODUCTION})
    secrets = (
        records.payment.public_id,
        records.link.public_id,
        records.refund.public_id,
        records.settlement.public_id,
        records.key.public_key,
        records.webhook.url,
        records.delivery.public_id,
    )
    for path in READS:
        response = client.get(records.in_path(path))
        assert response.status_code == (404 if "{" in path and path not in IN_BOTH_ENVIRONMENTS else 200), path
        shown = b"".join(response).decode()
        assert [secret for secret in secrets if secret in shown] == [], path


def test_records_of_the_other_environment_cannot_be_changed(client: Client, records: Records) -> None:
    client.post("/dashboard/environment", {"environment": Environment.PRODUCTION})
    before = everything()
    for path in WRITES:
        if "{" in path and path not in IN_BOTH_ENVIRONMENTS:
            assert client.post(records.in_path(path), FIELDS).status_code == 404, path
    assert everything() == before


def test_a_form_of_another_site_is_refused(member: Member, records: Records) -> None:
    client = browser_of(member, enforce_csrf_checks=True)
    before = everything()
    for path in [*WRITES, "/login", "/logout"]:
        response = client.post(records.in_path(path), FIELDS)
        assert response.status_code == 403, path
        assert "This form has expired" in response.text, path
    assert everything() == before


def test_what_changes_something_is_not_done_by_a_link(client: Client, records: Records) -> None:
    before = everything()
    for path in WRITES:
        if path not in READS:
            assert client.get(records.in_path(path)).status_code == 405, path
    assert everything() == before


def test_a_person_without_a_merchant_is_refused(client: Client, member: Member) -> None:
    make_member(member.merchant)
    member.delete()
    response = client.get("/dashboard")
    assert response.status_code == 403
    assert "You do not have access" in response.text
