"""A payer who has paid and sees nothing finds out why, with scripts and without."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from payments import tasks
from payments.chains.simulated import control
from payments.checkout.simulator import simulate_payment
from payments.models import Payment
from tests.browser.conftest import PATIENCE, Complaints
from tests.browser.scenes import make_payment
from tests.factories import make_merchant

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def stopped_clock(settings: Settings) -> None:
    settings.SIMULATED_BLOCK_SECONDS = 0


@pytest.fixture(params=["with scripts", "without scripts"])
def phone(request: pytest.FixtureRequest, browser: Browser, live_server: LiveServer) -> Iterator[Page]:
    context = browser.new_context(
        base_url=live_server.url,
        java_script_enabled=request.param == "with scripts",
        viewport={"width": 360, "height": 780},
    )
    context.set_default_timeout(PATIENCE)
    yield context.new_page()
    context.close()


@pytest.fixture
def payment() -> Payment:
    return make_payment(make_merchant("Harbour Coffee"), network="ethereum")


def test_a_payer_finds_a_transfer_that_went_to_another_network(
    phone: Page, complaints: Complaints, payment: Payment
) -> None:
    complaints.listen_to(phone)
    transaction_hash = simulate_payment(payment, "wrong_network")
    phone.goto(f"/pay/{payment.public_id}")
    phone.locator("summary", has_text="Paid, but nothing shows?").click()
    phone.get_by_role("link", name="Look up my transfer").click()
    phone.get_by_label("Transaction hash").fill(transaction_hash)
    phone.get_by_role("button", name="Look it up").click()
    expect(phone.get_by_text("Your transfer is waiting")).to_be_visible()

    control.mine("polygon", 8)
    tasks.watch_networks()
    phone.get_by_role("button", name="Look again").click()
    expect(phone.get_by_text("arrived on another network")).to_be_visible()
    phone.get_by_role("link", name="Back to the payment").click()
    expect(phone.get_by_text("Waiting for your payment", exact=True)).to_be_visible()
    assert complaints.found == []


def test_everything_to_press_is_large_enough_for_a_thumb(page: Page, payment: Payment) -> None:
    page.goto(f"/pay/{payment.public_id}/claim")
    targets = page.locator("main a:visible, main button:visible, main input:visible").all()
    sizes = [target.bounding_box() for target in targets]
    assert len(targets) == 3
    assert [box for box in sizes if box is None or min(box["height"], box["width"]) < 44] == []
