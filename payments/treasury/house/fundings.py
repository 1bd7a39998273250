"""Funding of a hot wallet by the house: two people agree to it, and it is booked as soon as it is seen there.

Whether the coins have been sent already or are yet to come makes no difference: what a wallet holds beyond the ledger
is compared at final blocks, and booked by the same function as `manage.py book_treasury`. Where deposits arrive at the
hot wallet itself, a memo of their own distinguishes the coins from deposits.
"""

from __future__ import annotations

import structlog
from django.db import transaction
from django.utils import timezone

from config.errors import DomainError, InvalidParameter
from config.installation.services import NotResumed
from config.money import Asset
from config.pages import wording
from config.periodic.containment import contained
from merchants.four_eyes.models import Proposal, ProposalKind
from merchants.four_eyes.services import propose, register
from merchants.ledger.checking import CouldNotCheck
from merchants.ledger.models import Posting
from merchants.models import User
from payments.chains import registry
from payments.chains.errors import ChainError
from payments.deposits.postings import suspense_taken
from payments.models import Discrepancy
from payments.states import DiscrepancyStatus
from payments.suspense.acceptance import take_discrepancy
from payments.treasury.house.models import Funding
from payments.treasury.house.states import FundingStatus
from payments.treasury.house.withdrawals import agreeing
from payments.treasury.wallet_balances import book_treasury, treasury_balance

logger = structlog.get_logger(__name__)


class FundingDecided(DomainError):
    code = "funding_decided"
    message = "These coins are in the ledger already, or no longer expected."


def coin_of(environment: str, network: str, code: str) -> Asset:
    """A coin or the native coin of a network in use; UnsupportedAsset for any other."""
    profile = registry.profile(environment, network)
    return profile.native if code == profile.native.code else registry.asset(environment, network, code)


def propose_funding(environment: str, asset: Asset, *, amount: int, reason: str, by: User) -> Proposal:
    """Propose that so many coins in the hot wallet, there already or to come, are the house's. Or agree to it, when
    another operator has proposed the very same."""
    if amount <= 0:
        raise InvalidParameter("Name an amount above zero.", param="amount")
    if not reason.strip():
        raise InvalidParameter("Enter what they are for: it is saved with them.", param="reason")
    return propose(
        ProposalKind.FUNDING,
        environment=environment,
        subject=f"{environment}:{asset.network}:{asset.code}",
        before={},
        after={"network": asset.network, "asset": asset.code, "amount": str(amount), "reason": reason.strip()},
        by=by,
    )


def cancel_funding(funding: Funding, *, by: User) -> Funding:
    """Wait for these coins no longer. One person is enough: nothing was booked."""
    with transaction.atomic():
        funding = Funding.objects.select_for_update().get(pk=funding.pk)
        if funding.status != FundingStatus.EXPECTED:
            raise FundingDecided
        funding.status, funding.ended_at = FundingStatus.CANCELLED, timezone.now()
        funding.save(update_fields=["status", "ended_at"])
        logger.warning("funding cancelled", funding=str(funding), by=by.email)
        return funding


def book_fundings() -> int:
    """Book expected fundings that have been seen, the oldest first; returns how many. Queries networks only while
    something is expected there."""
    done = 0
    for funding in Funding.objects.filter(status=FundingStatus.EXPECTED).order_by("pk"):
        with contained("funding not booked", expected=(ChainError, CouldNotCheck, NotResumed), funding=str(funding)):
            done += book_funding(funding)
    return done


def book_funding(funding: Funding) -> bool:
    """Book what is expected when the hot wallet holds as much beyond the ledger; False while it does not."""
    place = (funding.environment, funding.network, funding.asset)
    balance = None if _with_its_memo(funding) else treasury_balance(*place)
    with transaction.atomic():
        funding = Funding.objects.select_for_update().get(pk=funding.pk)
        if funding.status != FundingStatus.EXPECTED:
            return False
        if (stray := _with_its_memo(funding)) is not None:
            posting = _take(stray, funding)
        elif balance is not None and balance[0].unexplained >= funding.amount:
            posting = book_treasury(balance[0], times=balance[1], amount=int(funding.amount))
        else:
            return False
        funding.posting, funding.status, funding.ended_at = posting, FundingStatus.BOOKED, timezone.now()
        funding.save(update_fields=["posting", "status", "ended_at"])
        logger.warning("funding booked", funding=str(funding), posting=posting.reference)
        return True


def _with_its_memo(funding: Funding) -> Discrepancy | None:
    """The money in suspense that came with the memo of a funding and is as much, where there are memos."""
    if not funding.memo:
        return None
    waiting = Discrepancy.objects.filter(
        environment=funding.environment,
        network=funding.network,
        asset=funding.asset,
        amount=funding.amount,
        payment__isnull=True,
        deposit__memo=funding.memo,
        status=DiscrepancyStatus.OPEN,
    )
    return waiting.select_related("deposit").order_by("pk").first()


def _take(stray: Discrepancy, funding: Funding) -> Posting:
    people = ", ".join(dict.fromkeys([funding.proposed_by.email, funding.agreed_by.email]))
    take_discrepancy(stray, resolved_by=people[:120], note=funding.reason)
    assert stray.deposit is not None  # noqa: S101 - it names no payment
    taken = suspense_taken(stray.deposit, stray.kind)
    return Posting.objects.get(environment=funding.environment, kind=taken.kind, reference=taken.reference)


def _summary_of(proposal: Proposal) -> str:
    facts, environment = proposal.after, proposal.environment
    asset = coin_of(environment, facts["network"], facts["asset"])
    coins = wording.coins(int(facts["amount"]), asset.decimals, asset.code)
    return f"The house puts {coins} into the hot wallet of {asset.network} ({environment}). Why: {facts['reason']}"


def _expect_as_agreed(proposal: Proposal, people: str) -> bool:
    facts = proposal.after
    asset, amount = coin_of(proposal.environment, facts["network"], facts["asset"]), int(facts["amount"])
    Funding.objects.create(
        environment=proposal.environment,
        network=asset.network,
        asset=asset.code,
        decimals=asset.decimals,
        amount=amount,
        reason=facts["reason"],
        proposed_by=proposal.proposed_by,
        agreed_by=agreeing(proposal),
    )
    logger.warning("funding expected", summary=proposal.told, by=people)
    return True


register(ProposalKind.FUNDING, _expect_as_agreed, permission="house.add_funding", summarize=_summary_of)
