"""Statuses of refunds, and the moves between them. Pure."""

from __future__ import annotations

from django.db import models

from config.states import Transitions


class RefundStatus(models.TextChoices):
    REQUIRES_ACTION = "requires_action", "Needs an address"
    PENDING = "pending", "Waiting to be sent"
    PROCESSING = "processing", "On its way"
    COMPLETED = "completed", "Completed"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


# A pending refund still needs an address when its sender is a contract. One on its way is pending
# again when the transfer that carried it provably moved nothing and never will.
REFUND_MOVES = Transitions(
    {
        RefundStatus.REQUIRES_ACTION: [RefundStatus.PENDING, RefundStatus.CANCELLED],
        RefundStatus.PENDING: [
            RefundStatus.REQUIRES_ACTION,
            RefundStatus.PROCESSING,
            RefundStatus.COMPLETED,
            RefundStatus.FAILED,
            RefundStatus.CANCELLED,
        ],
        RefundStatus.PROCESSING: [RefundStatus.PENDING, RefundStatus.COMPLETED, RefundStatus.FAILED],
        RefundStatus.COMPLETED: [],
        RefundStatus.FAILED: [],
        RefundStatus.CANCELLED: [],
    }
)

ENDED = (RefundStatus.COMPLETED, RefundStatus.FAILED, RefundStatus.CANCELLED)
UNDONE = (RefundStatus.FAILED, RefundStatus.CANCELLED)
"""Their money was returned to where it was."""


class NamedBy(models.TextChoices):
    """Who named the destination of a refund."""

    MERCHANT = "merchant", "Named by the merchant"
    SENDER = "sender", "The address that paid"
    PAYER = "payer", "Named by the payer"
