"""The check of the counters behind `totalCount`, for the apps whose records are counted."""

from __future__ import annotations

from collections.abc import Iterator

from config.database.counters import differences
from merchants.counting import Counted
from merchants.ledger.invariants import Finding


def inexact_counters(counted: Counted) -> Iterator[Finding]:
    """Compare all counters, whatever time the scope has: counters have no time of their own."""
    for merchant_id, environment, kind, status, _day, total, actual in differences(counted.counter):
        yield Finding(
            f"{environment} merchant {merchant_id}: {kind}s {status}",
            int(actual),
            int(total),
            "lists show a wrong totalCount until it is counted again: ./manage.py recount",
            delta=int(total - actual),
        )
