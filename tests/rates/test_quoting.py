"""Quoting from the bundled table, and refusing to where money is real."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from itertools import product

import pytest
from pytest_django import Settings

from config.coins import COINS, USD
from config.environments import Environment
from config.money import FIAT_DIGITS
from payments.rates.quoting import Quote, RateUnavailable, quote, refresh_rates
from payments.rates.tables import bundled_rates

NOW = datetime(2026, 11, 21, 10, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def bundled(settings: Settings) -> None:
    settings.RATE_SOURCES = ["bundled"]
    settings.IN_PRODUCTION = False


def test_every_currency_has_a_price_from_the_first_second_without_a_database() -> None:
    for currency, coin in product(sorted(FIAT_DIGITS), COINS):
        expected = Decimal(1) if currency == USD else bundled_rates()[USD, currency]
        assert quote(currency, coin, now=NOW) == Quote(expected, "bundled table of 2025-11-20", NOW), (currency, coin)


def test_production_is_never_priced_from_the_table(settings: Settings) -> None:
    with pytest.raises(RateUnavailable):
        quote("EUR", "USDC", environment=Environment.PRODUCTION)
    settings.IN_PRODUCTION = True
    with pytest.raises(RateUnavailable):
        quote("EUR", "USDC")


@pytest.mark.parametrize(("currency", "coin"), [("XYZ", "USDC"), ("EUR", "BTC"), ("eur", "USDC"), ("USD", "USD")])
def test_what_ballast_does_not_price_is_unavailable(currency: str, coin: str) -> None:
    with pytest.raises(RateUnavailable):
        quote(currency, coin)


def test_a_refresh_has_nothing_to_do(settings: Settings) -> None:
    assert refresh_rates() == type(refresh_rates())()
