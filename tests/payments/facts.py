"""What decides about a payment, in words its tests share: amounts in base units, instants around one window."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

from payments.deposits.assessment import AssessmentFacts, DepositFact
from payments.states import PaymentStatus

EXPIRES_AT = datetime(2027, 5, 1, 12, 0, tzinfo=UTC)
IN_TIME = EXPIRES_AT - timedelta(minutes=10)
LATE = EXPIRES_AT + timedelta(minutes=10)
GRACE_ENDS = EXPIRES_AT + timedelta(hours=1)
AFTER_GRACE = GRACE_ENDS + timedelta(minutes=10)
DUE = 1_000_000

CREATED, PENDING, UNDERPAID, COMPLETED, PARTLY, REFUNDED, EXPIRED, CANCELLED = PaymentStatus


def deposit(
    amount: int,
    sent_at: datetime = IN_TIME,
    *,
    confirmed: bool = True,
    counted: bool = False,
    held: bool = False,
) -> DepositFact:
    return DepositFact(uuid.uuid4(), amount, sent_at, confirmed, counted=counted, held=held)


def facts(
    *deposits: DepositFact,
    due: int = DUE,
    tolerance_bps: int = 0,
    closes_at: datetime = EXPIRES_AT,
    cancelled: bool = False,
    closed: bool = False,
    accepted: bool = False,
    returned: int = 0,
    read_until: datetime | None = IN_TIME,
) -> AssessmentFacts:
    return AssessmentFacts(
        due=due,
        tolerance_bps=tolerance_bps,
        expires_at=EXPIRES_AT,
        closes_at=closes_at,
        cancelled=cancelled,
        closed=closed,
        accepted=accepted,
        returned=returned,
        read_until=read_until,
        deposits=deposits,
    )
