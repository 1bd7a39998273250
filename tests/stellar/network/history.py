"""What happened: ledgers, the transactions in them, their operations and effects, in order and by account."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from stellar_sdk import MuxedAccount
from stellar_sdk.operation import Operation

from tests.stellar.network.envelopes import Envelope
from tests.stellar.network.moving import Effect
from tests.stellar.network.results import OperationOutcome, Outcome


@dataclass(frozen=True, slots=True)
class Ledger:
    number: int
    hash: str
    previous_hash: str
    closed_at: int
    successful: int = 0
    failed: int = 0
    operations: int = 0
    """Of the successful transactions."""
    operations_tried: int = 0
    fees: tuple[tuple[int, int], ...] = ()
    """Of each transaction: what was charged for an operation, and what was offered for one."""

    @property
    def token(self) -> int:
        return self.number << 32


@dataclass(slots=True)
class AppliedTransaction:
    """One that is in a ledger, whether or not its operations were successful."""

    token: int
    ledger: int
    closed_at: int
    envelope: Envelope
    outcome: Outcome
    result_xdr: str
    operations: list[AppliedOperation] = field(default_factory=list)

    @property
    def successful(self) -> bool:
        return self.outcome.successful

    @property
    def hash(self) -> str:
        """The outer one, where a fee bump brought it."""
        return self.envelope.digest

    def participants(self) -> set[str]:
        accounts = {self.envelope.source, self.envelope.payer.account_id}
        return accounts.union(*(each.accounts for each in self.operations))


@dataclass(slots=True)
class AppliedOperation:
    token: int
    transaction: AppliedTransaction
    operation: Operation
    source: MuxedAccount
    outcome: OperationOutcome
    accounts: set[str]
    """Whose history it belongs to."""
    facts: dict[str, Any]
    effects: list[AppliedEffect] = field(default_factory=list)


@dataclass(slots=True)
class AppliedEffect:
    operation: AppliedOperation
    position: int
    """Among the effects of its operation, counted from 1."""
    effect: Effect

    @property
    def token(self) -> int:
        return self.operation.token


class Placed(Protocol):
    @property
    def token(self) -> int: ...


Row = TypeVar("Row", bound=Placed)


class Rows(list[Row]):
    """Rows in the order of their tokens."""

    def between(self, first: int, end: int) -> Sequence[Row]:
        """Those with `first` <= token < `end`."""
        return self[bisect_left(self, first, key=_token) : bisect_left(self, end, key=_token)]


@dataclass(slots=True)
class Shelf:
    """The rows of everything, or those of one account."""

    transactions: Rows[AppliedTransaction] = field(default_factory=Rows)
    operations: Rows[AppliedOperation] = field(default_factory=Rows)
    effects: Rows[AppliedEffect] = field(default_factory=Rows)


class History:
    def __init__(self, first: Ledger) -> None:
        self.ledgers: Rows[Ledger] = Rows([first])
        self.everything = Shelf()
        self.of_account: defaultdict[str, Shelf] = defaultdict(Shelf)
        self.by_hash: dict[str, AppliedTransaction] = {}
        """By the outer hash, and by the inner one of a fee bump."""

    def add(self, number: int, closed_at: int, transactions: Iterable[AppliedTransaction]) -> Ledger:
        """Write down a ledger that closed, with its transactions in their order."""
        applied = list(transactions)
        for each in applied:
            self._add_transaction(each)
        previous = self.ledgers[-1]
        digest = hashlib.sha256("".join([previous.hash, str(number), *(each.hash for each in applied)]).encode())
        good = [each for each in applied if each.successful]
        ledger = Ledger(
            number=number,
            hash=digest.hexdigest(),
            previous_hash=previous.hash,
            closed_at=closed_at,
            successful=len(good),
            failed=len(applied) - len(good),
            operations=sum(len(each.operations) for each in good),
            operations_tried=sum(len(each.operations) for each in applied),
            fees=tuple(_fees(each) for each in applied),
        )
        self.ledgers.append(ledger)
        return ledger

    def _add_transaction(self, applied: AppliedTransaction) -> None:
        self.by_hash[applied.hash] = applied
        self.by_hash[applied.envelope.inner_hash.hex()] = applied
        self.everything.transactions.append(applied)
        for account in applied.participants():
            self.of_account[account].transactions.append(applied)
        for operation in applied.operations:
            self.everything.operations.append(operation)
            for account in operation.accounts:
                self.of_account[account].operations.append(operation)
            for effect in operation.effects:
                self.everything.effects.append(effect)
                self.of_account[effect.effect.account].effects.append(effect)


def _fees(applied: AppliedTransaction) -> tuple[int, int]:
    count = applied.envelope.operations_paid
    return applied.outcome.fee_charged // count, applied.envelope.fee // count


def _token(row: Placed) -> int:
    return row.token
