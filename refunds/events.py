"""The event of each change of a refund. The catalogue of webhooks describes the names."""

from __future__ import annotations

from refunds.states import RefundStatus
from webhooks.events.catalogue import REFUND_CANCELLED as CANCELLED
from webhooks.events.catalogue import REFUND_COMPLETED as COMPLETED
from webhooks.events.catalogue import REFUND_CREATED as CREATED
from webhooks.events.catalogue import REFUND_FAILED as FAILED
from webhooks.events.catalogue import REFUND_PENDING as PENDING
from webhooks.events.catalogue import REFUND_PROCESSING as PROCESSING
from webhooks.events.catalogue import REFUND_REQUIRES_ACTION as REQUIRES_ACTION

__all__ = ["CREATED", "ON_STATUS", "REQUIRES_ACTION"]

ON_STATUS: dict[str, str] = {
    RefundStatus.REQUIRES_ACTION: REQUIRES_ACTION,
    RefundStatus.PENDING: PENDING,
    RefundStatus.PROCESSING: PROCESSING,
    RefundStatus.COMPLETED: COMPLETED,
    RefundStatus.FAILED: FAILED,
    RefundStatus.CANCELLED: CANCELLED,
}
"""The event of a change into each status."""
