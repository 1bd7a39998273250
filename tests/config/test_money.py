"""Exact money: what goes in comes out, and what is shown never overstates."""

from __future__ import annotations

from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.money import (
    CRYPTO_DIGITS,
    AmountNotExact,
    apportion,
    format_crypto,
    from_units,
    round_up_to_shown,
    to_units,
    whole_millionths,
)

UNITS = st.integers(-(2**256), 2**256)
DECIMALS = st.integers(0, 24)


@pytest.mark.parametrize(
    ("units", "decimals", "shown"),
    [
        (12_500_000, 6, "12.500000"),
        (12_500_000_000_000_000_000, 18, "12.500000"),
        (125_000_000, 7, "12.500000"),
        (1_999_999_999_999_999_999, 18, "1.999999999999999999"),
        (1_999_999_900_000_000_000, 18, "1.9999999"),
        (230_644_981, 7, "23.0644981"),
        (1, 18, "0.000000000000000001"),
        (5, 2, "0.050000"),
        (7, 0, "7.000000"),
        (0, 6, "0.000000"),
        (-1, 6, "-0.000001"),
        (-1_000_000_000_001, 18, "-0.000001000000000001"),
    ],
)
def test_crypto_is_shown_exactly_with_six_digits_or_more(units: int, decimals: int, shown: str) -> None:
    assert format_crypto(units, decimals) == shown


@given(UNITS, DECIMALS)
def test_what_is_shown_is_the_decimal_value(units: int, decimals: int) -> None:
    shown = format_crypto(units, decimals)
    assert to_units(Decimal(shown), decimals) == units
    assert len(shown.partition(".")[2]) >= CRYPTO_DIGITS


@given(UNITS.map(abs), DECIMALS)
def test_whole_millionths_are_shown_with_exactly_six_digits(units: int, decimals: int) -> None:
    whole = whole_millionths(units, decimals)
    assert 0 <= units - whole < 10 ** max(0, decimals - CRYPTO_DIGITS)
    assert len(format_crypto(whole, decimals).partition(".")[2]) == CRYPTO_DIGITS


@given(UNITS, DECIMALS)
def test_units_survive_the_way_to_a_decimal_and_back(units: int, decimals: int) -> None:
    assert to_units(from_units(units, decimals), decimals) == units


def test_a_decimal_value_keeps_its_scale() -> None:
    assert str(from_units(4990, 2)) == "49.90"
    assert str(from_units(5000, 0)) == "5000"
    assert str(from_units(-1, 3)) == "-0.001"


@pytest.mark.parametrize("amount", ["0.0000001", "1.0000005", "NaN", "Infinity", "-Infinity"])
def test_an_amount_that_does_not_fit_its_scale_is_refused(amount: str) -> None:
    with pytest.raises(AmountNotExact):
        to_units(Decimal(amount), 6)


@given(st.decimals(min_value=0, max_value=10**9, places=18))
def test_a_quote_never_under_charges_and_never_by_more_than_a_millionth(amount: Decimal) -> None:
    shown = round_up_to_shown(amount)
    with localcontext(prec=60):
        assert 0 <= shown - amount < Decimal("0.000001")
        assert shown == shown.quantize(Decimal("0.000001"))


@pytest.mark.parametrize(
    ("total", "weights", "parts"),
    [
        (3100, [1, 1, 1], [1034, 1033, 1033]),
        (10, [0, 5, 5], [0, 5, 5]),
        (100, [2, 1, 4], [29, 14, 57]),
        (2, [Decimal("0.4")] * 6, [1, 1, 0, 0, 0, 0]),
        (0, [1, 2], [0, 0]),
        (5, [0, 0], [0, 0]),
    ],
)
def test_parts_by_largest_remainder_add_up(total: int, weights: list[int | Decimal], parts: list[int]) -> None:
    assert apportion(total, weights) == parts
