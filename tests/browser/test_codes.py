"""An app that makes codes, on a phone: added after signing up, asked for by each log-in and by what is sensitive."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from merchants.audit.models import LoggedAction
from merchants.models import ApiKey, User
from tests.browser.conftest import Complaints
from tests.browser.pages import generate_key, wait_for_path
from tests.browser.people_pages import add_app, code_now, follow_the_newest_link, sign_up
from tests.factories import PASSWORD
from tests.people.clock import Clock

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.slow]

EMAIL = "jo@northlight.example"


@pytest.fixture(autouse=True)
def as_in_an_embedded_run(settings: Settings, live_server: LiveServer) -> None:
    settings.SIGN_UP = "open"
    settings.MAILBOX_IS_SHOWN = True
    settings.PUBLIC_URL = live_server.url


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_somebody_signs_up_adds_an_app_and_is_asked_for_its_codes(
    page: Page, clock: Clock, complaints: Complaints
) -> None:
    page.goto("/signup")
    sign_up(page, EMAIL)
    page.get_by_role("link", name="Open the mailbox").click()
    follow_the_newest_link(page)
    page.get_by_role("button", name="Yes, confirm it").click()
    wait_for_path(page, "/dashboard")

    page.goto("/account")
    page.get_by_role("link", name="Add an authenticator app").click()
    page.get_by_text("Cannot scan it?").click()
    secret = page.locator(".code").inner_text()
    page.get_by_text("Cannot scan it?").click()
    add_app(page)
    codes = page.locator(".recovery-codes li").all_inner_texts()
    assert len(set(codes)) == 10
    page.get_by_role("link", name="I have saved them").click()
    expect(page.get_by_text("10 recovery codes left.")).to_be_visible()

    reach_the_second_step(page)
    clock.advance(seconds=30)
    code = code_now(secret)
    enter(page, wrong(code))
    expect(page.locator(".field__error")).to_have_text("Incorrect code.")
    page.goto("/dashboard")
    wait_for_path(page, "/login")  # the password alone opens nothing
    reach_the_second_step(page, from_inside=False)
    enter(page, code)
    wait_for_path(page, "/dashboard")

    reach_the_second_step(page)
    enter(page, code)  # once more
    expect(page.locator(".field__error")).to_have_text("Incorrect code.")
    enter(page, codes[0])
    wait_for_path(page, "/dashboard")
    reach_the_second_step(page)
    enter(page, codes[0])
    expect(page.locator(".field__error")).to_have_text("Incorrect code.")
    clock.advance(seconds=30)
    enter(page, code_now(secret))
    wait_for_path(page, "/dashboard")

    clock.advance(minutes=11)
    page.goto("/dashboard/keys")
    page.get_by_role("link", name="Create a key pair").click()
    page.get_by_role("heading", name="Confirm it is you").wait_for()
    code = code_now(secret)
    enter(page, wrong(code), "Go on")
    expect(page.locator(".field__error")).to_have_text("Incorrect code.")
    assert not ApiKey.objects.exists()
    enter(page, code, "Go on")
    wait_for_path(page, "/dashboard/keys/new")
    generate_key(page)
    assert ApiKey.objects.count() == 1

    clock.advance(minutes=11)
    page.goto("/dashboard/keys/new")
    enter(page, code, "Go on")  # of eleven minutes ago
    expect(page.locator(".field__error")).to_have_text("Incorrect code.")
    logged = LoggedAction.objects.filter(person=User.objects.get(email=EMAIL)).order_by("id")
    done = list(logged.values_list("action", flat=True))
    assert (done.count("person.add_app"), done.count("person.log_in")) == (1, 3), done
    assert complaints.found == []


def reach_the_second_step(page: Page, *, from_inside: bool = True) -> None:
    if from_inside:
        page.goto("/account")
        page.get_by_role("button", name="Log out").click()
        wait_for_path(page, "/login")
    page.get_by_label("E-mail address").fill(EMAIL)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in", exact=True).click()
    page.get_by_role("heading", name="One more step").wait_for()


def enter(page: Page, code: str, button: str = "Log in") -> None:
    page.get_by_label("Code").fill(code)
    with page.expect_navigation():
        page.get_by_role("button", name=button, exact=True).click()


def wrong(code: str) -> str:
    """Another code than this one."""
    return f"{(int(code) + 1) % 1_000_000:06}"
