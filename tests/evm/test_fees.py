"""What is offered for gas: enough, more than before in both parts, and never more than the operator allows."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from payments.chains.errors import FeesAboveCap
from payments.chains.evm.factory import fee_rules
from payments.chains.evm.fees import GWEI, FeeRules, Offer, with_margin
from payments.chains.settings_lookup import settings_of
from tests.networks import with_set

prices = st.integers(0, 10**12)
RULES = FeeRules(tip_floor=30 * GWEI, cap=200 * GWEI)


def test_an_offer_bears_a_base_fee_that_doubles() -> None:
    assert FeeRules().offer(base_fee=10 * GWEI, usual_tip=GWEI) == Offer(21 * GWEI, GWEI)


def test_a_tip_below_the_floor_is_raised_to_it() -> None:
    assert RULES.offer(base_fee=10 * GWEI, usual_tip=GWEI) == Offer(50 * GWEI, 30 * GWEI)


def test_an_offer_stops_at_the_cap_while_the_present_price_fits() -> None:
    assert RULES.offer(base_fee=150 * GWEI, usual_tip=0) == Offer(200 * GWEI, 30 * GWEI)


def test_the_operators_prices_may_have_a_fraction(settings: Settings) -> None:
    prices = {"tip_floor_gwei": Decimal("0.05"), "fee_cap_gwei": Decimal("0.000000001")}
    settings.NETWORK_SETTINGS = with_set("ethereum", **prices)
    settings.NETWORK_SETTINGS = with_set("polygon", tip_floor_gwei=Decimal(25), fee_cap_gwei=Decimal("999.5"))
    assert fee_rules(settings_of("ethereum")) == FeeRules(tip_floor=50_000_000, cap=1)
    assert fee_rules(settings_of("polygon")) == FeeRules(tip_floor=25 * GWEI, cap=999_500_000_000)


def test_above_the_cap_nothing_is_offered() -> None:
    with pytest.raises(FeesAboveCap, match=r"180\.0 of 179\.0 gwei"):
        FeeRules(30 * GWEI, 179 * GWEI).offer(base_fee=150 * GWEI, usual_tip=0)


def test_a_price_is_the_base_fee_and_the_tip_that_is_offered() -> None:
    assert RULES.price(base_fee=10 * GWEI, usual_tip=GWEI) == 40 * GWEI
    assert RULES.price(base_fee=10 * GWEI, usual_tip=35 * GWEI) == 45 * GWEI


@given(prices, prices, st.lists(st.builds(Offer, prices, prices), min_size=1, max_size=4))
def test_a_replacement_is_an_eighth_above_every_earlier_offer_in_both_parts(
    base_fee: int, usual_tip: int, earlier: list[Offer]
) -> None:
    offer = FeeRules(cap=10**18).offer(base_fee=base_fee, usual_tip=usual_tip, replacing=earlier)
    assert all(offer.max_fee * 8 >= each.max_fee * 9 and offer.tip * 8 >= each.tip * 9 for each in earlier)
    assert offer.max_fee >= base_fee + min(offer.tip, usual_tip)


@given(st.integers(21_000, 16_000_000))
def test_a_gas_limit_is_a_fifth_above_the_estimate(gas: int) -> None:
    assert gas * 119 < with_margin(gas) * 100 <= gas * 120
