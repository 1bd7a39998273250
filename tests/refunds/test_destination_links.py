"""The page on which a payer says where a refund goes, and the link to it."""

from __future__ import annotations

import dataclasses
import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.core import signing
from django.test import Client
from django.utils import timezone

from config import ids
from payments.chains.simulated import control
from payments.transfers.execution import executor
from payments.transfers.owners import follow_payouts
from refunds.destination_links import LINK_LIFETIME, DestinationLinkInvalid, destination_link_url, read_destination_link
from refunds.models import Refund
from refunds.pages.payer import RefundView
from refunds.services import cancel_refund, give_destination
from refunds.states import NamedBy
from tests.factories import make_merchant
from tests.payments.scenes import POLYGON, SANDBOX, STELLAR
from tests.refunds.scenes import ask, fresh, paid_by_two, resolve, send, wallet
from tests.transfers.scenes import on_chain, stock

pytestmark = pytest.mark.django_db

CONFIRMED = {"confirm": "yes", "confirmed": "on"}


def waiting(network: str = STELLAR, **fields: Any) -> Refund:
    merchant = make_merchant("Harbour Coffee")
    return ask(paid_by_two(network, merchant=merchant, **fields), reason="secret reason", metadata={"note": "private"})


def link(refund: Refund) -> str:
    url = destination_link_url(refund)
    assert url is not None
    return url.removeprefix("http://127.0.0.1:8000")


def page(path: str) -> str:
    return unescape(Client().get(path).text)


def post(path: str, **fields: str) -> Any:
    return Client().post(path, fields)


# The link.


def test_the_link_says_which_refund_and_which_version_of_it() -> None:
    refund = waiting()
    token = link(refund).removeprefix("/refund/")
    said = read_destination_link(token)
    assert (said.refund_id, said.version, said.expired) == (refund.pk, 1, False)
    assert said.is_open(refund)


@pytest.mark.parametrize("tampered", ["", "x", "a:b:c", "ref_1", "%00", "é", "0" * 5000])
def test_what_was_not_signed_here_is_no_link(tampered: str) -> None:
    token = link(waiting()).removeprefix("/refund/")
    for text in (tampered, token[:-1], token + "x", token.replace(":", "", 1), tampered + token):
        if text and text != token:
            assert Client().get(f"/refund/{text}").status_code == 404
            with pytest.raises(DestinationLinkInvalid):
                read_destination_link(text)


@pytest.mark.parametrize("said", [["ref_1", 1], [1, 2], "ref", {"refund": 1}, None, []])
def test_what_was_signed_for_something_else_is_no_link(said: Any) -> None:
    with pytest.raises(DestinationLinkInvalid):
        read_destination_link(signing.dumps(said, salt="refunds.claims"))
    with pytest.raises(DestinationLinkInvalid):
        read_destination_link(signing.dumps([ids.REFUND.encode(ids.new_uuid()), 1]))


def test_a_refund_that_never_was_has_no_page() -> None:
    token = signing.dumps([ids.REFUND.encode(ids.new_uuid()), 1], salt="refunds.claims")
    assert Client().get(f"/refund/{token}").status_code == 404


def test_an_expired_link_takes_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    refund = waiting()
    path = link(refund)
    later = (timezone.now() + LINK_LIFETIME + timedelta(seconds=1)).timestamp()
    monkeypatch.setattr("django.core.signing.time.time", lambda: later)
    assert "This link has expired" in page(path)
    assert "<form" not in page(path)
    assert post(path, destination=wallet(), **CONFIRMED).status_code == 302
    assert fresh(refund).status == "requires_action"


# The page.


def test_the_page_is_private_and_says_who_pays_how_much_on_which_network() -> None:
    refund = waiting()
    response = Client().get(link(refund))
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["Referrer-Policy"] == "same-origin"
    assert "noindex" in response.headers["X-Robots-Tag"]
    assert "unsafe" not in response.headers["Content-Security-Policy"]
    assert "<script" not in response.text
    text = unescape(response.text)
    for words in ("Harbour Coffee", "100.00", "USDC", "Stellar (simulated)", "100.00 USD", refund.public_id, "memo"):
        assert words in text
    for secret in ("secret reason", "private", refund.merchant.email, str(refund.payment_id), refund.requested_by):
        assert secret not in text
    assert isinstance(response.context["refund"], RefundView)


def test_nothing_but_the_allowed_fields_leaves() -> None:
    assert {field.name for field in dataclasses.fields(RefundView)} == {
        "sandbox", "payee", "state", "amount", "coin", "coin_name", "network", "price", "reference", "family",
        "is_open", "is_over", "destination", "memo", "transaction_hash", "claimable_balance",
        "has_receipt",
    }  # fmt: skip


def test_a_payer_gives_an_address_compares_it_and_confirms() -> None:
    refund = waiting()
    path, mine = link(refund), wallet(name="mine")
    shown = unescape(post(path, destination=f" {mine} ", memo=" 42 ").text)
    fours = re.findall(r'claim-address__four">([^<]+)<', shown)
    assert "".join(fours) == mine
    assert {len(four) for four in fours} == {4}
    assert 'value="42"' in shown
    assert "sent as a number" in shown
    assert "memo_is_text" not in shown
    assert fresh(refund).status == "requires_action"

    unticked = unescape(post(path, destination=mine, memo="42", confirm="yes").text)
    assert "Compare the address, then tick the box." in unticked
    assert fresh(refund).status == "requires_action"

    response = post(path, destination=mine, memo="42", **CONFIRMED)
    assert (response.status_code, response.headers["Location"]) == (302, path)
    refund = fresh(refund)
    assert (refund.status, refund.destination, refund.memo, refund.named_by) == ("pending", mine, "42", "payer")


def test_a_memo_of_digits_stays_the_text_that_a_payer_says_it_is() -> None:
    refund = waiting()
    path, mine = link(refund), wallet(name="mine")
    shown = unescape(post(path, destination=mine, memo="42", memo_is_text="on").text)
    assert "sent as text" in shown
    assert '<input type="hidden" name="memo_is_text" value="on">' in shown
    post(path, destination=mine, memo="42", memo_is_text="on", **CONFIRMED)
    refund = fresh(refund)
    assert refund.payout is not None
    assert (refund.memo, refund.memo_type, refund.payout.memo_type) == ("42", "text", "text")


def test_the_page_follows_the_money_to_its_hash() -> None:
    refund = waiting(POLYGON)
    stock(POLYGON, 200 * 10**6)
    path = link(refund)
    mine = wallet(POLYGON, "mine")
    assert "memo" not in page(path).lower().replace("memorable", "")
    post(path, destination=mine.lower(), **CONFIRMED)
    assert "We already have your address" in page(path)
    assert "<form" not in page(path)
    executor.run_round(SANDBOX, POLYGON)
    follow_payouts()
    assert "Your money is on its way" in page(path)
    send(POLYGON)
    refund = fresh(refund)
    assert refund.status == "completed"
    text = page(path)
    assert "Your money has been sent" in text
    assert refund.transaction_hash in text
    assert "Look again" not in text
    assert on_chain(POLYGON, mine) == refund.amount


@pytest.mark.parametrize("network", [STELLAR, POLYGON])
def test_a_bad_address_is_explained_and_nothing_is_sent(network: str) -> None:
    refund = waiting(network)
    path = link(refund)
    own = refund.payment.deposit_address
    for address, words in {
        "": "Enter the address",
        "hello": "starts with",
        own: "his address ",
        wallet(network)[:-1]: "characters",
        "x" * 81: "at most 80 characters",
        "<script>alert(1)</script>": "starts with",
    }.items():
        for extra in ({}, CONFIRMED):
            response = post(path, destination=address, **extra)
            assert response.status_code == 200
            assert words in unescape(response.text), address
            assert "<script" not in response.text
    assert fresh(refund).status == "requires_action"


def test_a_link_is_good_for_one_address() -> None:
    refund = waiting()
    path = link(refund)
    post(path, destination=wallet(name="mine"), **CONFIRMED)
    assert post(path, destination=wallet(name="thief"), **CONFIRMED).status_code == 302
    assert fresh(refund).destination == wallet(name="mine")


def test_what_the_merchant_decided_in_between_counts() -> None:
    named, cancelled = waiting(), waiting()
    paths = [link(named), link(cancelled)]
    give_destination(named, address=wallet(name="office"), named_by=NamedBy.MERCHANT)
    cancel_refund(cancelled)
    for path in paths:
        assert post(path, destination=wallet(name="mine"), **CONFIRMED).status_code == 302
    assert "This link is no longer needed" in page(paths[0])
    assert "This refund was cancelled" in page(paths[1])
    assert fresh(named).destination == wallet(name="office")
    assert fresh(cancelled).destination == ""


def test_a_refused_address_says_what_to_do() -> None:
    refund = waiting()
    control.describe_account(STELLAR, wallet(name="mine"), refuses="destination_refused")
    path = link(refund)
    post(path, destination=wallet(name="mine"), **CONFIRMED)
    resolve()
    send(rounds=0)
    text = page(path)
    assert "It could not be sent" in text
    assert "does not let this account have it" in text
    assert "Ask Harbour Coffee" in text


def test_the_form_of_another_site_is_refused() -> None:
    refund = waiting()
    client = Client(enforce_csrf_checks=True)
    response = client.post(link(refund), {"destination": wallet(), **CONFIRMED})
    assert response.status_code == 403
    assert fresh(refund).status == "requires_action"
