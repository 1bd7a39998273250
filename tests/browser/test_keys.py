"""Logging in, making a key pair, seeing its secret once."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from merchants.models import ApiKey
from tests.browser.conftest import Complaints
from tests.browser.pages import content_of, generate_key, log_in
from tests.factories import PASSWORD, make_member, make_merchant
from webhooks.models import ConnectionCode

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.slow]

SECRET = re.compile(r"sk_test_[0-9A-Za-z]{43}")


@pytest.fixture
def email() -> str:
    return make_member(make_merchant("Harbour Coffee")).user.email


def test_a_secret_is_seen_once(page: Page, complaints: Complaints, email: str) -> None:
    page.goto("/dashboard/keys")
    expect(page).to_have_url(re.compile(r"/login\?next=/dashboard/keys$"))
    log_in(page, email, PASSWORD)
    page.goto("/dashboard/keys")
    page.get_by_role("link", name="Create a key pair").click()
    generate_key(page, "Web shop")
    secret = SECRET.search(content_of(page))
    assert secret
    assert ApiKey.objects.get().name == "Web shop"

    page.reload()
    expect(page.get_by_text("A secret key is shown only once")).to_be_visible()
    assert secret[0] not in content_of(page)
    page.go_back()
    assert secret[0] not in content_of(page)
    page.goto("/dashboard/keys")
    assert secret[0] not in content_of(page)
    assert ApiKey.objects.count() == 1
    assert complaints.found == []


def test_the_secret_is_copied_by_its_button(page: Page, email: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    log_in(page, email, PASSWORD)
    page.goto("/dashboard/keys/new")
    generate_key(page)
    secret = SECRET.search(content_of(page))
    assert secret
    page.clock.install()
    page.clock.pause_at(datetime.now(UTC) + timedelta(hours=1))  # the words on the button stay
    page.get_by_role("button", name="Copy the secret key").click()
    expect(page.get_by_role("button", name="Copied the secret key")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == secret[0]


def test_logging_out_is_one_press_away(page: Page, complaints: Complaints, email: str) -> None:
    log_in(page, email, PASSWORD)
    page.locator(".user-menu__button").click()
    page.get_by_role("button", name="Log out").click()
    expect(page).to_have_url(re.compile(r"/login$"))
    page.goto("/dashboard")
    expect(page).to_have_url(re.compile(r"/login\?next=/dashboard$"))
    assert complaints.found == []


def test_a_member_agrees_and_the_browser_goes_back_to_the_shop(page: Page, complaints: Complaints, email: str) -> None:
    page.route("https://shop.example/**", lambda route: route.fulfill(body="Back in the shop"))
    back = re.compile(r"^https://shop\.example/back\?code=[\w-]{43}&state=mine$")
    asked = {"name": "Shop", "scopes": "payments:write", "redirectUrl": "https://shop.example/back", "state": "mine"}
    address = f"/dashboard/connect?{urlencode({**asked, 'codeChallenge': 'a' * 43})}"
    log_in(page, email, PASSWORD)
    page.goto(address)
    page.get_by_role("button", name="Use production instead").click()
    expect(page.get_by_text("they move real money")).to_be_visible()
    page.get_by_role("button", name="Connect", exact=True).click()
    expect(page).to_have_url(back)
    code = ConnectionCode.objects.get()
    assert (code.environment, code.scopes) == ("production", ["payments:write"])
    page.goto(address)
    page.get_by_role("link", name="Refuse").click()
    expect(page).to_have_url("https://shop.example/back?error=access_denied&state=mine")
    assert ConnectionCode.objects.count() == 1
    assert complaints.found == []
