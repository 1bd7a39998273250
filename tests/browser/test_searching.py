"""An operator finds records from any page of the admin, at a desk and on a phone at night."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Browser, expect
from pytest_django.live_server_helper import LiveServer

from payments.dashboard.search.indexing import index_payments
from tests.browser.accessibility import TOO_WIDE, axe_faults, load_measures
from tests.browser.conftest import Complaints
from tests.factories import make_merchant, make_user
from tests.payments.claiming import UNKNOWN, skip_unread_blocks
from tests.payments.scenes import POLYGON, confirm, make_payment, mine, pay, watch

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize(
    ("width", "scheme", "has_script"), [(1280, "light", True), (360, "dark", True), (360, "light", False)]
)
def test_one_field_finds_records_on_every_page(
    browser: Browser, live_server: LiveServer, complaints: Complaints, width: int, scheme: str, has_script: bool
) -> None:
    merchant = make_merchant("Harbour Coffee")
    payment, unread = (make_payment(POLYGON, merchant=merchant, metadata={"order": "SO-1042"}) for _ in range(2))
    transaction_hash = pay(payment)
    confirm(payment)
    index_payments()
    never_seen = pay(unread)
    mine(POLYGON, 10)
    skip_unread_blocks(POLYGON)
    watch()
    client = Client()
    client.force_login(make_user(is_staff=True, is_superuser=True))
    cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
    context = browser.new_context(
        viewport={"width": width, "height": 800},
        color_scheme=scheme,  # type: ignore[arg-type]
        base_url=live_server.url,
        java_script_enabled=has_script,
    )
    context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": live_server.url}])
    page = context.new_page()
    complaints.listen_to(page)
    page.goto(reverse("admin:merchants_merchant_changelist"))
    field = page.get_by_role("searchbox", name="Search everything")
    if has_script:
        page.keyboard.press("/")
        expect(field).to_be_focused()
    for text, found in {
        payment.public_id[-8:]: payment.public_id,
        transaction_hash[30:42]: payment.public_id,
        "harbour": "Harbour Coffee",
        "so-1042": payment.public_id,
        UNKNOWN: "",
        never_seen: unread.public_id,
        "": "",
    }.items():
        field.fill(text)
        field.press("Enter")
        expect(field).to_have_value(text)
        if found:
            expect(page.get_by_role("link", name=found).first).to_be_visible()
        if has_script:
            load_measures(page)
            assert (axe_faults(page), page.evaluate(TOO_WIDE)) == ([], 0), text
    field.fill(never_seen)
    field.press("Enter")
    page.get_by_role("button", name="Read it again now").click()
    expect(page.get_by_text("Its transaction is being read again now")).to_be_visible()
    context.close()
    assert complaints.found == []
