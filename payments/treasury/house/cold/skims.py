"""Coins the hot wallet does not need leave for the cold wallet. The coins stay ours, whoever's they are: it is a
withdrawal that takes nothing out, by the same payouts, approvals and following to the end."""

from __future__ import annotations

import structlog
from django.db import transaction
from django.db.models import Sum

from config import ids
from config.errors import DomainError, InvalidParameter
from config.money import Asset
from config.pages import wording
from merchants.four_eyes.models import Proposal, ProposalKind
from merchants.four_eyes.services import propose, register
from merchants.ledger.balances import balance
from merchants.ledger.posting import lock_accounts
from merchants.models import User
from payments.chains import registry
from payments.transfers.models import Payout
from payments.transfers.payouts import approve_as_agreed
from payments.transfers.postings import hot_account, moving_account, payout_account
from payments.transfers.states import PayoutStatus
from payments.treasury.cold import cold_wallet_of
from payments.treasury.house.house_balance import house_balance
from payments.treasury.house.models import Withdrawal
from payments.treasury.house.withdrawals import agreeing, reserve_payout
from payments.treasury.models import ColdWallet

logger = structlog.get_logger(__name__)

WAITING = (PayoutStatus.READY, PayoutStatus.HELD, PayoutStatus.SENDING)


class NoColdWallet(DomainError):
    code = "no_cold_wallet"
    message = "The settings name no cold wallet there: EVM_COLD_WALLET, STELLAR_COLD_WALLET."


class MoreThanFree(DomainError):
    """The hot wallet has less that no payout waits for than is to leave."""

    code = "more_than_free"

    def __init__(self, asset: Asset, free: int) -> None:
        held = wording.coins(max(0, free), asset.decimals, asset.code)
        super().__init__(f"The hot wallet of {asset.network} holds {held} that no payout waits for.", param="amount")


def not_needed(environment: str, asset: Asset) -> int:
    """Coins of the hot wallet beyond all payouts that wait or are on their way; below zero where it lacks some."""
    held = balance(hot_account(asset.network, asset.code), environment=environment)
    waiting = Payout.objects.filter(
        environment=environment, network=asset.network, asset=asset.code, status__in=WAITING
    )
    return held - int(waiting.aggregate(total=Sum("amount"))["total"] or 0)


def propose_skim(environment: str, asset: Asset, *, amount: int, reason: str, by: User) -> Proposal:
    """Propose that coins of the hot wallet leave for the cold one, or agree to it when another operator has proposed
    the very same.

    NoColdWallet, MoreThanFree; InvalidParameter for an amount or a reason that is none. Queries the network when the
    cold wallet is used for the first time.
    """
    if amount <= 0:
        raise InvalidParameter("Name an amount above zero.", param="amount")
    if not reason.strip():
        raise InvalidParameter("Enter what this is for: it is saved with the skim.", param="reason")
    if (cold := cold_wallet_of(environment, asset.network)) is None:
        raise NoColdWallet
    if amount > (free := not_needed(environment, asset)):
        raise MoreThanFree(asset, free)
    return propose(
        ProposalKind.SKIM,
        environment=environment,
        subject=f"{environment}:{asset.network}:{asset.code}",
        before={"recipient": cold.address},
        after={"network": asset.network, "asset": asset.code, "amount": str(amount), "reason": reason.strip()},
        by=by,
    )


def _summary_of(proposal: Proposal) -> str:
    """The proposal in words, with the cold wallet of the present settings."""
    facts = proposal.after
    asset = registry.asset(proposal.environment, facts["network"], facts["asset"])
    coins = wording.coins(int(facts["amount"]), asset.decimals, asset.code)
    cold = cold_wallet_of(proposal.environment, facts["network"])
    return f"Skim {coins} from the hot wallet to the {cold}. Why: {facts['reason']}"


def _skim_as_agreed(proposal: Proposal, people: str) -> bool:
    facts = proposal.after
    asset = registry.asset(proposal.environment, facts["network"], facts["asset"])
    amount, cold = int(facts["amount"]), cold_wallet_of(proposal.environment, facts["network"])
    if cold is None:
        return False
    skim = _reserve(proposal, cold, asset, amount)
    approve_as_agreed(skim.payout, proposal)
    logger.warning("skim reserved", skim=str(skim), by=people)
    return True


register(ProposalKind.SKIM, _skim_as_agreed, permission="house.add_withdrawal", summarize=_summary_of)


def _reserve(proposal: Proposal, cold: ColdWallet, asset: Asset, amount: int) -> Withdrawal:
    key, environment, place = ids.new_uuid(), proposal.environment, (asset.network, asset.code)
    accounts = [hot_account(*place), moving_account(*place), payout_account(*place, key)]
    with transaction.atomic():
        lock_accounts(accounts, environment=environment)
        if amount > (free := not_needed(environment, asset)):
            raise MoreThanFree(asset, free)
        skim = Withdrawal(
            id=key,
            environment=environment,
            network=asset.network,
            asset=asset.code,
            decimals=asset.decimals,
            amount=amount,
            is_skim=True,
            own=house_balance(environment, asset).own,
            recipient=cold.address,
            reason=proposal.after["reason"],
            proposed_by=proposal.proposed_by,
            agreed_by=agreeing(proposal),
            payout_id=key,
        )
        reserve_payout(skim, asset)
        return skim
