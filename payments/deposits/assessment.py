"""Assesses a payment: facts about its deposits in, what they amount to out. Pure."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from merchants.ledger.chart import AccountKind
from payments.models import Deposit
from payments.states import PaymentStatus, StatusReason

BASIS_POINTS = 10_000


def crumb_limit(decimals: int) -> int:
    """A hundredth of a coin, in base units: less than that beyond a price waits for nobody's decision."""
    return int(10 ** max(0, decimals - 2))


@dataclass(frozen=True, slots=True)
class DepositFact:
    """A transfer of the right coin on the right network to the payment's address, not undone by a reorg.

    `sent_at` is the time of the earliest block it ever stood in. `counted`: it was credited to the payment already.
    `held`: it is in suspense, where only a person moves it.
    """

    id: uuid.UUID
    amount: int
    sent_at: datetime
    confirmed: bool
    counted: bool = False
    held: bool = False
    token_fee: int = 0
    """The part of the sent coins that the token kept, beside the amount."""

    @classmethod
    def of(cls, deposit: Deposit, *, is_confirmed: bool) -> DepositFact:
        return cls(
            id=deposit.id,
            amount=deposit.amount,
            sent_at=deposit.first_block_time,
            confirmed=is_confirmed,
            counted=is_confirmed and deposit.booked_to == AccountKind.PAYMENT,
            held=is_confirmed and deposit.booked_to not in ("", AccountKind.PAYMENT),
            token_fee=deposit.token_fee,
        )


@dataclass(frozen=True, slots=True)
class AssessmentFacts:
    """Everything that decides about a payment. Amounts in base units.

    `read_until` is the block time up to which the network has been read: nothing that was sent before it can still turn
    up, so a window only ends once the chain has been read past its end. `closes_at` is when money that is still too
    little goes to suspense: the end of the window plus the grace. `accepted`: a person or policy took what came in as
    enough. `returned` is what was given back for good of what was paid, the surplus left out. `crumb` is what a surplus
    must reach to wait for a decision; below it, it is released with the price. `released` and `surplus` are what was
    divided before, where that stands.
    """

    due: int
    tolerance_bps: int
    expires_at: datetime
    closes_at: datetime
    cancelled: bool
    closed: bool
    accepted: bool
    returned: int
    read_until: datetime | None
    deposits: tuple[DepositFact, ...]
    crumb: int = 0
    released: int = 0
    surplus: int = 0
    ends_now: bool = False
    """Somebody ends the window now, before its time."""
    in_review: bool = False
    """Some of its money is held for review, and may count yet: too little does not go to suspense by itself."""

    @property
    def needed(self) -> int:
        """The least that completes the payment."""
        return self.due - self.due * self.tolerance_bps // BASIS_POINTS

    def has_read_past(self, instant: datetime) -> bool:
        return self.read_until is not None and self.read_until > instant


@dataclass(frozen=True, slots=True)
class Assessment:
    """The result of the facts.

    `counted` and `late` divide the deposits. `received` is the confirmed part of what counts; once completed,
    `released` of it belongs to the merchant and `surplus` waits for a decision. `close` requests that the short money
    is moved to suspense, because the window is over.
    """

    status: PaymentStatus
    reasons: tuple[StatusReason, ...]
    counted: frozenset[uuid.UUID]
    late: frozenset[uuid.UUID]
    received: int
    released: int
    surplus: int
    close: bool


def assess(facts: AssessmentFacts) -> Assessment:
    """Assess a payment. The same facts always give the same assessment."""
    counted, late = _divide(facts)
    received = sum(deposit.amount for deposit in counted if deposit.confirmed)
    seen = sum(deposit.amount for deposit in counted)
    confirming = received < seen

    enough = received >= facts.needed or (facts.accepted and received > 0)
    status = _status(facts, received=received, seen=seen, enough=enough)
    released = _released(facts, received) if enough and not facts.closed else 0
    surplus = received - released if released else 0

    over = facts.ends_now or (facts.has_read_past(facts.closes_at) and not facts.in_review)
    close = status is PaymentStatus.UNDERPAID and over and not confirming and not facts.closed
    paid = received if facts.closed or close else released
    return Assessment(
        status=status_after_refunds(status, paid=paid, returned=facts.returned),
        reasons=_reasons(facts, counted, status=status, received=received, surplus=surplus, late=bool(late)),
        counted=frozenset(deposit.id for deposit in counted),
        late=frozenset(deposit.id for deposit in late),
        received=received,
        released=released,
        surplus=surplus,
        close=close,
    )


def _released(facts: AssessmentFacts, received: int) -> int:
    """The merchant's part of a completed payment: the price, and a crumb beyond it. What was released stays so."""
    if not facts.surplus and received - facts.due < facts.crumb:
        return received
    return max(min(received, facts.due), min(received, facts.released))


def status_after_refunds(status: PaymentStatus, *, paid: int, returned: int) -> PaymentStatus:
    """The status of a payment of which so much was given back, when it would be `status` without that.

    `paid` leaves out a surplus, and money that nobody has decided about. Where a reorganisation left nothing of it,
    there is nothing that could have been refunded.
    """
    if not (paid and returned):
        return status
    return PaymentStatus.REFUNDED if returned >= paid else PaymentStatus.PARTIALLY_REFUNDED


def _divide(facts: AssessmentFacts) -> tuple[list[DepositFact], list[DepositFact]]:
    """The deposits that count, and those that came too late.

    Within the grace that a merchant grants, a late deposit counts if, with what came in time, it makes the payment
    whole; anything less waits for a person.
    """
    if facts.cancelled:
        return [], list(facts.deposits)
    counted: list[DepositFact] = []
    late: list[DepositFact] = []
    total = 0
    for deposit in sorted(facts.deposits, key=lambda deposit: (not deposit.counted, deposit.sent_at, deposit.id)):
        in_time = deposit.sent_at <= facts.expires_at
        makes_whole = deposit.sent_at <= facts.closes_at and total < facts.needed <= total + deposit.amount
        if deposit.counted or (not deposit.held and not facts.closed and (in_time or makes_whole)):
            counted.append(deposit)
            total += deposit.amount
        else:
            late.append(deposit)
    return counted, late


def _status(facts: AssessmentFacts, *, received: int, seen: int, enough: bool) -> PaymentStatus:
    if facts.cancelled:
        return PaymentStatus.CANCELLED
    if enough:
        return PaymentStatus.COMPLETED
    if seen >= facts.needed or (seen and not received):
        return PaymentStatus.PENDING
    if received:
        return PaymentStatus.UNDERPAID
    return PaymentStatus.EXPIRED if facts.has_read_past(facts.expires_at) else PaymentStatus.CREATED


def _reasons(
    facts: AssessmentFacts,
    counted: Sequence[DepositFact],
    *,
    status: PaymentStatus,
    received: int,
    surplus: int,
    late: bool,
) -> tuple[StatusReason, ...]:
    reasons = []
    if received and received < facts.due:
        reasons.append(StatusReason.UNDERPAID)
        if any(deposit.token_fee for deposit in counted):
            reasons.append(StatusReason.TOKEN_FEE)
    if surplus:
        reasons.append(StatusReason.OVERPAID)
    if late or (status is PaymentStatus.COMPLETED and any(d.sent_at > facts.expires_at for d in facts.deposits)):
        reasons.append(StatusReason.LATE)
    return tuple(reasons)
