"""Money of no payment goes back to whoever sent it: proven by the sender, agreed to by operators, paid once."""

from __future__ import annotations

import uuid

import structlog
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from config.errors import DomainError, InvalidParameter
from config.pages import wording
from merchants.four_eyes.models import Proposal, ProposalKind
from merchants.four_eyes.services import propose, register
from merchants.ledger.posting import post_draft
from merchants.models import User
from payments.chains import registry
from payments.deposits import postings
from payments.deposits.models import PayerReturn
from payments.deposits.recording import move_discrepancy
from payments.models import Deposit, Discrepancy
from payments.screening.matching import is_released, note_evidence, with_lists
from payments.states import RETURN_MOVES, DepositStatus, DiscrepancyStatus, ReturnStatus
from payments.suspense.acceptance import DiscrepancyResolved, UnderReview
from payments.suspense.destinations import Destination
from payments.suspense.payer_proofs import covers, require_signed
from payments.transfers.models import Payout
from payments.transfers.payouts import approve_as_agreed, cancel_payout, request_payout
from payments.transfers.states import ENDED_PAYOUTS, PayoutStatus

logger = structlog.get_logger(__name__)

_PEOPLE_KEPT = 120  # characters of the field


class ReturnDecided(DomainError):
    code = "return_decided"
    message = "This no longer needs approval: it is decided, or the sender has named another address since."


def propose_return(returned: PayerReturn, *, reason: str, by: User) -> Proposal:
    """Propose that the sender gets the money back, or agree to it: then it is reserved and on its way.

    ReturnDecided, DiscrepancyResolved; UnderReview while a list names the sender, who may ask for it anywhere;
    InvalidParameter without a reason, or when the row is not what the sender has signed.
    """
    if not (reason := reason.strip()):
        raise InvalidParameter("Enter a reason: it is saved.", param="note")
    with transaction.atomic():
        _lock_returnable(returned.pk)
    return propose(
        ProposalKind.RETURN,
        environment=returned.environment,
        subject=returned.pk,
        after={},
        reason=reason,
        by=by,
    )


def _lock_returnable(key: uuid.UUID) -> tuple[PayerReturn, Deposit, Discrepancy]:
    deposit = with_lists(Deposit.objects.select_for_update()).get(returns=key)
    held = _held(deposit)
    returned = PayerReturn.objects.select_for_update().get(pk=key)
    note_evidence([deposit])
    if returned.status != ReturnStatus.PROVEN:
        raise ReturnDecided
    if held is None or held.status != DiscrepancyStatus.OPEN or deposit.status != DepositStatus.CREDITED:
        raise DiscrepancyResolved
    if deposit.evidence and not is_released(deposit):
        raise UnderReview("A sanctions list names its sender: release its deposit from review first.")
    _require_as_signed(returned, deposit)
    return returned, deposit, held


def _summary_of(proposal: Proposal) -> str:
    row = PayerReturn.objects.get(pk=proposal.subject)
    coins = f"{wording.coins(row.amount, row.decimals, row.asset)} on {row.network}"
    where = " ".join(filter(None, [row.recipient, row.memo]))
    return f"{coins} goes back to its sender at {where} ({row.public_id}). Why: {proposal.after['reason']}"


def _give_back_as_agreed(proposal: Proposal, people: str) -> bool:
    try:
        returned, deposit, held = _lock_returnable(uuid.UUID(proposal.subject))
    except (ReturnDecided, DiscrepancyResolved):
        return False
    _reserve(returned, deposit, held, proposal, people)
    return True


register(ProposalKind.RETURN, _give_back_as_agreed, permission="payments.change_discrepancy", summarize=_summary_of)


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
    requested = (returned.environment, returned.network, returned.asset, returned.amount)
    is_whole = requested == (deposit.environment, deposit.network, deposit.asset, deposit.amount)
    if not is_whole or not covers(returned.signed_text, deposit, Destination(returned.recipient, returned.memo)):
        raise InvalidParameter("This is not what the sender has signed: another address, or other money.", param="note")


def _reserve(returned: PayerReturn, deposit: Deposit, held: Discrepancy, proposal: Proposal, people: str) -> None:
    notes = [held.note, f"Given back by {returned.public_id}.", *proposal.reasons]
    held.note = "\n".join(filter(None, notes))
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
    approve_as_agreed(payout, proposal)
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
