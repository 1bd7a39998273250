"""From deposits to the books: judges one payment and writes down what follows, in one database transaction."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

import structlog
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from config.containment import contained
from merchants import counting
from payments import events, postings
from payments.assessment import Assessment, DepositFact, Facts, assess
from payments.chains.profiles import CreditRule
from payments.changes import Changes, book_deposit, hold_deposit, open_discrepancy, record_payment_events
from payments.models import PAYMENTS, Deposit, Payment, ScanCursor
from payments.records import payment_record
from payments.reversing import undo_lost_bookings
from payments.states import PAYMENT_MOVES, DepositStatus, DiscrepancyKind, PaymentStatus, StatusReason
from webhooks.models import Event

logger = structlog.get_logger(__name__)

JUDGED_FIELDS = [
    "status",
    "version",
    "received",
    "released",
    "surplus",
    "short",
    "accepted",
    "status_reasons",
    "completed_at",
    "closed_at",
    "assess_at",
    "booking_count",
    "untold",
]
"""The columns of a payment that a judgement may change."""

TOLD_AT_ONCE = 20
TOLD_AGAIN_AFTER = timedelta(minutes=1)
"""So many events of a payment are told as they come; after that, more money without another status waits so long."""

_MORE_BUT_SHORT = events.ON_STATUS[PaymentStatus.UNDERPAID]


def assess_payment(payment_id: uuid.UUID) -> Payment:
    """Judge a payment by what is known now and book the difference. Doing it again changes nothing."""
    with transaction.atomic():
        payment = Payment.objects.select_for_update().get(pk=payment_id)
        return assess_locked(payment, Changes())


def assess_due(now: datetime | None = None, *, limit: int = 200) -> int:
    """Judge every payment that is due for it, one database transaction each; answers how many.

    One that cannot be judged stays due and keeps nobody waiting: I15 and the log tell of it.
    """
    due = Payment.objects.due_for_assessment(now or timezone.now())
    for halted in ScanCursor.objects.filter(halted_at__isnull=False):
        due = due.exclude(environment=halted.environment, network=halted.network)
    done = 0
    for payment_id in list(due.values_list("pk", flat=True)[:limit]):
        with contained("payment could not be judged", payment=str(payment_id)), transaction.atomic():
            payment = Payment.objects.select_for_update(skip_locked=True).filter(pk=payment_id).first()
            if payment is not None and payment.assess_at is not None:
                assess_locked(payment, Changes())
                done += 1
    return done


def expire_due() -> int:
    """Ask for a judgement of every payment whose window is over on a chain that has been read past it."""
    asked = 0
    for cursor in ScanCursor.objects.filter(halted_at__isnull=True):
        if cursor.read_until is None:
            continue
        with contained("windows could not be ended", cursor=str(cursor)):
            ended = Payment.objects.with_window_ended(cursor.read_until).filter(
                not_due(), environment=cursor.environment, network=cursor.network
            )
            asked += ask_for_judgement(ended.values_list("pk", flat=True))
    return asked


def not_due(prefix: str = "") -> Q:
    """Payments that nobody has asked a judgement of, or only for later."""
    return Q(**{f"{prefix}assess_at__isnull": True}) | Q(**{f"{prefix}assess_at__gt": timezone.now()})


def ask_for_judgement(payment_ids: Iterable[uuid.UUID | None]) -> int:
    """Make payments due for a judgement; answers how many. Locks all of them at once, in the order of their keys."""
    keys = [key for key in payment_ids if key is not None]
    if not keys:
        return 0
    with transaction.atomic():
        list(Payment.objects.select_for_update().filter(pk__in=keys).order_by("pk").values_list("pk"))
        return Payment.objects.filter(pk__in=keys).update(assess_at=timezone.now())


def assess_locked(payment: Payment, changes: Changes) -> Payment:
    """As assess_payment, for a caller that holds the payment's lock and has put changes of its own into `changes`.

    On a halted network nothing is judged: the payment stays due until a person has looked.
    """
    cursors = {c.network: c for c in ScanCursor.objects.filter(environment=payment.environment)}
    cursor = cursors.get(payment.network)
    if cursor and cursor.halted_at:
        payment.assess_at = timezone.now()
        payment.save(update_fields=JUDGED_FIELDS)
        changes.post(payment)
        return payment
    payment.assess_at = None
    deposits = list(payment.deposits.select_for_update().order_by("first_block_time", "id"))

    confirmed = {deposit.id for deposit in deposits if _is_confirmed(deposit, payment, cursors.get(deposit.network))}
    undo_lost_bookings(payment, deposits, confirmed, changes)
    judgement = assess(_facts(payment, deposits, confirmed, cursor))
    _book_deposits(payment, deposits, confirmed, judgement, changes)
    _book_result(payment, judgement, changes)
    changes.post(payment)
    _record(payment, judgement, deposits, changes, heads={c.network: c.head_height for c in cursors.values()})
    return payment


def _stray_kind(deposit: Deposit, payment: Payment) -> DiscrepancyKind | None:
    """Why a deposit at the payment's address cannot pay it, or None."""
    if deposit.network != payment.network:
        return DiscrepancyKind.WRONG_NETWORK
    if deposit.asset != payment.cryptocurrency:
        return DiscrepancyKind.WRONG_TOKEN
    return None


def _is_confirmed(deposit: Deposit, payment: Payment, cursor: ScanCursor | None) -> bool:
    if deposit.status != DepositStatus.SEEN or cursor is None:
        return deposit.status == DepositStatus.CREDITED
    rule = CreditRule(payment.required_confirmations, payment.require_finalized)
    return not cursor.halted_at and rule.satisfied(
        height=deposit.height, head_height=cursor.head_height, finalized_height=cursor.finalized_height
    )


def _facts(
    payment: Payment, deposits: Iterable[Deposit], confirmed: set[uuid.UUID], cursor: ScanCursor | None
) -> Facts:
    return Facts(
        due=payment.due,
        tolerance_bps=payment.tolerance_bps,
        expires_at=payment.expires_at,
        closes_at=payment.closes_at,
        cancelled=payment.status == PaymentStatus.CANCELLED,
        closed=payment.closed_at is not None,
        accepted=payment.accepted,
        returned=payment.returned,
        read_until=cursor.read_until if cursor else None,
        deposits=tuple(
            DepositFact(
                id=deposit.id,
                amount=deposit.amount,
                sent_at=deposit.first_block_time,
                confirmed=deposit.id in confirmed,
                counted=deposit.booked_to == postings.PAYMENT,
                held=deposit.booked_to not in ("", postings.PAYMENT),
                token_fee=deposit.token_fee,
            )
            for deposit in deposits
            if deposit.status != DepositStatus.ORPHANED and _stray_kind(deposit, payment) is None
        ),
    )


def _book_deposits(
    payment: Payment, deposits: Iterable[Deposit], confirmed: set[uuid.UUID], judgement: Assessment, changes: Changes
) -> None:
    for deposit in deposits:
        if deposit.id not in confirmed or deposit.booked_to:
            continue
        if deposit.id in judgement.counted:
            book_deposit(deposit, payment, postings.PAYMENT, changes)
        elif deposit.id in judgement.late:
            hold_deposit(deposit, payment, DiscrepancyKind.LATE, changes)
            changes.tell(events.LATE)
        elif kind := _stray_kind(deposit, payment):
            hold_deposit(deposit, payment, kind, changes)


def _book_result(payment: Payment, judgement: Assessment, changes: Changes) -> None:
    """Move the payment's money to where the judgement says it belongs."""
    if payment.received != judgement.received and payment.status == judgement.status == PaymentStatus.UNDERPAID:
        changes.tell(events.ON_STATUS[PaymentStatus.UNDERPAID])  # more has come, and it is still too little
    payment.received = judgement.received
    released, surplus = judgement.released - payment.released, judgement.surplus - payment.surplus
    if released < 0 or surplus < 0:
        raise RuntimeError(f"{payment}: a judgement takes back {-released} and {-surplus} without a reversal")
    if released or surplus:
        payment.booking_count += 1
        payment.released, payment.surplus = judgement.released, judgement.surplus
        owed = changes.owed_by_merchant(payment, payment.network, payment.cryptocurrency) if released else 0
        changes.drafts.append(postings.payment_released(payment, released=released, surplus=surplus, owed=owed))
    if surplus:
        open_discrepancy(payment, DiscrepancyKind.OVERPAID, surplus)
        changes.tell(events.OVERPAID)
    if judgement.close:
        payment.booking_count += 1
        payment.closed_at, payment.short = timezone.now(), judgement.received
        changes.drafts.append(postings.window_closed(payment, short=payment.short))
        open_discrepancy(payment, DiscrepancyKind.UNDERPAID, payment.short)


def _record(
    payment: Payment,
    judgement: Assessment,
    deposits: Iterable[Deposit],
    changes: Changes,
    *,
    heads: Mapping[str, int],
) -> None:
    """Write the payment's row, count it, and tell of what happened."""
    previous = payment.status
    move_payment(payment, judgement.status)
    moved = payment.status != previous
    if moved and payment.status == PaymentStatus.CREATED:
        changes.tell_reversal()
    strays = {_stray_kind(deposit, payment) for deposit in deposits if deposit.status != DepositStatus.ORPHANED}
    kept = {StatusReason.REVERSED, StatusReason.COINS_MISSING, StatusReason.COINS_LOST} & {*payment.status_reasons}
    payment.status_reasons = sorted(
        {*judgement.reasons, *changes.reasons, *kept, *(StatusReason(kind) for kind in strays if kind)}
    )
    types = _to_be_told(payment, changes, moved=moved)
    if types:
        payment.version += 1
    payment.save(update_fields=JUDGED_FIELDS)
    if moved:
        count_move(payment, previous)
    if types:
        record = payment_record(payment, deposits=deposits, heads=heads)
        record_payment_events(payment, types, record=record)
        logger.info("payment judged", payment=payment.public_id, status=payment.status, events=types)


def _to_be_told(payment: Payment, changes: Changes, *, moved: bool) -> list[str]:
    """The events to record now. A payment that goes on and on telling of more money waits a while with the next.

    What is not told yet is kept, and the payment judged again once its time has come. A change of the status, and what
    the network took back, are told at once.
    """
    for type in payment.untold:
        if type != _MORE_BUT_SHORT or not moved:
            changes.tell(type)
    types = changes.events_in_order(events.ON_STATUS.get(payment.status) if moved else None)
    payment.untold = []
    if types and not moved and events.REVERSED not in types and payment.version >= TOLD_AT_ONCE:
        last = Event.objects.about(payment.pk).order_by("-id").first()
        if last is not None and (due := last.created_at + TOLD_AGAIN_AFTER) > timezone.now():
            payment.untold, types = types, []
            payment.assess_at = due
    return types


def move_payment(payment: Payment, status: PaymentStatus) -> None:
    """Give the payment, which the caller holds locked and saves, a status its table allows."""
    if payment.status == status:
        return
    PAYMENT_MOVES.check(payment.status, status)
    payment.status = status
    paid = (PaymentStatus.COMPLETED, PaymentStatus.PARTIALLY_REFUNDED, PaymentStatus.REFUNDED)
    done = status in paid and payment.released > 0  # short money can be refunded without ever having been enough
    payment.completed_at = (payment.completed_at or timezone.now()) if done else None


def count_move(payment: Payment, previous: str) -> None:
    """Count the payment under its new status, for lists."""
    counting.status_changed(
        PAYMENTS,
        merchant_id=payment.merchant_id,
        environment=payment.environment,
        key=payment.pk,
        old=previous,
        new=payment.status,
    )
