"""Statuses of refunds, and the moves between them. Pure."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from config.states import Transitions


class RefundStatus(models.TextChoices):
    REQUIRES_ACTION = "requires_action", _("Needs an address")
    PENDING = "pending", _("Waiting to be sent")
    PROCESSING = "processing", _("On its way")
    COMPLETED = "completed", _("Completed")
    FAILED = "failed", _("Failed")
    CANCELLED = "cancelled", _("Cancelled")


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
WAITING = (RefundStatus.REQUIRES_ACTION, RefundStatus.PENDING)
"""Not sent yet."""

SENT = (RefundStatus.PROCESSING, RefundStatus.COMPLETED)

UNDONE = (RefundStatus.FAILED, RefundStatus.CANCELLED)
"""Their money was returned to where it was."""


class NamedBy(models.TextChoices):
    """The source of a refund's destination."""

    MERCHANT = "merchant", _("Entered by the merchant")
    SENDER = "sender", _("The address that paid")
    PAYER = "payer", _("Entered by the payer")
