"""The payer's page of a payment that leaves coin and network open, and the same form on the page of a link."""

from __future__ import annotations

import re
from decimal import Decimal
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from merchants.ledger import stops
from payments.checkout.choices.options import coins_of, options_of
from payments.choices import choices_among
from payments.monitoring.measuring import measure_network
from payments.services import choose
from payments.states import PaymentStatus
from tests.payments.choosing import make_open
from tests.payments.scenes import ETHEREUM, POLYGON, SANDBOX, STELLAR, events, mine_and_watch, now, pay, pay_and_confirm

pytestmark = pytest.mark.django_db


def page_of(payment: Any, path: str = "") -> str:
    return unescape(Client().get(f"/pay/{payment.public_id}{path}").text)


def send(payment: Any, **fields: str) -> Any:
    return Client().post(f"/pay/{payment.public_id}/choose", fields)


def test_the_page_asks_before_it_shows_where_to_pay() -> None:
    payment = make_open()
    page = page_of(payment)
    assert payment.deposit_address not in page
    assert payment.memo not in page
    for words in ("USDC on Stellar", "100.00 DAI", "Network fee"):
        assert words in page
    reply = send(payment, coin="DAI", choice_DAI=f"{POLYGON}:DAI", choice_USDC=f"{STELLAR}:USDC")
    assert (reply.status_code, reply["Location"]) == (302, f"/pay/{payment.public_id}")
    chosen = now(payment)
    assert (chosen.network, chosen.cryptocurrency) == (POLYGON, "DAI")
    page = page_of(payment)
    assert chosen.deposit_address in page
    assert f"/pay/{payment.public_id}/choose" in page
    assert events(payment) == ["payment.created", "payment.updated"]


def test_the_cheapest_and_fastest_come_first_and_fees_are_those_that_were_measured() -> None:
    payment = make_open()
    coins = coins_of(payment)
    assert [each.coin for each in coins] == ["USDC", "USDT", "DAI"]
    assert [option.choice.network for option in coins[0].options] == [STELLAR, POLYGON, ETHEREUM]
    assert [option.is_checked for option in coins[0].options] == [True, False, False]
    measure_network(SANDBOX, ETHEREUM)
    [*_, last] = coins_of(payment)[0].options
    assert last.fee == Decimal("0.23")  # 65,000 gas at 1 gwei, at 3,500 dollars
    assert last.words.startswith("Network fee ≈ 0.23 USD, time ≈ ")


def test_what_was_chosen_last_is_checked_when_the_payer_chooses_again() -> None:
    payment = choose(make_open(), network=ETHEREUM, coin="DAI")
    page = page_of(payment, "/choose")
    assert "Have you already sent money?" in page
    checked = re.findall(r'<input type="radio"\s+name="(\w+)"\s+value="([^"]+)"[^>]*\schecked>', page)
    assert ("coin", "DAI") in checked
    assert ("choice_DAI", f"{ETHEREUM}:DAI") in checked


def test_a_stopped_coin_is_not_offered() -> None:
    payment = make_open(POLYGON, STELLAR)
    stops.stop(environment=SANDBOX, network=POLYGON, asset="DAI", reason="for the test")
    assert "DAI on Polygon" not in page_of(payment)
    reply = send(payment, coin="DAI", choice_DAI=f"{POLYGON}:DAI")
    assert reply.status_code == 400
    assert "cannot be reached right now" in unescape(reply.text)
    assert now(payment).chosen_at is None


def test_nothing_can_be_chosen_once_money_was_seen() -> None:
    payment = make_open()
    pay(payment, "1")
    mine_and_watch(payment.network)
    assert send(payment, coin="DAI", choice_DAI=f"{POLYGON}:DAI").status_code == 302
    assert (now(payment).network, now(payment).chosen_at) == (STELLAR, None)
    assert "Continue to payment" not in page_of(payment)
    assert pay_and_confirm(make_open()).status == PaymentStatus.COMPLETED


def test_choosing_nothing_says_so() -> None:
    payment = make_open()
    assert "Choose a coin and a network." in unescape(send(payment).text)


def test_an_exchange_is_told_the_names_of_the_network() -> None:
    page = page_of(choose(make_open(), network=POLYGON, coin="USDC"))
    for words in ("I pay from an exchange", "Polygon (simulated), Polygon PoS, POL, MATIC", "100.00 USDC"):
        assert words in page


def test_without_an_amount_or_a_rate_networks_are_compared_without_one() -> None:
    choices = choices_among(SANDBOX, [STELLAR, POLYGON], ["USDC"])
    [usdc] = options_of(SANDBOX, choices, amount=None, currency="USD", now=timezone.now())
    assert usdc.amount == ""
