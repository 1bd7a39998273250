"""Which event tells of which change of a payment. The names themselves are in the catalogue of webhooks."""

from __future__ import annotations

from payments.states import PaymentStatus
from webhooks.events import PAYMENT_CANCELLED as CANCELLED
from webhooks.events import PAYMENT_COINS_LOST as COINS_LOST
from webhooks.events import PAYMENT_COINS_MISSING as COINS_MISSING
from webhooks.events import PAYMENT_COINS_RESTORED as COINS_RESTORED
from webhooks.events import PAYMENT_COMPLETED as COMPLETED
from webhooks.events import PAYMENT_CREATED as CREATED
from webhooks.events import PAYMENT_EXPIRED as EXPIRED
from webhooks.events import PAYMENT_LATE as LATE
from webhooks.events import PAYMENT_OVERPAID as OVERPAID
from webhooks.events import PAYMENT_PENDING as PENDING
from webhooks.events import PAYMENT_REFUNDED as REFUNDED
from webhooks.events import PAYMENT_REVERSED as REVERSED
from webhooks.events import PAYMENT_UNDERPAID as UNDERPAID

__all__ = [
    "CANCELLED",
    "COINS_LOST",
    "COINS_MISSING",
    "COINS_RESTORED",
    "CREATED",
    "LATE",
    "ON_STATUS",
    "OVERPAID",
    "REFUNDED",
    "REVERSED",
]

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
