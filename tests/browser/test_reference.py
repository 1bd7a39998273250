"""The API reference renders under the site's own content security policy, without a foreign host."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Request
from pytest_django.live_server_helper import LiveServer

from tests.browser.conftest import Complaints

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_the_reference_shows_every_operation(page: Page, live_server: LiveServer, complaints: Complaints) -> None:
    hosts: set[str] = set()

    def note(request: Request) -> None:
        if not request.url.startswith("data:"):
            hosts.add(urlsplit(request.url).netloc)

    page.on("request", note)
    page.goto("/docs/api")
    page.get_by_text("Create a payment", exact=True).wait_for()
    assert page.locator(".opblock").count() >= 9
    page.get_by_text("Create a payment", exact=True).click()
    page.get_by_text("merchantWallet", exact=False).first.wait_for()
    assert hosts == {urlsplit(live_server.url).netloc}
    assert complaints.found == []
