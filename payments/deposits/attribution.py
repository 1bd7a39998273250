"""Money of no payment is given one: two different operators name it. Merchants may name its transaction."""

from __future__ import annotations

import structlog
from django.db import transaction
from django.utils import timezone

from config import ids
from config.errors import DomainError, InvalidParameter
from merchants.four_eyes.people import counts, people_needed, require_counts
from merchants.ledger.posting import post_drafts
from merchants.models import User
from payments.chains import registry
from payments.chains.errors import ChainError
from payments.chains.networks import NETWORKS
from payments.deposits.acceptance import AlreadyApproved, DiscrepancyResolved
from payments.deposits.assessment_effects import DepositEffects
from payments.deposits.crediting import assess_locked
from payments.deposits.postings import deposit_postings
from payments.deposits.recording import record_deposits, record_owner
from payments.deposits.suggestions import is_too_young, waiting_for_payment
from payments.models import Attribution, Deposit, Discrepancy, NamedTransaction, Payment
from payments.states import DiscrepancyStatus

logger = structlog.get_logger(__name__)

_PEOPLE_KEPT = 120  # characters of the field


class TransactionNotWaiting(DomainError):
    code = "transaction_not_waiting"
    message = "No money of this on-chain transaction waits for its payment. Compare the hash with the payer’s wallet."


def name_transaction(payment: Payment, transaction_hash: str, *, named_by: str) -> None:
    """Note that a merchant's payment was paid by an on-chain transaction whose money waits for its payment.

    It moves nothing: hashes are public, and two operators decide. Naming it again changes nothing. A transaction can
    have two hashes, so the network is asked: call it outside of any database transaction.
    """
    hashes = {transaction_hash.strip().lower()}
    try:
        found = registry.chain(payment.environment, payment.network).find_transaction(transaction_hash)
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


def attribute_as_operator(discrepancy: Discrepancy, *, payment_id: str, operator: User, reason: str) -> bool:
    """Say which payment money in suspense is for; returns whether it is the payment's now.

    It is once two different operators have named the same payment. One who names another payment takes back the first.
    """
    if not (reason := reason.strip()):
        raise InvalidParameter("Say why: it is kept.", param="note")
    key = ids.PAYMENT.decode(payment_id.strip())
    payment = Payment.objects.filter(pk=key, environment=discrepancy.environment).first() if key else None
    if payment is None:
        raise InvalidParameter("There is no payment with this id in this environment.", param="payment")
    with transaction.atomic():
        payment = Payment.objects.select_for_update().get(pk=payment.pk)
        discrepancy = Discrepancy.objects.select_for_update().get(pk=discrepancy.pk)
        _require_attributable(discrepancy, payment)
        require_counts(operator, environment=discrepancy.environment)
        given = discrepancy.attributions.filter(
            counts(discrepancy.environment, at="approved_at"), payment=payment
        ).select_related("operator")
        if given.filter(operator=operator).exists():
            raise AlreadyApproved
        said = {"payment": payment, "reason": reason, "approved_at": timezone.now()}
        discrepancy.attributions.update_or_create(operator=operator, defaults=said)
        logger.warning(
            "attribution approved",
            discrepancy=discrepancy.public_id,
            payment=payment.public_id,
            operator=operator.email,
        )
        agreed = list(given.order_by("id"))
        if len(agreed) < people_needed(discrepancy.environment):
            return False
        _attribute(discrepancy, payment, agreed)
        return True


def _require_attributable(discrepancy: Discrepancy, payment: Payment) -> None:
    if discrepancy.status != DiscrepancyStatus.OPEN:
        raise DiscrepancyResolved
    if not Discrepancy.objects.filter(waiting_for_payment(), pk=discrepancy.pk).exists() or not discrepancy.deposit:
        raise InvalidParameter("Only money that belongs to no payment can be given one.")
    deposit = discrepancy.deposit
    if (deposit.recipient, deposit.memo) == (payment.deposit_address, payment.memo):
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


def _attribute(discrepancy: Discrepancy, payment: Payment, agreed: list[Attribution]) -> None:
    """Take the deposit out of suspense and let the payment be assessed with it. Payment and discrepancy are locked."""
    deposit = Deposit.objects.select_for_update().get(discrepancies=discrepancy)
    people = ", ".join(each.operator.email for each in agreed)
    reasons = [f"Attributed to {payment.public_id}.", *(each.reason for each in agreed)]
    discrepancy.note = "\n".join(filter(None, [discrepancy.note, *reasons]))
    discrepancy.resolved_by = people[:_PEOPLE_KEPT]
    effects = DepositEffects(lost=[(deposit, discrepancy)], voided=[discrepancy])
    drafts = deposit_postings(effects)
    record_deposits(effects)
    post_drafts(drafts, environment=deposit.environment)
    record_owner(deposit, payment)
    assess_locked(Payment.objects.get(pk=payment.pk))
    logger.warning("deposit attributed", deposit=str(deposit), payment=payment.public_id, by=people)
