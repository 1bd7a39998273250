"""The one place that writes what becomes of a payment: deposits, discrepancies, postings, its row, its events.

Every function is part of the caller's database transaction, which holds the payment's lock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import structlog
from django.db.models import F
from django.utils import timezone

from merchants import counting
from merchants.ledger.posting import PostingDraft, post_drafts
from payments.deposits.assessment_effects import AssessmentEffects, DepositEffects
from payments.deposits.balance_changes import record_balance_changes, record_balance_changes_together
from payments.deposits.turnover.counting import Share, share_changed
from payments.models import PAYMENTS, PUT_OFF_MAX, Deposit, Discrepancy, PayerContact, Payment
from payments.records import payment_events
from payments.states import (
    DEPOSIT_MOVES,
    DISCREPANCY_MOVES,
    PAYMENT_MOVES,
    DepositStatus,
    DiscrepancyStatus,
    PaymentStatus,
)
from webhooks.events import catalogue
from webhooks.events.recording import record_events
from webhooks.models import Event

logger = structlog.get_logger(__name__)

ASSESSED_FIELDS = [
    "received",
    "released",
    "surplus",
    "short",
    "accepted",
    "status_reasons",
    "closed_at",
    "assess_at",
    "booking_count",
    "untold",
    "required_confirmations",
    "require_finalized",
]
"""The columns of a payment that an assessment may change, beside its status."""

RECORDED_AT_ONCE = 20
DEFERRED_FOR = PUT_OFF_MAX
"""So many events of a payment are recorded as they come; after that, more money without another status waits so
long."""


def record_assessment(payment: Payment, effects: AssessmentEffects | None) -> None:
    """Write all that an assessment changes but its postings, which the caller makes next; None: its network is halted,
    and it stays due."""
    if effects is None:
        payment.assess_at = timezone.now()
        payment.save(update_fields=ASSESSED_FIELDS)
        return
    record_deposits(effects)
    assessment, evidence = effects.assessment, effects.evidence
    if effects.is_reopened:
        payment.closed_at, payment.short, payment.accepted = None, 0, False
    if effects.short:
        payment.closed_at, payment.short = timezone.now(), effects.short
    payment.received, payment.released, payment.surplus = assessment.received, assessment.released, assessment.surplus
    payment.booking_count += effects.booking_count
    payment.required_confirmations = evidence.rule.confirmations
    payment.require_finalized = evidence.rule.require_finalized
    payment.status_reasons = effects.reasons
    payment.assess_at = None
    types = _events_due(payment, effects)
    save_payment(payment, assessment.status, fields=ASSESSED_FIELDS, has_events=bool(types), counted=evidence.counted)
    if types:
        events = payment_events(payment, types, deposits=evidence.deposits, heads=evidence.heads)
        record_events(events)
        logger.info("payment assessed", payment=payment.public_id, status=payment.status, events=types)


def record_deposits(effects: DepositEffects) -> None:
    """Write the deposits and discrepancies of these effects. Their postings are made beside."""
    now = timezone.now()
    for deposit in effects.restored:
        _credit(deposit)
    for deposit, _ in effects.lost:
        deposit.booking_count += 1
        deposit.booked_to, deposit.credited_at = "", None
    for deposit, booked_to in effects.booked:
        _credit(deposit)
        deposit.booking_count += 1
        deposit.booked_to, deposit.credited_at = booked_to, now
    changed = [*effects.restored, *(deposit for deposit, _ in (*effects.lost, *effects.booked))]
    for deposit in changed:
        deposit.save(update_fields=["status", "booked_to", "credited_at", "booking_count", "evidence"])
    for discrepancy in effects.voided:
        move_discrepancy(discrepancy, DiscrepancyStatus.VOID)
    # Keys made within a millisecond sort at random, and whoever reads discrepancies reads them by their keys.
    for discrepancy, key in zip(effects.opened, sorted(each.id for each in effects.opened), strict=True):
        discrepancy.id = key
    Discrepancy.objects.bulk_create(effects.opened)


def _credit(deposit: Deposit) -> None:
    DEPOSIT_MOVES.check(deposit.status, DepositStatus.CREDITED)
    deposit.status = DepositStatus.CREDITED


def record_seen(deposit: Deposit) -> None:
    """Take back that a deposit is credited, so that the payment's next assessment books it anew."""
    DEPOSIT_MOVES.check(deposit.status, DepositStatus.SEEN)
    deposit.status = DepositStatus.SEEN
    deposit.save(update_fields=["status"])


def record_owner(deposit: Deposit, payment: Payment) -> None:
    """Give a deposit of nobody to a payment, whose next assessment counts or holds it as any other."""
    record_seen(deposit)
    deposit.payment = payment
    deposit.save(update_fields=["payment"])
    Payment.objects.filter(pk=payment.pk).update(deposit_count=F("deposit_count") + 1)


def post(drafts: Sequence[PostingDraft], payment: Payment, *, reference: str = "", returns_fee: bool = False) -> None:
    """Make postings of a payment, and record their changes for its merchant by `record_balance_changes`."""
    if drafts:
        post_drafts(drafts, environment=payment.environment)
        record_balance_changes(drafts, payment, reference=reference, returns_fee=returns_fee)


def post_together(drafted: Sequence[tuple[Payment, Sequence[PostingDraft]]]) -> None:
    """The same for payments of one environment: the accounts of all are locked at once, and as late as can be."""
    drafts = [draft for _, each in drafted for draft in each]
    if drafts:
        record_balance_changes_together(drafted)
        post_drafts(drafts, environment=drafted[0][0].environment)


def _events_due(payment: Payment, effects: AssessmentEffects) -> Sequence[str]:
    """The events to record now. A payment with ever more money waits a while with the next.

    A deferred event is kept, and the payment assessed again once its time has come. Changes of the status, and
    reversals by the network, are recorded at once.
    """
    types, payment.untold = effects.events, []
    is_urgent = payment.status != effects.assessment.status or catalogue.PAYMENT_REVERSED in types
    if types and not is_urgent and payment.version >= RECORDED_AT_ONCE:
        last = Event.objects.about(payment.pk).order_by("-id").first()
        now = timezone.now()
        # An event of later than now was recorded before the clock was set back.
        if last is not None and last.created_at <= now < (due := last.created_at + DEFERRED_FOR):
            payment.untold, payment.assess_at = list(types), due
            return []
    return types


def save_payment(
    payment: Payment,
    status: PaymentStatus,
    *,
    fields: Iterable[str],
    counted: Share,
    has_events: bool = True,
) -> None:
    """Give a locked payment a status its table allows, write these fields too, and count it as it is then.

    `counted` is what it counted as before the caller changed its amounts. With `has_events`, events of this change are
    recorded next: they carry a version of their own.
    """
    previous = payment.status
    if status != previous:
        PAYMENT_MOVES.check(previous, status)
        payment.status = status
        paid = (PaymentStatus.COMPLETED, PaymentStatus.PARTIALLY_REFUNDED, PaymentStatus.REFUNDED)
        done = status in paid and payment.released > 0  # short money can be refunded without ever having been enough
        payment.completed_at = (payment.completed_at or timezone.now()) if done else None
    if has_events:
        payment.version += 1
    payment.save(update_fields=["status", "completed_at", "version", *fields])
    if status != previous:
        counting.status_changed(
            PAYMENTS,
            merchant_id=payment.merchant_id,
            environment=payment.environment,
            key=payment.pk,
            old=previous,
            new=status,
        )
        PayerContact.objects.notify(payment.pk)
    share_changed(payment, counted)


def move_discrepancy(discrepancy: Discrepancy, status: DiscrepancyStatus, *, resolved_by: str | None = None) -> None:
    """Give a locked discrepancy a status its table allows; open again, nobody has resolved it."""
    DISCREPANCY_MOVES.check(discrepancy.status, status)
    discrepancy.status = status
    discrepancy.resolved_at = None if status == DiscrepancyStatus.OPEN else timezone.now()
    discrepancy.resolved_by = discrepancy.resolved_by if resolved_by is None else resolved_by
    discrepancy.save(update_fields=["status", "resolved_at", "resolved_by", "note"])


def record_payment_events(payment: Payment, types: Iterable[str]) -> None:
    """Record events that carry the payment as it is now, in this order."""
    record_events(payment_events(payment, types))
