"""Effects of an assessment: which deposits to book, hold or reverse, what to release, which events to record.

Nothing is written here. The rows are still as they were, until `recording` makes these changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from merchants.ledger.chart import AccountKind, suspense
from payments.deposits.assessment import Assessment
from payments.deposits.facts import Evidence
from payments.models import Deposit, Discrepancy, Payment
from payments.states import OWN_KINDS, DepositStatus, DiscrepancyKind, PaymentStatus, StatusReason
from webhooks.events import catalogue

KEPT_REASONS = {StatusReason.REVERSED, StatusReason.COINS_MISSING, StatusReason.COINS_LOST}
"""Once true of a payment, they stay."""

ON_STATUS: dict[str, str] = {
    PaymentStatus.PENDING: catalogue.PAYMENT_PENDING,
    PaymentStatus.UNDERPAID: catalogue.PAYMENT_UNDERPAID,
    PaymentStatus.COMPLETED: catalogue.PAYMENT_COMPLETED,
    PaymentStatus.EXPIRED: catalogue.PAYMENT_EXPIRED,
    PaymentStatus.CANCELLED: catalogue.PAYMENT_CANCELLED,
    PaymentStatus.PARTIALLY_REFUNDED: catalogue.PAYMENT_REFUNDED,
    PaymentStatus.REFUNDED: catalogue.PAYMENT_REFUNDED,
}
"""The event of each change of status. Going back to `created` has `payment.reversed`."""


@dataclass(frozen=True, slots=True)
class DepositEffects:
    """Effects on deposits.

    `booked` are confirmed, each with the kind of ledger account that takes it (`Deposit.booked_to`). `lost` are booked
    and not confirmed any more, each with the discrepancy that its money was held for; None: it counted for its payment.
    `restored` are booked and confirmed in another block: only their status changes. `opened` are not stored yet.
    """

    booked: Sequence[tuple[Deposit, str]] = ()
    lost: Sequence[tuple[Deposit, Discrepancy | None]] = ()
    restored: Sequence[Deposit] = ()
    opened: Sequence[Discrepancy] = ()
    voided: Sequence[Discrepancy] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AssessmentEffects(DepositEffects):
    """Effects on a payment and its deposits. Amounts in base units.

    When a payment is reopened, `taken_back` of its released money and the money of the `reopened` discrepancies return
    to its clearing account first. `released`, `surplus` and `short` leave it then.
    """

    evidence: Evidence
    assessment: Assessment
    is_reopened: bool
    taken_back: int
    reopened: Sequence[Discrepancy]
    released: int
    surplus: int
    short: int
    reasons: Sequence[StatusReason]
    events: Sequence[str]

    @property
    def booking_count(self) -> int:
        """Number of ledger postings that are the payment's own, and not a deposit's."""
        return sum(map(bool, (self.taken_back or self.reopened, self.released or self.surplus, self.short)))


def effects_of(payment: Payment, evidence: Evidence, assessment: Assessment) -> AssessmentEffects:
    """Changes by which the rows and the ledger agree with the assessment."""
    is_reopened = evidence.is_reopened
    own = [each for each in evidence.discrepancies if is_reopened and each.kind in OWN_KINDS]
    lost = {deposit.id for deposit in evidence.lost}
    of_lost = {each.deposit_id: each for each in evidence.discrepancies if each.deposit_id in lost}

    booked: list[tuple[Deposit, str]] = []
    opened: list[Discrepancy] = []
    for deposit in evidence.deposits:
        if deposit.booked_to or deposit.id not in evidence.confirmed:
            continue
        if deposit.id in assessment.counted:
            booked.append((deposit, AccountKind.PAYMENT))
        elif kind := DiscrepancyKind.LATE if deposit.id in assessment.late else evidence.mismatched.get(deposit.id):
            booked.append((deposit, suspense(kind)))
            opened.append(_discrepancy_over(deposit, kind, payment=payment))

    taken_back = payment.released if is_reopened else 0
    released = assessment.released - (payment.released - taken_back)
    surplus = assessment.surplus - (0 if is_reopened else payment.surplus)
    short = assessment.received if assessment.close else 0
    if released < 0 or surplus < 0:
        raise RuntimeError(f"{payment}: an assessment takes back {-released} and {-surplus} without a reversal")
    for kind, amount in ((DiscrepancyKind.OVERPAID, surplus), (DiscrepancyKind.UNDERPAID, short)):
        if amount:
            opened.append(_discrepancy_of(payment, kind, amount))

    types = _events(payment, evidence, assessment, opened)
    reversed_now = {StatusReason.REVERSED} if catalogue.PAYMENT_REVERSED in types else set()
    kept = KEPT_REASONS & {*payment.status_reasons}
    mismatches = map(StatusReason, evidence.mismatched.values())
    reasons = sorted({*assessment.reasons, *reversed_now, *kept, *mismatches})
    is_changed = payment.received != assessment.received or payment.status_reasons != reasons
    is_changed = is_changed or bool(booked) or evidence.rule.confirmations > payment.required_confirmations
    is_changed = is_changed or assessment.close
    return AssessmentEffects(
        booked=booked,
        lost=[
            (deposit, None if deposit.booked_to == AccountKind.PAYMENT else of_lost[deposit.id])
            for deposit in evidence.lost
        ],
        restored=[
            deposit
            for deposit in evidence.deposits
            if deposit.booked_to and deposit.status == DepositStatus.SEEN and deposit.id in evidence.confirmed
        ],
        opened=opened,
        voided=[*own, *of_lost.values()],
        evidence=evidence,
        assessment=assessment,
        is_reopened=is_reopened,
        taken_back=taken_back,
        # Short money that was accepted is in the clearing account, or released with the rest.
        reopened=[each for each in own if each.kind != DiscrepancyKind.UNDERPAID or payment.closed_at],
        released=released,
        surplus=surplus,
        short=short,
        reasons=reasons,
        events=_with_what_else_changed(types, is_changed),
    )


def hold(deposit: Deposit, kind: DiscrepancyKind, *, note: str) -> DepositEffects:
    """Take a confirmed deposit of no payment into suspense."""
    return DepositEffects(booked=[(deposit, suspense(kind))], opened=[_discrepancy_over(deposit, kind, note=note)])


def _discrepancy_over(
    deposit: Deposit, kind: DiscrepancyKind, *, payment: Payment | None = None, note: str = ""
) -> Discrepancy:
    """A discrepancy for a person to decide about a deposit that is held."""
    return Discrepancy(
        merchant_id=payment.merchant_id if payment else None,
        environment=deposit.environment,
        kind=kind,
        payment=payment,
        deposit=deposit,
        network=deposit.network,
        asset=deposit.asset,
        decimals=deposit.decimals,
        amount=deposit.amount,
        note=note,
    )


def _discrepancy_of(payment: Payment, kind: DiscrepancyKind, amount: int) -> Discrepancy:
    return Discrepancy(
        merchant_id=payment.merchant_id,
        environment=payment.environment,
        kind=kind,
        payment=payment,
        network=payment.network,
        asset=payment.cryptocurrency,
        decimals=payment.decimals,
        amount=amount,
    )


def _events(
    payment: Payment, evidence: Evidence, assessment: Assessment, opened: Sequence[Discrepancy]
) -> Sequence[str]:
    """Events to record, in this order: a reversal, the status it led to, everything else, and deferred ones."""
    is_moved = payment.status != assessment.status
    kinds = {discrepancy.kind for discrepancy in opened}
    types: list[str] = []
    if evidence.lost or (is_moved and assessment.status == PaymentStatus.CREATED):
        types.append(catalogue.PAYMENT_REVERSED)
    if is_moved and assessment.status in ON_STATUS:
        types.append(ON_STATUS[assessment.status])
    if DiscrepancyKind.LATE in kinds:
        types.append(catalogue.PAYMENT_LATE)
    if payment.received != assessment.received and payment.status == assessment.status == PaymentStatus.UNDERPAID:
        types.append(catalogue.PAYMENT_UNDERPAID)  # more has come, and it is still too little
    if DiscrepancyKind.OVERPAID in kinds:
        types.append(catalogue.PAYMENT_OVERPAID)
    types += [each for each in payment.untold if each != catalogue.PAYMENT_UNDERPAID or not is_moved]
    return list(dict.fromkeys(types))


def _with_what_else_changed(types: Sequence[str], is_changed: bool) -> Sequence[str]:
    """Every event carries the whole record, so that what changed in it needs one of its own where there is no other."""
    others = [each for each in types if each != catalogue.PAYMENT_UPDATED]
    return others or ([catalogue.PAYMENT_UPDATED] if types or is_changed else [])
