"""Debts of merchants that will not be repaid here: written off, or collected outside. Operators decide it together.

A debt that was ended by mistake, or whose lost deposit came back after all, is owed again once operators take it back.
"""

from __future__ import annotations

import structlog
from django.db.models import Sum
from django.utils import timezone

from config.errors import DomainError, InvalidParameter
from merchants.four_eyes.models import Proposal, ProposalKind
from merchants.four_eyes.services import propose, register
from merchants.ledger.posting import PostingDraft, lock_accounts, post_draft
from merchants.models import Merchant, User
from payments.chains import registry
from payments.models import BalanceChange
from payments.states import BalanceChangeKind
from settlements.models import Debt, DebtDecision, DebtEnding
from settlements.plans import postings

logger = structlog.get_logger(__name__)

KIND_OF_CHANGE = {
    DebtEnding.WRITTEN_OFF: BalanceChangeKind.DEBT_WRITTEN_OFF,
    DebtEnding.COLLECTED: BalanceChangeKind.DEBT_COLLECTED,
}
REASON_MAX = 500


class MoreThanOwed(DomainError):
    code = "more_than_owed"
    message = "The merchant does not owe that much."


class TakenBack(DomainError):
    code = "taken_back"
    message = "This was already taken back."


def propose_end(debt: Debt, *, amount: int, ending: DebtEnding, reason: str, by: User) -> Proposal:
    """Propose that so many base units of a debt are written off, or were collected outside.

    It is booked once it has the approvals that the environment requires; it falls when less is owed by then.
    InvalidParameter without a reason or an amount; MoreThanOwed.
    """
    reason = _checked(reason)
    if amount <= 0:
        raise InvalidParameter("Name an amount above zero.", param="amount")
    if amount > debt.natural_balance:
        raise MoreThanOwed(param="amount")
    merchant = Merchant.objects.get(pk=debt.owner)
    decision = _decision(debt, amount, ending)
    words = "written off" if ending == DebtEnding.WRITTEN_OFF else "marked as collected outside"
    return propose(
        ProposalKind.DEBT,
        environment=debt.environment,
        subject=f"debt {debt.pk}",
        before={},
        after={"debt": debt.pk, "amount": str(amount), "ending": str(ending), "reason": reason},
        summary=f"{decision.coins} that {merchant.name} owes on {debt.network} ({debt.environment}): {words}. {reason}",
        by=by,
    )


def propose_taking_back(decision: DebtDecision, *, reason: str, by: User) -> Proposal:
    """Propose that a merchant owes again what a decision has ended. InvalidParameter without a reason; TakenBack."""
    reason = _checked(reason)
    if decision.taken_back_at is not None:
        raise TakenBack
    return propose(
        ProposalKind.DEBT,
        environment=decision.environment,
        subject=decision.public_id,
        before={},
        after={"decision": str(decision.pk), "reason": reason},
        summary=f"{decision.coins} on {decision.network} ({decision.environment}), "
        f"{decision.get_ending_display().lower()}: {decision.merchant.name} owes it again. {reason}",
        by=by,
    )


def _carry_out(proposal: Proposal, people: str) -> bool:
    if "decision" in proposal.after:
        return _take_back(proposal, people)
    return _end(proposal, people)


register(ProposalKind.DEBT, _carry_out, permission="settlements.add_debtdecision")


def _end(proposal: Proposal, people: str) -> bool:
    """Book the end of a debt; False when less is owed by now."""
    proposed = proposal.after
    debt = Debt.objects.get(pk=proposed["debt"])
    decision = _decision(debt, int(proposed["amount"]), DebtEnding(proposed["ending"]))
    decision.reason, decision.decided_by = proposed["reason"], people
    owed = postings.debt_account(decision)
    accounts = [owed, postings.debt_end_account(decision)]
    if lock_accounts(accounts, environment=decision.environment)[owed] < decision.amount:
        return False
    decision.save(force_insert=True)
    kind = KIND_OF_CHANGE[DebtEnding(decision.ending)]
    _book(decision, postings.debt_ended(decision), kind, int(decision.amount))
    logger.warning("debt ended", decision=str(decision), by=people)
    return True


def _take_back(proposal: Proposal, people: str) -> bool:
    """Book that what had ended is owed again; False when it was taken back before."""
    decision = DebtDecision.objects.select_for_update().get(pk=proposal.after["decision"])
    if decision.taken_back_at is not None:
        return False
    decision.taken_back_at, decision.taken_back_by = timezone.now(), people
    decision.taken_back_reason = proposal.after["reason"]
    decision.save(update_fields=["taken_back_at", "taken_back_by", "taken_back_reason"])
    available = postings.available_account(decision.network, decision.asset, decision.merchant_id)
    accounts = [available, postings.debt_account(decision), postings.debt_end_account(decision)]
    there = lock_accounts(accounts, environment=decision.environment)[available]
    draft = postings.debt_owed_again(decision, available=there)
    _book(decision, draft, BalanceChangeKind.DEBT_OWED_AGAIN, -int(decision.amount))
    logger.warning("debt owed again", decision=str(decision), by=people)
    return True


def _book(decision: DebtDecision, draft: PostingDraft, kind: BalanceChangeKind, amount: int) -> None:
    post_draft(draft, environment=decision.environment)
    BalanceChange.objects.create(
        merchant_id=decision.merchant_id,
        environment=decision.environment,
        kind=kind,
        reference=decision.public_id,
        network=decision.network,
        asset=decision.asset,
        decimals=decision.decimals,
        wallet=_wallet_of(decision),
        amount=amount,
        posting_kind=draft.kind,
        posting_reference=draft.reference,
    )


def _wallet_of(decision: DebtDecision) -> str:
    """The wallet whose money the change is of: the one it was of before, else the one that lacks most.

    Wallets of a coin on a network balance each other, so it only decides where a statement shows it.
    """
    own = {"environment": decision.environment, "network": decision.network, "asset": decision.asset}
    changes = BalanceChange.objects.filter(merchant=decision.merchant_id, **own)
    ended = {"posting_kind": postings.ENDS[DebtEnding(decision.ending)][1], "posting_reference": str(decision.pk)}
    before = changes.filter(**ended).values_list("wallet", flat=True).first()
    if before is not None:
        return str(before)
    unsettled = changes.filter(settlement__isnull=True).order_by().values("wallet").annotate(total=Sum("amount"))
    lacking = unsettled.order_by("total", "wallet").first()
    return str(lacking["wallet"]) if lacking else ""


def _decision(debt: Debt, amount: int, ending: DebtEnding) -> DebtDecision:
    return DebtDecision(
        merchant_id=debt.owner,
        environment=debt.environment,
        network=debt.network,
        asset=debt.asset,
        decimals=registry.decimals(debt.environment, debt.network, debt.asset),
        amount=amount,
        ending=ending,
    )


def _checked(reason: str) -> str:
    if not (reason := reason.strip()):
        raise InvalidParameter("Enter a reason: it is saved.", param="reason")
    if len(reason) > REASON_MAX:
        raise InvalidParameter(f"Say why in {REASON_MAX} characters at most.", param="reason")
    return reason
