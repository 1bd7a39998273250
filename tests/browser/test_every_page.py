"""Every page, at 360 and 1280 pixels, light and dark: nothing overflows, nothing complains."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page
from pytest_django.live_server_helper import LiveServer

from merchants.models import User
from tests.browser.conftest import Complaints
from tests.browser.pages import Stop, Viewer, every_page, log_in
from tests.browser.scenes import Scenes, make_scenes

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
OUTPUT = Path(os.environ["SCREENSHOTS"]) if os.environ.get("SCREENSHOTS") else None
ONLY = os.environ.get("SCREENSHOTS_ONLY", "").split()

Scheme = Literal["light", "dark"]
# Without a camera, what differs between the four is covered by two of them.
LOOKS: list[tuple[int, Scheme]] = [(360, "light"), (1280, "dark")]
if OUTPUT:
    LOOKS += [(360, "dark"), (1280, "light")]


def test_every_page_fits_and_complains_about_nothing(
    browser: Browser, live_server: LiveServer, complaints: Complaints, capsys: pytest.CaptureFixture[str]
) -> None:
    if OUTPUT:
        OUTPUT.mkdir(parents=True, exist_ok=True)
    scenes = make_scenes()
    stops = [stop for stop in every_page(scenes) if not ONLY or any(word in stop.name for word in ONLY)]
    faults: list[str] = []
    for width, scheme in LOOKS:
        walk = Walk(browser, live_server.url, scenes, complaints, width, scheme)
        for number, stop in enumerate(stops, start=1):
            if OUTPUT:
                with capsys.disabled():
                    sys.stdout.write(f"\r{width:4} {scheme:5} {number:3} of {len(stops)}  {stop.name:24}")
                    sys.stdout.flush()
            faults += walk.look_at(stop)
        walk.end()
    assert faults == []
    assert complaints.found == []


class Walk:
    """One walk past the pages, in one size and colour scheme, as each of the people who look at them."""

    def __init__(
        self, browser: Browser, address: str, scenes: Scenes, complaints: Complaints, width: int, scheme: Scheme
    ) -> None:
        self._browser = browser
        self._address = address
        self._scenes = scenes
        self._complaints = complaints
        self._width = width
        self._scheme = scheme
        self._pages: dict[Viewer, Page] = {}

    def look_at(self, stop: Stop) -> list[str]:
        """What is wrong with the page; it is photographed when there is a camera."""
        faults = []
        page = self._pages.get(stop.viewer) or self._enter_as(stop.viewer)
        response = page.goto(stop.path)
        if response is None or response.status != stop.status:
            faults.append(f"{stop.name}: answered {response and response.status}")
        if stop.act is not None:
            stop.act(page)
        if overflow := page.evaluate(OVERFLOW):
            faults.append(f"{stop.name}: {overflow} pixels too wide at {self._width}")
        if OUTPUT:
            path = OUTPUT / f"{stop.name}-{self._width}-{self._scheme}.png"
            page.screenshot(path=path, full_page=True, animations="disabled")
        return faults

    def end(self) -> None:
        for page in self._pages.values():
            page.context.close()

    def _enter_as(self, viewer: Viewer) -> Page:
        context = self._browser.new_context(
            base_url=self._address, color_scheme=self._scheme, viewport={"width": self._width, "height": 800}
        )
        page = context.new_page()
        self._complaints.listen_to(page)
        if viewer != "nobody":
            user: User = getattr(self._scenes, viewer)
            log_in(page, user.email, self._scenes.password)
        self._pages[viewer] = page
        return page
