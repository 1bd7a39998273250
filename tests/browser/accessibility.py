"""What is wrong with a page for people who see little, see no colours, or use no mouse: measured in the page itself."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
MEASURES = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")

WCAG_22_AA = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
BESIDES = ("label-content-name-mismatch", "region", "heading-order")
"""A rule of WCAG 2.1 A that axe leaves out unless it is asked, and two of good practice."""

LONGEST_WORD = 18
"""Characters: what is longer may be in two lines at 200 %."""

TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"

WRAPPED_HEADER = """(() => {
  const tops = [...document.querySelectorAll(".side > :is(.brand, .side__button, .user-menu)")]
    .map((each) => each.getBoundingClientRect()).filter((each) => each.width);
  return tops.some((each) => each.top >= tops[0].bottom);
})()"""


def load_measures(page: Page) -> None:
    """Once for each document. The policy of its content does not hold for what a test brings."""
    page.evaluate(AXE)
    page.evaluate(MEASURES)


def axe_faults(page: Page) -> list[str]:
    """What axe finds against WCAG 2.2 AA in the page as it is shown."""
    rules = {name: {"enabled": True} for name in BESIDES}
    return _measured(page, "axe", {"runOnly": {"type": "tag", "values": list(WCAG_22_AA)}, "rules": rules})


def tab_faults(page: Page) -> list[str]:
    """Walks through the page by Tab, twice around at most: what is not reached, and what does not show that it is."""
    rest = 2 * page.evaluate("accessibility.watchFocus()") + 20
    while (missed := _measured(page, "missed")) and rest > 0:
        for _press in missed:
            page.keyboard.down("Tab")
        rest -= len(missed)
    page.keyboard.up("Tab")
    faults: list[str] = page.evaluate("accessibility.faults")
    return faults + missed


def large_text_faults(page: Page) -> list[str]:
    """What goes wrong with text twice as large: words and numbers in two lines, and a page that is too wide."""
    page.evaluate("document.documentElement.style.fontSize = '200%'")
    found = _measured(page, "splitWords", LONGEST_WORD) + _measured(page, "coveredWords")
    if overflow := page.evaluate(TOO_WIDE):
        found.append(f"{overflow} pixels too wide")
    if page.evaluate(WRAPPED_HEADER):
        found.append("the dashboard's header wraps")
    page.evaluate("document.documentElement.style.fontSize = ''")
    return found


def _measured(page: Page, measure: str, argument: Any = None) -> list[str]:
    found: list[str] = page.evaluate(f"(argument) => accessibility.{measure}(argument)", argument)
    return found
