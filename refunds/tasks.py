"""Periodic tasks: find refunds that are due and call services. A lost or repeated task does no harm."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import structlog
from celery import shared_task
from django.db.models import QuerySet

from config.advisory_locks import named_lock
from config.containment import contained
from config.due_work import rows_of
from payments.chains.errors import ChainUnavailable
from refunds.batches import make_row
from refunds.models import Refund, RefundBatchRow
from refunds.services import resolve_destination
from refunds.surplus import give_back_due

logger = structlog.get_logger(__name__)

BATCH = 200

SILENCES_MAX = 3
"""After so many senders of a network that nobody could be asked about, the others wait for the next time."""


@shared_task(name="refunds.resolve_destinations")
def resolve_destinations() -> None:
    """Look up the senders of refunds that name no address. Neither a silent network nor a sender about whom nobody
    agrees delays the others."""
    with named_lock("refunds.resolve_destinations") as is_ours:
        if is_ours:
            _resolve_all()


def _resolve_all() -> None:
    waiting = Refund.objects.to_resolve()
    for environment, network in waiting.order_by().values_list("environment", "network").distinct():
        silences = 0
        there = waiting.filter(environment=environment, network=network).select_related("payment", "discrepancy")
        for refund in there.order_by("id")[:BATCH]:
            with contained("refund could not be resolved", refund=refund.public_id):
                try:
                    resolve_destination(refund)
                except ChainUnavailable as error:
                    logger.warning("sender could not be asked about", refund=refund.public_id, error=str(error))
                    silences += 1
            if silences >= SILENCES_MAX:
                break


@shared_task(name="refunds.make_batches")
def make_batches() -> None:
    """Make the refunds of confirmed files, row by row. A row that fails is logged and due again, the others go on."""
    for row in _due_rows().order_by("id")[:BATCH]:
        with contained("row of a refund file failed", row=str(row.pk)):
            make_row(row)


@shared_task(name="refunds.give_back_surplus")
def give_back_surplus() -> None:
    """Give back what was paid beyond prices, where merchants have chosen that."""
    with named_lock("refunds.give_back_surplus") as is_ours:
        if is_ours:
            give_back_due()


# --- by which rows it is seen that there is work -------------------------------------------------------


@rows_of("refunds.resolve_destinations")
def _to_resolve() -> Iterable[QuerySet[Any]]:
    return [Refund.objects.to_resolve()]


def _due_rows() -> QuerySet[RefundBatchRow]:
    return RefundBatchRow.objects.filter(done_at__isnull=True, batch__confirmed_at__isnull=False)


@rows_of("refunds.make_batches")
def _rows_to_make() -> Iterable[QuerySet[Any]]:
    return [_due_rows()]
