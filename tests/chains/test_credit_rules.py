"""When a deposit counts."""

from __future__ import annotations

import pytest

from payments.chains.profiles import CreditRule


@pytest.mark.parametrize(
    ("rule", "head", "finalized", "counts"),
    [
        (CreditRule(1), 100, 0, True),
        (CreditRule(3), 101, 0, False),
        (CreditRule(3), 102, 0, True),
        (CreditRule(1, require_finalized=True), 500, 99, False),
        (CreditRule(1, require_finalized=True), 500, 100, True),
        (CreditRule(8, require_finalized=True), 106, 100, False),
        (CreditRule(8, require_finalized=True), 107, 100, True),
        (CreditRule(1), 99, 99, False),
    ],
)
def test_a_deposit_at_height_100_counts_when_every_condition_holds(
    rule: CreditRule, head: int, finalized: int, counts: bool
) -> None:
    assert rule.satisfied(height=100, head_height=head, finalized_height=finalized) is counts
