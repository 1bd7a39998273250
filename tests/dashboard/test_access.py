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
    "brand/<str:version>/logo.png",
    "brand/<str:version>/style.css",
    "docs/api",
    "docs/api/<slug:page>",
    "link/<str:code>",
    "pay/<str:payment_id>",
    "pay/<str:payment_id>/claim",
    "pay/<str:payment_id>/status",
    "pay/<str:payment_id>/wallet",
    "pay/<str:payment_id>/wallet/signed",
    "refund/<str:token>",
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


@pytest.mark.parametrize("path", READS)
def test_a_stranger_is_sent_to_log_in_and_then_back(path: str, records: Records) -> None:
    address = records.in_path(path)
    response = Client().get(address)
    assert response.status_code == 302
    assert response.headers["Location"] == f"/login?next={address}"


@pytest.mark.parametrize("path", WRITES)
def test_a_stranger_changes_nothing(path: str, records: Records) -> None:
    before = everything()
    response = Client().post(records.in_path(path), FIELDS)
    assert response.status_code == 302
    assert response.headers["Location"].startswith("/login?next=")
    assert everything() == before


@pytest.mark.parametrize("path", READS)
def test_pages_with_a_merchants_data_are_never_stored(path: str, client: Client, records: Records) -> None:
    response = client.get(records.in_path(path))
    assert response.status_code == 200
    assert "no-store" in response.headers["Cache-Control"]
    assert "private" in response.headers["Cache-Control"]


@pytest.mark.parametrize("path", NAMED)
def test_another_merchants_record_answers_as_one_that_never_was(path: str, records: Records) -> None:
    stranger = browser_of(make_member(make_merchant("Somebody Else")))
    replies = [stranger.get(address) for address in (records.in_path(path), unknown(path), malformed(path))]
    assert [reply.status_code for reply in replies] == [404, 404, 404]
    assert len({reply.content for reply in replies}) == 1


@pytest.mark.parametrize("path", [path for path in WRITES if "{" in path])
def test_another_merchants_record_cannot_be_changed(path: str, records: Records) -> None:
    stranger = browser_of(make_member(make_merchant("Somebody Else")))
    before = everything()
    assert stranger.post(records.in_path(path), FIELDS).status_code == 404
    assert everything() == before


@pytest.mark.parametrize("path", READS)
def test_records_of_the_other_environment_do_not_exist(path: str, client: Client, records: Records) -> None:
    client.post("/dashboard/environment", {"environment": Environment.PRODUCTION})
    response = client.get(records.in_path(path))
    assert response.status_code == (404 if "{" in path and path not in IN_BOTH_ENVIRONMENTS else 200)
    for secret in (
        records.payment.public_id,
        records.link.public_id,
        records.refund.public_id,
        records.settlement.public_id,
        records.key.public_key,
        records.webhook.url,
        records.delivery.public_id,
    ):
        assert secret not in b"".join(response).decode()


@pytest.mark.parametrize("path", [path for path in WRITES if "{" in path and path not in IN_BOTH_ENVIRONMENTS])
def test_records_of_the_other_environment_cannot_be_changed(path: str, client: Client, records: Records) -> None:
    client.post("/dashboard/environment", {"environment": Environment.PRODUCTION})
    before = everything()
    assert client.post(records.in_path(path), FIELDS).status_code == 404
    assert everything() == before


@pytest.mark.parametrize("path", [*WRITES, "/login", "/logout"])
def test_a_form_of_another_site_is_refused(path: str, member: Member, records: Records) -> None:
    client = browser_of(member, enforce_csrf_checks=True)
    before = everything()
    response = client.post(records.in_path(path), FIELDS)
    assert response.status_code == 403
    assert "This form has expired" in response.text
    assert everything() == before


@pytest.mark.parametrize("path", [path for path in WRITES if path not in READS])
def test_what_changes_something_is_not_done_by_a_link(path: str, client: Client, records: Records) -> None:
    before = everything()
    assert client.get(records.in_path(path)).status_code == 405
    assert everything() == before


def test_a_person_without_a_merchant_is_refused(client: Client, member: Member) -> None:
    make_member(member.merchant)
    member.delete()
    response = client.get("/dashboard")
    assert response.status_code == 403
    assert "You may not do that" in response.text
