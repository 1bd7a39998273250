"""The API reference in a browser: it finds, keeps the language, and sends requests to the sandbox with test keys."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Request, expect
from pytest_django.live_server_helper import LiveServer

from config.environments import Environment
from payments.models import Payment
from tests.browser.conftest import Complaints
from tests.factories import make_key

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.slow]

MOST_PIXELS = 11_000
"""How high the largest page may be before anything is unfolded: it was 16,590."""

FIRST_VIEW_BYTES = 120_000
"""What the largest page may transfer with its files, none of which is compressed here; the goal was 400 kB."""


def test_a_request_is_sent_to_the_sandbox_with_test_keys_alone(
    page: Page, live_server: LiveServer, complaints: Complaints
) -> None:
    issued = make_key(environment=Environment.SANDBOX)
    requests: list[Request] = []
    page.on("request", lambda request: requests.append(request))
    page.goto("/docs/api/payments")
    form = page.locator('[data-try="payments_create"]')
    form.get_by_text("Try it in the sandbox").click()
    secret = form.get_by_label("Secret test key")

    secret.fill("sk_live_0123456789")
    expect(form.get_by_role("alert")).to_contain_text("real money")
    expect(secret).to_have_value("")
    form.get_by_role("button", name="Send").click()
    expect(form.get_by_role("alert")).to_contain_text("pk_test_")
    assert not [request for request in requests if "/v1/payments" in request.url]

    form.get_by_label("Public test key").fill(issued.key.public_key)
    secret.fill(issued.secret)
    form.get_by_role("button", name="Send").click()
    expect(form.locator("[data-status]")).to_contain_text("201")
    reply = form.locator("[data-content]").inner_text()
    payment = Payment.objects.get()
    assert f'"id": "{payment.public_id}"' in reply
    assert '"amount": 25.50' in reply
    expect(form.locator("[data-headers]")).to_contain_text("req_")
    (sent,) = [request for request in requests if "/v1/payments" in request.url]
    assert sent.url == f"{live_server.url}/sandbox/v1/payments"
    assert "cookie" not in sent.all_headers()

    # The next operation knows the keys, until they are forgotten.
    other = page.locator('[data-try="payments_retrieve"]')
    other.get_by_text("Try it in the sandbox").click()
    expect(other.get_by_label("Secret test key")).to_have_value(issued.secret)
    other.get_by_role("button", name="Forget the keys").click()
    expect(secret).to_have_value("")
    assert page.evaluate("JSON.stringify(sessionStorage)") == "{}"
    assert {request.url.startswith(f"{live_server.url}/") for request in requests} == {True}
    assert complaints.found == []


def test_a_page_is_small_narrows_down_and_keeps_the_language(page: Page, complaints: Complaints) -> None:
    received: list[int] = []
    page.on("requestfinished", lambda request: received.append(request.sizes()["responseBodySize"]))
    page.goto("/docs/api/payments", wait_until="networkidle")
    assert 10_000 < sum(received) < FIRST_VIEW_BYTES

    page.get_by_label("Find on this page").fill("merchantWallet must")
    expect(page.get_by_role("status").filter(has_text="Nothing on this page")).to_be_visible()
    page.get_by_label("Find on this page").fill("scenario")
    expect(page.locator("#payments_simulate")).to_be_visible()
    expect(page.locator("#payments_cancel")).to_be_hidden()

    page.locator("#payments_simulate summary").get_by_text("Python", exact=True).click()
    expect(page.locator("#payments_simulate")).to_contain_text('scenario="exact"')
    page.goto("/docs/api/refunds")
    expect(page.locator("#refunds_create").get_by_text("from ballast import Ballast")).to_be_visible()
    expect(page.locator("#refunds_create").get_by_text("curl -X POST")).to_be_hidden()
    assert complaints.found == []


def test_records_are_folded_and_their_addresses_open_them(page: Page, complaints: Complaints) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto("/docs/api/payments")
    expect(page.locator("#record-payment-amountDue")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollHeight") < MOST_PIXELS
    page.goto("/docs/api/payments#record-payment-amountDue")
    page.reload()
    expect(page.locator("#record-payment-amountDue")).to_be_in_viewport()
    page.get_by_label("Find on this page").fill("conflictingMemo")
    expect(page.locator("#record-payment-transfer-conflictingMemo")).to_be_visible()
    assert complaints.found == []
