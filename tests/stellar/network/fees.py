"""`/fee_stats`: what the last five ledgers charged for an operation, and what was offered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.stellar.network.envelopes import BASE_FEE
from tests.stellar.network.view import View

LEDGERS = 5
_CAPACITY = 1000
_PERCENTILES = (10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99)


def fee_stats(view: View) -> dict[str, Any]:
    """While the network wants more than the base fee, ledgers count as full and charged at least that."""
    latest, wanted = view.latest, view.network.fee_each
    recent = view.network.history.ledgers[max(0, latest.number - LEDGERS) : latest.number]
    fees = [each for ledger in recent for each in ledger.fees]
    surging = wanted > BASE_FEE
    usage = 1.0 if surging else min(1.0, latest.operations_tried / _CAPACITY)
    return {
        "last_ledger": str(latest.number),
        "last_ledger_base_fee": str(BASE_FEE),
        "ledger_capacity_usage": f"{usage:.2f}".rstrip("0").rstrip("."),
        "fee_charged": _distribution([max(charged, wanted) for charged, _ in fees] or [wanted]),
        "max_fee": _distribution([max(offered, wanted) for _, offered in fees] or [wanted]),
    }


def _distribution(numbers: Sequence[int]) -> dict[str, str]:
    ordered = sorted(numbers)
    said = {"max": ordered[-1], "min": ordered[0], "mode": max(ordered, key=ordered.count)}
    said |= {f"p{part}": ordered[min(len(ordered) - 1, len(ordered) * part // 100)] for part in _PERCENTILES}
    return {name: str(number) for name, number in said.items()}
