"""The breaker of a network: open, no payout is signed or sent there until a person has looked and closed it."""

from __future__ import annotations

import structlog
from django.utils import timezone

from merchants.ledger.models import Breaker

logger = structlog.get_logger(__name__)


def open_breaker(*, environment: str, network: str, reason: str) -> bool:
    """Stop payouts of a network; False when they are stopped already, for the reason that came first."""
    _, stopped = Breaker.objects.get_or_create(
        environment=environment, network=network, closed_at=None, defaults={"reason": reason}
    )
    if stopped:
        logger.critical("payouts stopped", environment=environment, network=network, reason=reason)
    return stopped


def close_breaker(*, environment: str, network: str, closed_by: str) -> bool:
    """Let payouts go on; False when they were not stopped."""
    found = Breaker.objects.filter(environment=environment, network=network, closed_at__isnull=True)
    closed = found.update(closed_at=timezone.now(), closed_by=closed_by) > 0
    if closed:
        logger.warning("payouts go on", environment=environment, network=network, closed_by=closed_by)
    return closed


def is_open(*, environment: str, network: str) -> bool:
    return Breaker.objects.filter(environment=environment, network=network, closed_at__isnull=True).exists()
