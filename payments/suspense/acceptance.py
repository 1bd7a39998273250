"""Decisions about money in suspense: the merchant gets it, or it was the operator's own.

Operators give a reason, and above the policy's limit two of them must agree.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import structlog
from django.db import transaction
from django.db.models import Sum

from config.coins import USD_SCALE, usd_worth
from config.database.previews import preview
from config.errors import DomainError, InvalidParameter
from config.installation.services import require_resumed
from config.pages import wording
from merchants.four_eyes import people as four_eyes
from merchants.four_eyes.models import Proposal, ProposalKind, ProposalStatus
from merchants.four_eyes.services import propose, register
from merchants.ledger.chart import AccountKind
from merchants.ledger.models import Entry
from merchants.ledger.posting import post_draft
from merchants.models import User
from payments.deposits import postings
from payments.deposits.crediting import assess_locked
from payments.deposits.recording import move_discrepancy, post
from payments.models import Deposit, Discrepancy, Payment
from payments.states import DiscrepancyKind, DiscrepancyStatus, PaymentStatus
from payments.transfers.payouts import policy_of

logger = structlog.get_logger(__name__)

_PEOPLE_KEPT = 120  # characters of the field


class NamesNoPayment(InvalidParameter):
    message = "This money has no payment yet: attribute it to one first."


class DiscrepancyResolved(DomainError):
    code = "discrepancy_resolved"
    message = "It has already been decided what happens to this money."


class UnderReview(DomainError):
    code = "held_for_review"
    message = "This money is held for review by the operator of this service, who has been told."


def propose_acceptance(discrepancy: Discrepancy, *, reason: str, by: User) -> Proposal:
    """Propose that the merchant has the money, or agree to it; done at once where one operator is enough."""
    if not (reason := reason.strip()):
        raise InvalidParameter("Enter a reason: it is saved, and the merchant sees it.", param="note")
    if discrepancy.payment_id is None:
        raise NamesNoPayment
    if not Discrepancy.objects.filter(pk=discrepancy.pk, status=DiscrepancyStatus.OPEN).exists():
        raise DiscrepancyResolved
    if discrepancy.kind == DiscrepancyKind.REVIEW:
        raise UnderReview
    return propose(
        ProposalKind.ACCEPT,
        environment=discrepancy.environment,
        subject=discrepancy.pk,
        after={},
        reason=reason,
        people=people_needed(discrepancy),
        by=by,
    )


def _summary_of(proposal: Proposal) -> str:
    row = Discrepancy.objects.select_related("payment__merchant").get(pk=proposal.subject)
    assert row.payment is not None  # noqa: S101 - what names none is not proposed
    coins = f"{wording.coins(row.amount, row.decimals, row.asset)} on {row.network}"
    whose = f"{row.payment.merchant.name} gets {coins}, which came for {row.payment.public_id} ({row.kind})"
    return f"{whose}. Why: {proposal.after['reason']}"


def _accept_as_agreed(proposal: Proposal, people: str) -> bool:
    discrepancy = Discrepancy.objects.get(pk=proposal.subject)
    try:
        accept_discrepancy(discrepancy, resolved_by=people[:_PEOPLE_KEPT], note="\n".join(proposal.reasons))
    except DiscrepancyResolved:
        return False
    return True


register(ProposalKind.ACCEPT, _accept_as_agreed, permission="payments.change_discrepancy", summarize=_summary_of)


def people_needed(discrepancy: Discrepancy) -> int:
    """Number of operators needed: two above the amount from which a payout needs two as well."""
    limit = policy_of(discrepancy.environment).approval_above
    worth = usd_worth(discrepancy.asset, discrepancy.amount, discrepancy.decimals)
    return (
        four_eyes.people_needed(discrepancy.environment) if limit is not None and worth > limit * 10**USD_SCALE else 1
    )


def what_accepting_does(discrepancy: Discrepancy) -> str:
    """The recipients, amounts and sources, and the next state of the payment, as sentences for the operator who
    decides."""
    amount = wording.coins(discrepancy.amount, discrepancy.decimals, discrepancy.asset)
    if (payment := discrepancy.payment) is None:
        return f"{amount} on {discrepancy.network} names no payment: attribute it to one first."
    kind = DiscrepancyKind(discrepancy.kind).label.lower()
    price = wording.fiat(payment.fiat_amount, payment.currency)
    words = [
        f"{payment.merchant.name} gets {amount} on {discrepancy.network}, out of suspense.",
        f"It came for {payment.public_id} over {price} ({kind}) and could still be sent back.",
    ]
    if discrepancy.kind == DiscrepancyKind.UNDERPAID and payment.status == PaymentStatus.UNDERPAID:
        words.append("The payment is then completed, although less than asked for was paid.")
    if people_needed(discrepancy) > 1:
        waiting = Proposal.objects.filter(
            kind=ProposalKind.ACCEPT, subject=str(discrepancy.pk), status=ProposalStatus.WAITING
        ).first()
        so_far = f"; so far: {waiting.people}." if waiting else ": after you somebody else."
        words.append(f"Two different people must accept so much{so_far}")
    return " ".join(words)


def accept_discrepancy(discrepancy: Discrepancy, *, resolved_by: str, note: str = "") -> Discrepancy:
    """Let the merchant have the money. Short and late money then counts for its payment, the rest is extra."""
    if discrepancy.payment_id is None:
        raise NamesNoPayment
    with transaction.atomic():
        payment = Payment.objects.select_for_update().get(pk=discrepancy.payment_id)
        discrepancy = _decide(discrepancy, resolved_by=resolved_by, note=note)
        payment.booking_count += 1
        if counts_when_accepted(discrepancy, payment):
            _count(discrepancy, payment)
            draft = postings.suspense_accepted(payment, discrepancy.kind, discrepancy.amount)
            assess_locked(payment, [draft])
        else:
            draft = postings.suspense_kept(payment, discrepancy)
            post([draft], payment)
            payment.save(update_fields=["booking_count"])
        return discrepancy


def take_discrepancy(
    discrepancy: Discrepancy, *, resolved_by: str, note: str = "", is_sent_by_us: bool = False
) -> Discrepancy:
    """These coins are the operator's own, sent to a wallet where deposits arrive as well. While a restored database
    stands still only a wallet of ours that sent them shows that."""
    if discrepancy.payment_id or discrepancy.deposit_id is None:
        raise InvalidParameter("This money was sent for a payment.", param="discrepancy")
    if not is_sent_by_us:
        require_resumed()
    with transaction.atomic():
        deposit = Deposit.objects.select_for_update().get(pk=discrepancy.deposit_id)
        discrepancy = _decide(discrepancy, resolved_by=resolved_by, note=note)
        post_draft(postings.suspense_taken(deposit, discrepancy.kind), environment=deposit.environment)
        return discrepancy


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Result of accepting money. Amounts in base units of the money's coin.

    `gained` is what the merchant has more, `repaid` the part of it that pays back what the merchant owes. `surplus` is
    what then waits for a decision of its own. `status` is that of the payment afterwards.
    """

    gained: int
    repaid: int
    surplus: int
    status: PaymentStatus


def preview_acceptance(discrepancy: Discrepancy, payment: Payment) -> Acceptance | None:
    """Preview of accepting an open discrepancy now: it is accepted, in a savepoint that is rolled back.

    None while there is no preview: its network is halted, has just undone a transfer of the payment, or somebody else
    has decided.
    """
    with suppress(DiscrepancyResolved), preview():
        Payment.objects.select_for_update().get(pk=payment.pk)
        return _accept_and_look(discrepancy, payment)
    return None


def _accept_and_look(discrepancy: Discrepancy, payment: Payment) -> Acceptance | None:
    open_before = set(payment.discrepancies.filter(status=DiscrepancyStatus.OPEN).values_list("pk", flat=True))
    before = list(payment.balance_changes.values_list("pk", flat=True))
    accept_discrepancy(discrepancy, resolved_by="")
    changes = list(payment.balance_changes.exclude(pk__in=before))
    gained = sum(int(each.amount) for each in changes)
    if gained <= 0:
        return None
    debts = Entry.objects.filter(
        posting__environment=payment.environment,
        posting__kind__in=[each.posting_kind for each in changes],
        posting__reference__in=[each.posting_reference for each in changes],
        account__kind=AccountKind.MERCHANT_RECEIVABLE,
    )
    opened = payment.discrepancies.filter(status=DiscrepancyStatus.OPEN).exclude(pk__in=open_before)
    return Acceptance(
        gained=gained,
        repaid=-int(debts.aggregate(total=Sum("amount"))["total"] or 0),
        surplus=sum(int(each.amount) for each in opened),
        status=PaymentStatus(Payment.objects.values_list("status", flat=True).get(pk=payment.pk)),
    )


def _decide(discrepancy: Discrepancy, *, resolved_by: str, note: str) -> Discrepancy:
    """Accepted from now on, by whoever came first. Its payment or deposit is locked."""
    discrepancy = Discrepancy.objects.select_for_update().get(pk=discrepancy.pk)
    if discrepancy.status != DiscrepancyStatus.OPEN:
        raise DiscrepancyResolved
    if discrepancy.kind == DiscrepancyKind.REVIEW:
        raise UnderReview
    discrepancy.note = "\n".join(filter(None, [discrepancy.note, note]))
    move_discrepancy(discrepancy, DiscrepancyStatus.ACCEPTED, resolved_by=resolved_by)
    return discrepancy


def counts_when_accepted(discrepancy: Discrepancy, payment: Payment) -> bool:
    """Short money does. Late money does while the payment lacks it and has not been closed: a closed payment's short
    money waits for a decision of its own, and counting anything beside it would complete the payment without it.
    """
    if discrepancy.kind == DiscrepancyKind.UNDERPAID:
        return True
    is_lacking = payment.status != PaymentStatus.CANCELLED and not payment.closed_at and payment.released < payment.due
    return discrepancy.kind == DiscrepancyKind.LATE and is_lacking


def _count(discrepancy: Discrepancy, payment: Payment) -> None:
    """Count the money for its payment from the next assessment on."""
    if discrepancy.kind != DiscrepancyKind.UNDERPAID and discrepancy.deposit_id:
        Deposit.objects.filter(pk=discrepancy.deposit_id).update(booked_to=AccountKind.PAYMENT)
    if discrepancy.kind == DiscrepancyKind.UNDERPAID:
        payment.closed_at, payment.short = None, 0
    payment.accepted = True
