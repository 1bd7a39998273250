"""Which choices of rate sources are refused before anything starts."""

from __future__ import annotations

import pytest
from django.core.checks import run_checks
from pytest_django import Settings

from payments.rates.checks import faults

REAL = ["ecb", "official-pegs", "kraken", "coinbase", "bitstamp", "gemini"]


@pytest.mark.parametrize(
    ("names", "in_production", "numbers"),
    [
        (REAL, True, []),
        (REAL, False, []),
        (["bundled"], False, []),
        (["bundled"], True, [1]),
        ([*REAL, "bundled"], True, [2]),
        ([*REAL, "oracle"], True, [3]),
        (["ecb", "kraken", "coinbase", "bitstamp"], True, [4]),
        (["official-pegs", "kraken", "bitstamp", "gemini"], True, [5]),
        ([], True, [4, 5]),
    ],
)
def test_a_choice_that_cannot_price_payments_is_refused(
    names: list[str], in_production: bool, numbers: list[int]
) -> None:
    assert [number for number, _ in faults(names, in_production=in_production)] == numbers


def test_the_refusal_is_a_system_check_that_says_what_to_set(settings: Settings) -> None:
    settings.RATE_SOURCES, settings.IN_PRODUCTION = ["bundled"], True
    (error,) = [message for message in run_checks() if str(message.id).startswith("rates.")]
    assert error.id == "rates.E001"
    assert error.hint == (
        "Leave it unset, or set it like RATE_SOURCES=ecb,kraken,coinbase,bitstamp,bitfinex,gemini,official-pegs"
    )


def test_production_prices_every_coin_from_enough_exchanges_when_nothing_is_set(settings: Settings) -> None:
    assert faults(settings.REAL_RATE_SOURCES, in_production=True) == []


def test_an_address_for_a_source_that_has_none_is_refused(settings: Settings) -> None:
    settings.RATE_SOURCE_URLS = {"kraken": "https://mirror.example.com", "oracle": "https://o.example", "bundled": "x"}
    (error,) = [message for message in run_checks() if message.id == "rates.E006"]
    assert error.msg == "RATE_SOURCE_URLS names sources that are not asked at an address: bundled, oracle."
