"""Passkeys, with the virtual authenticator of Chromium: made, used to log in and to confirm, and removed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from allauth.mfa.models import Authenticator
from playwright.sync_api import CDPSession, Page

from merchants.audit.models import LoggedAction
from merchants.models import Member
from tests.browser.conftest import Complaints
from tests.browser.pages import log_in, wait_for_path
from tests.factories import PASSWORD, make_member

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def authenticator(page: Page) -> Iterator[CDPSession]:
    """A device that keeps passkeys, and whose owner always agrees."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True}
    session.send(
        "WebAuthn.addVirtualAuthenticator",
        {"options": {**options, "isUserVerified": True, "automaticPresenceSimulation": True}},
    )
    yield session
    session.detach()


@pytest.fixture
def member() -> Member:
    return make_member()


def log_out(page: Page) -> None:
    page.goto("/account")
    page.get_by_role("button", name="Log out").click()
    wait_for_path(page, "/login")


def add_passkey(page: Page, member: Member) -> None:
    log_in(page, member.user.email, PASSWORD)
    page.goto("/account/passkeys/new")
    page.get_by_label("Name of the passkey").fill("Laptop")
    page.get_by_role("button", name="Create the passkey").click()
    page.get_by_role("heading", name="Recovery codes").wait_for()


def test_a_passkey_logs_in_alone_and_is_the_second_step_after_the_password(
    page: Page, authenticator: CDPSession, member: Member, complaints: Complaints
) -> None:
    add_passkey(page, member)
    assert Authenticator.objects.filter(user=member.user, type="webauthn").count() == 1
    log_out(page)
    page.get_by_role("button", name="Log in with a passkey").click()
    wait_for_path(page, "/dashboard")

    log_out(page)
    page.get_by_label("E-mail address").fill(member.user.email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in", exact=True).click()
    page.get_by_role("button", name="Use a passkey").click()
    wait_for_path(page, "/dashboard")

    page.goto("/account/confirm/passkey?next=/dashboard/keys/new")
    page.get_by_role("button", name="Use a passkey").click()
    wait_for_path(page, "/dashboard/keys/new")

    page.goto("/account")
    page.get_by_role("link", name="Remove “Laptop”").click()
    page.get_by_role("button", name="Remove the passkey").click()
    page.get_by_text("The passkey is removed.").wait_for()
    assert not Authenticator.objects.exists()
    log_out(page)
    page.get_by_role("button", name="Log in with a passkey").click()
    page.get_by_role("alert").wait_for()
    assert page.url.endswith("/login")
    logged = LoggedAction.objects.filter(person=member.user).order_by("id").values_list("action", flat=True)
    done = ["log_in", "add_passkey", "log_out", "log_in", "log_out", "log_in", "remove_passkey", "log_out"]
    assert list(logged) == [f"person.{each}" for each in done]
    assert complaints.found == []


def test_a_passkey_of_somebody_else_is_no_second_step(
    page: Page, authenticator: CDPSession, member: Member, complaints: Complaints
) -> None:
    add_passkey(page, member)
    log_out(page)
    other = make_member()
    Authenticator.objects.create(user=other.user, type="totp", data={"secret": "unused"})
    page.get_by_label("E-mail address").fill(other.user.email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in", exact=True).click()
    page.get_by_role("heading", name="One more step").wait_for()
    page.wait_for_load_state()
    assert page.get_by_role("button", name="Use a passkey").count() == 0
    page.goto("/account")
    wait_for_path(page, "/login")
    assert complaints.found == []


def test_when_the_person_does_not_agree_the_page_says_so(
    page: Page, authenticator: CDPSession, member: Member, complaints: Complaints
) -> None:
    page.goto("/login")
    page.get_by_role("button", name="Log in with a passkey").click()
    page.get_by_text("That did not work, or was cancelled.").wait_for()
    assert complaints.found == []
