"""A merchant decides about money that came wrongly, both ways, and refunds by file, on a phone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect
from pytest_django.fixtures import Settings

from merchants.audit.models import LoggedAction
from merchants.ledger.balances import merchant_balances
from merchants.models import Member, Merchant
from payments.models import Discrepancy
from refunds import tasks
from refunds.models import Refund
from tests.browser.conftest import Complaints
from tests.browser.pages import log_in, wait_for_path
from tests.factories import PASSWORD, make_member, make_merchant
from tests.payments.scenes import SANDBOX, assert_all_is_well, end_window, make_payment, pay_and_confirm
from tests.refunds.filing import file_of
from tests.refunds.scenes import paid, send, wallet

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def blocks_when_asked_for(settings: Settings) -> None:
    settings.SIMULATED_BLOCK_SECONDS = 0


@pytest.fixture
def member() -> Member:
    return make_member(make_merchant("Harbour Coffee"))


def available(merchant: Merchant) -> int:
    return sum(each.available for each in merchant_balances(merchant, SANDBOX))


def test_money_that_came_wrongly_is_accepted_and_given_back(page: Page, complaints: Complaints, member: Member) -> None:
    merchant = member.merchant
    short = make_payment(merchant=merchant)
    pay_and_confirm(short, "60.5")
    end_window(short)
    paid(received=["125"], merchant=merchant)
    before = available(merchant)
    log_in(page, member.user.email, PASSWORD)

    page.goto("/dashboard/decisions")
    row = page.locator(".decisions__item", has=page.get_by_role("heading", name="60.5"))
    row.get_by_role("link", name="Accept…").click()
    expect(page.get_by_role("heading", name="What happens then")).to_be_visible()
    page.get_by_label("Why you accept it").fill("A regular")
    page.get_by_role("button", name="Accept it").click()
    wait_for_path(page, f"/dashboard/payments/{short.public_id}")
    accepted = available(merchant)
    assert accepted > before

    page.goto("/dashboard/decisions")
    expect(page.locator(".decisions__item")).to_have_count(1)
    page.locator(".decisions__item").get_by_role("link", name="Refund…").click()
    expect(page.get_by_text("We first ask the network")).to_be_visible()
    page.get_by_role("button", name="Refund it").click()
    expect(page).to_have_url(re.compile("/dashboard/refunds/ref_"))
    page.wait_for_load_state()
    send()
    assert Refund.objects.get().status == "completed"
    assert available(merchant) == accepted, "what was given back was never the merchant's"
    assert not Discrepancy.objects.filter(status="open").exists()
    page.goto("/dashboard/decisions")
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    done = LoggedAction.objects.filter(action__startswith="decision.").order_by("id").values_list("action", flat=True)
    assert list(done) == ["decision.accept", "decision.give_back"]
    assert_all_is_well()
    assert complaints.found == []


def test_a_file_of_refunds_is_corrected_previewed_and_paid_once(
    page: Page, complaints: Complaints, member: Member
) -> None:
    merchant = member.merchant
    first, second = paid(merchant=merchant), paid(merchant=merchant)
    before = available(merchant)

    def upload(*amounts: str) -> None:
        lines = [f"{each.public_id},{amount}" for each, amount in zip((first, second), amounts, strict=True)]
        content = file_of(*lines, heading="payment,amount")
        page.locator("input[type=file]").set_input_files(
            {"name": "refunds.csv", "mimeType": "text/csv", "buffer": content}
        )
        page.get_by_role("button", name="Show the preview").click()

    log_in(page, member.user.email, PASSWORD)
    page.goto("/dashboard/refunds")
    page.get_by_role("link", name="Upload refunds (CSV)").click()
    wait_for_path(page, "/dashboard/refunds/file")
    upload("12.50", "five")
    expect(page.get_by_text("Line 3, amount:")).to_be_visible()
    upload("12.50", "30")
    expect(page.get_by_text("Nothing is refunded yet.")).to_be_visible()
    preview = page.url
    expect(page.locator("tbody tr")).to_have_count(2)
    assert not Refund.objects.exists()
    page.get_by_role("button", name="Create these refunds").click()
    expect(page.get_by_text("0 of 2 are done.")).to_be_visible()
    tasks.make_batches()
    send()
    expect(page.get_by_text("2 of 2 are done.")).to_be_visible()  # the page looks by itself
    page.reload()
    expect(page.locator("tbody").get_by_text("Completed", exact=True)).to_have_count(2)

    page.goto("/dashboard/refunds/file")
    upload("12.50", "30")
    expect(page.get_by_text("2 of 2 are done.")).to_be_visible()
    assert page.url == preview
    tasks.make_batches()
    assert sorted(Refund.objects.values_list("destination", flat=True)) == [wallet(), wallet()]
    assert before - available(merchant) == 42_5000000
    assert_all_is_well()
    assert complaints.found == []
