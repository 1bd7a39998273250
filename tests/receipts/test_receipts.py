"""Receipts as page, JSON and PDF: who has one, what it says, and what it keeps to itself."""

from __future__ import annotations

import json
from decimal import Decimal
from html import unescape
from io import BytesIO
from typing import Any

import pytest
from django.test import Client
from pypdf import PdfReader

from merchants.models import Branding
from payments.models import Deposit, Payment
from payments.receipts import documents
from payments.suspense.acceptance import accept_discrepancy
from tests.factories import make_merchant
from tests.payments.linking import make_link
from tests.payments.scenes import (
    ETHEREUM,
    POLYGON,
    STELLAR,
    discrepancy,
    end_window,
    make_payment,
    now,
    pay_and_confirm,
    reorganise,
)
from tests.payments.test_reorganisations import completed, ready
from tests.pdf_text import text_in
from tests.receipts.scenes import KEYS, path_of, receipt_of, refunded_in_part, sent_back
from tests.refunds.scenes import ask, paid, send, wallet

pytestmark = pytest.mark.django_db


def page(path: str, **headers: str) -> str:
    return unescape(Client().get(path, headers=headers).text)


def printed(pdf: bytes) -> str:
    """The text of a PDF without spaces: long words are divided there."""
    return text_in(pdf).replace(" ", "").replace("\u200b", "")


def shortened() -> Payment:
    """Half of it came in time, and was accepted."""
    payment = make_payment(POLYGON, amount="25")
    pay_and_confirm(payment, "12.5")
    accept_discrepancy(discrepancy(end_window(payment)), resolved_by="Ada")
    return now(payment)


def late() -> Payment:
    payment = end_window(make_payment(ETHEREUM, amount="25"))
    pay_and_confirm(payment)
    accept_discrepancy(discrepancy(payment), resolved_by="Ada")
    return now(payment)


def in_two_parts_and_too_much() -> Payment:
    payment = make_payment(STELLAR, amount="25")
    pay_and_confirm(payment, "12.5")
    return pay_and_confirm(payment, "13")


def with_late_money_given_back() -> Payment:
    """What came too late was never a part of it, nor is what went back of it."""
    payment = pay_and_confirm(make_payment(STELLAR, amount="25"))
    pay_and_confirm(end_window(payment), "7")
    ask(payment, discrepancy=discrepancy(payment), destination=wallet())
    send()
    return now(payment)


def with_surplus_given_back() -> Payment:
    payment = paid(amount="25", received=["26"])
    ask(payment, discrepancy=discrepancy(payment), destination=wallet())
    send()
    return now(payment)


def refunded() -> Payment:
    payment = paid(amount="25")
    ask(payment, destination=wallet())
    send()
    return now(payment)


@pytest.mark.parametrize(
    ("make", "received", "amounts", "given_back"),
    [
        (lambda: pay_and_confirm(make_payment(STELLAR, amount="25")), "25.000000", ["25.000000"], []),
        (shortened, "12.500000", ["12.500000"], []),
        (late, "25.000000", ["25.000000"], []),
        (in_two_parts_and_too_much, "25.500000", ["12.500000", "13.000000"], []),
        (with_late_money_given_back, "25.000000", ["25.000000"], []),
        (with_surplus_given_back, "26.000000", ["26.000000"], ["1.000000"]),
        (refunded, "25.000000", ["25.000000"], ["25.000000"]),
        (refunded_in_part, "100.000000", ["100.000000"], ["30.000000"]),
    ],
)
def test_a_paid_payment_has_a_receipt_of_what_counts(
    make: Any, received: str, amounts: list[str], given_back: list[str]
) -> None:
    payment = make()
    said = receipt_of(payment)["payload"]
    assert (said["amountReceived"], [each["amount"] for each in said["transactions"]]) == (received, amounts)
    assert [each["amount"] for each in said["refunds"]] == given_back
    assert Decimal(said["amountRefunded"]) == sum(map(Decimal, given_back))
    price = said["price"]["amount"]
    assert (said["price"], said["amountDue"]) == ({"amount": price, "currency": "USD"}, f"{price}0000")


def test_no_other_payment_has_one() -> None:
    open_one = make_payment(ETHEREUM)
    short = make_payment(ETHEREUM)
    confirming = make_payment(POLYGON)
    pay_and_confirm(short, "12.5")
    given_back = paid(amount="25", received=["10"])
    given_back = end_window(given_back)
    ask(given_back, discrepancy=discrepancy(given_back), destination=wallet())
    send()
    assert now(given_back).status == "refunded"  # and was never paid
    undone = pay_and_confirm(confirming)
    assert Client().get(path_of(undone)).status_code == 200
    Deposit.objects.filter(payment=undone).update(amount=1)  # as while the network takes one back
    for payment in (open_one, short, end_window(open_one), given_back, undone):
        for ending in ("", ".json", ".pdf"):
            assert Client().get(path_of(payment) + ending).status_code == 404, (payment.status, ending)
        assert "/receipt" not in page(f"/pay/{payment.public_id}") or payment == undone
    assert Client().get("/pay/pay_1/receipt").status_code == 404
    assert Client().get(f"{path_of(refunded_in_part())}.csv").status_code == 404


def test_what_a_reorganisation_undoes_has_none_any_more() -> None:
    payment = ready()
    completed(payment)
    assert Client().get(path_of(payment)).status_code == 200
    reorganise(payment, 6, "dropped")
    assert Client().get(path_of(payment)).status_code == 404


def test_page_json_and_pdf_have_the_same_figures() -> None:
    link = make_link(make_merchant("Harbour Coffee"), description="Harbour tour")
    payment = refunded_in_part(link.merchant)
    Payment.objects.filter(pk=payment.pk).update(payment_link=link, metadata={"item_1": "2 adults", "note": "secret"})
    Branding.objects.create(merchant=link.merchant, shows_items=True)
    receipt = receipt_of(payment)
    pdf = Client().get(f"{path_of(payment)}.pdf")
    assert pdf.headers["Content-Disposition"] == f'attachment; filename="receipt-{payment.public_id}.pdf"'
    paper, shown = printed(pdf.content), page(path_of(payment))
    terms = documents.lines_of(receipt["payload"])
    all_of_them = {"For", "Price", "Received", "Refunded", "Refund", "Transaction", "Paid", "Asset"}
    assert all_of_them <= {term for term, _ in terms}
    for term, words in terms[:-1]:  # the last is when it was issued
        assert words in shown, term
        assert words.replace(" ", "") in paper, term
    assert "secret" not in f"{receipt}{shown}{paper}"
    assert shown.count("Test payment: no real money") == 2  # the strip at the top is not printed
    for words in (
        "Test payment: no real money",
        "2 adults",
        "Harbour Coffee",
        "Harbour tour",
        receipt["key"],
        "http://127.0.0.1:8000/receipts/verify",
    ):
        assert words in shown
        assert words.replace(" ", "") in paper
    [attached] = PdfReader(BytesIO(pdf.content)).attachments["receipt.json"]
    inside = json.loads(attached)
    issued = receipt["payload"]["issuedAt"]
    assert inside["payload"] | {"issuedAt": issued} == receipt["payload"]


def test_a_pdf_is_in_the_payers_language_where_its_letters_are_there() -> None:
    path = f"{path_of(refunded_in_part())}.pdf"
    for language, title in (("de", "Beleg"), ("uk", "Квитанція"), ("ja", "Receipt"), ("ar", "Receipt")):
        assert text_in(Client().get(path, headers={"Accept-Language": language}).content).startswith(title), language


def test_a_refund_has_its_own_once_it_is_paid() -> None:
    refund, path = sent_back()
    assert f'href="{path}/receipt"' in page(path)
    said = json.loads(Client().get(f"{path}/receipt.json").content)["payload"]
    assert (said["kind"], said["reference"], said["memo"]) == ("refund", refund.public_id, "42")
    assert said["payment"] == refund.payment.public_id
    assert said["transactions"][0]["hash"] == refund.transaction_hash
    assert (said["amount"], said["address"]) == ("100.000000", refund.destination)
    shown, paper = page(f"{path}/receipt"), printed(Client().get(f"{path}/receipt.pdf").content)
    for _, words in documents.lines_of(said)[:-1]:
        assert words in shown
        assert words.replace(" ", "") in paper
    assert Client().get(f"{path}x/receipt").status_code == 404


def test_a_receipt_says_nothing_of_another_payment_merchant_or_what_is_private() -> None:
    ours = paid(
        merchant=make_merchant("Harbour Coffee"), metadata={"order": "secret-4711"}, webhook_url="https://h.example/x"
    )
    theirs = refunded_in_part(make_merchant("Corner Shop"))
    Branding.objects.create(merchant=ours.merchant, name="Harbour", version="1")
    Branding.objects.create(merchant=theirs.merchant, name="The Corner", version="2")
    of_theirs = {each.transaction_hash for each in theirs.deposits.all()} | {theirs.public_id}
    private = ("secret-4711", "h.example", ours.merchant_wallet, ours.merchant.email, ours.rate_source, "Corner")
    for ending in ("", ".json"):
        text = page(path_of(ours) + ending)
        assert "Harbour" in text
        assert [each for each in (*private, *of_theirs) if each in text] == []
    assert "The Corner" in page(path_of(theirs))


def test_receipts_are_private_and_set_no_cookie() -> None:
    payment = refunded_in_part()
    assert f'href="{path_of(payment)}"' in page(f"/pay/{payment.public_id}")
    for ending in ("", ".json", ".pdf"):
        reply = Client().get(path_of(payment) + ending)
        assert (reply.headers["Cache-Control"], reply.headers["Referrer-Policy"]) == ("no-store", "no-referrer")
        assert not reply.cookies
        assert Client().post(path_of(payment) + ending).status_code == 405
    for path in (KEYS, "/receipts/verify", "/receipts/verify.py"):
        assert not Client().get(path).cookies
    assert Client().get(KEYS).headers["Access-Control-Allow-Origin"] == "*"


def test_whoever_asks_for_too_many_pdf_files_waits() -> None:
    payment = refunded_in_part()
    path = f"{path_of(payment)}.pdf"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("payments.receipts.pages.receipt_pdf", lambda *_: b"%PDF")
        replies = [Client().get(path) for _ in range(21)]
    assert [reply.status_code for reply in replies] == [200] * 20 + [429]
    assert replies[-1].headers["Retry-After"] == "60"
    assert Client().get(path_of(payment)).status_code == 200


def test_of_very_many_transactions_the_first_are_listed_and_all_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "LISTED", 1)
    payment = in_two_parts_and_too_much()
    said = receipt_of(payment)["payload"]
    assert (said["transactionCount"], len(said["transactions"]), said["amountReceived"]) == ("2", 1, "25.500000")
    assert ("Transactions", "2") in documents.lines_of(said)
