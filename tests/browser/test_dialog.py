"""pay.js: the payment as a dialog of a shop, whose own policy for content is as strict as can be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from merchants.models import Merchant
from merchants.pages.branding import change_branding
from payments.checkout import payer
from payments.models import Payment
from tests.browser.conftest import Complaints
from tests.browser.pages import wait_for_path
from tests.browser.scenes import make_payment
from tests.browser.watcher import watching
from tests.factories import make_merchant

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LISTENING = """
window.heard = [];
for (const name of ["status", "paid", "close"])
  document.addEventListener(`ballast:${name}`, ({ detail }) => {
    heard.push([name, detail.payment, detail.status]);
    document.title = name;
  });
"""

CLOCK = """
const timers = new Map();
let last = 0;
window.setTimeout = (run, after) => (timers.set(++last, { run, after }), last);
window.clearTimeout = (timer) => timers.delete(timer);
window.pass = (time) => [...timers.values()].filter(({ after }) => after <= time).forEach(({ run }) => run());
"""
"""The clock of the shop's page, which stands until `pass(milliseconds)`; that of the page in the frame goes on."""


@pytest.fixture(autouse=True)
def fast(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    settings.SIMULATED_BLOCK_SECONDS = 0.1
    monkeypatch.setattr(payer, "POLL_SECONDS", payer.POLL_SECONDS / 10)
    with watching():
        yield


@pytest.fixture
def merchant() -> Merchant:
    return make_merchant("Harbour Coffee")


@pytest.fixture
def shop() -> Iterator[str]:
    """The origin of a shop: another site than the one where Ballast runs. Its basket sells what the query names."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Basket) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Basket(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        [address] = parse_qs(urlsplit(self.path).query).get("pay", [""])
        ballast = address.partition("/pay/")[0]
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        policy = f"default-src 'none'; script-src {ballast}; frame-src {ballast}; style-src {ballast}"
        self.send_header("Content-Security-Policy", policy)
        self.end_headers()
        page = (
            f'<!doctype html><html lang="en"><title>Shop</title><script src="{ballast}/pay.js" defer></script>'
            f'<link rel="stylesheet" href="{ballast}/button.css">'
            f'<main><h1>Shop</h1><a class="ballast-button" href="{address}" data-ballast>Pay with coins</a></main>'
        )
        self.wfile.write(page.encode())

    def log_message(self, *told: object) -> None:
        """Says nothing."""


def visit_shop(page: Page, shop: str, ballast: str, payment: Payment, script: str = "") -> None:
    """Opens the shop, and there the payment in a dialog."""
    page.goto(f"{shop}/basket?pay={ballast}/pay/{payment.public_id}")
    page.evaluate(LISTENING + script)
    page.get_by_role("link", name="Pay with coins").click()


def test_a_payment_is_made_in_a_dialog_and_the_shop_hears_of_it(
    page: Page, shop: str, live_server: LiveServer, merchant: Merchant, complaints: Complaints
) -> None:
    change_branding(merchant=merchant, name="", accent="", support="", frame_origins=[shop])
    payment = make_payment(merchant)
    visit_shop(page, shop, live_server.url, payment)
    dialog, shown = page.get_by_role("dialog"), page.frame_locator("dialog iframe")
    expect(shown.get_by_text("Waiting for your payment", exact=True)).to_be_visible()
    expect(dialog.get_by_role("button", name="Close")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shown.get_by_text("Simulate the payer").click()
    shown.get_by_role("button", name="Pay exactly").click()
    expect(shown.get_by_text("Paid. Thank you!", exact=True)).to_be_visible()
    expect(page).to_have_title("paid")
    dialog.get_by_role("button", name="Close").click()
    expect(page).to_have_title("close")
    expect(dialog).to_have_count(0)
    heard = page.evaluate("heard")
    assert heard[0] == ["status", payment.public_id, "created"]
    assert heard[-2:] == [["paid", payment.public_id, "completed"], ["close", payment.public_id, "completed"]]
    assert len({tuple(each) for each in heard}) == len(heard)
    assert page.url.startswith(f"{shop}/basket")
    assert complaints.found == []


def test_the_dialog_closes_by_a_key_and_the_way_back_leaves_the_frame(
    page: Page, shop: str, live_server: LiveServer, merchant: Merchant
) -> None:
    change_branding(merchant=merchant, name="", accent="", support="", frame_origins=[shop])
    payment = make_payment(merchant)
    visit_shop(page, shop, live_server.url, payment)
    dialog, shown = page.get_by_role("dialog"), page.frame_locator("dialog iframe")
    shown.get_by_text("Details of this payment").click()
    expect(page).to_have_title("status")  # from here on the page in the frame listens
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    payment.status = "cancelled"
    payment.save()
    page.get_by_role("link", name="Pay with coins").click()
    page.route("https://harbourcoffee.example/**", lambda route: route.fulfill(body="the shop itself"))
    shown.get_by_role("link", name="Back to harbourcoffee.example").click()
    expect(page).to_have_url(re.compile("^https://harbourcoffee.example/"))


def test_a_website_that_was_not_named_gets_the_page_itself(
    page: Page, shop: str, live_server: LiveServer, merchant: Merchant
) -> None:
    payment = make_payment(merchant)
    visit_shop(page, shop, live_server.url, payment)
    wait_for_path(page, f"/pay/{payment.public_id}")
    expect(page.get_by_text("Waiting for your payment", exact=True)).to_be_visible()


def test_a_page_that_is_slow_to_come_stays_in_the_dialog(
    page: Page, shop: str, live_server: LiveServer, merchant: Merchant
) -> None:
    change_branding(merchant=merchant, name="", accent="", support="", frame_origins=[shop])
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page_of_payment = re.compile(r"^[^?]+/pay/pay_\w+$")
    page.route(page_of_payment, hold)
    with page.expect_request(page_of_payment):
        visit_shop(page, shop, live_server.url, make_payment(merchant), CLOCK)
    page.evaluate("pass(20_000)")
    held[0].continue_()
    expect(page).to_have_title("status")  # the page in the frame has come, and said so
    page.evaluate("pass(60_000)")
    shown = page.frame_locator("dialog iframe")
    expect(shown.get_by_text("Waiting for your payment", exact=True)).to_be_visible()
    assert page.url.startswith(f"{shop}/basket")


def test_the_button_is_a_button_without_a_script(browser: Browser, shop: str, live_server: LiveServer) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{shop}/basket?pay={live_server.url}/pay/pay_1")
    link = page.get_by_role("link", name="Pay with coins")
    expect(link).to_have_css("background-color", "rgb(20, 80, 58)")
    box = link.bounding_box()
    assert box
    assert box["height"] >= 44
    answer = page.request.get(f"{live_server.url}/button.css")
    assert (answer.headers["content-type"], answer.headers["cross-origin-resource-policy"]) == (
        "text/css; charset=utf-8",
        "cross-origin",
    )
    assert len(answer.body()) < 2_000
    context.close()


def test_pay_js_is_small(page: Page, live_server: LiveServer) -> None:
    answer = page.request.get(f"{live_server.url}/pay.js")
    assert "ballast:" in answer.text()
    assert len(answer.body()) < 5_000
