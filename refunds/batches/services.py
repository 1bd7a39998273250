"""Refunds by file: checked and previewed as a whole, confirmed once, then made row by row."""

from __future__ import annotations

import structlog
from django.db import transaction
from django.utils import timezone

from config import ids
from config.celery import wake
from config.errors import DomainError
from merchants.models import Merchant
from payments.models import Payment
from payments.suspense import refund_accounting
from payments.suspense.destinations import parse_destination
from refunds.batches.files import Fault, FileRow, RefundFile
from refunds.models import RefundBatch, RefundBatchRow
from refunds.plans.planning import NewRefund, plan_refund
from refunds.services import create_refund

logger = structlog.get_logger(__name__)

_FIELDS = {"paymentId": "payment", "discrepancyId": "payment"}
_PROBLEM_KEPT = 300  # characters of the field


class PreviewIsOld(DomainError):
    code = "preview_is_old"
    message = "What is left of this payment has changed since the preview. Nothing was refunded; upload it again."


def preview_file(
    file: RefundFile, *, merchant: Merchant, environment: str, uploaded_by: str
) -> RefundBatch | list[Fault]:
    """The batch of these rows with what each would refund; or what is wrong with them. Refunds nothing.

    The same rows are the same batch: one that was confirmed stays as it is, a preview is computed anew.
    """
    keys = [key for row in file.rows if (key := ids.PAYMENT.decode(row.payment))]
    own = Payment.objects.of(merchant, environment).filter(pk__in=keys).defer("qr_png")
    payments = {payment.public_id: payment for payment in own}
    rows: list[RefundBatchRow] = []
    faults: list[Fault] = []
    confirmed = RefundBatch.objects.of(merchant, environment).filter(digest=file.digest, confirmed_at__isnull=False)
    if (known := confirmed.first()) is not None:
        return known
    for row in file.rows:
        planned = _planned(row, payments.get(row.payment))
        if isinstance(planned, Fault):
            faults.append(planned)
        else:
            rows.append(planned)
    if faults:
        return faults
    with transaction.atomic():
        batch, _ = RefundBatch.objects.get_or_create(
            merchant=merchant, environment=environment, digest=file.digest, defaults={"uploaded_by": uploaded_by}
        )
        batch = RefundBatch.objects.select_for_update().get(pk=batch.pk)
        if batch.confirmed_at is None:
            batch.rows.all().delete()
            for each in rows:
                each.batch = batch
            RefundBatchRow.objects.bulk_create(rows)
        return batch


def _planned(row: FileRow, payment: Payment | None) -> RefundBatchRow | Fault:
    """The row with what it would refund now, by the functions that refund it; or what is wrong with it."""
    if payment is None:
        return Fault(row.line, "payment", "There is no such payment in this environment.")
    if row.currency and row.currency.upper() != payment.currency:
        return Fault(row.line, "currency", f"The payment is in {payment.currency}.")
    if not payment.released:
        return Fault(row.line, "payment", "Nothing of it is in your balance. Money that waits is under Decisions.")
    try:
        planned = plan_refund(payment, NewRefund(amount=row.amount))
        if row.destination:
            parse_destination(
                environment=payment.environment, network=payment.network, address=row.destination, memo=row.memo
            )
        elif row.memo:
            return Fault(row.line, "memo", "A memo belongs to an address: give the destination as well.")
    except DomainError as refusal:
        name = refusal.param or "payment"
        return Fault(row.line, _FIELDS.get(name, name), refusal.message)
    return RefundBatchRow(
        line=row.line,
        payment=payment,
        asked=row.amount,
        fiat_amount=planned.fiat_amount or 0,
        amount=planned.amount,
        destination=row.destination,
        memo=row.memo,
        reason=row.reason,
        has_sender=bool(refund_accounting.sender_of(payment, None)),
    )


def confirm_batch(batch: RefundBatch, *, confirmed_by: str) -> bool:
    """Have every row of the batch refunded; returns False when somebody has confirmed it already."""
    with transaction.atomic():
        batch = RefundBatch.objects.select_for_update().get(pk=batch.pk)
        if batch.confirmed_at is not None:
            return False
        batch.confirmed_at, batch.confirmed_by = timezone.now(), confirmed_by
        batch.save(update_fields=["confirmed_at", "confirmed_by"])
        logger.info("refund batch confirmed", batch=batch.public_id, by=confirmed_by)
        wake("refunds.make_batches")
        return True


def make_row(row: RefundBatchRow) -> None:
    """Refund one row of a confirmed batch exactly as previewed, or note why not. Doing it again changes nothing."""
    with transaction.atomic():
        due = RefundBatchRow.objects.select_for_update(skip_locked=True, of=("self",))
        due = due.select_related("batch", "payment")
        found = due.filter(pk=row.pk, done_at__isnull=True, batch__confirmed_at__isnull=False).first()
        if found is None:
            return
        try:
            with transaction.atomic():
                found.refund = create_refund(
                    payment=found.payment,
                    request=NewRefund(
                        amount=found.asked, destination=found.destination, memo=found.memo, reason=found.reason
                    ),
                    requested_by=found.batch.confirmed_by,
                )
                if (found.refund.amount, found.refund.fiat_amount) != (found.amount, found.fiat_amount):
                    raise PreviewIsOld
        except DomainError as refusal:
            found.refund, found.problem = None, refusal.message[:_PROBLEM_KEPT]
        found.done_at = timezone.now()
        found.save(update_fields=["refund", "problem", "done_at"])
