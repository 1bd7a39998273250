"""How much a refund takes: never more than is left, and the last one leaves nothing."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.money import (
    FIAT_DIGITS,
    fiat_share,
    format_crypto,
    from_units,
    round_up_to_shown,
    to_units,
    whole_millionths,
)
from refunds.plans.amounts import Quote, Share, all_that_is_left, take

EUR = Quote(rate=Decimal("0.862068965517241379"), fiat_digits=2, decimals=6)


@st.composite
def quotes(draw: st.DrawFn) -> Quote:
    rate = draw(st.decimals(Decimal("0.0000001"), Decimal(50_000), places=18, allow_nan=False))
    return Quote(rate, draw(st.sampled_from(sorted(set(FIAT_DIGITS.values())))), draw(st.sampled_from([6, 7, 18])))


def due_for(price: int, quote: Quote) -> int:
    """What a payer is asked for, as a payment is quoted."""
    with localcontext(prec=60, rounding=ROUND_CEILING):
        coins = round_up_to_shown(from_units(price, quote.fiat_digits) / quote.rate)
    return to_units(coins, quote.decimals)


def test_a_part_is_worth_its_quote_rounded_down() -> None:
    assert take(1000, Share(fiat=2550, units=29_580_000), EUR) == Share(fiat=1000, units=11_600_000)
    assert take(1, Share(fiat=2550, units=29_580_000), EUR) == Share(fiat=1, units=11_600)
    assert take(1, Share(fiat=100, units=10**6), Quote(Decimal(3), 2, 6)) == Share(fiat=1, units=3_333)


@pytest.mark.parametrize("asked", [None, 2550])
def test_all_that_is_left_leaves_no_dust(asked: int | None) -> None:
    left = Share(fiat=2550, units=29_580_001)
    assert take(asked, left, EUR) == left


@pytest.mark.parametrize("asked", [None, 1])
def test_of_nothing_nothing_is_taken(asked: int | None) -> None:
    assert take(asked, Share(fiat=0, units=0), EUR) is None


def test_more_than_is_left_is_not_taken() -> None:
    assert take(2551, Share(fiat=2550, units=29_580_000), EUR) is None


def test_dust_worth_less_than_a_cent_can_be_taken_by_naming_no_amount() -> None:
    left = all_that_is_left(price=1, due=11_600, released=5_000, refundable=5_000, refunded=0)
    assert left == Share(fiat=0, units=5_000)
    assert take(None, left, EUR) == left
    assert take(1, left, EUR) is None


def test_a_tolerated_payment_gives_back_what_came_in() -> None:
    left = all_that_is_left(price=2550, due=29_580_000, released=29_010_000, refundable=29_010_000, refunded=0)
    assert left == Share(fiat=2501, units=29_010_000)


def test_what_rounding_leaves_of_the_coins_is_worth_no_more_of_the_currency_than_the_price() -> None:
    rupiah = Quote(rate=Decimal(16_000), fiat_digits=2, decimals=6)
    due = due_for(100, rupiah)
    half = take(50, all_that_is_left(price=100, due=due, released=due, refundable=due, refunded=0), rupiah)
    assert (due, half) == (63, Share(fiat=50, units=31))
    left = all_that_is_left(price=100, due=due, released=due, refundable=due - 31, refunded=50)
    assert left == Share(fiat=50, units=32)
    assert fiat_share(left.units, fiat_amount=100, due=due) == 51


def test_a_reorganisation_leaves_less() -> None:
    left = all_that_is_left(price=2550, due=29_580_000, released=0, refundable=0, refunded=1000)
    assert left == Share(fiat=0, units=0)


@given(
    quote=quotes(),
    price=st.integers(1, 10**9),
    received=st.fractions(0, 1),
    parts=st.lists(st.one_of(st.integers(1, 10**9), st.floats(0, 1).map(str)), max_size=12),
    undone=st.lists(st.integers(0, 11), max_size=4),
)
def test_whatever_is_asked_for_no_more_is_given_back_than_was_received(
    quote: Quote, price: int, received: object, parts: list[int | str], undone: list[int]
) -> None:
    due = due_for(price, quote)
    released = max(1, int(due * received)) if received else due  # type: ignore[operator]  # a Fraction
    given: list[Share | None] = []

    def left() -> Share:
        standing = [share for share in given if share]
        taken = sum(share.units for share in standing)
        assert taken <= released
        return all_that_is_left(
            price=price,
            due=due,
            released=released,
            refundable=released - taken,
            refunded=sum(share.fiat for share in standing),
        )

    for part in parts:
        before = left()
        asked = part if isinstance(part, int) else int(before.fiat * Decimal(part))
        share = take(asked, before, quote)
        assert (share is None) == (asked > before.fiat or not before.units)
        assert share is None or share.units <= before.units
        given.append(share)
    for number in undone:  # some fail, and their money comes back
        if number < len(given):
            given[number] = None
    rest = take(None, left(), quote)
    given.append(rest)
    assert left().units == 0
    assert sum(share.units for share in given if share) == released
    assert sum(share.fiat for share in given if share) <= price
    parts_given = [share.units for share in given if share]
    if released == due:
        assert all(units == whole_millionths(units, quote.decimals) for units in parts_given)
    shown = [Decimal(format_crypto(units, quote.decimals)) for units in parts_given]
    with localcontext(prec=120):
        assert sum(shown) == Decimal(format_crypto(released, quote.decimals))
