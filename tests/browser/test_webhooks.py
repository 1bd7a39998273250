"""Adding a webhook, seeing its secret once, and following a test to a receiver that is really there."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from tests.browser.conftest import Complaints
from tests.browser.pages import add_webhook, content_of, log_in
from tests.factories import PASSWORD, make_member, make_merchant
from tests.patience import until
from tests.sending.delivering import deliver
from webhooks.endpoints.listener import Listener, Receiver
from webhooks.models import Delivery, Endpoint, Event
from webhooks.states import DeliveryStatus

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.slow]

SECRET = re.compile(r"whsec_[0-9A-Za-z+/]{43}=")


@pytest.fixture
def email() -> str:
    return make_member(make_merchant("Harbour Coffee")).user.email


@pytest.fixture
def printed() -> list[str]:
    return []


@pytest.fixture
def listener(printed: list[str]) -> Iterator[Listener]:
    """The local receiver that developers get, in a thread."""
    with Listener(Receiver(printed.append), port=0) as listener:
        thread = threading.Thread(target=listener.serve_forever, daemon=True)
        thread.start()
        yield listener
        listener.shutdown()
        thread.join(timeout=10)


def dispatch() -> None:
    """One run of the worker, once the press on the page has made something due.

    Playwright keeps an event loop in the test's thread, so it has a thread of its own.
    """
    until(lambda: Event.objects.filter(is_fanned_out=False).exists() or is_due())
    made: list[int] = []
    thread = threading.Thread(target=lambda: made.append(deliver()))
    thread.start()
    thread.join()
    assert made == [1]


def is_due() -> bool:
    return Delivery.objects.filter(status=DeliveryStatus.PENDING, next_attempt_at__lte=timezone.now()).exists()


def secret_on(page: Page) -> str:
    found = SECRET.search(content_of(page))
    assert found
    return found[0]


def test_a_test_event_arrives_and_is_sent_again(
    page: Page, complaints: Complaints, email: str, listener: Listener, printed: list[str]
) -> None:
    log_in(page, email, PASSWORD)
    page.goto("/dashboard/webhooks")
    page.get_by_role("link", name="Add a webhook").click()
    add_webhook(page, listener.url)
    listener.receiver.secret = secret_on(page)

    page.get_by_role("link", name="I have stored the secret").click()
    page.get_by_role("button", name="Send a test").click()
    expect(page.get_by_text("It is due now, or on its way.")).to_be_visible()
    dispatch()
    assert "webhook.test  verified  -> 200" in printed[0]
    page.get_by_role("link", name="Look again").click()
    expect(page.get_by_text("Delivered", exact=True).first).to_be_visible()
    expect(page.get_by_text("200 OK")).to_be_visible()
    expect(page.get_by_text("thank you")).to_be_visible()

    listener.receiver.failures_left = 1
    page.get_by_role("button", name="Send it again").click()
    dispatch()
    page.get_by_role("link", name="Look again").click()
    expect(page.get_by_text("Retrying", exact=True)).to_be_visible()
    expect(page.get_by_text("500 Internal Server Error")).to_be_visible()
    page.get_by_role("button", name="Send it now").click()
    dispatch()
    page.get_by_role("link", name="Look again").click()
    expect(page.get_by_text("Delivered", exact=True).first).to_be_visible()
    expect(page.locator(".attempts__item")).to_have_count(3)
    assert "came before: number 3 with this webhook-id" in printed[2]
    assert complaints.found == []


def test_a_secret_is_seen_once(page: Page, complaints: Complaints, email: str) -> None:
    log_in(page, email, PASSWORD)
    page.goto("/dashboard/webhooks/new")
    add_webhook(page)
    first = secret_on(page)
    page.reload()
    expect(page.get_by_text("A secret is shown only once")).to_be_visible()
    assert first not in content_of(page)
    page.go_back()
    assert first not in content_of(page)

    assert Endpoint.objects.count() == 1
    assert complaints.found == []
