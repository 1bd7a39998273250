"""What of a merchant's money repays which debts, from facts alone."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from payments.rates.quoting import Quote
from settlements.plans.offsetting import OffsetPlan, PlannedOffset, Share, plan_offsets
from settlements.plans.planning import CarryReason, Plan, Pot, SettlementFacts, Terms, plan
from tests.networks import ETHEREUM, POLYGON, STELLAR

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
WALLET = "0xOne"
WORTH = {"USDC": Decimal("0.9997"), "USDT": Decimal("1.0004"), "DAI": Decimal("0.998")}
"""In dollars."""


def price(coin: str, owed: str) -> Quote:
    rate = (WORTH[coin] / WORTH[owed]).quantize(Decimal("1e-12"), rounding=ROUND_FLOOR)
    return Quote(rate, "a table", NOW)


PRICES = {(coin, owed): price(coin, owed) for coin in WORTH for owed in WORTH if coin != owed}


def digits(network: str, coin: str) -> int:
    return 7 if network == STELLAR else 18 if coin == "DAI" else 6


def share(amount: str, coin: str = "USDC", network: str = ETHEREUM) -> Share:
    decimals = digits(network, coin)
    return Share(network, WALLET, coin, decimals, int(Decimal(amount).scaleb(decimals)))


def told(found: OffsetPlan) -> list[tuple[str, str, str, str, str, str]]:
    def amount(each: Share) -> str:
        return f"{Decimal(each.amount).scaleb(-each.decimals).normalize():f}"

    return [
        (
            *(amount(each.taken), each.taken.coin, each.taken.network),
            *(amount(each.repaid), each.repaid.coin, each.repaid.network),
        )
        for each in found.offsets
    ]


def test_the_same_coin_of_another_network_repays_first_and_at_par() -> None:
    money = [share("400", "USDT"), share("400", "USDC", POLYGON)]
    found = plan_offsets(money, [share("500")], PRICES)
    assert told(found) == [
        ("400", "USDC", POLYGON, "400", "USDC", ETHEREUM),
        ("99.930028", "USDT", ETHEREUM, "100", "USDC", ETHEREUM),
    ]
    assert [each.price for each in found.offsets] == [None, PRICES["USDT", "USDC"]]


@pytest.mark.parametrize(
    ("money", "debt", "expected"),
    [
        (share("10", "USDT"), share("500"), ("10", "10.007002")),  # all of it, for less than it is worth by a fraction
        (share("10", "DAI"), share("500"), ("10", "9.982994")),
        (share("700", "DAI"), share("500"), ("500.851704", "500")),  # whole millionths, rounded up
        (share("10.0000005", "USDC", STELLAR), share("500"), ("10", "10")),  # the rest cannot be said in six digits
        (share("700"), share("0.123456789012345678", "DAI"), ("0.123247", "0.123456789012345678")),
        (share("0.0000005", "USDC", STELLAR), share("500"), None),
    ],
)
def test_what_is_taken_is_worth_what_it_repays(money: Share, debt: Share, expected: tuple[str, str] | None) -> None:
    found = plan_offsets([money], [debt], PRICES)
    assert [(row[0], row[3]) for row in told(found)] == ([expected] if expected else [])


def test_money_without_a_rate_to_a_debt_is_left_and_named() -> None:
    money = [share("400", "USDT"), share("400", "USDC", POLYGON), share("5", "DAI")]
    found = plan_offsets(money, [share("500")], {("DAI", "USDC"): PRICES["DAI", "USDC"]})
    assert [row[1] for row in told(found)] == ["USDC", "DAI"]
    assert found.unpriced == {(ETHEREUM, "USDT")}
    assert plan_offsets(money, [share("300")], {}).unpriced == frozenset()


POTS = [(network, coin) for network in (ETHEREUM, POLYGON, STELLAR) for coin in ("USDC", "USDT", "DAI")]
UNITS = st.integers(0, 10**9) | st.integers(0, 10**21)


@given(st.lists(st.tuples(st.sampled_from(POTS), UNITS, st.booleans()), max_size=9, unique_by=lambda row: row[0]))
def test_no_worth_is_invented_and_what_is_lost_to_rounding_is_less_than_a_millionth(
    rows: list[tuple[tuple[str, str], int, bool]],
) -> None:
    sides: dict[bool, list[Share]] = {True: [], False: []}
    for (network, coin), amount, is_debt in rows:
        sides[is_debt].append(Share(network, WALLET, coin, digits(network, coin), amount))
    money, debts = sides[False], sides[True]
    found = plan_offsets(money, debts, PRICES)
    assert found.unpriced == frozenset()
    left: dict[tuple[bool, str, str], int] = defaultdict(int)
    for is_debt, shares in sides.items():
        for each in shares:
            left[is_debt, each.network, each.coin] = each.amount
    for offset in found.offsets:
        assert_fair(offset)
        left[False, offset.taken.network, offset.taken.coin] -= offset.taken.amount
        left[True, offset.repaid.network, offset.repaid.coin] -= offset.repaid.amount
    assert min(left.values(), default=0) >= 0
    # Money and debts are not both left, beside what is less than a millionth.
    of_money = [amount_of(network, coin, units) for (debt, network, coin), units in left.items() if not debt]
    of_debts = [amount_of(network, coin, units) for (debt, network, coin), units in left.items() if debt]
    tiny = Fraction(3, 10**6)
    assert all(amount < tiny for amount in of_money) or all(amount < tiny for amount in of_debts)


def amount_of(network: str, coin: str, units: int) -> Fraction:
    return Fraction(units, 10 ** digits(network, coin))


def assert_fair(offset: PlannedOffset) -> None:
    """What was taken is worth what it repays and the rounding, to the last unit of the coin that was owed."""
    taken = amount_of(offset.taken.network, offset.taken.coin, offset.taken.amount) * Fraction(offset.rate)
    repaid = amount_of(offset.repaid.network, offset.repaid.coin, offset.repaid.amount)
    rounding = amount_of(offset.repaid.network, offset.repaid.coin, offset.rounding)
    unit = Fraction(1, 10**offset.repaid.decimals)
    assert 0 <= taken - repaid - rounding < unit
    assert 0 <= taken - repaid <= Fraction(offset.rate) / 10**6


# --- inside a plan -----------------------------------------------------------------------------------


def pot(coin: str = "USDC", network: str = ETHEREUM, *, wallet: str = WALLET, **amounts: int) -> Pot:
    decimals = digits(network, coin)
    facts: dict[str, Any] = {name: amount * 10**decimals for name, amount in amounts.items()}
    return Pot(network, wallet, coin, decimals, **facts)


def planned(*pots: Pot, owed: dict[tuple[str, str], int], fee_bps: int = 0, **facts: Any) -> Plan:
    known: dict[str, Any] = {
        "decimals": {ETHEREUM: 6, POLYGON: 6, STELLAR: 7},
        "prices": PRICES,
        "debts": owed,
    }
    return plan(SettlementFacts(list(pots), Terms("USDC", fee_bps=fee_bps), **{**known, **facts}))


OWED = {(ETHEREUM, "USDC"): 500 * 10**6}


def test_debts_are_repaid_before_anything_is_paid() -> None:
    found = planned(pot(reversed=-500), pot("USDT", paid=400), pot("USDC", POLYGON, paid=400), owed=OWED)
    assert told(OffsetPlan(found.offsets)) == [
        ("400", "USDC", POLYGON, "400", "USDC", ETHEREUM),
        ("99.930028", "USDT", ETHEREUM, "100", "USDC", ETHEREUM),
    ]
    [settlement] = found.settlements
    [part] = settlement.parts
    assert (part.coin, part.gross, part.refund, part.offset, part.net) == (
        *("USDT", 400_000_000),
        *(99_930_028, 99_930_028, 300_069_972),
    )
    assert found.carried_over == ()


def test_the_fee_is_not_taken_for_a_debt_and_not_charged_on_what_repays_one() -> None:
    found = planned(pot(refunded=-500), pot("USDC", POLYGON, paid=400), owed=OWED, fee_bps=100)
    assert [each.taken.amount for each in found.offsets] == [396_000_000]
    assert [(left.network, left.amount, left.reason) for left in found.carried_over] == [
        (ETHEREUM, -104_000_000, CarryReason.NOTHING_LEFT),
        (POLYGON, 4_000_000, CarryReason.FEE_TAKES_REST),
    ]
    later = planned(
        pot(refunded=-500, offset=396),
        pot("USDC", POLYGON, paid=1_000, offset=-396),
        owed={(ETHEREUM, "USDC"): 104 * 10**6},
        fee_bps=100,
    )
    [settlement] = later.settlements
    assert (settlement.totals.fee, settlement.totals.offset) == (10_000_000, 500_000_000)
    assert settlement.totals.amount == 490_000_000


def test_a_coin_without_a_rate_is_carried_over_while_anything_is_owed() -> None:
    found = planned(pot(refunded=-500), pot("DAI", paid=400), pot("USDT", paid=100), owed=OWED, prices={})
    assert (found.settlements, found.offsets) == ((), ())
    assert {(left.coin, left.reason) for left in found.carried_over} == {
        ("DAI", CarryReason.RATE_UNAVAILABLE),
        ("USDT", CarryReason.RATE_UNAVAILABLE),
        ("USDC", CarryReason.NOTHING_LEFT),
    }


def test_money_of_a_wallet_that_is_not_paid_stays() -> None:
    refused = {(POLYGON, WALLET)}
    found = planned(pot(refunded=-500), pot("USDC", POLYGON, paid=400), owed=OWED, blocked=refused)
    assert (found.settlements, found.offsets) == ((), ())
    assert {(left.network, left.reason) for left in found.carried_over} == {
        (ETHEREUM, CarryReason.NOTHING_LEFT),
        (POLYGON, CarryReason.WALLET_BLOCKED),
    }


def test_only_what_the_ledger_says_is_owed_is_repaid() -> None:
    """What came in after the period may have repaid a part: the pots do not count it yet."""
    found = planned(pot(refunded=-500), pot("USDC", POLYGON, paid=400), owed={(ETHEREUM, "USDC"): 30 * 10**6})
    assert [each.repaid.amount for each in found.offsets] == [30 * 10**6]
    assert [each.totals.amount for each in found.settlements] == [370 * 10**6]


def test_several_wallets_repay_and_are_repaid_each_as_far_as_it_goes() -> None:
    other = "0xOther"
    found = planned(
        pot(refunded=-300),
        pot(refunded=-200, wallet=other),
        pot("USDC", POLYGON, paid=350),
        pot("USDC", POLYGON, paid=250, wallet=other),
        owed=OWED,
    )
    assert [(each.taken.wallet, each.repaid.wallet, each.taken.amount // 10**6) for each in found.offsets] == [
        (WALLET, WALLET, 300),
        (WALLET, other, 50),
        (other, other, 150),
    ]
    assert [(each.wallet, each.totals.amount) for each in found.settlements] == [(other, 100 * 10**6)]


@given(
    st.lists(
        st.tuples(st.sampled_from(POTS), st.integers(-(10**9), 10**9), st.sampled_from([WALLET, "0xOther"])),
        max_size=12,
        unique_by=lambda row: (row[0], row[2]),
    ),
    st.integers(0, 2_000),
)
def test_a_plan_with_debts_never_pays_more_than_there_is(
    rows: list[tuple[tuple[str, str], int, str]], bps: int
) -> None:
    pots = []
    totals: dict[tuple[str, str], int] = defaultdict(int)
    for (network, coin), amount, wallet in rows:
        scaled = amount * 10 ** max(0, digits(network, coin) - 6)
        name = "paid" if amount > 0 else "refunded"
        pots.append(replace(pot(coin, network, wallet=wallet), **{name: scaled}))
        totals[network, coin] += scaled
    debts = {key: -total for key, total in totals.items() if total < 0}
    found = planned(*pots, owed=debts, fee_bps=bps)
    spent: dict[tuple[str, str], int] = defaultdict(int)
    repaid: dict[tuple[str, str], int] = defaultdict(int)
    for offset in found.offsets:
        assert_fair(offset)
        spent[offset.taken.network, offset.taken.coin] += offset.taken.amount
        repaid[offset.repaid.network, offset.repaid.coin] += offset.repaid.amount
    for settlement in found.settlements:
        assert settlement.totals.amount > 0
        for part in settlement.parts:
            assert (settlement.network, part.coin) not in debts or part.net + part.fee <= 0
            spent[settlement.network, part.coin] += part.net + part.fee
    for key, total in totals.items():
        assert spent[key] <= max(0, total)
        assert repaid[key] <= debts.get(key, 0)
    assert not found.settlements or all(repaid[key] == amount for key, amount in debts.items()), "paid, and still owed"


def test_what_a_fee_leaves_is_not_paid_while_anything_is_owed() -> None:
    """The wallets balance each other anew once their money is taken: neither may be paid of the fee that is left."""
    found = planned(
        pot("USDC", POLYGON, returned=1_000),
        pot("USDC", POLYGON, paid=900, wallet="0xOther"),
        pot("USDC", POLYGON, refunded=-1, wallet="0xThird"),
        pot(refunded=-5_000),
        owed={(ETHEREUM, "USDC"): 5_000 * 10**6},
        fee_bps=1_000,
    )
    assert sum(each.taken.amount for each in found.offsets) == 1_809 * 10**6
    assert found.settlements == ()
