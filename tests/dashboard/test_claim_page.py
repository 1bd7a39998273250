"""The page for payers who have paid, and nothing shows: what it answers, and what it keeps to itself."""

from __future__ import annotations

import dataclasses
from html import unescape
from typing import Any

import pytest
from django.test import Client

from merchants.models import AttemptCount
from payments.chains.simulated import control
from payments.chains.simulated.networks import address_named
from payments.chains.stellar import addresses
from payments.checkout.claims import ANSWERS, IN_SHORT, Beside, ClaimAnswer
from payments.claims.explanation import ClaimCode
from payments.models import Payment
from payments.states import PaymentStatus
from tests.factories import make_merchant
from tests.payments.claiming import UNKNOWN, skip_unread_blocks
from tests.payments.scenes import (
    ETHEREUM,
    POLYGON,
    STELLAR,
    confirm,
    end_window,
    everything,
    make_payment,
    mine,
    mine_and_watch,
    now,
    part_of,
    pay,
    pay_without_memo,
    watch,
)

pytestmark = pytest.mark.django_db


def make(network: str = ETHEREUM, **fields: Any) -> Payment:
    return make_payment(network, merchant=make_merchant("Harbour Coffee"), **fields)


def post(payment: Payment, text: str, **extra: Any) -> Any:
    return Client().post(f"/pay/{payment.public_id}/claim", {"hash": text}, **extra)


def answer(payment: Payment, text: str) -> ClaimAnswer:
    """What the page is given to show; it changes nothing."""
    before = everything()
    response = post(payment, text)
    assert response.status_code == 200
    assert everything() == before
    given: ClaimAnswer = response.context["answer"]
    assert unescape(response.text).count(given.state.title) == 2  # on the page, and as its title
    return given


def told(payment: Payment, text: str) -> tuple[str, str]:
    given = answer(payment, text)
    return given.state.title, given.state.detail


def test_nothing_but_the_allowed_fields_leaves() -> None:
    assert {field.name for field in dataclasses.fields(ClaimAnswer)} == {"state", "beside", "strangers", "changes_soon"}
    assert {field.name for field in dataclasses.fields(Beside)} == {"amount", "words"}


def test_there_are_words_for_every_answer() -> None:
    assert {*ClaimCode} - {*ANSWERS} == {ClaimCode.OTHER_PAYMENT}  # told as what it is for a payer
    elsewhere = {ClaimCode.OTHER_ADDRESS, ClaimCode.OTHER_MEMO}
    whole = {ClaimCode.NO_TRANSFERS, ClaimCode.FAILED, ClaimCode.PENDING, ClaimCode.UNDONE, ClaimCode.NOT_FOUND}
    assert {*ANSWERS} - {*IN_SHORT} == elsewhere | whole


def test_the_payment_page_leads_there_and_sets_no_cookie() -> None:
    payment = make()
    response = Client().get(f"/pay/{payment.public_id}")
    assert f'href="/pay/{payment.public_id}/claim"' in response.text
    assert not response.cookies


def test_the_form_works_without_a_cookie_and_leaves_none() -> None:
    payment = make()
    careful = Client(enforce_csrf_checks=True)
    page = careful.get(f"/pay/{payment.public_id}/claim")
    assert page.headers["Referrer-Policy"] == "same-origin"
    assert (page.headers["Cache-Control"], page.headers["X-Robots-Tag"]) == ("no-store", "noindex, nofollow")
    assert "unsafe" not in page.headers["Content-Security-Policy"]
    assert careful.post(f"/pay/{payment.public_id}/claim", {"hash": UNKNOWN}).status_code == 200
    assert not careful.cookies


@pytest.mark.parametrize("payment_id", ["pay_01kfjhz0b2f7h9m4wq0c5v8d3x", "nonsense"])
def test_an_unknown_payment_has_no_such_page(payment_id: str) -> None:
    assert Client().get(f"/pay/{payment_id}/claim").status_code == 404


@pytest.mark.parametrize(
    ("network", "text", "error"),
    [
        (ETHEREUM, "", "Enter the hash of your transaction."),
        (
            ETHEREUM,
            "0x1234",
            "This is not a transaction hash. It starts with 0x, followed by 64 letters and digits.",
        ),
        (
            ETHEREUM,
            "0x52908400098527886E0F7030069857D2E4169EE7",
            "This is an address. The hash is longer. It starts with 0x, followed by 64 letters and digits.",
        ),
        (
            ETHEREUM,
            UNKNOWN + "0",
            "This is not a transaction hash. It starts with 0x, followed by 64 letters and digits.",
        ),
        (ETHEREUM, "ab" * 32, "This is not a transaction hash. It starts with 0x, followed by 64 letters and digits."),
        (STELLAR, UNKNOWN, "This is not a transaction hash. It has 64 letters and digits."),
        *(
            (STELLAR, each, "This is an address. The hash is longer. It has 64 letters and digits.")
            for each in (address_named(STELLAR, "somebody"), addresses.mux(address_named(STELLAR, "somebody"), 7))
        ),
    ],
)
def test_what_is_no_hash_is_said_in_plain_words(network: str, text: str, error: str) -> None:
    response = post(make(network), text)
    assert response.context["form"].errors == {"hash": [error]}
    assert response.context["answer"] is None
    assert not AttemptCount.objects.exists()


@pytest.mark.parametrize("around", ["{}", "  {}\n", "https://polygonscan.example/tx/{}", "https://x.example/{}?a=b#c"])
def test_a_link_to_a_block_explorer_does_as_well(around: str) -> None:
    title, _ = told(make(), around.format(UNKNOWN.upper().replace("0X", "0x")))
    assert title == "We cannot find this transaction"


def test_a_hash_nobody_knows_says_where_it_was_looked_for() -> None:
    given = answer(make(POLYGON), UNKNOWN)
    assert "and that you sent on Polygon (simulated) or Ethereum (simulated)." in given.state.detail
    assert (given.state.tone, given.changes_soon) == ("warn", True)


def test_what_waits_and_confirms_is_followed() -> None:
    payment = make()
    transaction_hash = pay(payment)
    assert told(payment, transaction_hash)[0] == "Your transfer is waiting"
    mine(ETHEREUM)
    assert told(payment, transaction_hash)[0] == "Your transfer has arrived"
    watch()
    given = answer(payment, transaction_hash)
    assert (given.state.title, given.state.confirmations, given.state.required) == (
        "Your transfer is being confirmed",
        1,
        3,
    )
    confirm(payment)
    assert told(payment, transaction_hash) == (
        "Your payment arrived",
        "The payment is complete, and Harbour Coffee has been notified.",
    )


def test_late_money_says_whom_to_ask() -> None:
    payment = end_window(make())
    transaction_hash = pay(payment)
    confirm(payment)
    title, detail = told(payment, transaction_hash)
    assert title == "100.00 USDC arrived late"
    assert detail == (
        "It arrived after the time to pay had ended. It is safe. To get it back, contact Harbour Coffee and "
        "give the reference below."
    )


def test_money_on_the_other_network_says_which_one_was_meant() -> None:
    payment = make()
    transaction_hash = pay(payment, "100", network=POLYGON)
    confirm(payment, on=POLYGON)
    title, detail = told(payment, transaction_hash)
    assert title == "100.00 USDC arrived on the wrong network"
    assert detail == (
        "You sent it on Polygon (simulated), but this payment takes USDC on Ethereum (simulated). It does not count. "
        "It is safe. To get it back, contact Harbour Coffee and give the reference below."
    )


def test_money_without_its_memo_is_kept_safe() -> None:
    payment = make(STELLAR)
    transaction_hash = pay_without_memo(payment, "100")
    confirm(payment)
    assert told(payment, transaction_hash)[0] == "100.00 USDC arrived without its memo"


def test_a_missed_deposit_is_found_through_the_page() -> None:
    payment = make()
    watch()
    transaction_hash = pay(payment)
    mine(ETHEREUM, 10)
    skip_unread_blocks(ETHEREUM)
    assert told(payment, transaction_hash)[0] == "We have found your money"
    mine_and_watch(ETHEREUM)
    assert now(payment).status == PaymentStatus.COMPLETED


def test_what_else_came_is_listed_and_strangers_are_only_counted() -> None:
    payment, stranger = make(), make()
    parts = [part_of(payment, "100"), part_of(payment, "7", coin="DAI"), part_of(stranger, "12345")]
    transaction_hash = control.pay_together(ETHEREUM, parts)
    confirm(payment)
    given = answer(payment, transaction_hash)
    assert (given.beside, given.strangers) == ((Beside("7.00 DAI", "wrong coin"),), 1)


@pytest.mark.parametrize("network", [ETHEREUM, STELLAR])
def test_a_payer_learns_nothing_of_other_peoples_payments(network: str) -> None:
    payment, stranger = make(network), make(network)
    own = make_payment(network, merchant=payment.merchant)
    seen = set()
    for other in (stranger, own):
        transaction_hash = pay(other, "12345")
        confirm(other)
        text = unescape(post(payment, transaction_hash).text)
        for secret in (other.public_id, "12345", "12,345", other.memo or other.deposit_address):
            assert secret not in text
        seen.add(told(payment, transaction_hash))
    expected = "It went to another address" if network == ETHEREUM else "It has a different memo"
    assert [title for title, _ in seen] == [expected]  # whose it is makes no difference


def test_a_silent_network_asks_for_patience() -> None:
    payment = make()
    control.outage(ETHEREUM, 60)
    response = post(payment, UNKNOWN)
    assert response.context["form"].non_field_errors() == [
        "We cannot reach the network right now. Your money is not lost. Try again in a minute."
    ]
    assert response.headers["Retry-After"] == "15"


def test_one_payment_is_not_asked_about_without_end() -> None:
    payment = make()
    for number in range(10):
        assert post(payment, UNKNOWN, REMOTE_ADDR=f"192.0.2.{number}").status_code == 200
    refused = post(payment, UNKNOWN, REMOTE_ADDR="192.0.2.99")
    assert refused.status_code == 429
    seconds = int(refused.headers["Retry-After"])  # of the sixty since the first of the ten
    assert 0 < seconds <= 60
    assert refused.context["form"].non_field_errors() == [
        f"You have looked this up too often. Wait {seconds} s, then try again."
    ]
    assert post(make(), UNKNOWN, REMOTE_ADDR="192.0.2.99").status_code == 200


def test_one_place_does_not_ask_about_payment_after_payment() -> None:
    payments = [make() for _ in range(3)]
    statuses = [post(payments[number % 3], UNKNOWN, REMOTE_ADDR="192.0.2.1").status_code for number in range(21)]
    assert statuses == [200] * 20 + [429]
    assert post(payments[0], UNKNOWN, REMOTE_ADDR="192.0.2.2").status_code == 200
