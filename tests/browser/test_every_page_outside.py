"""Every page outside the dashboard: nothing overflows, nothing complains, nobody is kept out."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser
from pytest_django.live_server_helper import LiveServer

from tests.browser.conftest import Complaints
from tests.browser.pages import every_page_outside
from tests.browser.scenes import make_scenes
from tests.browser.walk import walk_past

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_every_page_outside_the_dashboard_fits_and_is_open_to_everybody(
    browser: Browser, live_server: LiveServer, complaints: Complaints, capsys: pytest.CaptureFixture[str]
) -> None:
    scenes = make_scenes()
    faults = walk_past(
        every_page_outside(scenes),
        browser=browser,
        address=live_server.url,
        scenes=scenes,
        complaints=complaints,
        capsys=capsys,
    )
    assert faults == [], "\n".join(faults)
