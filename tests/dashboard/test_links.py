"""Taking a payment, and payment links, on the dashboard."""

from __future__ import annotations

import re
from decimal import Decimal
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils.html import escape

from merchants.models import Member
from merchants.roles import Role
from merchants.services import update_settings
from payments.chains.simulated.networks import address_named
from payments.links.models import PaymentLink
from payments.models import Payment
from tests.dashboard.conftest import browser_of
from tests.dashboard.test_checkout import decoded
from tests.factories import make_member, make_merchant
from tests.payments.linking import begin, make_link
from tests.payments.scenes import ETHEREUM, POLYGON, SANDBOX, STELLAR, WALLETS, make_payment, pay_and_confirm

pytestmark = pytest.mark.django_db

TAKE, NEW = "/dashboard/payments/new", "/dashboard/links/new"
FIELDS = {
    "description": "Harbour tour, two seats",
    "amount": "51,00",
    "currency": "EUR",
    "coin": "",
    "network": "",
    "wallet_polygon": WALLETS[POLYGON],
    "wallet_ethereum": WALLETS[ETHEREUM],
    "expires_in": "900",
    "redirect_url": "https://shop.example/thanks",
    "note": "On the phone",
    "metadata": "order: 1007\ntable : 4",
}


def send(client: Client, path: str, **fields: str) -> Any:
    form_id = re.search(r'name="form_id" value="([^"]+)"', client.get(path).text)
    assert form_id
    return client.post(path, {**FIELDS, "form_id": form_id[1], **fields}, follow=True)


def text_of(reply: Any) -> str:
    return unescape(reply.text)


def test_a_payment_of_a_coin_is_made_and_shown(client: Client, member: Member) -> None:
    reply = send(client, TAKE, coin="USDC", network="polygon")
    payment = Payment.objects.get()
    assert (payment.merchant, payment.environment) == (member.merchant, "sandbox")
    assert (payment.fiat_amount, payment.currency, payment.cryptocurrency) == (5100, "EUR", "USDC")
    assert (payment.network, payment.merchant_wallet, payment.expires_in) == (POLYGON, WALLETS[POLYGON], 900)
    assert payment.redirect_url == "https://shop.example/thanks"
    assert payment.metadata == {"order": "1007", "table": "4"}
    assert (payment.description, payment.note) == ("Harbour tour, two seats", "On the phone")
    page = text_of(reply)
    assert payment.page_url in page
    code = re.search(r'src="(data:image/png[^"]+)"', page)
    assert code
    assert decoded(code[1]) == payment.page_url
    assert not PaymentLink.objects.exists()


def test_a_payment_whose_coin_the_payer_chooses_is_a_link_for_one(client: Client) -> None:
    reply = send(client, TAKE, coin="USDC")
    link = PaymentLink.objects.get()
    assert not Payment.objects.exists()
    assert (link.max_uses, link.coins, link.amount) == (1, ["USDC"], 5100)
    assert link.wallets == {ETHEREUM: WALLETS[ETHEREUM], POLYGON: WALLETS[POLYGON]}
    assert link.metadata == {"order": "1007", "table": "4"}
    code = re.search(r'src="(data:image/png[^"]+)"', text_of(reply))
    assert code
    assert decoded(code[1]) == link.url


def test_a_link_is_made_shown_changed_and_taken_out_of_use(client: Client) -> None:
    made = send(client, NEW, amount="", min_amount="5", max_amount="500", max_uses="40", expires_on="2199-06-30")
    assert "as you entered no wallet for them: Stellar (simulated)." in text_of(made)
    link = PaymentLink.objects.get()
    assert (link.amount, link.least, link.most, link.max_uses) == (None, 500, 50_000, 40)
    assert link.expires_at is not None
    assert link.expires_at.isoformat() == "2199-06-30T23:59:59.999000+00:00"
    path = f"/dashboard/links/{link.public_id}"
    begin(link, POLYGON, amount=Decimal(50))
    page = text_of(client.get(path))
    for words in ("5.00 to 500.00 EUR", "1 of 40 taken", "50.00 EUR", "On the phone", link.url):
        assert words in page
    assert escape(f'<a class="ballast-button" href="{link.url}">') in client.get(path).text

    reply = client.get(f"{path}/edit")
    assert "order: 1007" in text_of(reply)
    changes = {"description": "Harbour tour", "max_uses": "", "expires_on": "2199-06-30", "expires_in": "3600"}
    assert client.post(f"{path}/edit", changes).status_code == 302
    before, link = link, PaymentLink.objects.get()
    assert (link.description, link.max_uses, link.expires_in, link.metadata) == ("Harbour tour", None, 3600, {})
    assert (link.expires_at, link.wallets) == (before.expires_at, before.wallets)

    assert "takes no new payments" in text_of(client.post(f"{path}/disable", follow=True))
    assert "Disabled" in text_of(client.get("/dashboard/links?show=disabled"))
    assert "Nothing matches" in text_of(client.get("/dashboard/links?q=nothing+like+it"))
    client.post(f"{path}/enable")
    assert PaymentLink.objects.get().enabled


@pytest.mark.parametrize("path", [TAKE, NEW])
def test_a_form_that_is_sent_again_makes_nothing_more(path: str, client: Client) -> None:
    form_id = re.search(r'name="form_id" value="([^"]+)"', client.get(path).text)
    assert form_id
    for _ in range(2):
        reply = client.post(path, {**FIELDS, "form_id": form_id[1]}, follow=True)
    assert "This form was already submitted." in text_of(reply)
    assert PaymentLink.objects.count() == 1


REFUSED = [
    (TAKE, {"amount": ""}, "Enter the amount."),
    (TAKE, {"amount": "2,000"}, "“2,000” can be read as 2000 or as 2.00."),
    (NEW, {"amount": "1,250"}, "“1,250” can be read as 1250 or as 1.25."),
    (TAKE, {"amount": "1.0051"}, "An amount in EUR has at most 2 decimal places."),
    (TAKE, {"description": ""}, "Enter what the payment is for."),
    (TAKE, {"network": "stellar"}, "Enter the wallet that the money is settled to."),
    (TAKE, {"wallet_polygon": "0x12"}, "error"),
    (TAKE, {"coin": "USDC", "network": "polygon", "wallet_polygon": WALLETS[STELLAR]}, "error"),
    (TAKE, {"redirect_url": "shop.example"}, "Must begin with https:// or http://."),
    (TAKE, {"metadata": "no colon"}, "Write each line as a name, a colon and a value."),
    (NEW, {"amount": "", "min_amount": "9", "max_amount": "8"}, "Must not be less than the smallest amount."),
    (NEW, {"min_amount": "9"}, "Give either an amount or its limits, not both."),
    (NEW, {"max_uses": "0"}, "Enter 1 or more"),
    (NEW, {"expires_on": "2020-01-01"}, "Must be in the future."),
]


@pytest.mark.parametrize(("path", "fields", "words"), REFUSED, ids=lambda each: str(each)[:40])
def test_a_fault_is_shown_at_its_field(path: str, fields: dict[str, str], words: str, client: Client) -> None:
    page = text_of(send(client, path, **fields))
    assert words in page
    assert "field__error" in page
    assert 'value="https://shop.example/thanks"' in page or "redirect_url" in fields  # nothing has to be typed again
    assert not Payment.objects.exists()
    assert not PaymentLink.objects.exists()


def test_two_fields_are_enough_and_the_rest_is_folded_until_it_lacks_something(client: Client) -> None:
    def is_open(reply: Any) -> bool:
        [opening] = re.findall(r'<details class="disclosure"([^>]*)>\s*<summary>More options', reply.text)
        return "open" in opening

    def filled_in(path: str) -> dict[str, Any]:
        shown = client.get(path)
        form = shown.context["form"]
        known = {name: value for name in form.fields if (value := form[name].value()) not in (None, [])}
        return {**known, "form_id": shown.context["form_id"], "currency": "EUR"}

    for path in (NEW, TAKE):
        assert not is_open(client.get(path))
        assert not is_open(client.post(path, {**filled_in(path), "description": "", "amount": "2,000"}))
        assert is_open(send(client, path, redirect_url="nowhere"))
    few = {**filled_in(NEW), "description": "Sunset tour", "amount": "48.50"}
    assert client.post(NEW, few).status_code == 302
    assert PaymentLink.objects.get().amount == 4850


def test_named_wallets_are_filled_in_and_what_keys_have_named_counts_for_nothing(member: Member) -> None:
    support = browser_of(make_member(member.merchant, role=Role.SUPPORT))
    make_payment(POLYGON, merchant=member.merchant)  # as a developer's key makes them
    make_link(member.merchant, wallets={ETHEREUM: WALLETS[ETHEREUM]})
    assert "Only an owner or an admin can use a new wallet here." in text_of(send(support, TAKE))
    assert not {WALLETS[POLYGON], WALLETS[ETHEREUM]} & set(support.get(TAKE).text.split('"'))
    assert (Payment.objects.count(), PaymentLink.objects.count()) == (1, 1)

    named = [WALLETS[POLYGON]]
    assert WALLETS[ETHEREUM] == WALLETS[POLYGON]
    update_settings(merchant=member.merchant, environment=SANDBOX, changes={"wallet_allow_list": named})
    assert set(named) <= set(support.get(TAKE).text.split('"'))
    send(support, TAKE, wallet_ethereum=address_named(ETHEREUM, "somebody's own wallet"))
    assert PaymentLink.objects.count() == 1
    send(support, TAKE)
    assert PaymentLink.objects.count() == 2


def test_the_payments_of_a_link_are_listed_and_no_others(client: Client, member: Member) -> None:
    link, other = make_link(member.merchant), make_link(member.merchant)
    paid, waiting, foreign = begin(link), begin(link), begin(other)
    pay_and_confirm(paid)
    path = f"/dashboard/links/{link.public_id}"
    page = client.get(path).text
    assert paid.public_id in page
    assert waiting.public_id in page
    assert foreign.public_id not in page
    assert f'href="{path}"' in client.get(f"/dashboard/payments/{paid.public_id}").text
    page = client.get(f"{path}?status=completed").text
    assert paid.public_id in page
    assert waiting.public_id not in page


def test_the_poster_has_what_a_payer_needs_and_nothing_else(client: Client, member: Member) -> None:
    link = make_link(member.merchant, note="On the pier", coins=["USDC"])
    page = text_of(client.get(f"/dashboard/links/{link.public_id}/poster"))
    for words in (member.merchant.name, "Harbour tour, one seat", "100.00 USD", link.url.partition("://")[2]):
        assert words in page
    assert "Pay with USDC on Stellar (simulated), Polygon (simulated)" in page
    for secret in ("On the pier", WALLETS[POLYGON], link.public_id.join("<>")):
        assert secret not in page


def test_lists_cost_the_same_queries_however_many_links(
    client: Client, member: Member, django_assert_max_num_queries: Any
) -> None:
    for _ in range(5):
        begin(make_link(member.merchant, max_uses=3))
    make_link(make_merchant(), max_uses=3)
    with django_assert_max_num_queries(12):
        page = text_of(client.get("/dashboard/links"))
    assert page.count("1 of 3") == 5
