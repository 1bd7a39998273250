"""Which rate is believed: exact cases, and properties over any set of observations."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.coins import COINS, USD
from config.money import FIAT_DIGITS
from payments.rates.agreement import LARGEST_DEVIATION, AgreedRate, Rule, agree, rule_for
from payments.rates.observations import Observation
from payments.rates.tables import bundled_rates

NOW = datetime(2026, 11, 21, 10, 30, tzinfo=UTC)


def rule(base: str = "USDC", quote: str = USD) -> Rule:
    found = rule_for((base, quote))
    assert found is not None
    return found


def heard(*rates: str, age_seconds: float = 5, base: str = "USDC", quote: str = USD) -> list[Observation]:
    """One observation per rate, each from a source of its own."""
    at = NOW - timedelta(seconds=age_seconds)
    return [Observation(base, quote, Decimal(rate), f"source{index}", at) for index, rate in enumerate(rates)]


def agreed(observations: list[Observation], *, by: Rule | None = None) -> AgreedRate | None:
    return agree(observations, now=NOW, rule=by or rule())


def rate_of(*rates: str) -> Decimal | None:
    result = agreed(heard(*rates))
    return None if result is None else result.rate


def test_the_rate_is_the_median_of_the_sources_that_agree() -> None:
    assert rate_of("0.9990", "1.0000", "1.0002") == Decimal("1.0000")
    assert rate_of("0.9990", "1.0000") == Decimal("0.9995")
    assert rate_of("0.9990", "0.9992", "1.0000", "1.0002", "1.09") == Decimal("0.9996")


@pytest.mark.parametrize("absurd", ["0", "-1", "NaN", "sNaN", "Infinity", "-Infinity", "1e9", "1e-9", "0.5", "1.5"])
def test_an_absurd_rate_is_dropped_and_the_others_go_on(absurd: str) -> None:
    result = agreed(heard("0.9999", absurd, "1.0001"))
    assert result is not None
    assert result.rate == Decimal("1.0000")
    assert result.sources == ("source0", "source2")


def test_one_source_alone_sets_no_price_of_a_coin() -> None:
    assert rate_of("1.0000") is None
    assert rate_of("1.0000", "NaN", "7") is None
    assert rate_of() is None


def test_sources_that_contradict_each_other_agree_on_nothing() -> None:
    assert rate_of("0.95", "1.05") is None
    assert rate_of("0.91", "1.00", "1.09") is None


def test_a_rate_two_percent_off_the_median_still_counts_and_a_hair_more_does_not() -> None:
    on_the_edge, beyond = agreed(heard("1", "1", "1.02")), agreed(heard("1", "1", "1.0200001"))
    assert on_the_edge is not None
    assert beyond is not None
    assert on_the_edge.sources == ("source0", "source1", "source2")
    assert beyond.sources == ("source0", "source1")


def test_a_stale_observation_is_dropped_at_120_seconds() -> None:
    assert agreed(heard("1", "1", age_seconds=120)) is not None
    assert agreed(heard("1", "1", age_seconds=120.001)) is None
    assert agreed(heard("1", "1", age_seconds=86_400)) is None


def test_an_observation_from_the_future_is_dropped() -> None:
    assert agreed(heard("1", "1", age_seconds=-60)) is not None
    assert agreed(heard("1", "1", age_seconds=-61)) is None


def test_a_source_counts_once_with_what_it_said_last() -> None:
    old, new = heard("0.98", age_seconds=90), heard("1.00", age_seconds=10)
    other = [Observation("USDC", USD, Decimal("1.00"), "another", NOW)]
    result = agreed(new + old + other)
    assert result is not None
    assert result.rate == 1
    assert result.sources == ("another", "source0")
    assert agreed(old + new) is None


def test_the_age_of_a_rate_is_that_of_its_oldest_observation() -> None:
    young, old = heard("1", age_seconds=1), [Observation("USDC", USD, Decimal(1), "z", NOW - timedelta(seconds=99))]
    result = agreed(young + old)
    assert result is not None
    assert result.observed_at == NOW - timedelta(seconds=99)


def test_reference_rates_hold_over_easter_but_not_for_ever() -> None:
    def at_age(**age: float) -> AgreedRate | None:
        observation = Observation(USD, "EUR", Decimal("0.87"), "ecb", NOW - timedelta(**age))
        return agreed([observation], by=rule(USD, "EUR"))

    assert at_age(days=5, hours=3) is not None
    assert at_age(days=6, seconds=1) is None


@pytest.mark.parametrize("currency", sorted(set(FIAT_DIGITS) - {USD}))
def test_the_band_of_a_currency_admits_its_rate_and_neither_its_inverse_nor_a_slipped_point(currency: str) -> None:
    band, usual = rule(USD, currency), bundled_rates()[USD, currency]
    assert band.lowest < usual < band.highest
    for wrong in (1 / usual, usual * 10, usual / 10):
        assert not band.lowest <= wrong <= band.highest


def test_the_band_of_a_coin_is_ten_cents_around_the_dollar() -> None:
    for coin in COINS:
        assert (rule(coin).lowest, rule(coin).highest) == (Decimal("0.90"), Decimal("1.10"))


def test_a_pair_that_is_not_priced_has_no_rule() -> None:
    assert rule_for(("BTC", USD)) is None
    assert rule_for((USD, "XYZ")) is None
    assert rule_for(("EUR", "JPY")) is None


anything = st.decimals(allow_nan=True, allow_infinity=True)
nearby = st.decimals(min_value="0.85", max_value="1.15", places=6)
observations = st.lists(
    st.builds(
        Observation,
        base=st.just("USDC"),
        quote=st.just(USD),
        rate=anything | nearby,
        source=st.sampled_from(["a", "b", "c", "d", "e"]),
        observed_at=st.integers(-600, 600).map(lambda seconds: NOW - timedelta(seconds=seconds)),
    ),
    max_size=12,
)


@given(observations)
def test_whatever_is_heard_an_agreed_rate_is_in_the_band_fresh_and_from_a_quorum(heard: list[Observation]) -> None:
    result = agree(heard, now=NOW, rule=rule())
    if result is None:
        return
    assert rule().lowest <= result.rate <= rule().highest
    assert len(result.sources) == len(set(result.sources)) >= 2
    assert NOW - result.observed_at <= timedelta(seconds=120)


@given(observations)
def test_the_order_in_which_sources_answer_does_not_matter(heard: list[Observation]) -> None:
    distinct = list({(each.source, each.observed_at): each for each in heard}.values())
    assert agree(distinct, now=NOW, rule=rule()) == agree(distinct[::-1], now=NOW, rule=rule())


@given(st.lists(st.decimals("0.9995", "1.0005", places=6), min_size=3, max_size=5), anything)
def test_one_liar_among_three_honest_sources_moves_the_rate_by_less_than_their_spread(
    honest: list[Decimal], lie: Decimal
) -> None:
    result = agreed(heard(*map(str, honest), str(lie)))
    assert result is not None
    assert min(honest) <= result.rate <= max(honest)


@given(st.lists(nearby, min_size=1, max_size=6))
def test_no_source_that_counted_is_far_from_the_median(rates: list[Decimal]) -> None:
    by_source = dict(zip("abcdef", rates, strict=False))
    result = agreed([Observation("USDC", USD, rate, source, NOW) for source, rate in by_source.items()])
    if result is not None:
        counted = [by_source[source] for source in result.sources]
        assert max(counted) - min(counted) <= 2 * LARGEST_DEVIATION * max(rates)
