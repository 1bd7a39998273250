"""Who sees the merchant's pages, and what every one of them refuses."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from config import ids
from config.environments import Environment
from config.urls import page_routes
from merchants.models import ApiKey, Member, Role
from payments.models import Payment
from tests.dashboard.addresses import READS, WRITES, filled
from tests.dashboard.conftest import browser_of
from tests.factories import make_key, make_member, make_merchant
from tests.payments.scenes import make_payment

PUBLIC = {"", "login", "logout", "dashboard/", "docs/api", "pay/<str:payment_id>", "pay/<str:payment_id>/status"}


@pytest.fixture
def payment(member: Member) -> Payment:
    return make_payment(merchant=member.merchant)


@pytest.fixture
def key(member: Member) -> ApiKey:
    return make_key(member.merchant).key


def test_the_tables_of_addresses_leave_no_page_out() -> None:
    routes = {str(route.pattern) for route in page_routes} - PUBLIC
    known = {path.removeprefix("/").format(payment="<str:payment_id>", key="<str:key_id>") for path in READS + WRITES}
    assert routes == known


@pytest.mark.parametrize("path", READS)
def test_a_stranger_is_sent_to_log_in_and_then_back(path: str, payment: Payment, key: ApiKey) -> None:
    address = filled(path, payment=payment, key=key)
    response = Client().get(address)
    assert response.status_code == 302
    assert response.headers["Location"] == f"/login?next={address}"


@pytest.mark.parametrize("path", WRITES)
def test_a_stranger_changes_nothing(path: str, payment: Payment, key: ApiKey) -> None:
    response = Client().post(filled(path, payment=payment, key=key), {"scenario": "exact", "name": "Mine"})
    assert response.status_code == 302
    assert response.headers["Location"].startswith("/login?next=")
    payment.refresh_from_db()
    assert payment.status == "created"
    assert list(ApiKey.objects.values_list("revoked_at", flat=True)) == [None]


@pytest.mark.parametrize("path", READS)
def test_pages_with_a_merchants_data_are_never_stored(path: str, client: Client, payment: Payment, key: ApiKey) -> None:
    response = client.get(filled(path, payment=payment, key=key))
    assert response.status_code == 200
    assert "no-store" in response.headers["Cache-Control"]
    assert "private" in response.headers["Cache-Control"]


@pytest.mark.parametrize("path", [path for path in READS if "{" in path])
def test_another_merchants_record_answers_as_one_that_never_was(path: str, payment: Payment, key: ApiKey) -> None:
    stranger = browser_of(make_member(make_merchant("Somebody Else")))
    foreign = stranger.get(filled(path, payment=payment, key=key))
    unknown = stranger.get(path.format(payment=ids.PAYMENT.encode(ids.new_uuid()), key=ids.KEY.encode(ids.new_uuid())))
    malformed = stranger.get(path.format(payment="pay_1", key="key_1"))
    assert foreign.status_code == unknown.status_code == malformed.status_code == 404
    assert foreign.content == unknown.content == malformed.content


@pytest.mark.parametrize("path", [path for path in WRITES if "{" in path])
def test_another_merchants_record_cannot_be_changed(path: str, payment: Payment, key: ApiKey) -> None:
    stranger = browser_of(make_member(make_merchant("Somebody Else")))
    assert stranger.post(filled(path, payment=payment, key=key), {"scenario": "exact"}).status_code == 404
    payment.refresh_from_db()
    key.refresh_from_db()
    assert payment.status == "created"
    assert key.revoked_at is None


@pytest.mark.parametrize("path", READS)
def test_records_of_the_other_environment_do_not_exist(
    path: str, client: Client, payment: Payment, key: ApiKey
) -> None:
    client.post("/dashboard/environment", {"environment": Environment.PRODUCTION})
    response = client.get(filled(path, payment=payment, key=key))
    assert response.status_code == (404 if "{" in path else 200)
    assert payment.public_id not in response.text
    assert key.public_key not in response.text


@pytest.mark.parametrize("path", [*WRITES, "/login", "/logout"])
def test_a_form_of_another_site_is_refused(path: str, member: Member, payment: Payment, key: ApiKey) -> None:
    client = browser_of(member, enforce_csrf_checks=True)
    response = client.post(filled(path, payment=payment, key=key), {"scenario": "exact", "name": "Theirs"})
    assert response.status_code == 403
    assert "This form has expired" in response.text
    payment.refresh_from_db()
    assert payment.status == "created"
    assert ApiKey.objects.count() == 1


@pytest.mark.parametrize("path", [path for path in WRITES if path not in READS])
def test_what_changes_something_is_not_done_by_a_link(path: str, client: Client, payment: Payment, key: ApiKey) -> None:
    assert client.get(filled(path, payment=payment, key=key)).status_code == 405


@pytest.mark.parametrize("path", [path for path in WRITES if path != "/dashboard/environment"])
def test_a_viewer_changes_nothing(path: str, payment: Payment, key: ApiKey, member: Member) -> None:
    viewer = browser_of(make_member(member.merchant, role=Role.VIEWER))
    response = viewer.post(filled(path, payment=payment, key=key), {"scenario": "exact", "name": "Mine"})
    assert response.status_code == 403
    payment.refresh_from_db()
    key.refresh_from_db()
    assert payment.status == "created"
    assert key.revoked_at is None
    assert ApiKey.objects.count() == 1


@pytest.mark.parametrize("path", ["/dashboard/payments/{payment}", "/dashboard/keys", "/dashboard/settings"])
def test_a_viewer_is_not_offered_what_is_refused(path: str, payment: Payment, key: ApiKey, member: Member) -> None:
    viewer = browser_of(make_member(member.merchant, role=Role.VIEWER))
    page = viewer.get(filled(path, payment=payment, key=key)).text
    offered = set(re.findall(r'<form[^>]*method="post"[^>]*action="([^"]*)"', page))
    assert offered == {"/logout", "/dashboard/environment"}
    assert "Generate a pair" not in page
    assert ">Delete<" not in page


def test_a_person_without_a_merchant_is_refused(client: Client, member: Member) -> None:
    member.delete()
    response = client.get("/dashboard")
    assert response.status_code == 403
    assert "You may not do that" in response.text
