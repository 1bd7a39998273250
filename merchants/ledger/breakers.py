"""The breaker of a network, or of one coin there: while it is open, no payout is signed, until a person closes it."""

from __future__ import annotations

import structlog
from django.utils import timezone

from merchants.four_eyes.models import Proposal, ProposalKind
from merchants.four_eyes.services import propose, register
from merchants.ledger.models import Breaker
from merchants.models import User

logger = structlog.get_logger(__name__)


def open_breaker(*, environment: str, network: str, reason: str, asset: str = "") -> bool:
    """Stop payouts of a network, or of one coin there, with its sweeps and new payments; False when they were stopped
    already; the first reason stays."""
    _, stopped = Breaker.objects.get_or_create(
        environment=environment, network=network, asset=asset, closed_at=None, defaults={"reason": reason}
    )
    if stopped:
        logger.critical("payouts stopped", environment=environment, network=network, asset=asset, reason=reason)
    return stopped


def close_breaker(*, environment: str, network: str, closed_by: str, asset: str = "") -> bool:
    """Let payouts go on; False when they were not stopped."""
    found = Breaker.objects.filter(environment=environment, network=network, asset=asset, closed_at__isnull=True)
    closed = found.update(closed_at=timezone.now(), closed_by=closed_by) > 0
    if closed:
        logger.warning("payouts go on", environment=environment, network=network, asset=asset, closed_by=closed_by)
    return closed


def propose_closing(breaker: Breaker, *, by: User) -> Proposal:
    """Propose that payouts of a network go on, or agree to it, when another operator has proposed it."""
    return propose(
        ProposalKind.BREAKER,
        environment=breaker.environment,
        subject=breaker.pk,
        before={"reason": breaker.reason},
        after={"closed": True},
        told=f"Payouts of {breaker.what} ({breaker.environment}) go on. They were stopped: {breaker.reason}",
        by=by,
    )


def _close_as_agreed(proposal: Proposal, people: str) -> bool:
    breaker = Breaker.objects.get(pk=proposal.subject)
    if breaker.closed_at is not None:
        return False
    place = {"environment": breaker.environment, "network": breaker.network, "asset": breaker.asset}
    return close_breaker(**place, closed_by=people[:120])


register(ProposalKind.BREAKER, _close_as_agreed, permission="ledger.change_breaker")


def is_open(*, environment: str, network: str, asset: str = "") -> bool:
    """Whether payouts of the network are stopped, or with an asset those of this coin alone."""
    here = Breaker.objects.filter(environment=environment, network=network, asset=asset)
    return here.filter(closed_at__isnull=True).exists()


def stopped_coins(environment: str, network: str) -> set[str]:
    """Coins that are stopped on this network by a breaker of their own."""
    here = Breaker.objects.filter(environment=environment, network=network, closed_at__isnull=True).exclude(asset="")
    return set(here.values_list("asset", flat=True))
