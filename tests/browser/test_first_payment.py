"""From signing up to the first paid payment, on a phone, with nothing but the pages."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from tests.browser.conftest import Complaints
from tests.browser.pages import wait_for_path
from tests.browser.people_pages import follow_the_newest_link, sign_up
from tests.browser.watcher import watching

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

MOST_STEPS = 12


@pytest.fixture(autouse=True)
def as_in_an_embedded_run(settings: Settings, live_server: LiveServer) -> Iterator[None]:
    settings.SIGN_UP = "open"
    settings.MAILBOX_IS_SHOWN = True
    settings.SIMULATED_BLOCK_SECONDS = 0.1
    settings.PUBLIC_URL = live_server.url
    with watching():
        yield


class Journey:
    """Counts what a person does, a form that is filled in and sent being one thing, and prints the seconds of each."""

    def __init__(self) -> None:
        self.steps = 0
        self._begun = time.monotonic()

    def step(self, words: str) -> None:
        self.steps += 1
        print(f"step {self.steps}, after {time.monotonic() - self._begun:.1f} s: {words}")  # noqa: T201 - its log


def test_a_newcomer_is_paid_by_a_link_in_twelve_steps(page: Page, complaints: Complaints) -> None:
    journey = Journey()
    journey.step("opens the page to sign up")
    page.goto("/signup")
    journey.step("signs up")
    sign_up(page)
    journey.step("opens the mailbox")
    page.get_by_role("link", name="Open the mailbox").click()
    wait_for_path(page, "/mailbox")
    journey.step("follows the link of the mail")
    follow_the_newest_link(page)
    journey.step("confirms the address")
    page.get_by_role("button", name="Yes, confirm it").click()
    wait_for_path(page, "/dashboard")
    expect(page.get_by_text("0 of 5 done")).to_be_visible()
    journey.step("takes the first of the first steps")
    page.get_by_role("link", name="Create a payment link").first.click()
    journey.step("says what for and how much")
    page.get_by_label("What it is for").fill("A bag of Huila")
    page.get_by_label("Amount", exact=False).first.fill("12.50")
    page.get_by_role("button", name="Create the link").click()
    expect(page.get_by_text("The payment link is created.")).to_be_visible()
    journey.step("opens it as a payer")
    page.get_by_role("link", name="Open the payer’s page").click()
    journey.step("chooses a coin")
    page.get_by_label("USDC on Polygon").check()
    page.get_by_role("button", name="Continue to payment").click()
    expect(page.get_by_text("Waiting for your payment", exact=True)).to_be_visible()
    journey.step("looks at what a payer of the simulated network can do")
    page.get_by_text("Simulate the payer").click()
    journey.step("pays")
    page.get_by_role("button", name="Pay exactly").click()
    expect(page.get_by_text("Paid. Thank you!", exact=True)).to_be_visible()
    journey.step("is paid")
    page.goto("/dashboard")
    expect(page.get_by_role("region", name="Your business").get_by_text("12.50 EUR").first).to_be_visible()
    page.get_by_role("link", name="First steps").first.click()
    expect(page.get_by_text("1 of 5 done")).to_be_visible()
    assert journey.steps <= MOST_STEPS
    assert complaints.found == []
