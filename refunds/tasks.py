"""Sweeps: find refunds that are due and call services. Losing or repeating one changes nothing but the delay."""

from __future__ import annotations

import structlog
from celery import shared_task

from config.containment import contained
from config.turns import turn_at
from payments.chains.errors import ChainUnavailable
from refunds.models import Refund
from refunds.services import follow_payout, resolve_destination

logger = structlog.get_logger(__name__)

BATCH = 200


@shared_task(name="refunds.resolve_destinations")
def resolve_destinations() -> None:
    """Ask about the senders of refunds that name no address. A network that is silent holds up no other."""
    with turn_at("refunds.resolve_destinations") as is_ours:
        if is_ours:
            _resolve_all()


def _resolve_all() -> None:
    waiting = Refund.objects.to_resolve()
    for environment, network in waiting.order_by().values_list("environment", "network").distinct():
        there = waiting.filter(environment=environment, network=network).select_related("payment", "discrepancy")
        for refund in there.order_by("id")[:BATCH]:
            with contained("refund could not be resolved", refund=refund.public_id):
                try:
                    resolve_destination(refund)
                except ChainUnavailable as error:
                    logger.warning("senders could not be asked about", network=network, error=str(error))
                    break


@shared_task(name="refunds.follow_payouts")
def follow_payouts() -> None:
    """Take over what has become of payouts. A refund that cannot be moved keeps none waiting: the log tells of it."""
    for refund in Refund.objects.to_follow().order_by("id")[:BATCH]:
        with contained("refund could not be followed", refund=refund.public_id):
            follow_payout(refund)
