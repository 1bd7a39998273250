"""A payment link from the merchant's form to a paid payment, on a phone, with nothing but the pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from merchants.models import Member
from payments.checkout.simulator import simulate_payment
from payments.models import Payment
from tests.browser.conftest import Complaints
from tests.browser.link_scenes import make_link
from tests.browser.pages import log_in
from tests.browser.watcher import watching
from tests.factories import PASSWORD, make_member, make_merchant
from tests.payments.scenes import POLYGON, WALLETS

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PATIENCE = 30_000


@pytest.fixture
def member() -> Member:
    return make_member(make_merchant("Harbour Coffee"))


@pytest.fixture(autouse=True)
def fast_blocks(settings: Settings, live_server: LiveServer) -> Iterator[None]:
    settings.SIMULATED_BLOCK_SECONDS = 0.1
    settings.PUBLIC_URL = live_server.url
    with watching():
        yield


def test_a_payment_link_is_made_opened_and_paid(
    browser: Browser, page: Page, live_server: LiveServer, complaints: Complaints, member: Member
) -> None:
    log_in(page, member.user.email, PASSWORD)
    page.goto("/dashboard/links")
    page.get_by_role("link", name="Create a payment link").first.click()
    page.get_by_label("What it is for").fill("Sunset tour, one seat")
    page.get_by_label("Amount", exact=False).first.fill("48,50")
    page.get_by_text("More options").click()
    page.get_by_label("Your wallet on Polygon").fill(WALLETS[POLYGON])
    page.get_by_label("How many times it can be paid").fill("2")
    page.get_by_role("button", name="Create the link").click()
    expect(page.get_by_text("The payment link is created.")).to_be_visible()
    address = page.locator(".copy-field__value").first.inner_text()

    phone = browser.new_context(base_url=live_server.url, viewport={"width": 360, "height": 780}).new_page()
    complaints.listen_to(phone)
    phone.goto(address)
    expect(phone.get_by_text("Sunset tour, one seat")).to_be_visible()
    phone.get_by_role("radio", name="USDT Tether").check()
    phone.get_by_label("USDT on Polygon").check()
    phone.get_by_role("button", name="Continue to payment").click()
    expect(phone.get_by_text("Waiting for your payment", exact=True)).to_be_visible()
    expect(phone.get_by_text("48.50 EUR").first).to_be_visible()
    simulate_payment(Payment.objects.get(), "exact")
    expect(phone.get_by_text("Paid. Thank you!", exact=True)).to_be_visible(timeout=PATIENCE)
    phone.context.close()

    page.reload()
    expect(page.get_by_text("1 of 2 taken")).to_be_visible()
    expect(page.get_by_text("Completed", exact=True).last).to_be_visible()
    assert complaints.found == []


def test_a_payer_without_scripts_chooses_and_chooses_again(
    browser: Browser, live_server: LiveServer, member: Member
) -> None:
    link = make_link(member.merchant, max_uses=1)
    page = browser.new_context(base_url=live_server.url, java_script_enabled=False).new_page()
    page.goto(f"/link/{link.code}")
    page.get_by_role("radio", name="DAI Dai").check()
    page.get_by_label("DAI on Ethereum").check()
    page.get_by_role("button", name="Continue to payment").click()
    expect(page.get_by_text("Waiting for your payment", exact=True).first).to_be_visible()
    page.get_by_text("Pay with another coin or network?").click()
    page.get_by_role("link", name="Choose again").click()
    page.get_by_label("USDC on Polygon").check()
    page.get_by_role("button", name="Continue to payment").click()
    expect(page.get_by_text("USDC on Polygon (simulated)").first).to_be_visible()
    page.context.close()
    assert [each.status for each in Payment.objects.order_by("id")] == ["cancelled", "created"]
