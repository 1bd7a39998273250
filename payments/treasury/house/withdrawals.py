"""Changes of a withdrawal: proposed, reserved, followed to its end, cancelled. Nothing here queries a network."""

from __future__ import annotations

import uuid

import structlog
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from config import ids
from config.errors import DomainError, InvalidParameter
from config.money import Asset
from config.pages import wording
from merchants.four_eyes.models import Proposal, ProposalKind
from merchants.four_eyes.services import propose, register
from merchants.ledger.posting import post_draft
from merchants.models import User
from payments.chains import registry
from payments.transfers.models import Payout
from payments.transfers.payouts import PayoutNotCancellable, approve_as_agreed, cancel_payout, request_payout
from payments.transfers.postings import payout_account
from payments.transfers.states import ENDED_PAYOUTS, PayoutStatus
from payments.treasury.house import postings
from payments.treasury.house.house_balance import HouseBalance, house_balance, lock_house
from payments.treasury.house.models import AllowedAddress, Withdrawal
from payments.treasury.house.states import WITHDRAWAL_MOVES, WithdrawalStatus

logger = structlog.get_logger(__name__)


class AddressNotAllowed(DomainError):
    code = "address_not_allowed"
    message = "This address is not on the house's allow list: two operators must add it first."


class MoreThanOwn(DomainError):
    """The house has less of its own than is to leave."""

    code = "more_than_own"

    def __init__(self, balance: HouseBalance) -> None:
        super().__init__(
            f"The house has {balance.shown(balance.withdrawable)} of its own on {balance.network} "
            f"({balance.environment}); the rest is owed to others.",
            param="amount",
        )


# --- decided by people -------------------------------------------------------------------------------


def propose_withdrawal(address: AllowedAddress, *, code: str, amount: int, reason: str, by: User) -> Proposal:
    """Propose that coins of the house's own leave for an allowed address, or agree to it when another operator has
    proposed the very same. Nothing is reserved before as many have agreed as must.

    AddressNotAllowed, MoreThanOwn; InvalidParameter for an amount or a reason that is none.
    """
    asset = registry.asset(address.environment, address.network, code)
    if amount <= 0:
        raise InvalidParameter("Name an amount above zero.", param="amount")
    if not reason.strip():
        raise InvalidParameter("Enter what this is for: it is saved with the withdrawal.", param="reason")
    with transaction.atomic():
        address = AllowedAddress.objects.get(pk=address.pk)
        if not address.is_allowed:
            raise AddressNotAllowed(param="address")
        _require_own(house_balance(address.environment, asset), amount)
        return propose(
            ProposalKind.WITHDRAWAL,
            environment=address.environment,
            subject=f"{address.pk}:{asset.code}",
            before={"recipient": address.address, "memo": address.memo, "memoType": address.memo_type},
            after={"asset": asset.code, "amount": str(amount), "reason": reason.strip()},
            by=by,
        )


def cancel_withdrawal(withdrawal: Withdrawal, *, by: User) -> Withdrawal:
    """Call a withdrawal back before it is signed; the coins are the house's again. One person is enough.

    PayoutNotCancellable when it is on its way.
    """
    with transaction.atomic():
        withdrawal = _locked(withdrawal.pk)
        if withdrawal.status == WithdrawalStatus.PENDING:
            payout = cancel_payout(withdrawal.payout)
            end_withdrawal(withdrawal, payout)
            logger.warning("withdrawal cancelled", withdrawal=str(withdrawal), by=by.email)
        return withdrawal


def remove_address(listed: AllowedAddress, *, by: User) -> list[Withdrawal]:
    """Take an address out of the allow list at once, and call back what waits to leave for it.

    Returns the withdrawals to it that are on their way and cannot be called back.
    """
    with transaction.atomic():
        listed = AllowedAddress.objects.select_for_update().get(pk=listed.pk)
        if listed.removed_at is None:
            listed.removed_at, listed.removed_by = timezone.now(), by.email
            listed.save(update_fields=["removed_at", "removed_by"])
            logger.warning("address removed", address=str(listed), by=by.email)
        leaving = []
        for withdrawal in listed.withdrawals.filter(status=WithdrawalStatus.PENDING).order_by("pk"):
            try:
                cancel_withdrawal(withdrawal, by=by)
            except PayoutNotCancellable:
                leaving.append(withdrawal)
        return leaving


def _withdraw_as_agreed(proposal: Proposal, people: str) -> bool:
    """Reserve the coins and create the payout, with the approvals of those who have agreed."""
    address = AllowedAddress.objects.select_for_update().get(pk=proposal.subject.partition(":")[0])
    named = {"recipient": address.address, "memo": address.memo, "memoType": address.memo_type}
    if not address.is_allowed or named != proposal.before:
        return False
    asset = registry.asset(address.environment, address.network, proposal.after["asset"])
    withdrawal = _reserve(proposal, address, asset)
    approve_as_agreed(withdrawal.payout, proposal)
    logger.warning("withdrawal reserved", withdrawal=str(withdrawal), by=people)
    return True


def _summary_of(proposal: Proposal) -> str:
    address, after = AllowedAddress.objects.get(pk=proposal.subject.partition(":")[0]), proposal.after
    asset = registry.asset(address.environment, address.network, after["asset"])
    coins = wording.coins(int(after["amount"]), asset.decimals, asset.code)
    return f"Withdraw {coins} of the house's own to {address}. Why: {after['reason']}"


register(ProposalKind.WITHDRAWAL, _withdraw_as_agreed, permission="house.add_withdrawal", summarize=_summary_of)


def agreeing(proposal: Proposal) -> User:
    """The last person who has agreed to what is being carried out."""
    return proposal.decided_by or proposal.proposed_by


def _reserve(proposal: Proposal, address: AllowedAddress, asset: Asset) -> Withdrawal:
    key, amount = ids.new_uuid(), int(proposal.after["amount"])
    balance = lock_house(address.environment, asset, payout_account(asset.network, asset.code, key))
    _require_own(balance, amount)
    withdrawal = Withdrawal(
        id=key,
        environment=address.environment,
        network=asset.network,
        asset=asset.code,
        decimals=asset.decimals,
        amount=amount,
        of_stock=balance.of_stock(amount),
        own=balance.own,
        address=address,
        recipient=address.address,
        memo=address.memo,
        reason=proposal.after["reason"],
        proposed_by=proposal.proposed_by,
        agreed_by=agreeing(proposal),
        payout_id=key,
    )
    reserve_payout(withdrawal, asset, memo_type=address.memo_type)
    return withdrawal


def reserve_payout(withdrawal: Withdrawal, asset: Asset, *, memo_type: str = "") -> None:
    """Reserve the coins of a new withdrawal, and create its payout."""
    post_draft(postings.withdrawal_reserved(withdrawal), environment=withdrawal.environment)
    withdrawal.payout = request_payout(
        id=withdrawal.pk,
        environment=withdrawal.environment,
        merchant_id=None,
        reference=withdrawal.public_id,
        asset=asset,
        amount=int(withdrawal.amount),
        recipient=withdrawal.recipient,
        memo=withdrawal.memo,
        memo_type=memo_type,
    )
    withdrawal.save(force_insert=True)


def _require_own(balance: HouseBalance, amount: int) -> None:
    if amount > balance.withdrawable:
        raise MoreThanOwn(balance)


# --- followed to its end -----------------------------------------------------------------------------


def to_follow() -> QuerySet[Withdrawal]:
    """Withdrawals whose payout has ended, and they have not."""
    return Withdrawal.objects.filter(status=WithdrawalStatus.PENDING, payout__status__in=ENDED_PAYOUTS)


def follow_payout(withdrawal: Withdrawal) -> None:
    """End a withdrawal when its payout has ended."""
    with transaction.atomic():
        withdrawal = _locked(withdrawal.pk)
        payout = Payout.objects.select_related("transfer").get(pk=withdrawal.payout_id)
        if withdrawal.status == WithdrawalStatus.PENDING and payout.status in ENDED_PAYOUTS:
            end_withdrawal(withdrawal, payout)


def end_withdrawal(withdrawal: Withdrawal, payout: Payout) -> None:
    """End a locked withdrawal as its payout has ended, and take back what has not left."""
    is_paid = payout.status == PayoutStatus.PAID
    status = WithdrawalStatus.COMPLETED if is_paid else WithdrawalStatus.FAILED
    WITHDRAWAL_MOVES.check(withdrawal.status, status)
    withdrawal.status, withdrawal.ended_at = status, timezone.now()
    withdrawal.transaction_hash = payout.transfer.transaction_hash if is_paid and payout.transfer else ""
    if is_paid and withdrawal.is_skim:
        height = payout.transfer.height if payout.transfer else None
        draft = postings.skim_final(withdrawal, token_fee=payout.token_fee, height=height)
        post_draft(draft, environment=withdrawal.environment)
    if not is_paid:
        withdrawal.failure_code = payout.failure_code or "cancelled"
        withdrawal.failure_message = payout.failure_message or "Cancelled before it was signed."
        post_draft(postings.withdrawal_voided(withdrawal), environment=withdrawal.environment)
    withdrawal.save()
    logger.info("withdrawal ended", withdrawal=str(withdrawal), status=str(status))


def _locked(withdrawal_id: uuid.UUID) -> Withdrawal:
    return Withdrawal.objects.select_for_update(of=["self"]).select_related("payout").get(pk=withdrawal_id)
