"""The check of the counters behind `totalCount`, for the apps whose records are counted."""

from __future__ import annotations

from collections.abc import Iterator

from merchants.counting import Counted, count_differences
from merchants.ledger.invariants import Finding


def inexact_counters(counted: Counted) -> Iterator[Finding]:
    """Compare all counters, whatever time the scope has: counters have no time of their own."""
    for difference in count_differences(counted):
        yield Finding(
            f"{difference.environment} merchant {difference.merchant_id}: {counted.kind}s {difference.status}",
            difference.actual,
            difference.counted,
            "count them again; lists show a wrong totalCount until then",
            delta=difference.counted - difference.actual,
        )
