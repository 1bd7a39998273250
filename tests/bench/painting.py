"""The payer's page on a phone with a slow connection: what is sent, and when something is to be seen."""

from __future__ import annotations

from statistics import median

from playwright.sync_api import Browser

from tests.bench.report import Line
from tests.browser.chromium import chromium, find_chromium

KILOBYTES, SECONDS, ROUNDS = 60.0, 1.8, 5
SLOW_3G = {"latency": 400, "downloadThroughput": 50_000, "uploadThroughput": 50_000, "offline": False}
"""400 ms a round trip and 400 kbit/s each way, WebPageTest's "Slow 3G". That of Chromium's tools waits 2 s for each
round trip: the page and its style sheet, one after the other, take more than the goal there."""
_MEASURE = """() => {
  const sent = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
  const [paint] = performance.getEntriesByName("first-contentful-paint");
  return [sent.length, sent.reduce((sum, each) => sum + each.transferSize, 0) / 1000, paint.startTime / 1000];
}"""


def lines(address: str) -> list[Line]:
    """Medians of visits by a browser that has never been there; nothing where there is no browser."""
    if (executable := find_chromium()) is None:
        return [Line("payer's page on slow 3G", "no Chromium here")]
    with chromium(executable) as browser:
        visits = [_visit(browser, address) for _round in range(ROUNDS)]
    requests, kilobytes, seconds = (median(figures) for figures in zip(*visits, strict=True))
    sent = f"{requests:.0f} requests, {kilobytes:.1f} kB"
    return [
        Line("payer's page, as sent", sent, goal=f"<= {KILOBYTES:.0f} kB", met=kilobytes <= KILOBYTES),
        Line("first paint on slow 3G", f"{seconds:.2f} s", goal=f"<= {SECONDS} s", met=seconds <= SECONDS),
    ]


def _visit(browser: Browser, address: str) -> tuple[float, float, float]:
    """Requests, kilobytes, and seconds until the first contentful paint."""
    context = browser.new_context(viewport={"width": 360, "height": 740})
    page = context.new_page()
    context.new_cdp_session(page).send("Network.emulateNetworkConditions", SLOW_3G)
    page.goto(address, wait_until="load")
    page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
    figures: tuple[float, float, float] = tuple(page.evaluate(_MEASURE))
    context.close()
    return figures
