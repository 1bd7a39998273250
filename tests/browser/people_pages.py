"""The pages of people: sign-up, passwords, the account."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Literal
from urllib.parse import urlsplit

from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from playwright.sync_api import Page

from tests.factories import PASSWORD

People = list[tuple[str, str, Literal["nobody", "owner", "newcomer", "beginner"], Callable[[Page], None] | None, int]]
"""Name, path, who looks, what they do there, and the status of the reply."""


def people_pages() -> People:
    return [
        ("people-members", "/dashboard/members", "owner", None, 200),
        ("people-members-of-colleague", "/dashboard/members", "beginner", _open_the_switch, 200),
        ("people-preferences", "/dashboard/preferences", "owner", None, 200),
        ("people-role", "/dashboard/members", "owner", _follow("Change the role of lin@"), 200),
        ("people-remove", "/dashboard/members", "owner", _follow("Remove lin@"), 200),
        ("people-hand-over", "/dashboard/members", "owner", _follow("Transfer ownership to lin@"), 200),
        ("people-leave", "/dashboard/members/leave", "owner", None, 200),
        ("people-leave-refused", "/dashboard/members/leave", "newcomer", None, 200),
        ("people-invite", "/dashboard/members/invite", "owner", None, 200),
        ("people-invited", "/dashboard/members/invite", "owner", _invite, 200),
        ("people-invitation", "/mailbox", "nobody", follow_the_newest_link, 200),
        ("people-invitation-gone", "/invitation/x", "nobody", None, 404),
        ("people-sign-up", "/signup", "nobody", None, 200),
        ("people-sign-up-refused", "/signup", "nobody", _sign_up_badly, 200),
        ("people-mail-sent", "/signup", "nobody", sign_up, 200),
        ("people-mailbox", "/mailbox", "nobody", None, 200),
        ("people-confirm", "/mailbox", "nobody", follow_the_newest_link, 200),
        ("people-confirm-again", "/signup/confirm/x", "nobody", None, 404),
        ("people-forgotten", "/password", "nobody", None, 200),
        ("people-reset-sent", "/password", "nobody", _forget_a_password, 200),
        ("people-reset", "/mailbox", "nobody", follow_the_newest_link, 200),
        ("people-reset-again", "/password/1-x-y", "nobody", None, 404),
        ("people-account", "/account", "owner", None, 200),
        ("people-password", "/account/password", "owner", None, 200),
        ("people-app", "/account/app", "owner", None, 200),
        ("people-app-refused", "/account/app", "owner", _mistype_a_code, 200),
        ("people-app-added", "/account/app", "owner", add_app, 200),
        ("people-account-with-app", "/account", "owner", None, 200),
        ("people-codes-seen", "/account/codes", "owner", None, 200),
        ("people-codes-new", "/account/codes/new", "owner", None, 200),
        ("people-app-remove", "/account/app/remove", "owner", None, 200),
        ("people-confirm-yourself", "/account/confirm/code", "owner", None, 200),
        ("people-confirm-by-password", "/account/confirm", "newcomer", None, 200),
        ("people-passkey", "/account/passkeys/new", "newcomer", None, 200),
        ("people-second-step", "/login", "nobody", _reach_the_second_step, 200),
        ("people-address", "/account/email", "owner", None, 200),
    ]


def sign_up(page: Page, email: str = "jo@northlight.example", business: str = "Northlight Books") -> None:
    page.get_by_label("Name of your business").fill(business)
    page.get_by_label("Your name").fill("Jo Nilsen")
    page.get_by_label("E-mail address").fill(email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign up").click()
    page.get_by_role("heading", name="Check your e-mail").wait_for()


def follow_the_newest_link(page: Page) -> None:
    """On the server of the test: the mail names the address that is in the settings."""
    page.goto(urlsplit(page.locator(".mail a").first.get_attribute("href") or "").path)
    page.get_by_role("heading", name=re.compile("Confirm your address|New password|Join")).wait_for()


def _follow(name: str) -> Callable[[Page], None]:
    def act(page: Page) -> None:
        page.get_by_role("link", name=name).click()
        page.get_by_role("link", name="Members").last.wait_for()
        page.locator("main form").wait_for()

    return act


def _open_the_switch(page: Page) -> None:
    page.locator("[popovertarget=in-view]").first.click()
    page.locator(".merchants__button").click()
    page.get_by_role("button", name="Fern Supply").wait_for()


def _invite(page: Page) -> None:
    page.get_by_label("E-mail address").fill("ada@harbourcoffee.example")
    page.get_by_label("Support").check()
    page.get_by_role("button", name="Send the invitation").click()
    page.get_by_text("ada@harbourcoffee.example is invited.").wait_for()


def _sign_up_badly(page: Page) -> None:
    page.get_by_label("E-mail address").fill("jo at northlight")
    page.get_by_label("Password").fill("password1234")
    page.get_by_role("button", name="Sign up").click()
    page.locator(".field__error").first.wait_for()


def _forget_a_password(page: Page) -> None:
    page.get_by_label("E-mail address").fill("jo@northlight.example")
    page.get_by_role("button", name="Send the link").click()
    page.get_by_role("heading", name="Check your e-mail").wait_for()


def code_now(secret: str) -> str:
    return str(format_hotp_value(hotp_value(secret, int(time.time()) // 30)))


def add_app(page: Page) -> None:
    """As a phone does it; tried again when the half minute ends meanwhile."""
    while page.get_by_role("heading", name="Recovery codes").count() == 0:
        page.get_by_text("Cannot scan it?").click()
        page.get_by_label("Code").fill(code_now(page.locator(".code").inner_text()))
        with page.expect_navigation():
            page.get_by_role("button", name="Add the app").click()


def _mistype_a_code(page: Page) -> None:
    page.get_by_label("Code").fill("12345")
    page.get_by_role("button", name="Add the app").click()
    page.locator(".field__error").first.wait_for()


def _reach_the_second_step(page: Page) -> None:
    page.get_by_label("E-mail address").fill("jo@harbourcoffee.example")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in", exact=True).click()
    page.get_by_role("heading", name="One more step").wait_for()
