"""Pages in every language that they are in, on a phone: no word too long for it, and nothing on anything else."""

from __future__ import annotations

import re
from itertools import islice
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from playwright.sync_api import Browser, Page
from pytest_django.live_server_helper import LiveServer

from payments.links.models import PaymentLink
from payments.suspense.payer_proofs import return_link
from tests.browser.accessibility import TOO_WIDE, large_text_faults, load_measures
from tests.browser.conftest import Complaints
from tests.browser.link_scenes import link_pages
from tests.browser.pages import every_page_of_the_dashboard, log_in
from tests.browser.scenes import Scenes, make_scenes
from tests.browser.walk import OUTPUT
from tests.long_form import IS_LONG
from tests.networks import STELLAR
from tests.payments.test_giving_back import come

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PHOTOGRAPHED = ("de", "ar", "zh-hans", "hi")
STATES = ("created_with_memo", "created", "underpaid", "pending", "completed", "wrong_token", "expired", "cancelled")
HALF, SIXTH = 2, 6
ENGLISH = re.compile(r"\b(?:a|at|is|no|not|the|this|to|was|your)\b")


def payers_pages(scenes: Scenes) -> dict[str, str]:
    """Paths by the name of what they show."""
    open_payment = f"/pay/{scenes.payments['created'].public_id}"
    links = {
        name: path for name, path, _viewer, act in link_pages(scenes.merchant) if name.startswith("payer-") and not act
    }
    return {
        **{f"pay-{state}": f"/pay/{scenes.payments[state].public_id}" for state in STATES},
        "pay-claim": f"{open_payment}/claim",
        **links,
        **{f"claim-{state}": path for state, path in scenes.refunds.claims.items()},
        "return": urlsplit(return_link(come(STELLAR))).path,
    }


def test_every_language_fits_a_phone(browser: Browser, live_server: LiveServer, complaints: Complaints) -> None:
    scenes = make_scenes()
    pages, faults = payers_pages(scenes), []
    for number, (language, _name) in enumerate(settings.LANGUAGES):
        context = browser.new_context(base_url=live_server.url, viewport={"width": 360, "height": 740})
        page = context.new_page()
        complaints.listen_to(page)
        for name, path in _pages_in(language, number, pages).items():
            page.goto(f"{path}{'&' if '?' in path else '?'}lang={language}")
            faults += [f"{name} in {language}: {fault}" for fault in faults_of(page, language)]
            if OUTPUT and language in PHOTOGRAPHED:
                page.screenshot(path=OUTPUT / f"{name}-in-{language}.png", full_page=True, animations="disabled")
        context.close()
    assert faults + complaints.found == [], "\n".join(faults)


def _pages_in(language: str, number: int, pages: dict[str, str]) -> dict[str, str]:
    """Half of them in the languages whose words and scripts are hardest on a page, in each other a sixth; or all."""
    if IS_LONG or OUTPUT:
        return pages
    share, first = (HALF, PHOTOGRAPHED.index(language)) if language in PHOTOGRAPHED else (SIXTH, number)
    return dict(islice(pages.items(), first % share, None, share))


def test_the_dashboard_fits_a_phone_in_its_other_languages(
    browser: Browser, live_server: LiveServer, complaints: Complaints
) -> None:
    scenes, faults = make_scenes(), []
    stops = [each for each in every_page_of_the_dashboard(scenes) if each.viewer == "owner" and each.act is None]
    page = browser.new_context(base_url=live_server.url, viewport={"width": 360, "height": 740}).new_page()
    complaints.listen_to(page)
    log_in(page, scenes.owner.email, scenes.password)
    for number, (language, _name) in enumerate(settings.DASHBOARD_LANGUAGES[1:]):
        scenes.owner.memberships.update(language=language)
        for stop in stops if IS_LONG or OUTPUT else stops[number % HALF :: HALF]:
            page.goto(stop.path)
            if (shown := page.locator("html").get_attribute("lang")) != language:
                faults.append(f"{stop.name} is in {shown}")
            if overflow := page.evaluate(TOO_WIDE):
                faults.append(f"{stop.name} in {language}: {overflow} pixels too wide")
            if OUTPUT:
                page.screenshot(path=OUTPUT / f"{stop.name}-in-{language}.png", full_page=True, animations="disabled")
    page.context.close()
    assert faults + complaints.found == [], "\n".join(faults)


def faults_of(page: Page, language: str) -> list[str]:
    found = []
    if (shown := page.locator("html").get_attribute("lang")) != language:
        found.append(f"is in {shown}")
    if overflow := page.evaluate(TOO_WIDE):
        found.append(f"{overflow} pixels too wide")
    if language == "ar":  # whose words no English one looks like
        data = set(PaymentLink.objects.values_list("description", flat=True))
        shown_lines = set(page.inner_text("body").splitlines()) - data
        found += [f"says “{line}”" for line in sorted(shown_lines) if ENGLISH.search(line)]
    load_measures(page)
    return [*found, *large_text_faults(page)]
