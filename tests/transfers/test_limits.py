"""What may leave without anybody looking."""

from __future__ import annotations

import pytest

from config.coins import usd_worth
from payments.transfers.limits import Limits, Spent, why_held
from payments.transfers.states import HoldReason

DOLLAR = usd_worth("USDC", 1_000_000, 6)


def test_coins_of_every_scale_are_measured_alike() -> None:
    assert usd_worth("USDC", 10**6, 6) == usd_worth("USDC", 10**7, 7) == usd_worth("USDC", 10**18, 18) == 10**18


@pytest.mark.parametrize(
    ("dollars", "limits", "spent", "approvals", "reason"),
    [
        (10**9, Limits(), Spent(), 0, None),
        (100, Limits(approval_above=100), Spent(), 0, None),
        (101, Limits(approval_above=100), Spent(), 0, HoldReason.APPROVAL),
        (101, Limits(approval_above=100), Spent(), 1, HoldReason.APPROVAL),
        (101, Limits(approval_above=100), Spent(), 2, None),
        (101, Limits(transfer=100), Spent(), 2, HoldReason.OVER_LIMIT),
        (100, Limits(transfer=100), Spent(), 0, None),
        (1, Limits(daily=10), Spent(by_all=9 * DOLLAR), 0, None),
        (2, Limits(daily=10), Spent(by_all=9 * DOLLAR), 0, HoldReason.DAILY_LIMIT),
        (2, Limits(daily=10), Spent(by_all=9 * DOLLAR), 2, None),
        (2, Limits(merchant_daily=10), Spent(by_all=99 * DOLLAR, by_merchant=9 * DOLLAR), 0, HoldReason.MERCHANT_LIMIT),
        (2, Limits(merchant_daily=10), Spent(by_all=99 * DOLLAR), 0, None),
        (0, Limits(transfer=0), Spent(), 0, None),
    ],
)
def test_limits(dollars: int, limits: Limits, spent: Spent, approvals: int, reason: HoldReason | None) -> None:
    assert why_held(dollars * DOLLAR, limits, spent, approvals=approvals) is reason


def test_a_limit_is_exact_to_the_base_unit() -> None:
    limits = Limits(transfer=100)
    assert why_held(usd_worth("USDC", 100 * 10**18, 18), limits, Spent(), approvals=0) is None
    assert why_held(usd_worth("USDC", 100 * 10**18 + 1, 18), limits, Spent(), approvals=0) is HoldReason.OVER_LIMIT
