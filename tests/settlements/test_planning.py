"""What a run settles and what it leaves, from facts alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal, localcontext
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from config.money import converted, format_crypto, whole_millionths
from merchants.wallets import WalletRules, instants_after, wallet_key
from payments.rates.quoting import Quote
from settlements.plans.planning import (
    CarriedOver,
    CarryReason,
    CoinPart,
    Plan,
    Pot,
    SettlementFacts,
    Terms,
    Totals,
    WalletKey,
    plan,
)

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
ETHEREUM, STELLAR = "ethereum", "stellar"
ONE, OTHER, THIRD = "0xOne", "0xOther", "0xThird"
UNIT = 10**6
TERMS = Terms("USDC")
PRICES = {
    "DAI": Quote(Decimal("0.999"), "a table", NOW),
    "USDT": Quote(Decimal("1.001"), "a table", NOW),
}


def pot(wallet: str = ONE, coin: str = "USDC", *, network: str = ETHEREUM, paid_to: str = "", **amounts: int) -> Pot:
    decimals = 18 if coin == "DAI" else 7 if network == STELLAR else 6
    facts: dict[str, Any] = {name: amount * UNIT for name, amount in amounts.items()}
    return Pot(network, wallet, coin, decimals, paid_to=paid_to, **facts)


def planned(*pots: Pot, terms: Terms = TERMS, prices: Mapping[str, Quote] = PRICES, **facts: Any) -> Plan:
    of_pairs = {(coin, terms.currency): price for coin, price in prices.items() if coin != terms.currency}
    known: dict[str, Any] = {"decimals": {ETHEREUM: 6, STELLAR: 7}, "prices": of_pairs}
    return plan(SettlementFacts(list(pots), terms, **{**known, **facts}))


def by_rules(rules: WalletRules, *pots: Pot) -> Plan:
    wallets = {pot.wallet_key for pot in pots}
    return planned(
        *pots,
        not_allowed={key for key in wallets if not rules.allows(key.wallet)},
        cooling_off={key for key in wallets if rules.is_cooling_off(key.wallet, NOW)},
    )


def left(plan: Plan) -> list[tuple[str, str, int, str]]:
    return [(each.wallet, each.coin, each.amount, each.reason) for each in plan.carried_over]


def test_a_wallet_is_paid_what_its_payments_brought() -> None:
    found = planned(replace(pot(paid=250), payment_count=3))
    assert left(found) == []
    [settlement] = found.settlements
    assert (settlement.network, settlement.wallet, settlement.currency) == (ETHEREUM, ONE, "USDC")
    assert settlement.totals == Totals(250 * UNIT, 0, 0, 250 * UNIT)
    assert settlement.payment_count == 3


def test_fee_and_refunds_come_off() -> None:
    [settlement] = planned(pot(paid=250, refunded=-40), terms=replace(TERMS, fee_bps=150)).settlements
    assert settlement.totals == Totals(250 * UNIT, 3_750_000, 40 * UNIT, 206_250_000)


def test_the_fee_is_rounded_down_to_the_base_unit() -> None:
    found = planned(Pot(ETHEREUM, ONE, "USDC", 6, paid=199), terms=replace(TERMS, fee_bps=50))
    assert found.settlements[0].totals == Totals(199, 0, 0, 199)
    found = planned(Pot(ETHEREUM, ONE, "USDC", 6, paid=200), terms=replace(TERMS, fee_bps=50))
    assert found.settlements[0].totals == Totals(200, 1, 0, 199)


def test_no_fee_is_taken_of_money_that_was_reversed_or_came_back() -> None:
    facts = pot(paid=300, reversed=-100, returned=1_000)
    [settlement] = planned(facts, terms=replace(TERMS, fee_bps=100)).settlements
    assert settlement.totals == Totals(1_200 * UNIT, 2 * UNIT, 0, 1_198 * UNIT)


def test_what_was_undone_gives_back_its_fee_at_the_rate_that_was_taken() -> None:
    facts = replace(pot(reversed=-100, returned=396), charged=-80 * UNIT, charged_fee=-80 * UNIT * 100)
    [settlement] = planned(facts, terms=replace(TERMS, fee_bps=500)).settlements
    assert settlement.totals == Totals(296 * UNIT, -1_800_000, 0, 297_800_000)


def test_a_fee_that_is_given_back_is_converted_as_it_would_have_been_taken() -> None:
    facts = replace(pot(coin="USDT", returned=100, reversed=-100), charged=-100 * UNIT, charged_fee=-12_345_670_000)
    odd = {"USDT": Quote(Decimal("0.987654321"), "a table", NOW)}
    [settlement] = planned(facts, prices=odd).settlements
    assert settlement.totals == Totals(0, -1_219_325, 0, 1_219_325)


@given(
    st.lists(st.tuples(st.integers(1, 10**9), st.integers(0, 10**9), st.integers(0, 10**9)), min_size=1, max_size=12),
    st.integers(0, 9_999),
    st.sampled_from([6, 7, 18]),
)
def test_over_any_history_the_fee_is_the_rate_times_what_was_kept(
    runs: list[tuple[int, int, int]], bps: int, decimals: int
) -> None:
    kept = remainder = fees = 0
    for paid, undone, returned in runs:
        terms = replace(TERMS, fee_bps=bps, fee_remainders={(ETHEREUM, "DAI"): remainder})
        undone = min(undone, kept + paid)
        pot = Pot(ETHEREUM, ONE, "DAI", decimals, paid=paid, reversed=-undone, returned=undone + returned + 10**9)
        prices = {"DAI": Quote(Decimal(10) ** 18, "a table", NOW)}  # so that nothing is too little to convert
        [part] = planned(pot, terms=terms, prices=prices).settlements[0].parts
        kept, fees, remainder = kept + paid - undone, fees + part.fee, remainder + part.fee_remainder
        assert fees == whole_millionths(kept * bps // 10_000, decimals)


def test_refunds_that_came_back_after_their_period_count_as_gross() -> None:
    [settlement] = planned(pot(paid=10, refunded=40), terms=replace(TERMS, fee_bps=1_000)).settlements
    assert settlement.totals == Totals(50 * UNIT, UNIT, 0, 49 * UNIT)


def test_each_wallet_and_network_has_its_own_settlement() -> None:
    found = planned(pot(ONE, paid=1), pot(OTHER, paid=2), pot("GONE", network=STELLAR, paid=3))
    assert [(each.network, each.wallet, each.totals.amount) for each in found.settlements] == [
        (ETHEREUM, ONE, UNIT),
        (ETHEREUM, OTHER, 2 * UNIT),
        (STELLAR, "GONE", 3 * UNIT),
    ]


def test_other_coins_are_converted_and_rounded_down() -> None:
    dai = Pot(ETHEREUM, ONE, "DAI", 18, paid=10 * 10**18 + 1, refunded=-(10**18))
    [settlement] = planned(dai, pot(paid=5), terms=replace(TERMS, fee_bps=100)).settlements
    assert [part.coin for part in settlement.parts] == ["DAI", "USDC"]
    # DAI: 0.1 fee, 1 refund, 8.900000000000000001 net, each at 0.999.
    assert settlement.totals == Totals(
        gross=9_990_000 + 5_000_000, fee=99_900 + 50_000, refund=999_000, amount=8_891_100 + 4_950_000
    )
    assert settlement.parts[0].to_record(6) == {
        "coin": "DAI",
        "decimals": 18,
        "gross": "10000000000000000001",
        "fee": "100000000000000000",
        "refund": "1000000000000000000",
        "offset": "0",
        "net": "8900000000000000001",
        "rate": "0.999",
        "source": "a table",
        "quotedAt": "2026-11-21T12:00:00.000Z",
        "converted": "8891100",
        "marketRate": "",
    }


def test_without_a_rate_the_estimate_is_at_par() -> None:
    [settlement] = planned(pot(coin="USDT", paid=7), prices={}).settlements
    assert settlement.totals.amount == 7 * UNIT
    assert settlement.parts[0].price is None
    assert settlement.parts[0].to_record(6)["rate"] == ""


def test_a_part_comes_back_from_its_record() -> None:
    part = CoinPart("DAI", 18, 100, 1, 9, price=PRICES["DAI"])
    assert CoinPart.of_record(part.to_record(6), price=PRICES["DAI"]) == part


def test_dust_of_another_coin_waits_for_more_of_it() -> None:
    dust = Pot(ETHEREUM, ONE, "DAI", 18, paid=10**16)  # 0.01 DAI, worth less than 0.01 USDC
    found = planned(dust, pot(paid=5))
    assert left(found) == [(ONE, "DAI", 10**16, CarryReason.BELOW_MINIMUM)]
    assert found.settlements[0].totals.amount == 5 * UNIT


def test_less_than_the_minimum_is_carried_over_with_all_its_coins() -> None:
    terms = replace(TERMS, minimum=Decimal("10.5"))
    found = planned(pot(paid=10), pot(OTHER, coin="USDT", paid=1), pot(OTHER, paid=9), terms=terms)
    assert found.settlements == ()
    assert {reason for *_, reason in left(found)} == {CarryReason.BELOW_MINIMUM}
    assert len(left(found)) == 3
    exactly = planned(Pot(ETHEREUM, ONE, "USDC", 6, paid=10_500_000), terms=terms)
    assert exactly.settlements[0].totals.amount == 10_500_000


def test_what_refunds_took_away_is_carried_over() -> None:
    found = planned(pot(paid=10, refunded=-30), pot(OTHER, coin="USDT", paid=5, refunded=-5))
    assert found.settlements == ()
    assert found.carried_over == (
        CarriedOver(ETHEREUM, ONE, "USDC", 6, -20 * UNIT, CarryReason.NOTHING_LEFT),
    )  # and nothing at all of USDT


def test_what_only_the_fee_keeps_back_is_not_said_to_be_gone_to_refunds() -> None:
    terms = replace(TERMS, fee_bps=1_000)
    found = planned(pot(paid=100, refunded=-95), pot(OTHER, "DAI", paid=100, refunded=-100), terms=terms)
    assert left(found) == [(ONE, "USDC", 5 * UNIT, CarryReason.FEE_TAKES_REST)]
    found = planned(pot(paid=100, refunded=-90), terms=terms)
    assert left(found) == [(ONE, "USDC", 10 * UNIT, CarryReason.FEE_TAKES_REST)]
    found = planned(pot(paid=100, refunded=-101), terms=terms)
    assert left(found) == [(ONE, "USDC", -UNIT, CarryReason.NOTHING_LEFT)]


def test_wallets_in_the_red_are_made_up_for_by_the_one_with_most() -> None:
    found = planned(pot(ONE, paid=40), pot(OTHER, paid=60), pot(THIRD, refunded=-20))
    assert left(found) == []
    assert [(each.wallet, each.totals) for each in found.settlements] == [
        (ONE, Totals(40 * UNIT, 0, 0, 40 * UNIT)),
        (OTHER, Totals(60 * UNIT, 0, 20 * UNIT, 40 * UNIT)),
    ]
    assert found.settlements[1].parts[0].wallets == (OTHER, THIRD)


def test_what_one_wallet_cannot_make_up_for_the_next_one_does() -> None:
    found = planned(pot(ONE, paid=40), pot(OTHER, paid=60), pot(THIRD, refunded=-70))
    [settlement] = found.settlements
    assert settlement.wallet == ONE
    assert settlement.parts[0].wallets == (ONE, OTHER, THIRD)
    assert settlement.totals == Totals(100 * UNIT, 0, 70 * UNIT, 30 * UNIT)


def test_nothing_is_settled_while_refunds_took_more_than_all_wallets_have() -> None:
    found = planned(pot(ONE, paid=40), pot(OTHER, paid=60), pot(THIRD, refunded=-100))
    assert found.settlements == ()
    assert {reason for *_, reason in left(found)} == {CarryReason.NOTHING_LEFT}


def test_another_network_or_coin_makes_up_for_nothing() -> None:
    found = planned(pot(ONE, refunded=-20), pot(ONE, coin="USDT", paid=50), pot("GONE", network=STELLAR, paid=50))
    assert [each.totals.amount for each in found.settlements] == [50_050_000, 50 * UNIT]
    assert left(found) == [(ONE, "USDC", -20 * UNIT, CarryReason.NOTHING_LEFT)]


def test_wallets_off_the_allow_list_or_new_on_it_are_not_paid() -> None:
    rules = WalletRules(
        frozenset({wallet_key(ONE), wallet_key(OTHER)}),
        {
            wallet_key(ONE): NOW - timedelta(hours=24),
            wallet_key(OTHER): NOW - timedelta(hours=24) + timedelta(seconds=1),
        },
    )
    found = by_rules(rules, pot(ONE, paid=1), pot(OTHER, paid=2), pot(THIRD, paid=3))
    assert [each.wallet for each in found.settlements] == [ONE]
    assert left(found) == [
        (OTHER, "USDC", 2 * UNIT, CarryReason.WALLET_COOLING_OFF),
        (THIRD, "USDC", 3 * UNIT, CarryReason.WALLET_NOT_ALLOWED),
    ]


def test_without_an_allow_list_any_wallet_is_paid() -> None:
    assert by_rules(WalletRules(), pot(paid=1)).carried_over == ()


def test_after_the_list_was_given_up_wallets_that_were_not_on_it_cool_off() -> None:
    given_up = instants_after([], before=[ONE], instants={}, now=NOW)
    rules = WalletRules.of([], given_up)
    found = by_rules(rules, pot(ONE, paid=1), pot(OTHER, paid=2))
    assert [each.wallet for each in found.settlements] == [ONE]
    assert left(found) == [(OTHER, "USDC", 2 * UNIT, CarryReason.WALLET_COOLING_OFF)]
    assert not rules.is_cooling_off(OTHER, NOW + timedelta(hours=24))


def test_wallets_that_cannot_be_paid_are_left_with_the_reason() -> None:
    found = planned(
        pot(ONE, paid=1),
        pot(OTHER, paid=2),
        pot("GONE", network=STELLAR, paid=3),
        blocked={WalletKey(ETHEREUM, ONE)},
        invalid={WalletKey(ETHEREUM, OTHER)},
        decimals={ETHEREUM: 6},
    )
    assert found.settlements == ()
    assert left(found) == [
        (ONE, "USDC", UNIT, CarryReason.WALLET_BLOCKED),
        (OTHER, "USDC", 2 * UNIT, CarryReason.WALLET_INVALID),
        ("GONE", "USDC", 3 * UNIT, CarryReason.NETWORK_UNAVAILABLE),
    ]


def test_a_blocked_wallet_makes_up_for_nobody() -> None:
    found = planned(pot(ONE, paid=100), pot(OTHER, refunded=-20), blocked={WalletKey(ETHEREUM, ONE)})
    assert found.settlements == ()
    assert left(found) == [
        (ONE, "USDC", 100 * UNIT, CarryReason.WALLET_BLOCKED),
        (OTHER, "USDC", -20 * UNIT, CarryReason.NOTHING_LEFT),
    ]


amounts = st.integers(0, 10**9)
pots = st.builds(
    Pot,
    network=st.sampled_from([ETHEREUM, STELLAR]),
    wallet=st.sampled_from([ONE, OTHER, THIRD, "0xFourth"]),
    coin=st.sampled_from(["USDC", "USDT", "DAI"]),
    decimals=st.just(6),
    paid=amounts,
    reversed=amounts.map(int.__neg__),
    refunded=st.integers(-(10**9), 10**8),
    returned=st.one_of(st.just(0), amounts),
    payment_count=st.integers(0, 9),
)


@given(
    st.lists(pots, max_size=20, unique_by=lambda pot: (pot.wallet_key, pot.coin)),
    st.integers(0, 9_999),
    st.sampled_from([Decimal(0), Decimal(1), Decimal("250.5")]),
    st.sets(st.sampled_from([ONE, OTHER])),
    st.sets(st.sampled_from([OTHER, THIRD])),
)
def test_a_plan_pays_out_what_there_is_and_never_more(
    pots: list[Pot], fee_bps: int, minimum: Decimal, blocked: set[str], replaced: set[str]
) -> None:
    pots = [replace(each, paid_to=ONE if each.wallet in replaced else "") for each in pots]
    terms = Terms("USDC", fee_bps, minimum)
    blocked_wallets = {WalletKey(network, wallet) for network in (ETHEREUM, STELLAR) for wallet in blocked}
    found = planned(*pots, terms=terms, blocked=blocked_wallets)

    in_all: defaultdict[tuple[str, str], int] = defaultdict(int)
    taken: defaultdict[tuple[str, str], int] = defaultdict(int)
    for each in pots:
        in_all[each.network, each.coin] += each.total
    used: list[tuple[str, str, str]] = []
    for settlement in found.settlements:
        assert settlement.wallet not in blocked | replaced
        assert len({part.coin for part in settlement.parts}) == len(settlement.parts)
        totals = settlement.totals
        assert totals.amount > 0
        assert min(totals.gross, totals.refund) >= 0
        assert totals.gross - totals.fee - totals.refund == totals.amount
        for part in settlement.parts:
            members = [each for each in pots if (each.network, each.coin) == (settlement.network, part.coin)]
            members = [each for each in members if each.wallet in part.wallets]
            assert part.gross - part.refund == sum(each.total for each in members)
            assert part.net > 0
            taken[settlement.network, part.coin] += part.net + part.fee
            used += [(settlement.network, wallet, part.coin) for wallet in part.wallets]
    used += [(each.network, each.wallet, each.coin) for each in found.carried_over]
    assert len(set(used)) == len(used)  # each once
    assert set(used) >= {(each.network, each.wallet, each.coin) for each in pots if each.total}
    for pool, amount in taken.items():
        assert amount <= in_all[pool]


def with_every_digit(pot: Pot) -> Pot:
    """The same with as many digits as its coin has there, none of them a nought."""
    decimals = 7 if pot.network == STELLAR else 18 if pot.coin == "DAI" else 6

    def exact(units: int) -> int:
        scale = int(10 ** (decimals - pot.decimals))
        return units * scale + (scale // 9 if units > 0 else -(scale // 9) if units else 0)

    return replace(
        pot,
        decimals=decimals,
        paid=exact(pot.paid),
        reversed=exact(pot.reversed),
        refunded=exact(pot.refunded),
        returned=exact(pot.returned),
    )


@given(
    st.lists(pots.map(with_every_digit), max_size=20, unique_by=lambda pot: (pot.wallet_key, pot.coin)),
    st.integers(0, 9_999),
    st.sampled_from(["USDC", "DAI"]),
)
def test_what_is_shown_of_a_settlement_adds_up_and_what_is_computed_has_six_digits(
    pots: list[Pot], fee_bps: int, currency: str
) -> None:
    terms, rate = Terms(currency, fee_bps), Quote(Decimal("0.998765432109"), "a table", NOW)
    scales = {ETHEREUM: 18 if currency == "DAI" else 6, STELLAR: 7}
    found = planned(*pots, terms=terms, prices={"USDC": rate, "USDT": rate, "DAI": rate}, decimals=scales)
    for settlement in found.settlements:
        totals = settlement.totals
        gross, fee, refund, amount = (
            Decimal(format_crypto(units, settlement.decimals))
            for units in (totals.gross, totals.fee, totals.refund, totals.amount)
        )
        with localcontext(prec=120):
            assert gross - refund - fee == amount
        assert totals.fee == whole_millionths(totals.fee, settlement.decimals)
        for part in settlement.parts:
            assert part.fee == whole_millionths(part.fee, part.decimals)
            worth = part.worth(part.net, settlement.decimals)
            assert part.coin == currency or worth == whole_millionths(worth, settlement.decimals)


@given(
    st.integers(0, 10**40),
    st.decimals(Decimal("0.5"), Decimal(2), places=12),
    st.sampled_from([6, 7, 18]),
    st.sampled_from([6, 7, 18]),
)
def test_a_conversion_never_gives_more_than_it_is_worth_and_less_than_a_unit_too_little(
    units: int, rate: Decimal, from_decimals: int, to_decimals: int
) -> None:
    numerator, denominator = rate.as_integer_ratio()
    result = converted(units, rate, from_decimals, to_decimals)
    exact, given_ = units * numerator * 10**to_decimals, result * denominator * 10**from_decimals
    assert given_ <= exact < given_ + denominator * 10**from_decimals
