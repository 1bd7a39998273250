"""Names of what can happen to a payment."""

from __future__ import annotations

from payments.states import PaymentStatus

CREATED = "payment.created"
PENDING = "payment.pending"
UNDERPAID = "payment.underpaid"
COMPLETED = "payment.completed"
OVERPAID = "payment.overpaid"
EXPIRED = "payment.expired"
LATE = "payment.late"
CANCELLED = "payment.cancelled"
REVERSED = "payment.reversed"
REFUNDED = "payment.refunded"

ON_STATUS: dict[str, str] = {
    PaymentStatus.PENDING: PENDING,
    PaymentStatus.UNDERPAID: UNDERPAID,
    PaymentStatus.COMPLETED: COMPLETED,
    PaymentStatus.EXPIRED: EXPIRED,
    PaymentStatus.CANCELLED: CANCELLED,
    PaymentStatus.PARTIALLY_REFUNDED: REFUNDED,
    PaymentStatus.REFUNDED: REFUNDED,
}
"""The event that a change into a status is told by. Going back to `created` is told by `payment.reversed`."""
