"""A member finds payments by any text, and takes a hundred thousand of them along as a file; on a phone."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from django.db import connection
from playwright.sync_api import Page, expect

from config.database.counters import correct
from merchants.models import Member
from payments.dashboard.exports.services import write_exports
from payments.dashboard.search.indexing import index_payments
from payments.models import PAYMENTS, Payment
from tests.browser.conftest import Complaints
from tests.browser.pages import log_in
from tests.dashboard.test_finding import made, sixteen_kinds
from tests.factories import PASSWORD, make_member, make_merchant
from tests.payments.scenes import POLYGON, STELLAR, make_payment

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]

EXPORTED = 100_000


@pytest.fixture
def member() -> Member:
    return make_member(make_merchant("Harbour Coffee"))


def test_sixteen_kinds_of_text_find_a_payment_as_they_are_typed(
    page: Page, complaints: Complaints, member: Member
) -> None:
    payments = made(member.merchant, POLYGON), made(member.merchant, STELLAR)
    make_payment(POLYGON, merchant=member.merchant, amount="9", metadata={"order": "SO-9"})
    index_payments()
    log_in(page, member.user.email, PASSWORD)
    page.keyboard.press("/")
    field = page.get_by_role("combobox", name="A page, or any text of a payment")
    found = page.locator('[role=option][href*="/dashboard/payments/pay_"]')
    for text, expected in sixteen_kinds(*payments).values():
        field.fill(text)
        for public_id in expected:
            expect(page.locator(f'[role=option][href$="/{public_id}"]'), text).to_be_visible()
        expect(found, text).to_have_count(len(expected))
        if text == "李雷":
            expect(found.locator("mark")).to_have_text(["李雷", "李雷"])
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="1,250.25 EUR")).to_be_visible()
    assert complaints.found == []


def multiply(payment: Payment, number: int) -> None:
    """Write so many copies of a payment, each older by a millisecond than the one before."""
    columns = [str(field.column) for field in Payment._meta.local_concrete_fields]
    own = {
        "id": "(lpad(to_hex(made), 12, '0') || substr(replace(template.id::text, '-', ''), 13))::uuid",
        "sequence": "-n",
        "memo": "n::text",
        "metadata": "jsonb_build_object('order', n)",
    }
    table = Payment._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({', '.join(columns)})"  # noqa: S608 - names and columns of our own
            f" SELECT {', '.join(own.get(column, f'template.{column}') for column in columns)}"
            f" FROM {table} AS template, generate_series(1, %s) AS n, LATERAL"
            " (SELECT ('x' || left(replace(template.id::text, '-', ''), 12))::bit(48)::bigint - n AS made) AS time"
            " WHERE template.id = %s",
            [number, payment.pk],
        )
    correct(PAYMENTS.counter)


def test_a_hundred_thousand_payments_are_exported_while_the_page_says_how_far_it_is(
    page: Page, complaints: Complaints, member: Member, tmp_path: Path
) -> None:
    newest = make_payment(POLYGON, merchant=member.merchant, amount="12.50", currency="EUR")
    multiply(newest, EXPORTED - 1)
    log_in(page, member.user.email, PASSWORD)
    page.goto("/dashboard/payments")
    page.clock.install()
    page.get_by_role("button", name="Export as CSV").click()
    expect(page.get_by_text("0 of 100,000 payments are written.")).to_be_visible()
    assert write_exports(turn_seconds=0.001) == 1
    page.clock.run_for(3_000)
    expect(page.get_by_text("2,000 of 100,000 payments are written.")).to_be_visible()
    assert page.get_by_role("progressbar", name="Payments written").evaluate("(bar) => bar.position") == 0.02
    write_exports(turn_seconds=600)
    page.clock.run_for(3_000)
    expect(page.get_by_text("The file is ready: 100,000 payments, the newest first.")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the CSV file").click()
    saved = tmp_path / download.value.suggested_filename
    download.value.save_as(saved)
    with saved.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len({row["id"] for row in rows}) == len(rows) == EXPORTED
    assert [rows[at]["metadata"] for at in (1, 50_000, -1)] == ['{"order":1}', '{"order":50000}', '{"order":99999}']
    assert rows[0]["id"] == newest.public_id
    assert complaints.found == []
