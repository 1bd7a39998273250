"""What a payment is priced at: amounts, currencies, and what a quote makes of them."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

import pytest
from django.db import transaction
from hypothesis import given
from hypothesis import strategies as st

from config.errors import InvalidParameter
from config.money import FIAT_DIGITS, from_units
from payments.models import Payment
from payments.rates.quoting import quote
from payments.services import create_payment
from tests.factories import api_client, make_key, make_merchant
from tests.payments.creating import assert_refused, body, create
from tests.payments.scenes import (
    SANDBOX,
    STELLAR,
    make_payment,
    request_for,
)

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("amount", "currency", "minor_units"),
    [
        ("19.99", "USD", 1999),
        ("0.01", "USD", 1),
        ("1000000", "USD", 100_000_000),
        ("1e2", "USD", 10_000),
        ("0.10", "USD", 10),
        ("100.000", "USD", 10_000),
        ("1250", "JPY", 1250),
        ("1250.0", "JPY", 1250),
        ("1", "KRW", 1),
        ("0.001", "BHD", 1),
        ("19.995", "OMR", 19_995),
        ("8.29", "GBP", 829),
    ],
)
def test_an_amount_stays_exactly_what_it_was(amount: str, currency: str, minor_units: int) -> None:
    client = api_client(make_key())
    text = json.dumps(body(currency=currency, amount="?")).replace('"?"', amount).encode()
    reply = client.call("POST", "/payments", data=text)
    assert reply.status_code == 201
    payment = Payment.objects.get()
    assert payment.fiat_amount == minor_units
    shown = re.search(rb'"amount":([0-9.]+),', reply.content)
    assert shown is not None
    assert Decimal(shown[1].decode()) == Decimal(amount)
    assert shown[1].decode() == f"{from_units(minor_units, FIAT_DIGITS[currency]):f}"


@pytest.mark.parametrize(
    ("amount", "currency", "message"),
    [
        (19.999, "USD", "An amount in USD has at most 2 decimal places."),
        (0.001, "EUR", "An amount in EUR has at most 2 decimal places."),
        (1250.5, "JPY", "An amount in JPY has no decimal places."),
        (1.0001, "BHD", "An amount in BHD has at most 3 decimal places."),
        (0, "USD", "Must be greater than 0."),
        (-5, "USD", "Must be greater than 0."),
        (1_000_000.01, "USD", "Must be at most 1,000,000."),
        (10**12 + 1, "IDR", "Must be at most 1,000,000,000,000."),
        ("19.99", "USD", "Must be a number, not a string"),
        (True, "USD", "Must be a number."),
        (None, "USD", ""),
        ([5], "USD", "Must be a number."),
    ],
)
def test_an_amount_that_cannot_be_is_refused(amount: Any, currency: str, message: str) -> None:
    assert_refused(create(amount=amount, currency=currency), code="invalid_parameter", param="amount", message=message)


@pytest.mark.parametrize("currency", ["IDR", "JPY", "EUR", "BHD"])
def test_the_largest_amount_is_worth_the_same_in_every_currency(currency: str) -> None:
    rate = quote(currency, "USDC").rate / quote("USD", "USDC").rate
    largest = int((1_000_000 * rate).to_integral_value())
    message = f"Must be at most {largest:,} {currency}: as much as 1,000,000 USD at the current rate."
    refused = create(amount=largest + 1, currency=currency)
    assert_refused(refused, code="invalid_parameter", param="amount", message=message)
    assert create(amount=largest, currency=currency).status_code == 201
    [payment] = Payment.objects.all()
    assert Decimal(995_000) < from_units(payment.due, payment.decimals) < Decimal(1_005_000)


@pytest.mark.parametrize("currency", ["XTS", "usd", "BTC", "", 5, None])
def test_an_unknown_currency_is_refused(currency: Any) -> None:
    assert_refused(create(currency=currency), code="invalid_parameter", param="currency")


def test_the_service_knows_the_currencies_too() -> None:
    with pytest.raises(InvalidParameter, match="XTS is not a currency payments can be priced in"):
        make_payment(currency="XTS")
    assert not Payment.objects.exists()


def quoted(amount: Decimal, currency: str, coin: str) -> tuple[int, Decimal]:
    """What the payer is asked for in base units of stellar, and the rate."""
    with transaction.atomic():
        payment, _ = create_payment(
            merchant=make_merchant(),
            environment=SANDBOX,
            request=request_for(STELLAR, coin, str(amount), currency=currency),
        )
        transaction.set_rollback(True)
    return payment.due, payment.rate


@given(
    minor_units=st.integers(1, 10**8),
    currency=st.sampled_from(sorted(FIAT_DIGITS)),
    coin=st.sampled_from(["USDC", "USDT", "DAI"]),
)
def test_a_quote_never_asks_for_too_little_nor_for_a_millionth_too_much(
    minor_units: int, currency: str, coin: str
) -> None:
    amount = from_units(minor_units, FIAT_DIGITS[currency])
    due, rate = quoted(amount, currency, coin)
    assert rate == quote(currency, coin).rate
    asked = from_units(due, 7)
    assert asked * rate >= amount
    assert (asked - Decimal("0.000001")) * rate < amount
    assert due % 10 == 0  # six digits, all of them shown
