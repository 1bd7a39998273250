"""The network behind Horizon: what waits for the next ledger, and closing one.

As in core, one transaction of each source account may wait at a time. It can be replaced by a fee bump of itself that
offers ten times as much; what has not got into four ledgers is dropped, and turned away for the next ten.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from stellar_sdk import FeeBumpTransactionEnvelope, Keypair, TransactionEnvelope

from tests.stellar.network.applying import apply
from tests.stellar.network.entries import STROOPS, Account, State
from tests.stellar.network.envelopes import BASE_FEE, Envelope
from tests.stellar.network.history import AppliedTransaction, History, Ledger
from tests.stellar.network.results import Outcome, TxCode
from tests.stellar.network.validity import check

LEDGERS_WAITED, LEDGERS_BANNED = 4, 10
BUMP_FACTOR = 10
"""How many times as much a fee bump must offer for each operation to replace what waits."""
TOTAL_COINS = 100_000_000_000 * STROOPS


class Status(Enum):
    """How a network answers a transaction that is handed to it."""

    PENDING = "PENDING"
    DUPLICATE = "DUPLICATE"
    ERROR = "ERROR"
    TRY_AGAIN_LATER = "TRY_AGAIN_LATER"


@dataclass(frozen=True, slots=True)
class Answer:
    status: Status
    outcome: Outcome | None = None
    """Why, when the status is ERROR."""


@dataclass(slots=True)
class Waiting:
    envelope: Envelope
    ledgers: int = 0
    """How many have closed without it."""


class Network:
    """A network of one node. Every use of it from several threads holds `lock`; `closed` is told of each ledger."""

    def __init__(self, passphrase: str, now: int) -> None:
        self.passphrase = passphrase
        self.lock = threading.RLock()
        self.closed = threading.Condition(self.lock)
        self.root = Keypair.from_raw_ed25519_seed(hashlib.sha256(passphrase.encode()).digest())
        self.state = State(ledger=1, closed_at=now)
        self.state.put_account(Account(self.root.public_key, sequence=0, native=TOTAL_COINS))
        self.state.keep()
        first = Ledger(1, hashlib.sha256(passphrase.encode()).hexdigest(), "0" * 64, now)
        self.history = History(first)
        self.waiting: dict[str, Waiting] = {}
        """By source account."""
        self.closes_at_once = False
        self.takes_nothing = False
        """Whether ledgers close without what waits."""
        self.fee_each = BASE_FEE
        """What an operation must offer to get into a ledger, and what it is charged."""
        self.on_close: list[Callable[[], None]] = []
        self._banned: dict[str, int] = {}

    def parse(self, xdr: str) -> Envelope:
        """The envelope that this XDR stands for; any error at all when it stands for none."""
        return Envelope.parse(xdr, self.passphrase)

    def submit(self, xdr: str) -> Answer:
        """Put a transaction into the queue, if it is valid against the newest ledger."""
        return self.take(self.parse(xdr))

    def take(self, envelope: Envelope) -> Answer:
        """As `submit`, of an envelope that has been parsed."""
        with self.lock:
            answer = self._queue(envelope)
            if answer.status is Status.PENDING and self.closes_at_once:
                self.close(max(int(time.time()), self.state.closed_at))
            return answer

    def close(self, closed_at: int) -> Ledger:
        """Close a ledger at this time with all that waits and offers enough."""
        with self.lock:
            waiting = () if self.takes_nothing else [each.envelope for each in self.waiting.values()]
            taken = [each for each in waiting if each.fee >= each.cost(self.fee_each)]
            for each in taken:
                del self.waiting[each.source]
            ledger = self._apply(taken, closed_at, self.fee_each)
            self._age()
            return ledger

    def close_with(self, *signed: TransactionEnvelope | FeeBumpTransactionEnvelope) -> list[AppliedTransaction]:
        """Close a ledger with these transactions alone, at the time of the last one; what waits goes on waiting.

        They may follow each other, and cost the base fee. One that is invalid by then is left out.
        """
        envelopes = [Envelope.of(each) for each in signed]
        with self.lock:
            self._apply(envelopes, self.state.closed_at, BASE_FEE)
            known = self.history.by_hash
            return [known[each.digest] for each in envelopes if each.digest in known]

    def _queue(self, envelope: Envelope) -> Answer:
        if envelope.digest in self._banned:
            return Answer(Status.TRY_AGAIN_LATER)
        before = self.waiting.get(envelope.source)
        if before is not None and (answer := _instead_of(before.envelope, envelope)) is not None:
            return answer
        if (outcome := check(self.state, envelope)) is not None:
            return Answer(Status.ERROR, outcome)
        self.waiting[envelope.source] = Waiting(envelope)
        return Answer(Status.PENDING)

    def _apply(self, taken: Sequence[Envelope], closed_at: int, fee_each: int) -> Ledger:
        state = self.state
        state.ledger, state.closed_at = state.ledger + 1, max(closed_at, state.closed_at)
        applied: list[AppliedTransaction] = []
        for envelope in taken:
            if _still_valid(state, envelope):
                applied.append(apply(state, envelope, position=len(applied) + 1, fee_each=fee_each))
        ledger = self.history.add(state.ledger, state.closed_at, applied)
        for notice in self.on_close:
            notice()
        self.closed.notify_all()
        return ledger

    def _age(self) -> None:
        """What waits is dropped after some ledgers, and turned away for some more."""
        self._banned = {digest: left - 1 for digest, left in self._banned.items() if left > 1}
        for source, each in list(self.waiting.items()):
            each.ledgers += 1
            invalid = check(self.state, each.envelope) is not None
            if invalid or each.ledgers >= LEDGERS_WAITED:
                del self.waiting[source]
                self._banned[each.envelope.digest] = LEDGERS_BANNED


def _instead_of(before: Envelope, envelope: Envelope) -> Answer | None:
    """What is answered to a second transaction of an account; None where it may replace the one that waits."""
    if envelope.digest == before.digest:
        return Answer(Status.DUPLICATE)
    if envelope.transaction.sequence < before.transaction.sequence:
        return Answer(Status.ERROR, Outcome(TxCode.txBAD_SEQ, envelope.cost()))
    if not envelope.is_bump or envelope.transaction.sequence != before.transaction.sequence:
        return Answer(Status.TRY_AGAIN_LATER)
    needed = BUMP_FACTOR * before.fee * envelope.operations_paid
    if envelope.fee * before.operations_paid < needed:
        charged = -(-needed // before.operations_paid)
        return Answer(Status.ERROR, Outcome(TxCode.txFAILED, charged, outer=TxCode.txINSUFFICIENT_FEE))
    return None


def _still_valid(state: State, envelope: Envelope) -> bool:
    """Whether nothing that happened while it waited speaks against it: another use of its account, or the time."""
    return check(replace(state, ledger=state.ledger - 1), envelope) is None
