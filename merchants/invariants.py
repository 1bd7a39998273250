"""The check of the counters behind `totalCount`, for the apps whose records are counted."""

from __future__ import annotations

from collections.abc import Iterator

from merchants.counting import Counted
from merchants.ledger.checking import Finding, Scope, key_of_day


def inexact_counters(scope: Scope, counted: Counted) -> Iterator[Finding]:
    """Compare the counters with the records, whatever environment and network the scope has."""
    for merchant_id, environment, kind, status, day, total, actual in scope.rows(
        scope.part_of(counted.counter).differences
    ):
        yield Finding(
            f"{environment} merchant {merchant_id}: {kind}s {status}",
            int(actual),
            int(total),
            "lists show a wrong totalCount until it is counted again: ./manage.py recount",
            delta=int(total - actual),
            key=key_of_day(day),
        )
