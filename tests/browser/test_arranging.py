"""An owner arranges the business: when it is settled, how it looks to payers, and who works for it; on a phone."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time
from types import SimpleNamespace

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from merchants.audit.models import LoggedAction
from merchants.models import Member, MerchantSettings
from merchants.people.models import Mail
from payments.models import Payment
from tests.browser.conftest import Complaints
from tests.browser.pages import log_in, wait_for_path
from tests.dashboard.test_roles import CHANGED_BY, SEEN_BY
from tests.factories import PASSWORD, make_member, make_merchant
from tests.payments.scenes import SANDBOX, make_payment
from tests.people.conftest import link_in

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]

BEFORE_SUMMER_TIME = datetime(2027, 3, 26, 12, tzinfo=UTC)


@pytest.fixture
def owner() -> Member:
    return make_member(make_merchant("Harbour Coffee"))


def test_a_schedule_is_shown_through_the_change_of_the_clocks(
    page: Page, complaints: Complaints, owner: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("merchants.pages.dashboard.timezone", SimpleNamespace(now=lambda: BEFORE_SUMMER_TIME))
    log_in(page, owner.user.email, PASSWORD)
    page.goto("/dashboard/settings")
    page.get_by_label("How often").select_option("daily")
    page.get_by_label("At", exact=True).fill("02:30")
    page.get_by_label("Time zone").fill("Europe/Berlin")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("The settings are saved.")).to_be_visible()
    runs = page.locator(".card", has=page.get_by_role("heading", name="Next settlement"))
    for words in (
        "Sat 27 Mar 2027, 02:30",
        "Sun 28 Mar 2027, 03:00 (UTC+2)",  # there is no 02:30 that night
        "Mon 29 Mar 2027, 02:30 (UTC+2)",
    ):
        expect(runs.get_by_text(words)).to_be_visible()
    page.get_by_label("How often").select_option("manual")
    page.get_by_role("button", name="Save").click()
    expect(runs.get_by_text("When you ask for it")).to_be_visible()
    saved = MerchantSettings.objects.get(merchant=owner.merchant, environment=SANDBOX)
    assert (saved.settlement_time, saved.settlement_timezone) == (time(2, 30), "Europe/Berlin")
    assert complaints.found == []


def test_what_payers_see_is_tried_and_then_shown(
    browser: Browser, page: Page, live_server: LiveServer, complaints: Complaints, owner: Member
) -> None:
    payment = make_payment(merchant=owner.merchant)
    log_in(page, owner.user.email, PASSWORD)
    page.goto("/dashboard/settings/branding")
    preview = page.frame_locator(".preview__page")
    expect(preview.get_by_text("Harbour Coffee").first).to_be_visible()
    page.get_by_label("Name that payers see").fill("Harbour Roasters")
    expect(preview.get_by_text("Harbour Roasters").first).to_be_visible()

    payer = browser.new_context(base_url=live_server.url, viewport={"width": 360, "height": 780}).new_page()
    complaints.listen_to(payer)
    payer.goto(f"/pay/{payment.public_id}")
    expect(payer.get_by_text("Harbour Coffee").first).to_be_visible()
    expect(payer.get_by_text("Harbour Roasters")).to_have_count(0)

    page.get_by_label("Colour").fill("#7a1fa2")
    page.get_by_label("Where payers ask for help").fill("help@harbour.example")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Buttons are #7a1fa2.")).to_be_visible()
    payer.goto(f"/pay/{payment.public_id}")
    expect(payer.get_by_text("Harbour Roasters").first).to_be_visible()
    expect(payer.locator(f'a[href="mailto:help@harbour.example?subject={payment.public_id}"]').first).to_be_attached()
    payer.context.close()
    assert complaints.found == []


ASK_FOR_ALL = """
async ([seen, changed]) => {
  const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
  const body = () => new URLSearchParams({csrfmiddlewaretoken: token});
  const asked = [...seen.map((path) => [path, {}]), ...changed.map((path) => [path, {method: "POST", body: body()}])];
  const replies = asked.map(async ([path, form]) => [path, (await fetch(path, form)).status]);
  return await Promise.all(replies);
}
"""


def refused_by_the_table(guest: Page, role: str) -> list[list[object]]:
    """Sends all that the table refuses to the role, and returns what was let through, with its status.

    Records have any name in the addresses: the role is looked at first.
    """

    def without(table: dict[str, str]) -> list[str]:
        return [re.sub(r"\{\w+\}", "any", path) for path, roles in table.items() if role not in roles.split()]

    guest.goto("/dashboard")
    replies = guest.evaluate(ASK_FOR_ALL, [without(SEEN_BY), without(CHANGED_BY)])
    assert replies
    return [[path, status] for path, status in replies if status != 403]


def test_who_is_invited_sees_and_may_do_what_the_role_says(
    browser: Browser, page: Page, live_server: LiveServer, complaints: Complaints, owner: Member
) -> None:
    """From the mail to a refusal; then each role is refused what the table of tests/dashboard/test_roles.py says."""
    payment = make_payment(merchant=owner.merchant)
    log_in(page, owner.user.email, PASSWORD)
    page.goto("/dashboard/members/invite")
    page.get_by_label("E-mail address").fill("ada@harbour.example")
    page.get_by_label("Support").check()
    page.get_by_role("button", name="Send the invitation").click()
    expect(page.get_by_text("ada@harbour.example is invited.")).to_be_visible()

    guest = browser.new_context(base_url=live_server.url, viewport={"width": 360, "height": 780}).new_page()
    complaints.listen_to(guest)
    guest.goto(link_in(Mail.objects.get(to="ada@harbour.example")))
    guest.get_by_label("Your name").fill("Ada")
    guest.get_by_label("Password").fill(PASSWORD)
    guest.get_by_role("button", name="Accept").click()
    wait_for_path(guest, "/dashboard")

    guest.goto(f"/dashboard/payments/{payment.public_id}")
    expect(guest.get_by_role("button", name="Cancel the payment")).to_be_visible()
    guest.goto("/dashboard/keys")
    expect(guest.get_by_role("heading", name="API keys", exact=True)).to_be_visible()
    expect(guest.get_by_role("link", name="Create a key pair")).to_have_count(0)
    for refused in ("/dashboard/keys/new", "/dashboard/members/invite", "/dashboard/audit"):
        reply = guest.goto(refused)
        assert reply is not None
        assert reply.status == 403, refused
        expect(guest.get_by_role("heading", name="You do not have access")).to_be_visible()

    assert refused_by_the_table(guest, "support") == []
    for role in ("Admin", "Developer", "Viewer"):
        page.goto("/dashboard/members")
        page.get_by_role("link", name="Change the role of ada@harbour.example").click()
        page.get_by_role("radio", name=role).check()
        page.get_by_role("button", name="Change the role").click()
        expect(page.get_by_text(f"ada@harbour.example is now {role}.")).to_be_visible()
        assert refused_by_the_table(guest, role.lower()) == []
    guest.goto(f"/dashboard/payments/{payment.public_id}")
    expect(guest.get_by_role("button", name="Cancel the payment")).to_have_count(0)
    guest.context.close()
    assert Payment.objects.get().status == "created"
    assert LoggedAction.objects.filter(action="person.accept_invitation").count() == 1
    assert complaints.found == []


def test_the_menu_of_a_phone_is_one_line_and_needs_no_javascript(
    browser: Browser, live_server: LiveServer, owner: Member
) -> None:
    page = browser.new_context(
        base_url=live_server.url, viewport={"width": 360, "height": 780}, java_script_enabled=False
    ).new_page()
    log_in(page, owner.user.email, PASSWORD)
    header = page.locator("header.side").bounding_box()
    assert header is not None
    assert header["height"] < 60
    menu = page.get_by_role("navigation", name="Dashboard")
    page.get_by_role("button", name="Menu").press("Enter")
    menu.get_by_role("list", name="Money").get_by_role("link", name="Invoices").press("Enter")
    wait_for_path(page, "/dashboard/invoices")
    expect(menu).to_be_hidden()
    page.get_by_role("button", name="Menu").click()
    expect(menu.locator('[aria-current="page"]')).to_have_text("Invoices")
    menu.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Business and environment in view: Harbour Coffee Sandbox").click()
    page.get_by_role("button", name="Production", exact=True).click()
    expect(page.get_by_role("button", name="in view: Harbour Coffee Production")).to_be_visible()
    page.context.close()
