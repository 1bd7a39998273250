"""Money of no payment goes back to whoever sent it: proven by the sender, agreed to by operators, paid once."""

from __future__ import annotations

import structlog
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from config.errors import DomainError, InvalidParameter
from merchants.four_eyes.people import counts, people_needed, require_counts
from merchants.ledger.posting import post_draft
from merchants.models import User
from payments.chains import registry
from payments.deposits import postings
from payments.deposits.acceptance import AlreadyApproved, DiscrepancyResolved
from payments.deposits.destinations import Destination
from payments.deposits.models import PayerReturn, ReturnApproval
from payments.deposits.payer_proofs import require_signed, says
from payments.deposits.recording import move_discrepancy
from payments.models import Deposit, Discrepancy
from payments.states import RETURN_MOVES, DiscrepancyStatus, ReturnStatus
from payments.transfers.models import Payout, PayoutApproval
from payments.transfers.payouts import cancel_payout, request_payout
from payments.transfers.states import ENDED_PAYOUTS, PayoutStatus

logger = structlog.get_logger(__name__)

_PEOPLE_KEPT = 120  # characters of the field


class ReturnDecided(DomainError):
    code = "return_decided"
    message = "Nobody has to agree to this any more: it is decided, or the sender has named another address since."


def give_back_as_operator(returned: PayerReturn, *, operator: User, reason: str) -> bool:
    """Agree that the sender gets the money back; returns whether it is reserved and on its way now.

    ReturnDecided, DiscrepancyResolved, AlreadyApproved; InvalidParameter without a reason, or when the row is not what
    the sender has signed.
    """
    if not (reason := reason.strip()):
        raise InvalidParameter("Say why: it is kept.", param="note")
    with transaction.atomic():
        deposit = Deposit.objects.select_for_update().get(pk=returned.deposit_id)
        held = _held(deposit)
        returned = PayerReturn.objects.select_for_update().get(pk=returned.pk)
        if returned.status != ReturnStatus.PROVEN:
            raise ReturnDecided
        if held is None or held.status != DiscrepancyStatus.OPEN:
            raise DiscrepancyResolved
        _require_as_signed(returned, deposit)
        require_counts(operator, environment=returned.environment)
        given = returned.approvals.filter(counts(returned.environment, at="approved_at")).select_related("operator")
        if given.filter(operator=operator).exists():
            raise AlreadyApproved
        said = {"reason": reason, "approved_at": timezone.now()}
        returned.approvals.update_or_create(operator=operator, defaults=said)
        logger.warning("return approved", payer_return=returned.public_id, operator=operator.email)
        agreed = list(given.order_by("id"))
        if len(agreed) < people_needed(returned.environment):
            return False
        _reserve(returned, deposit, held, agreed)
        return True


def call_back(returned: PayerReturn, *, by: User) -> PayerReturn:
    """Call a return back before it is signed: the money waits for a decision again. One person is enough.

    PayoutNotCancellable when it is on its way.
    """
    with transaction.atomic():
        deposit = Deposit.objects.select_for_update().get(pk=returned.deposit_id)
        held = _held(deposit)
        returned = PayerReturn.objects.select_for_update().get(pk=returned.pk)
        if returned.status == ReturnStatus.PENDING and returned.payout:
            _end(returned, deposit, held, cancel_payout(returned.payout))
            logger.warning("return called back", payer_return=returned.public_id, by=by.email)
        return returned


def to_follow() -> QuerySet[PayerReturn]:
    """Returns whose payout has ended, and they have not."""
    return PayerReturn.objects.filter(status=ReturnStatus.PENDING, payout__status__in=ENDED_PAYOUTS)


def follow_payout(returned: PayerReturn) -> None:
    """End a return when its payout has ended."""
    with transaction.atomic():
        deposit = Deposit.objects.select_for_update().get(pk=returned.deposit_id)
        held = _held(deposit)
        returned = PayerReturn.objects.select_for_update().get(pk=returned.pk)
        payout = Payout.objects.select_related("transfer").get(payer_return=returned)
        if returned.status == ReturnStatus.PENDING and payout.status in ENDED_PAYOUTS:
            _end(returned, deposit, held, payout)


def _held(deposit: Deposit) -> Discrepancy | None:
    """The decision about a locked deposit of no payment that holds now, locked; None when its network has undone it."""
    return deposit.discrepancies.select_for_update().exclude(status=DiscrepancyStatus.VOID).first()


def _require_as_signed(returned: PayerReturn, deposit: Deposit) -> None:
    if not returned.signature and not registry.is_simulated(returned.environment):
        raise InvalidParameter("The sender has not signed this.", param="signature")
    if returned.signature:
        require_signed(deposit, returned.signed_text, returned.signature)
    asked = (returned.environment, returned.network, returned.asset, returned.amount)
    is_whole = asked == (deposit.environment, deposit.network, deposit.asset, deposit.amount)
    if not is_whole or not says(returned.signed_text, deposit, Destination(returned.recipient, returned.memo)):
        raise InvalidParameter("This is not what the sender has signed: another address, or other money.", param="note")


def _reserve(returned: PayerReturn, deposit: Deposit, held: Discrepancy, agreed: list[ReturnApproval]) -> None:
    people = ", ".join(each.operator.email for each in agreed)
    held.note = "\n".join(
        filter(None, [held.note, f"Given back by {returned.public_id}.", *(e.reason for e in agreed)])
    )
    move_discrepancy(held, DiscrepancyStatus.REFUNDED, resolved_by=people[:_PEOPLE_KEPT])
    post_draft(postings.return_reserved(returned, deposit, held.kind), environment=returned.environment)
    payout = request_payout(
        id=returned.pk,
        environment=returned.environment,
        merchant_id=None,
        reference=returned.public_id,
        asset=registry.asset(returned.environment, returned.network, returned.asset),
        amount=int(returned.amount),
        recipient=returned.recipient,
        memo=returned.memo,
        memo_type=returned.memo_type,
    )
    for each in agreed:
        PayoutApproval.objects.create(
            payout=payout,
            operator=each.operator,
            amount=returned.amount,
            recipient=returned.recipient,
            memo=returned.memo,
            approved_at=each.approved_at,
        )
    RETURN_MOVES.check(returned.status, ReturnStatus.PENDING)
    returned.status, returned.payout = ReturnStatus.PENDING, payout
    returned.save(update_fields=["status", "payout"])
    logger.warning("return reserved", payer_return=str(returned), by=people)


def _end(returned: PayerReturn, deposit: Deposit, held: Discrepancy | None, payout: Payout) -> None:
    """End a locked return as its payout has ended; what has not left waits for a decision again."""
    is_paid = payout.status == PayoutStatus.PAID
    status = ReturnStatus.COMPLETED if is_paid else ReturnStatus.FAILED
    RETURN_MOVES.check(returned.status, status)
    returned.status, returned.ended_at = status, timezone.now()
    returned.transaction_hash = payout.transfer.transaction_hash if is_paid and payout.transfer else ""
    if not is_paid:
        returned.failure_message = payout.failure_message or "Called back before it was signed."
        draft = postings.return_voided(returned, deposit, held.kind if held else None)
        post_draft(draft, environment=returned.environment)
        if held is not None:
            move_discrepancy(held, DiscrepancyStatus.OPEN, resolved_by="")
    returned.save(update_fields=["status", "ended_at", "transaction_hash", "failure_message"])
    logger.info("return ended", payer_return=str(returned), status=str(status))
