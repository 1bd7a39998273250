"""The operators' admin in a browser: on a phone and in the dark, by keyboard, with axe."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.db.models import Model
from django.urls import reverse
from playwright.sync_api import Browser
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from merchants.four_eyes.models import Proposal
from merchants.ledger.models import Account, Posting, Stop
from merchants.models import Merchant
from payments.models import Discrepancy, Payment
from payments.monitoring.models import Alarm, NetworkSnapshot
from payments.transfers.models import Payout, Wallet
from payments.treasury.models import Sweep
from refunds.models import Refund
from settlements.models import Settlement
from tests.admin.world import make_world
from tests.browser.accessibility import TOO_WIDE, axe_faults, load_measures
from tests.browser.conftest import Complaints
from tests.browser.pages import log_in
from tests.factories import PASSWORD, make_user
from tests.long_form import IS_LONG

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LOOKS = ((360, "light"), (1280, "dark"), *(((360, "dark"), (1280, "light")) if IS_LONG else ()))

EACH_THIRD = 3
"""Of the pages is asked by axe in the second look too, where a run is not a long one."""


def newest(model: type[Model]) -> str:
    row = model._default_manager.order_by("-pk")[:1].get()
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_change", args=[row.pk])


def test_the_main_pages_of_the_admin_are_open_to_everybody(
    browser: Browser, live_server: LiveServer, complaints: Complaints, settings: Settings, tmp_path: Path
) -> None:
    settings.SIMULATED_BLOCK_SECONDS = 0
    settings.SIGN_UP = "open"
    settings.OPERATOR_EMAILS = ["ada@example.com"]
    settings.OPERATORS_TO_DECIDE = settings.SANDBOX_OPERATORS_TO_DECIDE = 2
    make_world(tmp_path)
    operator = make_user("ada@example.com", name="Ada", is_staff=True, is_superuser=True)
    records = (
        *(Payment, Refund, Settlement, Payout, Sweep, Merchant, Wallet, NetworkSnapshot, Discrepancy, Stop),
        *(Account, Posting, Alarm, Proposal),
    )
    paths = [
        *map(newest, records),
        *(reverse(f"admin:{name}") for name in ("index", "payments_payment_changelist", "ledger_stop_changelist")),
        reverse("admin:ledger_stop_add"),
        reverse("admin:group", args=["money"]),
        *map(reverse, ("operators_account", "operators_accounting", "operators_result")),
    ]
    context = browser.new_context(base_url=live_server.url, reduced_motion="reduce")
    page = context.new_page()
    complaints.listen_to(page)
    log_in(page, operator.email, PASSWORD, leads_to="/admin/")
    faults: list[str] = []
    for number, (path, action) in enumerate((*((path, "") for path in paths), (newest(Stop), "lift"))):
        page.goto(path)
        if action:
            page.click(f"button[value={action}]")
            page.wait_for_selector("#note")
        load_measures(page)
        for width, scheme in LOOKS:
            page.set_viewport_size({"width": width, "height": 800})
            page.emulate_media(color_scheme=scheme)
            has_axe = IS_LONG or (width, scheme) == LOOKS[0] or number % EACH_THIRD == 0
            found = axe_faults(page) if has_axe else []
            if overflow := page.evaluate(TOO_WIDE):
                found.append(f"{overflow} pixels too wide")
            faults += [f"{path} {action} at {width}, {scheme}: {fault}" for fault in found]
    context.close()
    assert faults + complaints.found == []
