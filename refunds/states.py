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


# Back from `pending` to `requires_action`: the network refused the address, and another one may do.
REFUND_MOVES = Transitions(
    {
        RefundStatus.REQUIRES_ACTION: [RefundStatus.PENDING, RefundStatus.CANCELLED, RefundStatus.FAILED],
        RefundStatus.PENDING: [
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
"""Their money is back where it was."""
