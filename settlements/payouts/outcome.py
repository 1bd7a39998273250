"""The outcome of a settlement: what keeps it back while it is pending, and how it ends, with a payout or without."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import structlog
from django.db import transaction
from django.utils import timezone

from merchants.counting import status_changed
from merchants.ledger.posting import PostingDraft, post_draft
from payments.chains import registry
from payments.models import BalanceChange
from payments.states import BalanceChangeKind
from payments.transfers.models import Payout
from payments.transfers.states import HoldReason, PayoutStatus
from settlements.models import SETTLEMENTS, Settlement
from settlements.plans import postings
from settlements.records import event_of
from settlements.states import BLOCKING, SETTLEMENT_MOVES, SettlementProblem, SettlementStatus
from settlements.wording import how_to_trust
from webhooks.events.recording import record_events

logger = structlog.get_logger(__name__)

PROBLEM_OF_HOLD: Final[Mapping[str, SettlementProblem]] = {
    HoldReason.APPROVAL: SettlementProblem.OVER_LIMIT,
    HoldReason.OVER_LIMIT: SettlementProblem.OVER_LIMIT,
    HoldReason.DAILY_LIMIT: SettlementProblem.OVER_LIMIT,
    HoldReason.MERCHANT_LIMIT: SettlementProblem.OVER_LIMIT,
    HoldReason.REVIEW: SettlementProblem.OVER_LIMIT,
    HoldReason.LIQUIDITY: SettlementProblem.INSUFFICIENT_LIQUIDITY,
    HoldReason.REFILL: SettlementProblem.INSUFFICIENT_LIQUIDITY,
    HoldReason.COIN_PAUSED: SettlementProblem.COIN_PAUSED,
    HoldReason.WALLET_BLOCKED: SettlementProblem.HOT_WALLET_BLOCKED,
    HoldReason.NO_TRUSTLINE: SettlementProblem.NO_TRUSTLINE,
    HoldReason.NETWORK: SettlementProblem.NETWORK_UNAVAILABLE,
    HoldReason.SIGNER: SettlementProblem.NETWORK_UNAVAILABLE,
    HoldReason.STOPPED: SettlementProblem.NETWORK_UNAVAILABLE,
    HoldReason.FEES: SettlementProblem.NETWORK_UNAVAILABLE,
}
"""The problem of a settlement whose payout is held, by the reason."""


def follow_payout(settlement: Settlement) -> Settlement:
    """End a settlement when its payout has ended, or note why the payout is held."""
    with transaction.atomic():
        settlement = Settlement.objects.select_for_update().get(pk=settlement.pk)
        if settlement.status != SettlementStatus.PENDING or settlement.payout_id is None:
            return settlement
        payout = Payout.objects.select_related("transfer").get(pk=settlement.payout_id)
        match payout.status:
            case PayoutStatus.PAID:
                _complete(settlement, payout)
            case PayoutStatus.FAILED | PayoutStatus.CANCELLED:
                fail(settlement, _problem_of(payout), payout.failure_message)
            case _:
                _note_hold(settlement, payout)
        return settlement


# --- the parts, all with the settlement locked -------------------------------------------------------


def _note_hold(settlement: Settlement, payout: Payout) -> None:
    problem = PROBLEM_OF_HOLD.get(payout.hold_reason, "") if payout.status == PayoutStatus.HELD else ""
    message = HoldReason(payout.hold_reason).label if problem else ""
    if problem == SettlementProblem.NO_TRUSTLINE:
        message = how_to_trust(registry.asset(settlement.environment, settlement.network, settlement.currency))
    if (settlement.failure_code, settlement.failure_message) != (problem, message):
        note_problem(settlement, problem, message)
        settlement.save(update_fields=["failure_code", "failure_message", "waits_since"])


def note_problem(settlement: Settlement, problem: str, message: str) -> None:
    """Sets what keeps a pending settlement back, empty for nothing, and since when something does."""
    settlement.waits_since = (settlement.waits_since or timezone.now()) if problem else None
    settlement.failure_code, settlement.failure_message = problem, message[:300]


def _complete(settlement: Settlement, payout: Payout) -> None:
    settlement.transaction_hash = payout.transfer.transaction_hash if payout.transfer else ""
    settlement.token_fee, settlement.claimable_balance = payout.token_fee, payout.claimable_balance
    _end(settlement, SettlementStatus.COMPLETED)


def fail(settlement: Settlement, problem: SettlementProblem, message: str) -> None:
    """Fail it: what is reserved goes back, in the coins it is now, and waits for the same wallet."""
    draft = voided(settlement)
    post_draft(draft, environment=settlement.environment)
    BalanceChange.objects.bulk_create(
        BalanceChange(
            merchant_id=settlement.merchant_id,
            environment=settlement.environment,
            kind=BalanceChangeKind.SETTLEMENT_FAILED,
            reference=settlement.public_id,
            network=settlement.network,
            asset=coin,
            decimals=decimals,
            wallet=settlement.destination,
            amount=amount,
            posting_kind=draft.kind,
            posting_reference=draft.reference,
        )
        for coin, (decimals, amount) in _reserved(settlement).items()
    )
    _end(settlement, SettlementStatus.FAILED, problem=problem, message=message)


def voided(settlement: Settlement) -> PostingDraft:
    """The posting that gives back what is reserved for it, in the coins that it is now."""
    return postings.voided(settlement, {coin: amount for coin, (_, amount) in _reserved(settlement).items()})


def _reserved(settlement: Settlement) -> dict[str, tuple[int, int]]:
    """The amounts reserved for it now: by coin, its decimals and base units."""
    if settlement.converted_at is not None:
        return {settlement.currency: (settlement.decimals, int(settlement.amount))}
    return {part["coin"]: (part["decimals"], int(part["net"])) for part in settlement.coins}


def _end(
    settlement: Settlement, status: SettlementStatus, *, problem: SettlementProblem | str = "", message: str = ""
) -> None:
    SETTLEMENT_MOVES.check(settlement.status, status)
    old, settlement.status = settlement.status, status
    settlement.version += 1
    settlement.failure_code, settlement.failure_message = problem, message[:300]
    settlement.ended_at, settlement.next_step_at, settlement.waits_since = timezone.now(), None, None
    settlement.completed_at = settlement.ended_at if status == SettlementStatus.COMPLETED else None
    settlement.save()
    status_changed(
        SETTLEMENTS,
        merchant_id=settlement.merchant_id,
        environment=settlement.environment,
        key=settlement.id,
        old=old,
        new=status,
    )
    record_events([event_of(settlement)])
    logger.info("settlement ended", settlement=settlement.public_id, status=str(status), problem=str(problem))


def _problem_of(payout: Payout) -> SettlementProblem:
    """The problem of a failed payout; both use the same names for problems of wallets."""
    if payout.status == PayoutStatus.CANCELLED:
        return SettlementProblem.REJECTED
    if payout.failure_code in BLOCKING:
        return SettlementProblem(payout.failure_code)
    return SettlementProblem.TRANSFER_FAILED
