"""Periodic tasks: find refunds that are due and call services. A lost or repeated task does no harm."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import structlog
from celery import shared_task
from django.db.models import Exists, OuterRef, QuerySet

from config.database.advisory_locks import named_lock
from config.errors import DomainError
from config.periodic.containment import contained
from config.periodic.due_work import rows_of
from payments.chains.errors import ChainUnavailable
from payments.dashboard.decisions.rows import payment_of
from payments.deposits.models import ScanCursor
from payments.models import Deposit
from payments.suspense.surplus_policy import BATCH as SURPLUS_BATCH
from payments.suspense.surplus_policy import DECIDED_BY, to_give_back
from refunds.batches.services import make_row
from refunds.models import Refund, RefundBatchRow
from refunds.plans.planning import NewRefund
from refunds.services import create_refund, resolve_destination

logger = structlog.get_logger(__name__)

BATCH = 200
REASON_OF_SURPLUS = "Overpaid"

SILENCES_MAX = 3
"""After so many senders of a network that failed to resolve, the others wait for the next time."""


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
                    logger.warning("sender could not be resolved", refund=refund.public_id, error=str(error))
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


def give_back_due() -> int:
    """Make a refund of every surplus that its merchant's policy gives back; returns how many.

    Only once every transfer of the payment is final: a reorganisation could take back what has left us already. A
    surplus of which a refund has failed before waits for a person.
    """
    done = 0
    tried = Refund.objects.filter(discrepancy=OuterRef("pk"))
    final = ScanCursor.objects.filter(environment=OuterRef("environment"), network=OuterRef("network"))
    open_to_change = Deposit.objects.filter(payment=OuterRef("payment")).exclude(
        Exists(final.filter(finalized_height__gte=OuterRef("height")))
    )
    for waiting in to_give_back():
        due = waiting.filter(~Exists(tried), ~Exists(open_to_change)).select_related("payment")
        for discrepancy in due.order_by("id")[:SURPLUS_BATCH]:
            named = discrepancy.public_id
            with contained("surplus could not be given back", expected=(DomainError,), discrepancy=named):
                payment = payment_of(discrepancy)
                requested = NewRefund(discrepancy=discrepancy, reason=REASON_OF_SURPLUS)
                create_refund(payment=payment, request=requested, requested_by=DECIDED_BY)
                done += 1
    return done


# --- by which rows it is seen that there is work -------------------------------------------------------


@rows_of("refunds.resolve_destinations")
def _to_resolve() -> Iterable[QuerySet[Any]]:
    return [Refund.objects.to_resolve()]


def _due_rows() -> QuerySet[RefundBatchRow]:
    """Those of a suspended merchant wait: its people change nothing meanwhile, by a file of before either."""
    confirmed = RefundBatchRow.objects.filter(done_at__isnull=True, batch__confirmed_at__isnull=False)
    return confirmed.filter(batch__merchant__is_active=True)


@rows_of("refunds.make_batches")
def _rows_to_make() -> Iterable[QuerySet[Any]]:
    return [_due_rows()]
