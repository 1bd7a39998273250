"""Debian's Chromium under Playwright's control: no browser is downloaded, and nothing leaves this machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


NAMES = ("chromium-headless-shell", "chromium", "chromium-browser")
"""The same engine; the first is without the program around it, and needs half the processor's time."""


def find_chromium() -> str | None:
    """The browser that CHROMIUM names, else the first of NAMES that the system has; None when there is none."""
    if named := os.environ.get("CHROMIUM"):
        return shutil.which(named)
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def chromium(executable: str) -> Iterator[Browser]:
    """A headless browser. While it runs, Django must allow queries in this thread: Playwright keeps a loop in it."""
    before = os.environ.get("DJANGO_ALLOW_ASYNC_UNSAFE")
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
            try:
                yield browser
            finally:
                browser.close()
    finally:
        if before is None:
            del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]
        else:
            os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = before
