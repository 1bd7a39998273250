"""From signing up to the first paid payment, on a phone, with nothing but the pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from payments.models import Payment
from tests.browser.conftest import Complaints
from tests.browser.pages import wait_for_path
from tests.browser.people_pages import follow_the_newest_link, sign_up
from tests.browser.watcher import watching

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def as_in_an_embedded_run(settings: Settings, live_server: LiveServer) -> Iterator[None]:
    settings.SIGN_UP = "open"
    settings.MAILBOX_IS_SHOWN = True
    settings.SIMULATED_BLOCK_SECONDS = 0.1
    settings.PUBLIC_URL = live_server.url
    with watching():
        yield


def test_somebody_signs_up_and_is_paid(page: Page, complaints: Complaints) -> None:
    page.goto("/signup")
    sign_up(page)
    page.get_by_role("link", name="Open the mailbox").click()
    wait_for_path(page, "/mailbox")
    follow_the_newest_link(page)
    page.get_by_role("button", name="Yes, confirm it").click()
    wait_for_path(page, "/dashboard")
    expect(page.get_by_text("0 of 5 done")).to_be_visible()

    page.goto("/dashboard/wallets/set")
    page.get_by_label("Network").select_option("polygon")
    page.get_by_label("Address").fill("0x52908400098527886E0F7030069857D2E4169EE7")
    page.get_by_role("button", name="Save the wallet").click()
    page.get_by_role("button", name="Sign with the simulated wallet").click()
    wait_for_path(page, "/dashboard/wallets")

    page.goto("/dashboard/payments")
    page.get_by_role("link", name="Take a payment").first.click()
    page.get_by_label("What it is for").fill("A bag of Huila")
    page.get_by_label("Amount").fill("12.50")
    page.get_by_text("More options").click()
    page.get_by_label("Coin").select_option("USDC")
    page.get_by_label("Network").select_option("polygon")
    page.get_by_role("button", name="Take the payment").click()
    page.get_by_role("link", name="Open the payer’s page").click()
    expect(page.get_by_text("Waiting for your payment", exact=True)).to_be_visible()
    payment = Payment.objects.get()

    page.goto(f"/dashboard/payments/{payment.public_id}")
    page.get_by_role("button", name="exact", exact=False).first.click()
    expect(page.get_by_text("It shows up with the next blocks.")).to_be_visible()
    page.goto(f"/pay/{payment.public_id}")
    expect(page.get_by_text("Paid. Thank you!", exact=True)).to_be_visible()
    page.goto(f"/dashboard/payments/{payment.public_id}")
    expect(page.get_by_text("Completed", exact=True).first).to_be_visible()
    page.get_by_role("link", name="Ballast").first.click()
    expect(page.get_by_role("region", name="How business goes").get_by_text("12.50 EUR").first).to_be_visible()
    page.get_by_role("link", name="First steps").first.click()
    expect(page.get_by_text("2 of 5 done")).to_be_visible()
    assert complaints.found == []
