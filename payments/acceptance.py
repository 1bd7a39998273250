"""Money in suspense that an operator gives to a merchant: with a reason, and by two people above the policy's limit."""

from __future__ import annotations

import structlog
from django.db import transaction

from config.errors import DomainError, InvalidParameter
from merchants.models import User
from payments import wording
from payments.models import Discrepancy, Payment
from payments.services import DiscrepancyResolved, accept_discrepancy
from payments.states import DiscrepancyKind, DiscrepancyStatus, PaymentStatus
from payments.transfers.limits import APPROVALS_NEEDED, SCALE, usd_units
from payments.transfers.payouts import policy_of

logger = structlog.get_logger(__name__)

_PEOPLE_KEPT = 120  # characters of the field


class AlreadyApproved(DomainError):
    code = "already_approved"
    message = "You have approved this already. Somebody else must do so too."


def accept_as_operator(discrepancy: Discrepancy, *, operator: User, reason: str) -> bool:
    """Let the merchant have the money, or be the first of two who do; returns whether the merchant has it now."""
    if not (reason := reason.strip()):
        raise InvalidParameter("Say why: it is kept, and the merchant is shown it.", param="note")
    with transaction.atomic():
        if discrepancy.payment_id:
            Payment.objects.select_for_update().get(pk=discrepancy.payment_id)  # whoever decides holds it
        discrepancy = Discrepancy.objects.select_for_update().get(pk=discrepancy.pk)
        if discrepancy.status != DiscrepancyStatus.OPEN:
            raise DiscrepancyResolved
        approvals = discrepancy.approvals
        if approvals.filter(operator=operator).exists():
            raise AlreadyApproved
        approvals.create(operator=operator, reason=reason)
        given = list(approvals.select_related("operator").order_by("id"))
        logger.warning("discrepancy approved", discrepancy=discrepancy.public_id, operator=operator.email)
        if len(given) < people_needed(discrepancy):
            return False
        people = ", ".join(each.operator.email for each in given)[:_PEOPLE_KEPT]
        accept_discrepancy(discrepancy, resolved_by=people, note="\n".join(each.reason for each in given))
        return True


def people_needed(discrepancy: Discrepancy) -> int:
    """How many operators it takes: two above the amount from which a payout needs two as well."""
    limit = policy_of(discrepancy.environment).approval_above
    worth = usd_units(discrepancy.amount, discrepancy.decimals)
    return APPROVALS_NEEDED if limit is not None and worth > limit * 10**SCALE else 1


def what_accepting_does(discrepancy: Discrepancy) -> str:
    """Who gets how much, from where, and what becomes of the payment, as sentences for the operator who decides."""
    amount = f"{wording.coins_held(discrepancy.amount, discrepancy.decimals)} {discrepancy.asset}"
    if (payment := discrepancy.payment) is None:
        return f"{amount} on {discrepancy.network} names no payment: it must be assigned to one first."
    kind = DiscrepancyKind(discrepancy.kind).label.lower()
    words = [
        f"{payment.merchant.name} gets {amount} on {discrepancy.network}, out of suspense.",
        f"It came for {payment.public_id} over {wording.fiat(payment)} ({kind}) and could still be sent back.",
    ]
    if discrepancy.kind == DiscrepancyKind.UNDERPAID and payment.status == PaymentStatus.UNDERPAID:
        words.append("The payment is then completed, although less than asked for was paid.")
    if people_needed(discrepancy) > 1:
        given = ", ".join(each.operator.email for each in discrepancy.approvals.select_related("operator"))
        words.append(
            f"Two different people must accept so much; so far: {given}."
            if given
            else "Two different people must accept so much: after you somebody else."
        )
    return " ".join(words)
