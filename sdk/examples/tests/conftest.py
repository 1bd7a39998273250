from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from shops import EXAMPLES, START_SECONDS, Shop, wait_for

SHOPS = sorted(path.parent.name for path in EXAMPLES.glob("*/run"))
CHROMIUM = ("chromium-headless-shell", "chromium", "chromium-browser")
NAME_WEBSITE = """
from merchants.models import Merchant
from merchants.pages.branding import change_branding
for merchant in Merchant.objects.all():
    change_branding(merchant=merchant, name="", accent="", support="", frame_origins={origins!r})
"""
"""What the owner does on the dashboard under *Websites that may show a payment in a dialog*."""


@pytest.fixture(scope="session")
def shops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Shop]]:
    shops = {name: Shop(name, tmp_path_factory.mktemp(name)) for name in SHOPS}
    code = NAME_WEBSITE.format(origins=[shop.url for shop in shops.values()])
    manage = [sys.executable, "-m", "config.embedded", "manage", "shell", "-c", code]
    try:
        with subprocess.Popen(manage, cwd=os.environ["BALLAST_ROOT"], stdout=subprocess.DEVNULL) as naming:
            for shop in shops.values():
                shop.launch()
            for shop in shops.values():
                wait_for(f"the start of {shop.name}", START_SECONDS, shop.answers)
        assert naming.returncode == 0
        yield shops
    finally:
        for shop in shops.values():
            shop.stop()


@pytest.fixture(params=SHOPS)
def shop(request: pytest.FixtureRequest, shops: dict[str, Shop]) -> Shop:
    return shops[request.param]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    executable = next(filter(None, map(shutil.which, CHROMIUM)), None)
    assert executable, "chromium is not installed (Debian: apt install chromium-headless-shell)"
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 360, "height": 740})
    page = context.new_page()
    yield page
    if folder := os.environ.get("SHOTS"):
        page.screenshot(path=Path(folder) / f"{os.environ['PYTEST_CURRENT_TEST'].split('::')[1].split()[0]}.png")
    context.close()
