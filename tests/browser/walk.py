"""A walk past pages, as each of the people who look at them: what is wrong there, and photographs with a camera.

Each page is loaded once. The looks, which are for CSS alone, follow on it when it is loaded and styled.
"""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import Literal

import pytest
from django.test import override_settings
from playwright.sync_api import Browser, Page

from merchants.models import User
from tests.browser.accessibility import TOO_WIDE, axe_faults, large_text_faults, load_measures, tab_faults
from tests.browser.conftest import Complaints
from tests.browser.pages import Stop, Viewer, log_in
from tests.browser.scenes import Scenes
from tests.long_form import IS_LONG

OUTPUT = Path(os.environ["SCREENSHOTS"]) if os.environ.get("SCREENSHOTS") else None
ONLY = os.environ.get("SCREENSHOTS_ONLY", "").split()

Scheme = Literal["light", "dark"]
# What differs between the four is covered by two of them. The camera and a long run take all four.
LOOKS: list[tuple[int, Scheme]] = [(360, "light"), (1280, "dark")]
if OUTPUT or IS_LONG:
    LOOKS += [(360, "dark"), (1280, "light")]

MEASURED, IN_EVERY_LOOK = 2, 6
"""One page of so many is measured by axe, by keyboard and with large text, and one by axe in every look, where a run is
not a long one. Each is loaded, and fits in every look."""


def walk_past(
    stops: list[Stop],
    *,
    browser: Browser,
    address: str,
    scenes: Scenes,
    complaints: Complaints,
    capsys: pytest.CaptureFixture[str],
) -> list[str]:
    """What is wrong with the pages, a line each, with what they complained about."""
    stops = [stop for stop in stops if not ONLY or any(word in stop.name for word in ONLY)]
    walk = Walk(browser, address, scenes, complaints)
    faults: list[str] = []
    with override_settings(STEP_UP_AFTER=timedelta(days=1)):  # on a busy machine the walk may take longer than it is
        for number, stop in enumerate(stops, start=1):
            if OUTPUT:
                with capsys.disabled():
                    sys.stdout.write(f"\r{number:3} of {len(stops)}  {stop.name:24}")
                    sys.stdout.flush()
            is_whole = IS_LONG or bool(OUTPUT)
            faults += walk.look_at(
                stop,
                is_measured=is_whole or number % MEASURED == 0,
                has_every_look=is_whole or number % IN_EVERY_LOOK == 0,
            )
        walk.end()
    return faults + complaints.found


class Walk:
    def __init__(self, browser: Browser, address: str, scenes: Scenes, complaints: Complaints) -> None:
        self._browser = browser
        self._address = address
        self._scenes = scenes
        self._complaints = complaints
        self._pages: dict[Viewer, Page] = {}
        if OUTPUT:
            OUTPUT.mkdir(parents=True, exist_ok=True)

    def look_at(self, stop: Stop, *, is_measured: bool, has_every_look: bool) -> list[str]:
        """What is wrong with the page: in each look, whether it is too wide; if measured, everything in the first."""
        faults = []
        page = self._pages.get(stop.viewer) or self._enter_as(stop.viewer)
        _show_as(page, *LOOKS[0])
        response = page.goto(stop.path)
        if response is None or response.status != stop.status:
            faults.append(f"{stop.name}: answered {response and response.status}")
        if stop.act is not None:
            stop.act(page)
        page.wait_for_load_state()  # what `act` saw may have come before the styles
        if is_measured:
            load_measures(page)
        for width, scheme in LOOKS:
            _show_as(page, width, scheme)
            is_first = (width, scheme) == LOOKS[0]
            found = axe_faults(page) if is_measured and (has_every_look or is_first) else []
            if overflow := page.evaluate(TOO_WIDE):
                found.append(f"{overflow} pixels too wide")
            if is_measured and is_first:
                found += [f"with text of 200 %, {fault}" for fault in large_text_faults(page)]
            faults += [f"{stop.name} at {width}, {scheme}: {fault}" for fault in found]
            if OUTPUT:
                path = OUTPUT / f"{stop.name}-{width}-{scheme}.png"
                page.screenshot(path=path, full_page=True, animations="disabled")
        if is_measured:  # at last, as it leaves the page touched
            faults += [f"{stop.name} by keyboard: {fault}" for fault in tab_faults(page)]
        return faults

    def end(self) -> None:
        for page in self._pages.values():
            page.context.close()

    def _enter_as(self, viewer: Viewer) -> Page:
        # Without motion a colour is what it is to be at the moment when the scheme changes.
        context = self._browser.new_context(base_url=self._address, reduced_motion="reduce")
        page = context.new_page()
        self._complaints.listen_to(page)
        if viewer != "nobody":
            user: User = getattr(self._scenes, viewer)
            log_in(page, user.email, self._scenes.password)
        self._pages[viewer] = page
        return page


def _show_as(page: Page, width: int, scheme: Scheme) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
