"""What one judgement of a payment changes beside its own row: postings to make, discrepancies, events to tell."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.utils import timezone

from merchants.ledger.balances import balance
from merchants.ledger.chart import suspense
from merchants.ledger.posting import AccountRef, PostingDraft, lock_accounts, post_drafts
from payments import events, postings
from payments.balance_changes import record_balance_changes
from payments.models import Deposit, Discrepancy, Payment
from payments.records import Records
from payments.states import DEPOSIT_MOVES, DepositStatus, DiscrepancyKind, StatusReason
from webhooks.recording import build_event, record_events


class Changes:
    """Collected while a payment is judged and written at the end, all ledger accounts locked in one go."""

    def __init__(self) -> None:
        self.drafts: list[PostingDraft] = []
        self.reasons: set[StatusReason] = set()
        self._events: list[str] = []

    def tell(self, type: str) -> None:
        if type not in self._events:
            self._events.append(type)

    def tell_reversal(self) -> None:
        self.tell(events.REVERSED)
        self.reasons.add(StatusReason.REVERSED)

    def events_in_order(self, status_event: str | None) -> list[str]:
        """A reversal comes before the status it led to, everything else after."""
        reversal = [type for type in self._events if type == events.REVERSED]
        rest = [type for type in self._events if type != events.REVERSED]
        return [*reversal, *([status_event] if status_event else []), *rest]

    def owed_by_merchant(self, payment: Payment, network: str, asset: str, *, beside: Iterable[AccountRef] = ()) -> int:
        """What the merchant owes in a coin, counting what is collected here.

        Locks their accounts if it is anything, with all that is touched beside them.
        """
        receivable = postings.receivable_account(payment, network, asset)
        pending = sum(line.amount for draft in self.drafts for line in draft.lines if line.account == receivable)
        if not balance(receivable, environment=payment.environment):
            return pending
        touched = {line.account for draft in self.drafts for line in draft.lines} | {
            receivable,
            postings.available_account(payment, network, asset),
            postings.clearing_account(payment),
            *beside,
        }
        return lock_accounts(touched, environment=payment.environment)[receivable] + pending

    def post(self, payment: Payment) -> None:
        """Make the postings, and write down what they change for the payment's merchant."""
        if self.drafts:
            post_drafts(self.drafts, environment=payment.environment)
            record_balance_changes(self.drafts, payment)


def book_deposit(deposit: Deposit, payment: Payment | None, booked_to: str, changes: Changes) -> None:
    """Take a confirmed deposit into the books."""
    DEPOSIT_MOVES.check(deposit.status, DepositStatus.CREDITED)
    deposit.booking_count += 1
    deposit.status, deposit.booked_to, deposit.credited_at = DepositStatus.CREDITED, booked_to, timezone.now()
    deposit.save(update_fields=["status", "booked_to", "credited_at", "booking_count"])
    changes.drafts.append(postings.deposit_booked(deposit, payment, booked_to))


def hold_deposit(
    deposit: Deposit, payment: Payment | None, kind: DiscrepancyKind, changes: Changes, *, note: str = ""
) -> None:
    """Take a confirmed deposit into suspense, and ask a person what is to become of it."""
    book_deposit(deposit, payment, suspense(kind), changes)
    Discrepancy.objects.create(
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


def open_discrepancy(payment: Payment, kind: DiscrepancyKind, amount: int) -> Discrepancy:
    """Ask a person what is to become of a part of the payment's own money."""
    return Discrepancy.objects.create(
        merchant_id=payment.merchant_id,
        environment=payment.environment,
        kind=kind,
        payment=payment,
        network=payment.network,
        asset=payment.cryptocurrency,
        decimals=payment.decimals,
        amount=amount,
    )


def record_payment_events(payment: Payment, types: Iterable[str], *, record: dict[str, Any] | None = None) -> None:
    """Record events that carry the payment as it is now, in this order; `record` where it has been made already."""
    payload = Records().of_payment(payment) if record is None else record
    recorded = [
        build_event(
            merchant_id=payment.merchant_id,
            environment=payment.environment,
            type=type,
            object_id=payment.id,
            version=payment.version,
            payload=payload,
            direct_url=payment.webhook_url,
        )
        for type in types
    ]
    record_events(recorded)
