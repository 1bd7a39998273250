"""The public page of a payment link: what a payer sees, chooses and is told."""

from __future__ import annotations

import dataclasses
import re
from datetime import timedelta
from decimal import Decimal
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from merchants.access import attempts
from merchants.access.attempts import Patience
from merchants.models import AttemptCount
from payments.chains.errors import NetworkUnavailable
from payments.checkout.link_view import LinkView
from payments.links import services
from payments.links.models import PaymentLink
from payments.models import Payment
from payments.rates.quoting import RateUnavailable
from payments.states import PaymentStatus
from payments.terms import WalletNotAllowed
from tests.factories import make_merchant
from tests.payments.linking import begin, make_link
from tests.payments.scenes import ETHEREUM, POLYGON, WALLETS, end_window, mine_and_watch, now, pay

pytestmark = pytest.mark.django_db


def make(**fields: Any) -> PaymentLink:
    return make_link(make_merchant("Harbour Coffee"), **fields)


def page_of(link: PaymentLink, query: str = "") -> str:
    return unescape(Client().get(f"/link/{link.code}{query}").text)


def fields_of(page: str) -> dict[str, str]:
    """What a browser would send of the page's form if nothing was touched."""
    hidden = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page)
    return {name: value for name, value in hidden if name != "csrfmiddlewaretoken"}


def choose(link: PaymentLink, choice: str = f"{POLYGON}:USDC", query: str = "", **fields: Any) -> Any:
    form = fields_of(page_of(link, query)) | {"choice": choice} | fields
    return Client().post(f"/link/{link.code}", form)


def test_a_payer_chooses_and_goes_on_to_the_payment() -> None:
    link = make()
    page = page_of(link)
    for words in ("Harbour Coffee", "Harbour tour, one seat", "100.00 USD", "USDT on Ethereum", "You then have 30 min"):
        assert words in page
    assert not Payment.objects.exists()
    reply = choose(link)
    payment = Payment.objects.get()
    assert (reply.status_code, reply.headers["Location"]) == (302, f"/pay/{payment.public_id}")
    assert (payment.network, payment.cryptocurrency, payment.payment_link) == (POLYGON, "USDC", link)
    payers = unescape(Client().get(f"/pay/{payment.public_id}").text)
    assert "Harbour tour, one seat" in payers
    assert f"/link/{link.code}?instead_of={payment.public_id}" in payers


def test_nothing_but_the_allowed_fields_leaves() -> None:
    assert {field.name for field in dataclasses.fields(LinkView)} == {
        "code", "sandbox", "payee", "purpose", "price", "currency", "limits", "choices", "time_to_pay", "closed",
    }  # fmt: skip
    link = make(note="for their eyes only", metadata={"tour": "sunset"}, max_uses=77_177)
    page = page_of(link)
    uses = ("77177", "77,177")  # not shorter: the tokens of a form are random
    for secret in ("for their eyes only", "sunset", link.public_id, WALLETS[POLYGON], link.merchant.email, *uses):
        assert secret not in page


def test_the_page_is_private_and_looking_makes_nothing() -> None:
    link = make()
    for method in ("get", "head"):
        reply = getattr(Client(), method)(f"/link/{link.code}")
        assert reply.headers["Cache-Control"] == "no-store"
        assert "noindex" in reply.headers["X-Robots-Tag"]
    assert not Payment.objects.exists()
    without_cookies = Client(enforce_csrf_checks=True)
    assert without_cookies.post(f"/link/{link.code}", {"choice": "polygon:USDC"}).status_code == 302
    assert not without_cookies.cookies


def test_a_code_is_read_as_people_type_it() -> None:
    link = make()
    PaymentLink.objects.filter(pk=link.pk).update(code="01k3q9xtm2")
    for typed in ("01k3q9xtm2", "OIK3-Q9XTM2", "olk3q-9xtm2"):
        assert Client().get(f"/link/{typed}").status_code == 200
    assert Client().get("/link/01k3q9xtm3").status_code == 404
    assert Client().get("/link/%00").status_code == 404


def test_an_open_amount_is_entered_within_its_limits() -> None:
    link = make(amount=None, min_amount=Decimal(5), max_amount=Decimal(80))
    assert "From 5.00 USD to 80.00 USD." in page_of(link)
    for amount, words in (
        ("", "Enter the amount that you want to pay."),
        ("5 apples", "Enter an amount such as 12.50."),
        ("80.01", "Enter an amount from 5.00 USD to 80.00 USD."),
        ("7,123", "“7,123” can be read as 7123 or as 7.1230. Write 7123 or 7.1230."),
        ("7.1234", "at most 2 decimal places"),
    ):
        reply = choose(link, amount=amount)
        assert words in unescape(reply.text)
    assert not Payment.objects.exists()
    assert choose(link, amount="12,50").status_code == 302
    assert Payment.objects.get().fiat_amount == 1250


def test_what_is_not_offered_cannot_be_chosen() -> None:
    link = make(coins=["USDC"], wallets={ETHEREUM: WALLETS[ETHEREUM]})
    assert fields_of(page_of(link))["choice"] == "ethereum:USDC"  # nothing to choose
    assert "Choose one of these." in choose(link).text
    assert "Choose a coin and a network." in choose(make(), choice="").text
    assert not Payment.objects.exists()


def test_a_form_sent_twice_makes_one_payment() -> None:
    link = make()
    form = fields_of(page_of(link)) | {"choice": f"{POLYGON}:USDC"}
    replies = [Client().post(f"/link/{link.code}", form) for _ in range(2)]
    assert {reply.headers["Location"] for reply in replies} == {f"/pay/{Payment.objects.get().public_id}"}


def test_forms_without_an_id_are_not_the_same_form() -> None:
    link = make()
    for form_id in ("", "", "x"):
        assert choose(link, form_id=form_id).status_code == 302
    assert Payment.objects.count() == 3


def test_two_tabs_of_a_link_for_one_payment_make_one() -> None:
    link = make(max_uses=1)
    second_tab = fields_of(page_of(link)) | {"choice": f"{ETHEREUM}:DAI"}
    choose(link)
    payment = Payment.objects.get()
    page = unescape(Client().post(f"/link/{link.code}", second_tab).text)
    assert "You have already started this payment" in page
    assert "It is waiting for USDC on Polygon" in page
    assert f'href="/pay/{payment.public_id}"' in page
    opened_later = Client().get(f"/link/{link.code}")
    assert opened_later.headers["Location"] == f"/pay/{payment.public_id}"
    assert Payment.objects.count() == 1


def test_another_coin_is_chosen_until_money_is_seen() -> None:
    link = make(max_uses=1)
    first = begin(link, ETHEREUM)
    query = f"?instead_of={first.public_id}"
    assert "Have you already sent money?" in page_of(link, query)
    assert choose(link, query=query).status_code == 302
    second = Payment.objects.latest("id")
    assert (now(first).status, second.network) == (PaymentStatus.CANCELLED, POLYGON)

    form = fields_of(page_of(link, f"?instead_of={second.public_id}")) | {"choice": f"{ETHEREUM}:DAI"}
    pay(second)
    mine_and_watch(POLYGON)
    page = unescape(Client().post(f"/link/{link.code}", form).text)
    assert "You have already started this payment" in page
    assert Payment.objects.count() == 2
    assert now(second).status == PaymentStatus.PENDING
    assert "instead_of" not in Client().get(f"/pay/{second.public_id}").text


def test_a_payment_of_another_link_is_not_exchanged() -> None:
    stranger, link = begin(make()), make(max_uses=1)
    assert choose(link, query=f"?instead_of={stranger.public_id}", instead_of=stranger.public_id).status_code == 302
    assert now(stranger).status == PaymentStatus.CREATED


def test_an_expired_payment_leads_back_to_its_link() -> None:
    link = make(max_uses=1)
    form = fields_of(page_of(link)) | {"choice": f"{POLYGON}:USDC"}
    Client().post(f"/link/{link.code}", form)
    payment = Payment.objects.get()
    end_window(payment)
    mine_and_watch(POLYGON)
    assert f'href="/link/{link.code}"' in Client().get(f"/pay/{payment.public_id}").text
    again = Client().post(f"/link/{link.code}", form)  # by the browser's way back
    assert again.headers["Location"] == f"/link/{link.code}"
    assert "Continue to payment" in page_of(link)


CLOSED: list[tuple[dict[str, Any], str]] = [
    ({"enabled": False}, "This payment link is switched off"),
    ({"expires_at": timedelta()}, "This payment link has expired"),
    ({"wallets": {"bitcoin": "x"}}, "This payment link is switched off"),
]


@pytest.mark.parametrize(("fields", "words"), CLOSED, ids=lambda each: str(each)[:20])
def test_a_link_that_takes_no_payments_says_why(fields: dict[str, Any], words: str) -> None:
    link = make()
    form = fields_of(page_of(link)) | {"choice": f"{POLYGON}:USDC"}
    values = {k: timezone.now() + v if isinstance(v, timedelta) else v for k, v in fields.items()}
    PaymentLink.objects.filter(pk=link.pk).update(**values)
    page = page_of(link)
    assert words in page
    assert "<form" not in page
    assert words in Client().post(f"/link/{link.code}", form).text
    assert not Payment.objects.exists()


def test_a_link_whose_uses_are_taken_says_so() -> None:
    link = make(max_uses=2)
    form = fields_of(page_of(link)) | {"choice": f"{POLYGON}:USDC"}
    begin(link), begin(link)
    assert "Nothing left right now" in page_of(link)
    assert "Nothing left right now" in Client().post(f"/link/{link.code}", form).text
    assert Payment.objects.count() == 2


REFUSALS = [
    (RateUnavailable(), "We cannot calculate the price in coins right now."),
    (NetworkUnavailable(retry_after_seconds=60), "This network cannot be reached right now."),
    (WalletNotAllowed(param="merchantWallet"), "Harbour Coffee cannot be paid this way right now."),
]


@pytest.mark.parametrize(("refusal", "words"), REFUSALS, ids=lambda each: str(each)[:30])
def test_what_cannot_be_done_now_is_said_in_words(
    refusal: Exception, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: Any) -> None:
        raise refusal

    link = make()
    form = fields_of(page_of(link)) | {"choice": f"{POLYGON}:USDC"}
    with monkeypatch.context() as patch:
        patch.setattr(services, "create_payment", refuse)
        reply = Client().post(f"/link/{link.code}", form)
    assert words in unescape(reply.text)
    assert "merchantWallet" not in reply.text
    assert fields_of(reply.text)["form_id"] == form["form_id"]
    assert not Payment.objects.exists()
    assert Client().post(f"/link/{link.code}", form).status_code == 302


@pytest.mark.parametrize("limit", ["PAYMENTS_FROM_ADDRESS", "PAYMENTS_OF_LINK"])
def test_payments_from_the_public_are_bounded(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, limit, Patience(2, 60, 60, 60))
    link = make()
    replies = [choose(link) for _ in range(3)]
    assert [reply.status_code for reply in replies] == [302, 302, 429]
    assert "Too many payments are being started here right now." in replies[2].text
    assert int(replies[2].headers["Retry-After"]) > 0
    assert Payment.objects.count() == 2


def test_one_address_cannot_hold_the_stock_of_a_link_by_unpaid_payments() -> None:
    link = make(max_uses=6)
    held = [choose(link).status_code for _ in range(7)]
    assert held == [302, 302, 302, 429, 429, 429, 429]
    payment = Payment.objects.earliest("id")
    assert (payment.expires_at - payment.created_at).total_seconds() == 900
    assert "You then have 15 min" in page_of(link)
    exchanged = choose(link, f"{ETHEREUM}:USDT", f"?instead_of={payment.public_id}", instead_of=payment.public_id)
    assert exchanged.status_code == 302  # another coin takes no other use
    elsewhere = Client(REMOTE_ADDR="203.0.113.9")
    form = fields_of(page_of(link)) | {"choice": f"{POLYGON}:USDC"}
    assert elsewhere.post(f"/link/{link.code}", form).status_code == 302
    assert [choose(make(max_uses=most)).status_code for most in (1, None)] == [302, 302]


def test_a_form_that_is_not_valid_costs_nothing() -> None:
    choose(make(), choice="")
    assert not AttemptCount.objects.exists()
