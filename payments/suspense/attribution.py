"""Money of no payment is given one: two different operators name it. Merchants may name its transaction."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from config import ids
from config.errors import DomainError, InvalidParameter
from config.pages import wording
from merchants.four_eyes.models import Proposal, ProposalKind
from merchants.four_eyes.services import propose, register
from merchants.ledger.posting import post_drafts
from merchants.models import User
from payments.chains import registry
from payments.chains.errors import ChainError
from payments.chains.networks import NETWORKS
from payments.deposits.assessment_effects import DepositEffects
from payments.deposits.crediting import assess_locked
from payments.deposits.postings import deposit_postings
from payments.deposits.recording import record_deposits, record_owner
from payments.models import Deposit, Discrepancy, NamedTransaction, Payment
from payments.states import DepositStatus, DiscrepancyStatus
from payments.suspense.acceptance import DiscrepancyResolved
from payments.suspense.suggestions import is_too_young, waiting_for_payment

logger = structlog.get_logger(__name__)

_PEOPLE_KEPT = 120  # characters of the field


class TransactionNotWaiting(DomainError):
    code = "transaction_not_waiting"
    message = "No money of this on-chain transaction waits for its payment. Compare the hash with the payer’s wallet."


def name_transaction(payment: Payment, transaction_hash: str, *, named_by: str) -> None:
    """Note that a merchant's payment was paid by an on-chain transaction whose money waits for its payment.

    It moves nothing: hashes are public, and two operators decide. Naming it again changes nothing. A transaction can
    have two hashes, so the network is queried: call it outside of any database transaction.
    """
    hashes = {transaction_hash.strip().lower()}
    try:
        found = registry.chain(payment.environment, payment.network).reading.find_transaction(transaction_hash)
        hashes |= {found.transaction_hash} if found else set()
    except ChainError as error:
        logger.warning("named transaction could not be looked up", network=payment.network, error=str(error))
    waiting = Discrepancy.objects.filter(
        waiting_for_payment(),
        environment=payment.environment,
        network=payment.network,
        deposit__transaction_hash__in=hashes,
    )
    named = list(waiting)
    if not named:
        raise TransactionNotWaiting(param="transactionHash")
    for discrepancy in named:
        NamedTransaction.objects.get_or_create(
            discrepancy=discrepancy, payment=payment, defaults={"named_by": named_by[:_PEOPLE_KEPT]}
        )
    logger.info("transaction named", payment=payment.public_id, transaction=transaction_hash, by=named_by)


def propose_attribution(discrepancy: Discrepancy, *, payment_id: str, reason: str, by: User) -> Proposal:
    """Propose which payment money in suspense is for, or agree to it. Another payment takes the place of the first."""
    if not (reason := reason.strip()):
        raise InvalidParameter("Enter a reason: it is saved.", param="note")
    payment = _named(payment_id.strip(), discrepancy)
    if payment is None:
        raise InvalidParameter("There is no payment with this id in this environment.", param="payment")
    _require_attributable(Discrepancy.objects.get(pk=discrepancy.pk), payment)
    return propose(
        ProposalKind.ATTRIBUTE,
        environment=discrepancy.environment,
        subject=discrepancy.pk,
        after={"payment": payment.public_id},
        reason=reason,
        by=by,
    )


def _named(payment_id: str, discrepancy: Discrepancy) -> Payment | None:
    key = ids.PAYMENT.decode(payment_id)
    return Payment.objects.filter(pk=key, environment=discrepancy.environment).first() if key else None


def _summary_of(proposal: Proposal) -> str:
    row = Discrepancy.objects.select_related("deposit").get(pk=proposal.subject)
    coins = f"{wording.coins(row.amount, row.decimals, row.asset)} on {row.network}"
    sent_by = row.deposit.transaction_hash if row.deposit else ""
    return f"{coins}, sent by {sent_by}, is for {proposal.after['payment']}. Why: {proposal.after['reason']}"


def _attribute_as_agreed(proposal: Proposal, people: str) -> bool:
    discrepancy = Discrepancy.objects.get(pk=proposal.subject)
    named = _named(proposal.after["payment"], discrepancy)
    if named is None:
        return False
    payment = Payment.objects.select_for_update().get(pk=named.pk)
    discrepancy = Discrepancy.objects.select_for_update().get(pk=discrepancy.pk)
    try:
        _require_attributable(discrepancy, payment)
    except DomainError:
        return False
    _attribute(discrepancy, payment, people, proposal.reasons)
    return True


register(ProposalKind.ATTRIBUTE, _attribute_as_agreed, permission="payments.change_discrepancy", summarize=_summary_of)


def _require_attributable(discrepancy: Discrepancy, payment: Payment) -> None:
    if discrepancy.status != DiscrepancyStatus.OPEN:
        raise DiscrepancyResolved
    if not Discrepancy.objects.filter(waiting_for_payment(), pk=discrepancy.pk).exists() or not discrepancy.deposit:
        raise InvalidParameter("Only money that belongs to no payment can be given one.")
    deposit = discrepancy.deposit
    if deposit.status != DepositStatus.CREDITED:
        raise InvalidParameter("The network has just undone this money. Try again once it is there.")
    if Payment.objects.filter(pk=payment.pk).paid_at([deposit.recipient], [deposit.memo]).exists():
        return  # however much older than the payment it is
    if not NETWORKS[discrepancy.network].real.shares_account:
        raise InvalidParameter(
            f"The money is at {deposit.recipient}, which is not the address of {payment.public_id}. Where each payment "
            "has an address of its own, only the payment of that address can get it.",
            param="payment",
        )
    if discrepancy.network != payment.network:
        raise InvalidParameter(f"{payment.public_id} is paid on {payment.network}.", param="payment")
    if is_too_young(deposit, payment):
        raise InvalidParameter("This payment did not exist yet when the money came.", param="payment")


def _attribute(discrepancy: Discrepancy, payment: Payment, people: str, reasons: Sequence[str]) -> None:
    """Take the deposit out of suspense and let the payment be assessed with it. Payment and discrepancy are locked."""
    deposit = Deposit.objects.select_for_update().get(discrepancies=discrepancy)
    notes = [discrepancy.note, f"Attributed to {payment.public_id}.", *reasons]
    discrepancy.note = "\n".join(filter(None, notes))
    discrepancy.resolved_by = people[:_PEOPLE_KEPT]
    effects = DepositEffects(lost=[(deposit, discrepancy)], voided=[discrepancy])
    drafts = deposit_postings(effects)
    record_deposits(effects)
    post_drafts(drafts, environment=deposit.environment)
    record_owner(deposit, payment)
    assess_locked(Payment.objects.get(pk=payment.pk))
    logger.warning("deposit attributed", deposit=str(deposit), payment=payment.public_id, by=people)
