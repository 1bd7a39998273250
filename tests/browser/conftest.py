"""A browser, and complaints of pages collected while it looks at them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.browser.chromium import chromium, find_chromium
from tests.browser.slow_replies import slow_replies  # noqa: F401  a fixture

PATIENCE = 60_000
"""In milliseconds: for whatever must come to pass, on the slowest machine."""

CSP_LISTENER = """
document.addEventListener("securitypolicyviolation", (event) => {
  console.error(`policy violation: ${event.violatedDirective} ${event.blockedURI}`);
});
"""


@dataclass
class Complaints:
    """What the console, scripts and the content security policy had to say against a page."""

    found: list[str] = field(default_factory=list)

    def listen_to(self, page: Page) -> None:
        page.add_init_script(CSP_LISTENER)
        page.on("pageerror", lambda error: self.found.append(f"{page.url}: {error}"))
        page.on("console", lambda message: self._hear(page, message))

    def _hear(self, page: Page, message: ConsoleMessage) -> None:
        # A page that is meant to answer 400 or 404 does so; the browser reports that as an error of its own.
        if message.type in {"error", "warning"} and "the server responded with a status of 40" not in message.text:
            self.found.append(f"{page.url}: {message.text}")


@pytest.fixture(scope="package")  # Playwright runs an event loop in this thread: no other test may meet it
def browser() -> Iterator[Browser]:
    executable = find_chromium()
    if executable is None:
        pytest.skip("no Chromium here: apt install chromium-headless-shell, or name one by CHROMIUM=/path")
    expect.set_options(timeout=PATIENCE)
    with chromium(executable) as browser:
        yield browser


@pytest.fixture
def complaints() -> Complaints:
    return Complaints()


@pytest.fixture
def context(browser: Browser, live_server: LiveServer) -> Iterator[BrowserContext]:
    """A fresh visitor: no cookies, a phone's width."""
    context = browser.new_context(base_url=live_server.url, viewport={"width": 360, "height": 780})
    context.set_default_timeout(PATIENCE)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext, complaints: Complaints) -> Page:
    page = context.new_page()
    complaints.listen_to(page)
    return page
