"""Holds at once as much money as coins are missing; they come back, or two people decide who bears the loss."""

from __future__ import annotations

import uuid

import structlog
from django.db import transaction
from django.utils import timezone

from config.errors import DomainError, InvalidParameter
from config.installation.services import require_resumed
from merchants.four_eyes.models import Proposal, ProposalKind
from merchants.four_eyes.services import propose, register
from merchants.ledger.posting import PostingDraft, lock_accounts, post_draft
from merchants.models import User
from payments.deposits import postings
from payments.deposits.balance_changes import record_balance_changes
from payments.deposits.recording import record_payment_events
from payments.models import Deposit, Payment
from payments.states import StatusReason
from payments.treasury.losses import postings as drafts
from payments.treasury.losses.holdings import Holding
from payments.treasury.losses.models import Bearer, MissingCoins, MissingStatus
from webhooks.events import catalogue

logger = structlog.get_logger(__name__)


class MissingDecided(DomainError):
    code = "missing_decided"
    message = "These coins are no longer waiting for a decision."


# What reconcile found


def note(holding: Holding) -> MissingCoins | None:
    """Store what is missing at an address now, and hold as much of the merchant's balance.

    Returns what waits for a decision; None when nothing does. Doing it again changes nothing.
    """
    with transaction.atomic():
        payment = _locked_payment(holding.payment_id)
        known = MissingCoins.objects.select_for_update().filter(
            environment=holding.environment,
            network=holding.network,
            asset=holding.asset,
            address=holding.address,
            status=MissingStatus.OPEN,
        )
        missing = known.first()
        if missing is None and not holding.missing:
            return None
        if missing is None:
            missing = MissingCoins(
                environment=holding.environment,
                network=holding.network,
                asset=holding.asset,
                decimals=holding.decimals,
                address=holding.address,
                payment=payment,
            )
        elif missing.height > holding.height:
            return missing  # somebody has looked at a later block
        _spread(holding, holding.missing - (int(missing.amount) if missing.pk else 0))
        missing.height = holding.height
        if holding.missing:
            _still_missing(missing, payment, holding.missing)
            return missing
        _returned(missing, payment)
        return None


def _still_missing(missing: MissingCoins, payment: Payment | None, amount: int) -> None:
    is_new = missing.pk is None
    if missing.amount != amount:
        missing.amount = amount
    if missing.held > amount:
        _give_back(missing, payment, missing.held - amount)
    missing.save()
    if payment is not None:
        _hold(missing, payment)
    if is_new:
        logger.error("coins are missing", address=missing.address, network=missing.network, coins=missing.coins)
        _tell_merchant(payment, catalogue.PAYMENT_COINS_MISSING, StatusReason.COINS_MISSING)


def _returned(missing: MissingCoins, payment: Payment | None) -> None:
    if missing.held:
        _give_back(missing, payment, missing.held)
    missing.status, missing.ended_at = MissingStatus.RETURNED, timezone.now()
    missing.save()
    logger.warning("missing coins are there again", address=missing.address, coins=missing.coins)
    _tell_merchant(payment, catalogue.PAYMENT_COINS_RESTORED, None)


def _spread(holding: Holding, more: int) -> None:
    """Store with each deposit at the address how much of it is missing: the oldest is marked first and cleared last."""
    here = Deposit.objects.select_for_update().filter(
        environment=holding.environment, network=holding.network, asset=holding.asset, recipient=holding.address
    )
    if more > 0:
        here = here.filter(pk__in=holding.deposits)
    by_age = sorted(here.order_by("pk"), key=lambda deposit: (deposit.height, deposit.ordinal), reverse=more < 0)
    for deposit in by_age:
        part = min(more, int(deposit.amount - deposit.missing)) if more > 0 else -min(-more, int(deposit.missing))
        more -= part
        if part:
            deposit.missing += part
            deposit.save(update_fields=["missing"])


def _hold(missing: MissingCoins, payment: Payment) -> None:
    """Hold as much as is missing, at most what is available: what has been settled already cannot be held."""
    available = postings.available_account(payment, missing.network, missing.asset)
    held = drafts.held_account(payment, missing.network, missing.asset)
    there = lock_accounts([available, held], environment=missing.environment)[available]
    more = min(missing.amount - missing.held, there)
    if more <= 0:
        return
    missing.hold_count += 1
    missing.held += more
    missing.save(update_fields=["held", "hold_count"])
    _post(drafts.missing_held(missing, payment, more), missing, payment)


def _give_back(missing: MissingCoins, payment: Payment | None, amount: int) -> None:
    if payment is None:
        raise RuntimeError(f"{missing}: held, and nobody's")
    missing.hold_count += 1
    missing.held -= amount
    _post(drafts.missing_ended(missing, payment, amount), missing, payment)


# What operators decide


def propose_loss(missing: MissingCoins, *, bearer: Bearer, reason: str, by: User) -> Proposal:
    """Propose who bears the loss and why, or agree to it: then it is booked. It falls when the amount changes."""
    if not (reason := reason.strip()):
        raise InvalidParameter("Say what happened to the coins.", param="reason")
    missing = MissingCoins.objects.get(pk=missing.pk)
    if missing.status != MissingStatus.OPEN:
        raise MissingDecided
    if bearer == Bearer.MERCHANT and missing.payment_id is None:
        raise InvalidParameter("These coins name no payment: only the house can bear them.", param="bearer")
    return propose(
        ProposalKind.LOSS,
        environment=missing.environment,
        subject=missing.pk,
        after={"bearer": str(bearer)},
        reason=reason,
        by=by,
    )


def _summary_of(proposal: Proposal) -> str:
    missing, after = MissingCoins.objects.get(pk=proposal.subject), proposal.after
    return f"{Bearer(after['bearer']).label} bears the loss of {missing}. Why: {after['reason']}"


def _lose_as_agreed(proposal: Proposal, people: str) -> bool:
    require_resumed()
    known = MissingCoins.objects.get(pk=proposal.subject)
    payment = _locked_payment(known.payment_id)
    missing = MissingCoins.objects.select_for_update().get(pk=known.pk)
    if missing.status != MissingStatus.OPEN or missing.amount != known.amount:
        return False
    missing.bearer, missing.reason = proposal.after["bearer"], "\n".join(proposal.reasons)
    draft = _loss(missing, payment)
    missing.approved_by, missing.ended_at = people[:150], timezone.now()
    missing.status, missing.held = MissingStatus.LOST, 0
    missing.save()
    _post(draft, missing, payment)
    logger.warning("loss booked", missing=str(missing), bearer=missing.bearer, by=people)
    if missing.bearer == Bearer.MERCHANT:
        _tell_merchant(payment, catalogue.PAYMENT_COINS_LOST, StatusReason.COINS_LOST)
    else:
        _tell_merchant(payment, catalogue.PAYMENT_COINS_RESTORED, None)
    return True


register(ProposalKind.LOSS, _lose_as_agreed, permission="losses.change_missingcoins", summarize=_summary_of)


def _loss(missing: MissingCoins, payment: Payment | None) -> PostingDraft:
    if payment is None or missing.bearer == Bearer.HOUSE:
        return drafts.loss_of_house(missing, payment)
    network, asset = missing.network, missing.asset
    available = postings.available_account(payment, network, asset)
    others = [
        drafts.held_account(payment, network, asset),
        postings.receivable_account(payment, network, asset),
        postings.chain_account(network, asset),
    ]
    there = lock_accounts([available, *others], environment=missing.environment)[available]
    return drafts.loss_of_merchant(missing, payment, available=there)


# Both


def _locked_payment(payment_id: uuid.UUID | None) -> Payment | None:
    return Payment.objects.select_for_update().get(pk=payment_id) if payment_id else None


def _post(draft: PostingDraft, missing: MissingCoins, payment: Payment | None) -> None:
    post_draft(draft, environment=missing.environment)
    if payment is not None:
        record_balance_changes([draft], payment)


def _tell_merchant(payment: Payment | None, type: str, reason: StatusReason | None) -> None:
    """Record for the merchant what has become of the coins of a payment: reasons, version and event."""
    if payment is None:
        return
    others = MissingCoins.objects.filter(payment=payment, status=MissingStatus.OPEN).exists()
    reasons = {*payment.status_reasons} - ({StatusReason.COINS_MISSING} if not others else set())
    payment.status_reasons = sorted(reasons | ({reason} if reason else set()))
    payment.version += 1
    payment.save(update_fields=["status_reasons", "version"])
    record_payment_events(payment, [type])
