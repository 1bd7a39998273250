"""Refunds by file: every fault is named, the preview is what happens, and a file refunds once."""

from __future__ import annotations

import csv
from html import unescape
from io import StringIO

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from merchants.models import Member, Merchant
from payments.models import Payment
from refunds import tasks
from refunds.batches.files import MOST_BYTES, MOST_ROWS, read_file
from refunds.batches.services import confirm_batch, make_row, preview_file
from refunds.models import Refund, RefundBatch, RefundBatchRow
from tests.dashboard.conftest import browser_of
from tests.factories import make_member, make_merchant, suspend
from tests.payments.scenes import SANDBOX, assert_all_is_well, make_payment, spend, units
from tests.refunds.filing import file_of, preview
from tests.refunds.scenes import ask, paid, paid_by_two, send, wallet

PAGE = "/dashboard/refunds/file"


def faults(content: bytes) -> list[tuple[int, str]]:
    return [(fault.line, fault.field) for fault in read_file(content).faults]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", [(1, "")]),
        (file_of(), [(1, "")]),
        (b"amount\r\n5\r\n", [(1, "payment")]),
        (b"payment,price\r\npay_1,5\r\n", [(1, "price")]),
        (b"payment,payment\r\npay_1,pay_1\r\n", [(1, "payment"), (1, "payment")]),
        (file_of("pay_1,5"), [(2, "")]),
        (
            file_of("pay_1,5,EUR,,,", "pay_2,-5,EUR,,,", "pay_3,1e3,EUR,,,", "pay_4,0.00,,,,"),
            [(3, "amount"), (4, "amount"), (5, "amount")],
        ),
        (file_of("pay_1,5,,,,", "pay_2,1.2345,,,,", "pay_1,6,,,,"), [(3, "amount"), (4, "payment")]),
        (file_of(",5,,,,"), [(2, "payment")]),
        (file_of("pay_1,,,,,a\x07b"), [(2, "reason")]),
        (file_of(f"pay_1,,,,,{'a' * 501}"), [(2, "reason")]),
        (file_of('pay_1,,,,,"never ended'), [(2, "")]),
        (file_of("pay_1,,,,,caf\xe9").decode().encode("latin-1"), [(2, "")]),
        (b"payment\r\npay_\x00\r\n", [(2, "")]),
        (file_of(*(f"pay_{number},,,,," for number in range(MOST_ROWS + 1))), [(MOST_ROWS + 2, "")]),
        (b"payment\r\n" + b"a" * MOST_BYTES, [(1, "")]),
    ],
)
def test_a_fault_is_named_by_its_line_and_field(content: bytes, expected: list[tuple[int, str]]) -> None:
    assert faults(content) == expected
    assert read_file(content).rows == ()


def test_the_same_rows_are_the_same_file_however_they_are_written() -> None:
    one = read_file(file_of("pay_1,5.50,EUR,,,hello", "pay_2,,,,,"))
    other = read_file("\ufeffreason,PAYMENT,amount,currency\n,pay_2,,\n\nhello,pay_1,5.5,eur\n".encode())
    assert len(one.rows) == len(other.rows) == 2
    assert one.digest == other.digest != read_file(file_of("pay_1,5.51,EUR,,,hello", "pay_2,,,,,")).digest


# --- with payments -----------------------------------------------------------------------------------


@pytest.fixture
def member(db: None) -> Member:
    return make_member(make_merchant("Harbour Coffee"))


@pytest.fixture
def client(member: Member) -> Client:
    return browser_of(member)


def post(client: Client, content: bytes) -> str:
    return unescape(client.post(PAGE, {"file": SimpleUploadedFile("refunds.csv", content)}, follow=True).text)


def made(payment: Payment) -> list[Refund]:
    return list(Refund.objects.filter(payment=payment).order_by("id"))


def test_the_page_names_what_cannot_be_refunded_and_keeps_nothing(client: Client, member: Member) -> None:
    good, unpaid, other = paid(merchant=member.merchant), make_payment(merchant=member.merchant), paid()
    shown = post(
        client,
        file_of(
            f"{good.public_id},100.01,USD,,,",
            f"{unpaid.public_id},,,,,",
            f"{other.public_id},,,,,",
            "pay_1,,,,,",
        ),
    )
    assert "Line 2, amount:</strong> Of this payment, 100.00 USD can still be refunded." in " ".join(shown.split())
    for line in (3, 4, 5):
        assert f"Line {line}, payment:" in shown
    assert "There is no such payment in this environment." in shown
    assert not RefundBatch.objects.exists()

    for row, words in (
        (f"{good.public_id},5,EUR,,,", "The payment is in USD."),
        (f"{good.public_id},5,USD,0x12,,", "Line 2, destination:"),
        (f"{good.public_id},5,USD,,7,", "A memo belongs to an address"),
        (f"{good.public_id},5.001,USD,,,", "at most 2 decimal places"),
    ):
        assert words in post(client, file_of(row))
    assert not RefundBatch.objects.exists()


def test_a_file_is_previewed_confirmed_and_made(client: Client, member: Member) -> None:
    whole, part = paid(merchant=member.merchant), paid(merchant=member.merchant)
    nobody = paid_by_two(merchant=member.merchant)
    rows = file_of(
        f"{whole.public_id},,,,,", f"{part.public_id},12.5,USD,{wallet()},,torn", f"{nobody.public_id},1,USD,,,"
    )
    shown = post(client, rows)
    assert "213.50 USDC" not in shown
    assert "113.50 USDC" in shown
    assert "In your balance: 300.00 USDC." in " ".join(shown.split())
    assert "the sender" in shown
    assert "an address that the payer enters" in shown
    assert not Refund.objects.exists()

    batch = RefundBatch.objects.get()
    address = f"{PAGE}/{batch.public_id}"
    assert "0 of 3 are done." not in shown
    client.post(address)
    tasks.make_batches()
    shown = unescape(client.get(address).text)
    assert "3 of 3 are done." in shown
    assert shown.count("nav__number") == 1  # the refund that needs an address; no number of the page's own
    assert [(each.amount, each.destination, each.reason, each.requested_by) for each in made(part)] == [
        (units(part, "12.5"), wallet(), "torn", member.user.email)
    ]
    send()
    result = list(csv.DictReader(StringIO(client.get(f"{address}/result").text)))
    assert [(row["line"], row["amount"], row["state"]) for row in result] == [
        ("2", "100.00", "completed"),
        ("3", "12.50", "completed"),
        ("4", "1.00", "requires_action"),
    ]
    assert result[0]["refund"] == made(whole)[0].public_id
    assert_all_is_well()


def test_a_file_that_is_confirmed_or_uploaded_twice_refunds_once(client: Client, member: Member) -> None:
    payment = paid(merchant=member.merchant)
    content = file_of(f"{payment.public_id},10,USD,,,")
    post(client, content)
    post(client, content)  # still a preview
    address = f"{PAGE}/{RefundBatch.objects.get().public_id}"
    client.post(address)
    again = client.post(address, follow=True)
    assert "already confirmed. Nothing was refunded twice" in again.text
    for _ in range(2):
        tasks.make_batches()
        make_row(RefundBatchRow.objects.get())
    assert "This file was already refunded" in post(client, content)
    client.post(address)
    tasks.make_batches()
    assert [each.amount for each in made(payment)] == [units(payment, "10")]


def test_a_preview_refunds_nothing_until_it_is_confirmed(member: Member) -> None:
    batch = preview(paid(merchant=member.merchant))
    make_row(batch.rows.get())
    tasks.make_batches()
    assert not Refund.objects.exists()


def test_a_file_of_a_suspended_merchant_waits_for_the_end_of_the_suspension(member: Member) -> None:
    payment = paid(merchant=member.merchant)
    confirm_batch(preview(payment), confirmed_by="jo@example.com")
    suspend(member.merchant)
    tasks.make_batches()
    assert made(payment) == []
    Merchant.objects.update(is_active=True)
    tasks.make_batches()
    assert len(made(payment)) == 1


def test_a_row_does_what_its_preview_has_shown_or_nothing(client: Client, member: Member) -> None:
    changed, spent, fine = (paid(merchant=member.merchant) for _ in range(3))
    batch = preview(changed, spent, fine)
    ask(changed, "1")
    spend(fine, "150")
    confirm_batch(batch, confirmed_by="jo@example.com")
    tasks.make_batches()
    problems = [row.problem for row in batch.rows.order_by("line")]
    assert "has changed since the preview" in problems[0]
    assert problems[1] == ""
    assert "does not cover the refund" in problems[2]
    assert [len(made(each)) for each in (changed, spent, fine)] == [1, 1, 0]
    shown = unescape(client.get(f"{PAGE}/{batch.public_id}").text)
    assert "Not refunded: 2." in shown


def test_a_preview_is_computed_anew_when_it_is_uploaded_again(member: Member) -> None:
    payment = paid(merchant=member.merchant)
    first = preview(payment)
    ask(payment, "40")
    second = preview(payment)
    assert (first.pk, second.rows.get().amount) == (second.pk, units(payment, "60"))


def test_a_balance_that_does_not_cover_the_file_is_said_before(client: Client, member: Member) -> None:
    payment = paid(merchant=member.merchant)
    spend(payment, "30")
    assert "Your balance does not cover all of it" in client.get(f"{PAGE}/{preview(payment).public_id}").text
    assert "does not cover" not in client.get(f"{PAGE}/{preview(payment, amount='70').public_id}").text


def test_a_file_knows_only_payments_of_its_environment(member: Member) -> None:
    payment = paid(merchant=member.merchant)
    content = read_file(file_of(f"{payment.public_id},,,,,"))
    found = preview_file(content, merchant=member.merchant, environment="production", uploaded_by="jo")
    assert isinstance(found, list)
    assert isinstance(
        preview_file(content, merchant=member.merchant, environment=SANDBOX, uploaded_by="jo"), RefundBatch
    )
