"""The payer's page while a payment is made: it follows along without a reload, and works without scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from merchants.models import Member
from payments.checkout import payer
from payments.checkout.simulator import simulate_payment
from payments.dashboard import payment_page
from payments.models import Payment
from tests.browser.conftest import Complaints
from tests.browser.pages import log_in
from tests.browser.scenes import make_payment
from tests.browser.watcher import watching
from tests.factories import PASSWORD, make_member, make_merchant

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

MARK = "window.sameDocument = true"
IS_SAME_DOCUMENT = "window.sameDocument === true"
WAIT_UNTIL_COPIED = """async value => {
  for (let looks = 0; looks < 1000; looks++) {
    if (await navigator.clipboard.readText() === value) return;
    await new Promise(done => setTimeout(done, 20));
  }
  throw new Error(`the clipboard holds ${await navigator.clipboard.readText()}`);
}"""


@pytest.fixture
def member() -> Member:
    return make_member(make_merchant("Harbour Coffee"))


@pytest.fixture(autouse=True)
def fast_blocks(settings: Settings) -> Iterator[None]:
    settings.SIMULATED_BLOCK_SECONDS = 0.1
    with watching():
        yield


@pytest.fixture
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages ask ten times as often what is new."""
    monkeypatch.setattr(payer, "POLL_SECONDS", payer.POLL_SECONDS / 10)


@pytest.mark.usefixtures("impatience")
def test_paying_turns_the_page_to_paid_without_a_reload(page: Page, complaints: Complaints, member: Member) -> None:
    payment = make_payment(member.merchant, network="ethereum")
    page.goto(f"/pay/{payment.public_id}")
    page.evaluate(MARK)
    expect(page.get_by_text("Waiting for your payment", exact=True)).to_be_visible()
    simulate_payment(payment, "exact")
    expect(page.get_by_text("Paid. Thank you!", exact=True)).to_be_visible()
    assert page.evaluate(IS_SAME_DOCUMENT)
    assert page.title() == "Paid. Thank you! · Harbour Coffee"
    expect(page.get_by_role("link", name="Back to harbourcoffee.example")).to_be_visible()
    expect(page.get_by_role("link", name="Open in wallet")).to_have_count(0)
    expect(page.get_by_role("status").first).to_contain_text("Paid. Thank you!")
    assert complaints.found == []


@pytest.mark.usefixtures("impatience")
def test_a_press_on_the_dashboard_pays_what_the_payer_watches(
    browser: Browser,
    page: Page,
    live_server: LiveServer,
    complaints: Complaints,
    member: Member,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(payment_page, "_REFRESH_AFTER_SECONDS", {False: 0.3, True: 0.3})
    payment = make_payment(member.merchant)
    page.goto(f"/pay/{payment.public_id}")
    page.evaluate(MARK)
    office = browser.new_context(base_url=live_server.url).new_page()
    complaints.listen_to(office)
    log_in(office, member.user.email, PASSWORD)
    office.goto(f"/dashboard/payments/{payment.public_id}")
    office.get_by_role("button", name="exact").click()
    expect(office.get_by_text("You see it here within the next blocks.")).to_be_visible()
    office.evaluate(MARK)
    office.locator("[data-palette-open]").click()  # the search closes by a form, which leads nowhere
    office.locator(".palette__close button").click()
    expect(page.get_by_text("Paid. Thank you!", exact=True)).to_be_visible()
    expect(office.locator("#payment-status").get_by_text("Completed", exact=True)).to_be_visible()
    expect(office.locator("#payment-facts").get_by_text("Credited", exact=True)).to_be_visible()
    expect(office.get_by_text("You see it here within the next blocks.")).to_be_visible()  # only the parts are new
    assert office.evaluate(IS_SAME_DOCUMENT)
    assert page.evaluate(IS_SAME_DOCUMENT)
    office.context.close()
    assert complaints.found == []


@pytest.mark.usefixtures("impatience")
def test_short_money_asks_for_the_rest_and_then_completes(page: Page, complaints: Complaints, member: Member) -> None:
    payment = make_payment(member.merchant, amount="100.00", currency="USD")
    page.goto(f"/pay/{payment.public_id}")
    expect(page.locator("[data-amount]")).to_have_text("100.00")
    simulate_payment(payment, "underpaid")
    expect(page.get_by_text("50.00 USDC is still missing", exact=True)).to_be_visible()
    expect(page.locator("[data-amount]")).to_have_text("50.00")
    simulate_payment(payment, "exact")
    expect(page.get_by_text("Paid. Thank you!", exact=True)).to_be_visible()
    assert complaints.found == []


@pytest.mark.usefixtures("impatience")
def test_a_lost_connection_is_said_and_mends_itself(page: Page, member: Member) -> None:
    payment = make_payment(member.merchant)
    page.goto(f"/pay/{payment.public_id}")
    told = page.get_by_text("This page updates again as soon as you are back online.")
    expect(told).to_be_hidden()
    page.route("**/status*", lambda route: route.abort())  # gone without the browser knowing
    expect(told).to_be_visible(timeout=10_000)
    page.unroute("**/status*")
    expect(told).to_be_hidden()
    page.context.set_offline(True)
    expect(told).to_be_visible(timeout=10_000)
    simulate_payment(payment, "exact")
    page.context.set_offline(False)
    expect(page.get_by_text("Paid. Thank you!", exact=True)).to_be_visible()
    expect(told).to_be_hidden()


@pytest.mark.parametrize("network", ["polygon", "stellar"])
def test_on_a_phone_all_that_is_needed_is_there_without_scrolling(
    browser: Browser, live_server: LiveServer, member: Member, network: str
) -> None:
    payment = make_payment(member.merchant, amount="1299.50", network=network)
    options: dict[str, Any] = {"has_touch": True, "is_mobile": True, "base_url": live_server.url}
    phone = browser.new_context(viewport={"width": 360, "height": 740}, **options).new_page()
    phone.goto(f"/pay/{payment.public_id}")
    needed = [
        *(phone.locator(each) for each in ("[data-amount]", ".on-network__coin", "#copy-amount", "#copy-address")),
        phone.get_by_role("link", name="Open in wallet"),
    ]
    boxes = [each.bounding_box() for each in needed]
    assert all(box and box["y"] + box["height"] <= 740 for box in boxes), boxes
    amount = phone.locator("[data-amount]")
    assert amount.inner_text() == amount.text_content(), "what is copied has no commas or gaps"
    phone.context.close()
    desk = browser.new_context(viewport={"width": 1280, "height": 800}, base_url=live_server.url).new_page()
    desk.goto(f"/pay/{payment.public_id}")
    code, link = (desk.locator(each).first.bounding_box() for each in (".scan__tabs", "#copy-address"))
    assert code
    assert link
    assert code["y"] < link["y"], "on a desk the code comes first"
    desk.context.close()


@pytest.mark.usefixtures("impatience")
def test_a_change_elsewhere_does_not_disturb_who_is_copying(page: Page, member: Member) -> None:
    payment = make_payment(member.merchant, amount="100.00", currency="USD")
    page.goto(f"/pay/{payment.public_id}")
    page.get_by_role("button", name="Copy the address").focus()
    simulate_payment(payment, "underpaid")
    expect(page.get_by_text("50.00 USDC is still missing", exact=True)).to_be_visible()
    expect(page.locator("#copy-address")).to_be_focused()


def test_amount_address_and_memo_are_copied_exactly(page: Page, member: Member) -> None:
    payment = make_payment(member.merchant, amount="100.00", currency="USD", network="stellar")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"/pay/{payment.public_id}")
    for what, value in {"amount": "100.00", "address": payment.deposit_address, "memo": payment.memo}.items():
        page.get_by_role("button", name=f"Copy the {what}").click()
        page.evaluate(WAIT_UNTIL_COPIED, value)


@pytest.mark.parametrize(("network", "count"), [("stellar", 14), ("polygon", 11)])
def test_everything_to_press_is_large_enough_for_a_thumb(page: Page, member: Member, network: str, count: int) -> None:
    payment = make_payment(member.merchant, network=network)
    for path, kinds, number in (
        ("", ("a", "button", "summary", "fieldset label"), count),
        ("/claim", ("a", "button", "input"), 3),
    ):
        page.goto(f"/pay/{payment.public_id}{path}")
        targets = page.locator(", ".join(f"main {kind}:visible" for kind in kinds)).all()
        boxes = [(target.inner_text(), target.bounding_box()) for target in targets]
        assert len(targets) == number
        assert [text for text, box in boxes if box is None or min(box["height"], box["width"]) < 44] == []


def test_the_time_that_is_left_runs(page: Page, member: Member) -> None:
    payment = make_payment(member.merchant)
    page.clock.install()
    page.goto(f"/pay/{payment.public_id}")
    countdown = page.locator("[data-seconds-left]")
    before = countdown.inner_text()
    assert re.fullmatch(r"30:00|29:\d\d", before)
    page.clock.run_for(1500)
    expect(countdown).not_to_have_text(before)


def test_a_hidden_page_rests_and_a_shown_one_asks_at_once(page: Page, member: Member) -> None:
    payment = make_payment(member.merchant)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/status") else None)
    page.clock.install()
    page.goto(f"/pay/{payment.public_id}")
    _set_hidden(page, hidden=True)
    page.wait_for_timeout(200)
    asked.clear()  # on a slow machine it may have asked before
    page.clock.run_for(30_000)
    page.wait_for_timeout(200)
    assert asked == []
    page.clock.pause_at(datetime.now(UTC) + timedelta(hours=1))  # no timer will go off
    with page.expect_request("**/status"):
        _set_hidden(page, hidden=False)


def _set_hidden(page: Page, *, hidden: bool) -> None:
    page.evaluate(
        """hidden => {
          Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
          document.dispatchEvent(new Event("visibilitychange"));
        }""",
        hidden,
    )


def test_everything_needed_is_there_without_scripts(browser: Browser, live_server: LiveServer, member: Member) -> None:
    payment = make_payment(member.merchant, network="stellar")
    context = browser.new_context(
        base_url=live_server.url, java_script_enabled=False, viewport={"width": 360, "height": 780}
    )
    page = context.new_page()
    page.goto(f"/pay/{payment.public_id}")
    expect(page.get_by_text(payment.deposit_address)).to_be_visible()
    expect(page.get_by_text(payment.memo, exact=True).first).to_be_visible()
    expect(page.get_by_role("img", name="QR code")).to_be_visible()
    expect(page.get_by_role("button")).to_have_count(0)
    simulate_payment(payment, "exact")
    _wait_until_completed(payment, page)
    page.get_by_role("link", name="Look again").click()
    expect(page.get_by_text("Paid. Thank you!", exact=True)).to_be_visible()
    context.close()


def test_the_dashboard_works_without_scripts(browser: Browser, live_server: LiveServer, member: Member) -> None:
    payment = make_payment(member.merchant)
    context = browser.new_context(base_url=live_server.url, java_script_enabled=False)
    page = context.new_page()
    log_in(page, member.user.email, PASSWORD)
    page.goto(f"/dashboard/payments/{payment.public_id}")
    page.get_by_role("button", name="exact").click()
    expect(page.get_by_text("You see it here within the next blocks.")).to_be_visible()
    _wait_until_completed(payment, page)
    page.goto("/dashboard/payments?status=completed")
    expect(page.get_by_role("link", name="48.50 EUR")).to_be_visible()
    context.close()


def _wait_until_completed(payment: Payment, page: Page) -> None:
    for _ in range(1200):
        if Payment.objects.get(pk=payment.pk).status == "completed":
            return
        page.wait_for_timeout(50)
    raise AssertionError("the payment did not complete")
