"""Fees taken on money that was undone or refunded since: each is given back at the rate of its settlement."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, NamedTuple

from django.db import connection

from payments.models import BalanceChange
from payments.states import BalanceChangeKind
from settlements.models import Settlement
from settlements.plans.planning import Pot
from settlements.plans.statements import REFUNDED

PAID = (BalanceChangeKind.PAYMENT, BalanceChangeKind.ACCEPTED)
REVERSED = (
    BalanceChangeKind.REVERSAL,
    BalanceChangeKind.MISSING,
    BalanceChangeKind.MISSING_ENDED,
    BalanceChangeKind.LOSS,
)

PotKey = tuple[str, str, str]
"""Network, wallet and coin."""


class PaidOrUndone(NamedTuple):
    """A balance change that fees are on: what a payment brought, or what was undone or, with its fee, refunded of it.

    `bps`: of its settlement.
    """

    payment_id: uuid.UUID
    network: str
    asset: str
    wallet: str
    kind: str
    posting_kind: str
    amount: int
    bps: int | None
    is_due: bool
    """True if the next run settles it."""

    @property
    def pot(self) -> PotKey:
        return self.network, self.wallet, self.asset


@dataclass(slots=True)
class _Part:
    kind: str
    amount: int
    bps: int | None
    """The fee of the settlement that it was in; None while it is in none."""
    due_in: PotKey | None = None
    """Of what a payment brought: where the next run charges it."""


@dataclass(slots=True)
class _History:
    """Money a payment has brought in one coin, by the settlements that charged it, and the changes since.

    A fee is due on what is `kept`. Every change returns how that changes: parts that are kept now, with amounts above
    zero, and parts that are kept no more, below.
    """

    kept: list[_Part] = field(default_factory=list)
    refunded: list[_Part] = field(default_factory=list)
    undone: list[_Part] = field(default_factory=list)
    uncovered: int = 0
    """Refunded beyond what is there: what is paid next has been refunded already."""

    def apply(self, change: PaidOrUndone) -> list[_Part]:
        if change.kind in PAID:
            part = _Part(change.kind, change.amount, change.bps, change.pot if change.is_due else None)
            self.kept.append(part)
            return [replace(part), *self._cover()]
        if change.kind in REFUNDED:
            return self._refund(-change.amount) if change.amount < 0 else self._refund_came_back(change.amount)
        if change.amount < 0:
            return self._undo(-change.amount, is_beside=change.posting_kind == "deposit_reversed")
        restored = _move(self.undone, self.kept, change.amount)
        return [*restored, *self._cover()]

    def _undo(self, amount: int, *, is_beside: bool) -> list[_Part]:
        """A deposit beside the payment takes back what was accepted for it, all else first what the payment brought."""
        lost = self._take(amount, self.undone, is_beside=is_beside)
        self.uncovered += _sum(_move(self.refunded, self.undone, amount - _sum(lost)))
        return _negative(lost)

    def _refund(self, amount: int) -> list[_Part]:
        given = self._take(amount, self.refunded, is_beside=False)
        self.uncovered += amount - _sum(given)
        return _negative(given)

    def _refund_came_back(self, amount: int) -> list[_Part]:
        never_there = min(amount, self.uncovered)
        self.uncovered -= never_there
        return _move(self.refunded, self.kept, amount - never_there)

    def _cover(self) -> list[_Part]:
        covered = self._take(self.uncovered, self.refunded, is_beside=False)
        self.uncovered -= _sum(covered)
        return _negative(covered)

    def _take(self, amount: int, target: list[_Part], *, is_beside: bool) -> list[_Part]:
        """The parts of what is kept that so much is taken of, which are in `target` now."""
        found = list[_Part]()
        while (left := amount - _sum(found)) and self.kept:
            part = self._next(left, is_beside=is_beside)
            taken = min(left, part.amount)
            found.append(replace(part, amount=taken))
            part.amount -= taken
            if not part.amount:
                self.kept.remove(part)
        target += [replace(part) for part in found]
        return found

    def _next(self, left: int, *, is_beside: bool) -> _Part:
        newest = self.kept[::-1]
        paid = [part for part in newest if part.kind == BalanceChangeKind.PAYMENT]
        same = [part for part in newest if part.kind == BalanceChangeKind.ACCEPTED and part.amount == left]
        return [*same, *newest][0] if is_beside else [*paid, *same, *newest][0]


def _move(source: list[_Part], target: list[_Part], amount: int) -> list[_Part]:
    """The parts that make up so much, the last ones first, or all there are. They are in `target` now."""
    found = list[_Part]()
    while amount and source:
        part = source[-1]
        taken = min(amount, part.amount)
        found.append(replace(part, amount=taken))
        part.amount -= taken
        amount -= taken
        if not part.amount:
            source.pop()
    target += [replace(part) for part in found]
    return found


def _negative(parts: Iterable[_Part]) -> list[_Part]:
    return [replace(part, amount=-part.amount) for part in parts]


def _sum(parts: Iterable[_Part]) -> int:
    return sum(part.amount for part in parts)


def charged_of(changes: Iterable[PaidOrUndone]) -> dict[PotKey, tuple[int, int]]:
    """By pot, what of the money of the next run no fee of now is on, and by how much it changes the fees of before.

    That is what was charged and is undone or refunded, and what comes and is refunded already. `changes` are all of
    some payments, in their order. The amount is in base units, the fee in ten-thousandths of one, both signed.

    What was undone or refunded in a settlement before that of its payment, as losses count at once, has had its fee
    given back there at the rate of then: so much of the payment is charged at that rate.
    """
    found: defaultdict[PotKey, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for _, own in groupby(changes, key=lambda change: (change.payment_id, change.network, change.asset)):
        history = _History()
        for change in own:
            moved = history.apply(change)
            if change.is_due:
                amount, fee = found[change.pot]
                not_charged = sum(part.amount for part in moved if part.bps is None)
                fee += sum(part.amount * part.bps for part in moved if part.bps is not None)
                found[change.pot] = amount + change.amount - not_charged, fee
            elif change.bps is not None:
                for part in moved:
                    if part.due_in is not None:
                        amount, fee = found[part.due_in]
                        found[part.due_in] = amount - part.amount, fee - part.amount * change.bps
    return dict(found)


_DUE = """
    merchant_id = %(merchant)s AND environment = %(environment)s AND settlement IS NULL
        AND (id < %(before)s OR amount < 0)
"""

_CHANGES = f"""
    SELECT change.payment_id, change.network, change.asset, change.wallet, change.kind, change.posting_kind,
        change.amount, settled.fee_bps,
        change.settlement IS NULL AND (change.id < %(before)s OR change.amount < 0) AS is_due
    FROM {BalanceChange._meta.db_table} AS change
    LEFT JOIN {Settlement._meta.db_table} AS settled ON settled.id = change.settlement
    WHERE (change.kind = ANY(%(kinds)s) OR change.returns_fee) AND change.payment_id IN (
        SELECT payment_id FROM {BalanceChange._meta.db_table}
        WHERE {_DUE} AND (kind = ANY(%(undone)s) OR returns_fee)
        UNION
        SELECT payment_id FROM {BalanceChange._meta.db_table}
        WHERE merchant_id = %(merchant)s AND environment = %(environment)s AND returns_fee AND payment_id IN (
            SELECT payment_id FROM {BalanceChange._meta.db_table} WHERE {_DUE})
    )
    ORDER BY change.payment_id, change.network, change.asset, change.id
"""  # noqa: S608 - the names of our own tables


def with_charged(pots: Sequence[Pot], merchant_id: uuid.UUID, environment: str, *, before: uuid.UUID) -> list[Pot]:
    """The pots of a merchant's next run with what `charged_of` finds; `before` ends the run's period."""
    if not any(pot.reversed or pot.had_returned for pot in pots):
        return list(pots)
    values: dict[str, Any] = {
        "merchant": merchant_id,
        "environment": environment,
        "before": before,
        "kinds": [str(kind) for kind in (*PAID, *REVERSED)],
        "undone": [str(kind) for kind in REVERSED],
    }
    with connection.cursor() as cursor:
        cursor.execute(_CHANGES, values)
        rows = (PaidOrUndone(*row) for row in cursor.fetchall())
        found = charged_of(row._replace(amount=int(row.amount)) for row in rows)
    by_pot = [(pot, *found.get((pot.network, pot.wallet, pot.coin), (0, 0))) for pot in pots]
    return [replace(pot, charged=charged, charged_fee=fee) for pot, charged, fee in by_pot]
