"""A webhook breaks, is mended and gets what it has missed; and a list of deliveries that is followed."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from merchants.models import Member
from tests.browser.conftest import Complaints
from tests.browser.pages import log_in, wait_for_path
from tests.factories import PASSWORD, make_member, make_merchant
from tests.sending.delivering import deliver, endpoint_at, fan_out_all, happen
from webhooks.endpoints.listener import Listener, Receiver

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def member() -> Member:
    return make_member(make_merchant("Harbour Coffee"))


@pytest.fixture
def printed() -> list[str]:
    return []


@pytest.fixture
def listener(printed: list[str]) -> Iterator[Listener]:
    with Listener(Receiver(printed.append), port=0) as listener:
        thread = threading.Thread(target=listener.serve_forever, daemon=True)
        thread.start()
        yield listener
        listener.shutdown()
        thread.join(timeout=10)


def dispatch() -> int:
    """One run of the worker, in a thread of its own: Playwright keeps an event loop in this one."""
    made: list[int] = []
    thread = threading.Thread(target=lambda: made.append(deliver()))
    thread.start()
    thread.join()
    return made[0]


def test_a_webhook_breaks_and_recovers(
    page: Page, complaints: Complaints, member: Member, listener: Listener, printed: list[str]
) -> None:
    endpoint = endpoint_at(listener.url, member.merchant, events=["payment.completed", "payment.expired"])
    happen(member.merchant)
    assert dispatch() == 1  # before anything breaks, one arrives
    listener.receiver.failures_left = 1
    happen(member.merchant)
    assert dispatch() == 1

    log_in(page, member.user.email, PASSWORD)
    page.goto(f"/dashboard/webhooks/{endpoint.public_id}")
    expect(page.get_by_text("No request succeeds")).to_be_visible()
    page.get_by_role("link", name="Disable").click()
    page.get_by_role("button", name="Disable it").click()
    expect(page.get_by_text("Nothing is sent to it", exact=True)).to_be_visible()
    happen(member.merchant, 2, type="payment.expired")
    fan_out_all()

    page.get_by_role("link", name="Enable it and send missed events").click()
    wait_for_path(page, f"/dashboard/webhooks/{endpoint.public_id}/recover")
    expect(page.get_by_text("1 arrived, 0 on their way, 1 failed or discarded.")).to_be_visible()
    page.get_by_role("button", name="Enable it and send 3 events").click()
    expect(page.get_by_text("3 events are sent again")).to_be_visible()
    expect(page.get_by_text("1 arrived, 3 on their way")).to_be_visible()
    assert dispatch() == 3
    expect(page.get_by_text("4 arrived, 0 on their way, 0 failed or discarded.")).to_be_visible()  # it looks by itself
    page.reload()
    expect(page.get_by_text("Nothing is missing")).to_be_visible()
    assert [line.count("-> 200") for line in printed] == [1, 0, 1, 1, 1]
    assert complaints.found == []


def test_a_list_of_deliveries_is_followed(
    page: Page, complaints: Complaints, member: Member, listener: Listener
) -> None:
    endpoint_at(listener.url, member.merchant)
    happen(member.merchant)
    fan_out_all()
    log_in(page, member.user.email, PASSWORD)
    page.goto("/dashboard/deliveries?type=payment.completed")
    expect(page.get_by_text("Deliver goods on this event.").first).to_be_visible()
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(1)
    page.get_by_role("button", name="Follow live").click()
    expect(page.get_by_role("button", name="Follow live", pressed=True)).to_be_visible()
    rows.first.get_by_role("link").focus()
    focused = page.evaluate("document.activeElement.href")
    with page.expect_response(lambda reply: "/dashboard/deliveries/rows" in reply.url):
        pass  # it has looked once: what comes now is new
    happen(member.merchant, 2)
    happen(member.merchant, type="payment.expired")
    fan_out_all()
    expect(rows).to_have_count(3)
    expect(page.get_by_text("New deliveries: 2")).to_be_visible()
    assert page.evaluate("document.activeElement.href") == focused
    assert dispatch() == 4
    expect(rows.get_by_text("Delivered")).to_have_count(3)
    page.get_by_role("button", name="Follow live").click()
    expect(page.get_by_text("The list is paused.")).to_be_visible()
    assert complaints.found == []
