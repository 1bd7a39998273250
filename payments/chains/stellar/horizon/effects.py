"""What changed the balance of an account, by Horizon's effects: also what no payment shows. Pure; as records.py.

The fee of an on-chain transaction is no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from payments.chains.stellar.horizon import values
from payments.chains.stellar.horizon.values import NATIVE

Change = tuple[str, int]
"""An asset, and how much more of it the account has, in stroops; less of it when negative."""


@dataclass(frozen=True, slots=True)
class EffectRecord:
    """One effect of an operation on an account. `operation` is its paging token."""

    operation: int
    position: int
    account: str
    type: str
    changes: tuple[Change, ...]

    @property
    def place(self) -> tuple[int, int]:
        return self.operation, self.position


def effect(found: Any) -> EffectRecord:
    operation, _, position = values.text(found["paging_token"]).partition("-")
    kind = values.text(found["type"])
    read = _CHANGES.get(kind)
    return EffectRecord(
        operation=values.whole(operation),
        position=values.whole(position),
        account=values.account(found["account"]),
        type=kind,
        changes=() if read is None else read(found),
    )


def changes_by(effects: Iterable[EffectRecord]) -> Iterator[tuple[EffectRecord, Change]]:
    """The changes by these effects on one account, in their order, each with the effect that records it.

    A path payment records its sender's spending twice: as a debit, and as the trades that converted it.
    """
    for _, group in groupby(effects, key=lambda each: each.operation):
        of_one = list(group)
        is_debited = any(each.type == "account_debited" for each in of_one)
        for each in of_one:
            if not (is_debited and each.type == "trade"):
                yield from ((each, change) for change in each.changes)


def _credited(found: Any) -> tuple[Change, ...]:
    return ((values.asset(found), values.stroops(found["amount"])),)


def _debited(found: Any) -> tuple[Change, ...]:
    return ((values.asset(found), -values.stroops(found["amount"])),)


def _created(found: Any) -> tuple[Change, ...]:
    return ((NATIVE, values.stroops(found["starting_balance"])),)


def _traded(found: Any) -> tuple[Change, ...]:
    return (
        (values.asset(found, "sold_"), -values.stroops(found["sold_amount"])),
        (values.asset(found, "bought_"), values.stroops(found["bought_amount"])),
    )


def _pooled(found: Any) -> tuple[Change, ...]:
    return tuple((asset, -amount) for asset, amount in _reserves(found["reserves_deposited"]))


def _withdrawn(found: Any) -> tuple[Change, ...]:
    return tuple(_reserves(found["reserves_received"]))


def _reserves(found: Any) -> list[Change]:
    return [(values.spelled_asset(each["asset"]), values.stroops(each["amount"])) for each in values.listed(found)]


_CHANGES: Mapping[str, Callable[[Any], tuple[Change, ...]]] = {
    "account_created": _created,
    "account_credited": _credited,
    "account_debited": _debited,
    "trade": _traded,
    "liquidity_pool_deposited": _pooled,
    "liquidity_pool_withdrew": _withdrawn,
}
