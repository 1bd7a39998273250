"""A night of two operators, on a phone: from an alarm's mail to what it is about, a decision by both, and a search."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.contrib.admin.models import LogEntry
from django.core import mail
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from merchants.four_eyes.models import Proposal
from merchants.ledger.models import Stop
from merchants.models import User
from merchants.people.mailing import send_due
from payments.chains.simulated import control
from payments.chains.simulated.networks import address_named
from payments.deposits import crediting
from payments.monitoring import mailing
from payments.monitoring.alarm_rules import AlarmCondition
from payments.monitoring.models import Alarm
from payments.monitoring.states import AlarmKind
from payments.monitoring.tasks import raise_alarms
from tests.browser.conftest import PATIENCE, Complaints
from tests.browser.pages import wait_for_path
from tests.browser.people_pages import add_app
from tests.factories import PASSWORD, make_user
from tests.networks import ETHEREUM
from tests.operations.scenes import there_is
from tests.payments.scenes import confirm, make_payment, now, part_of, pay_and_confirm
from tests.screening.scenes import put_in_force
from tests.stopping import stands, stop_payouts

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

POLYGON = {"environment": "production", "network": "polygon"}


@pytest.fixture(autouse=True)
def two_operators_and_their_factors(settings: Settings, live_server: LiveServer) -> None:
    settings.OPERATOR_SECOND_FACTOR = True
    settings.OPERATORS_TO_DECIDE = 2
    settings.SIMULATED_BLOCK_SECONDS = 0
    settings.PUBLIC_URL, settings.MAILBOX_IS_SHOWN = live_server.url, False


@pytest.fixture
def operators_page(
    browser: Browser, live_server: LiveServer, complaints: Complaints, settings: Settings
) -> Iterator[Callable[[str], Page]]:
    """Pages of operators, each on a phone of their own in dark colours."""
    contexts = []

    def page_of(email: str) -> Page:
        make_user(email, is_staff=True, is_superuser=True)
        settings.OPERATOR_EMAILS = [*settings.OPERATOR_EMAILS, email]
        context = browser.new_context(
            base_url=live_server.url, viewport={"width": 360, "height": 780}, color_scheme="dark"
        )
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        complaints.listen_to(page)
        return page

    yield page_of
    for context in contexts:
        context.close()


def open_mailed(page: Page, to: str) -> None:
    """Open the link of the newest mail, as `enter` does."""
    newest = [each for each in mail.outbox if each.to == [to]][-1]
    enter(page, to, re.findall(r"^http\S+", str(newest.body), re.MULTILINE)[0])


def enter(page: Page, to: str, link: str) -> None:
    """Open a page, log in, and add the app that operators need."""
    page.goto(link)
    page.get_by_label("E-mail address").fill(to)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in", exact=True).click()
    wait_for_path(page, "/account")
    page.get_by_role("link", name="Add an authenticator app").click()
    add_app(page)
    page.goto(link)
    wait_for_path(page, urlsplit(link).path)


def look_at_the_first(page: Page) -> None:
    """Open the first record that an alarm is about, from its page."""
    about = page.locator("section", has=page.get_by_role("heading", name="What to look at"))
    about.get_by_role("link").first.click()


@pytest.mark.slow
def test_an_alarm_leads_to_the_stop_which_two_lift(
    operators_page: Callable[[str], Page], complaints: Complaints
) -> None:
    ada, grace = operators_page("ada@example.com"), operators_page("grace@example.com")
    stop_payouts(environment="production", network="polygon", reason="The ledger has 5 USDC more")
    there_is(AlarmCondition(AlarmKind.PAYOUTS_STOPPED, "The ledger has 5 USDC more"))
    assert mailing.mail_alarms() == 1
    send_due(now=timezone.now())

    open_mailed(ada, "ada@example.com")
    expect(ada.get_by_role("heading", name="Payouts are stopped on polygon (production)")).to_be_visible()
    ada.get_by_role("button", name="Acknowledge").click()
    expect(ada.get_by_text("You look after")).to_be_visible()
    ada.goto(f"/admin/operations/alarm/{Alarm.objects.get().pk}/change/")
    look_at_the_first(ada)
    ada.get_by_role("button", name="Lift").click()
    expect(ada.get_by_text("signed and sent at once")).to_be_visible()
    ada.get_by_label("What was found out?").fill("A transfer was booked late")
    ada.get_by_role("button", name="Yes").click()
    expect(ada.get_by_text("another operator must agree")).to_be_visible()
    assert stands(**POLYGON)

    open_mailed(grace, "grace@example.com")
    grace.goto("/admin/")
    grace.get_by_role("heading", name="Proposals that wait for you").wait_for()
    grace.get_by_role("link", name=str(Proposal.objects.get())).click()
    grace.get_by_role("button", name="Agree").click()
    grace.get_by_role("button", name="Yes").click()
    grace.wait_for_load_state()
    assert not stands(**POLYGON)

    payment = pay_and_confirm(make_payment(), "100")
    grace.keyboard.press("/")
    grace.keyboard.type(payment.deposits.get().transaction_hash[-10:])
    grace.keyboard.press("Enter")
    grace.locator(".op-found a").first.click()
    grace.get_by_role("link", name=payment.public_id).first.click()
    expect(grace.get_by_role("heading", name="What happened")).to_be_visible()
    assert LogEntry.objects.filter(object_id=str(Stop.objects.get().pk)).exists()
    assert complaints.found == []


def test_money_of_a_listed_sender_is_held_until_two_release_it(
    operators_page: Callable[[str], Page], complaints: Complaints, tmp_path: Path
) -> None:
    ada, grace = operators_page("ada@example.com"), operators_page("grace@example.com")
    User.objects.filter(email="grace@example.com").update(mails_proposals=True)
    sender, payment = address_named(ETHEREUM, "listed"), make_payment()
    put_in_force(tmp_path, sender)
    control.pay_together(ETHEREUM, [part_of(payment, "100")], sender=sender)
    assert confirm(payment).status_reasons == ["review"]
    raise_alarms()

    enter(ada, "ada@example.com", "/admin/")
    ada.get_by_role("link", name="A sanctions list names an address").first.click()
    look_at_the_first(ada)
    ada.get_by_role("button", name="Release from review").click()
    expect(ada.get_by_text(f"{sender} is named by ofac")).to_be_visible()
    ada.get_by_label("Why?").fill("Another person of that name")
    ada.get_by_role("button", name="Yes").click()
    expect(ada.get_by_text("another operator must agree")).to_be_visible()
    send_due(now=timezone.now())

    open_mailed(grace, "grace@example.com")
    grace.get_by_role("button", name="Agree").click()
    grace.get_by_role("button", name="Yes").click()
    grace.wait_for_load_state()
    crediting.assess_due()
    assert now(payment).status == "completed"
    ada.goto(f"/admin/payments/deposit/{payment.deposits.get().pk}/change/")
    done = ada.locator("section", has=ada.get_by_role("heading", name="What operators did"))
    expect(done.get_by_text("Another person of that name")).to_be_visible()
    assert complaints.found == []
