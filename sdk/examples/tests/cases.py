"""What payers and networks do to an order, and what it must be afterwards: one table for every shop."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    name: str
    steps: tuple[str, ...]
    """One after the other: a scenario of the sandbox, which happens to the last payment; `is STATE`, `has REASON`
    and `lacks REASON` wait; `close`, `cancel`, `accept` and `return` (what waits of the first payment), `refund` and
    `refund AMOUNT` are what the merchant does by the API; `again` presses the button *Pay again*."""
    state: str
    attention: str = ""
    delivered: int = 0


CASES = (
    Case("paid", ("exact",), "paid", delivered=1),
    Case("paid in two parts", ("two_parts",), "paid", delivered=1),
    Case("paid by two transfers", ("two_transfers",), "paid", delivered=1),
    Case("too little", ("underpaid",), "short"),
    Case("too little, and over", ("underpaid", "is short", "close"), "expired", "underpaid"),
    Case("too little, accepted", ("underpaid", "is short", "close", "accept"), "paid", delivered=1),
    Case(
        "too little, returned, and paid anew",
        ("underpaid", "is short", "close", "has underpaid", "return", "lacks underpaid", "again", "exact"),
        "paid", delivered=1,
    ),
    Case("too much", ("overpaid",), "paid", "overpaid", delivered=1),
    Case("the same payment twice", ("exact", "is paid", "exact"), "paid", "overpaid", delivered=1),
    Case("late", ("late",), "expired", "late"),
    Case("late, accepted", ("late", "has late", "accept"), "paid", "late", delivered=1),
    Case("late, and paid anew", ("late", "has late", "again", "exact"), "paid", "late", delivered=1),
    Case(
        "late, paid anew, and accepted", ("late", "has late", "again", "exact", "is paid", "accept"),
        "paid", "late paid_twice", delivered=1,
    ),
    Case("another coin", ("wrong_token",), "awaiting", "wrong_token"),
    Case("another network", ("wrong_network",), "awaiting", "wrong_network"),
    Case("refunded in part", ("exact", "is paid", "refund 5"), "partly_refunded", delivered=1),
    Case("refunded", ("exact", "is paid", "refund"), "refunded", delivered=1),
    Case("cancelled", ("cancel",), "cancelled"),
    Case("cancelled, then paid", ("cancel", "is cancelled", "exact"), "cancelled", "late"),
)  # fmt: skip

NETWORK_CASES = (
    Case("reorganised", ("reorg",), "paid", delivered=1),
    Case("the network is away", ("outage",), "paid", delivered=1),
)
"""These happen to the whole network, so what is above has it for itself."""
