"""The catalogue of events: every name in one place, with what it says to a merchant's developer."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

EVERYTHING = "*"
"""What an endpoint names to be told of all events, of later ones too."""

PAYMENT_CREATED = "payment.created"
PAYMENT_PENDING = "payment.pending"
PAYMENT_UNDERPAID = "payment.underpaid"
PAYMENT_COMPLETED = "payment.completed"
PAYMENT_OVERPAID = "payment.overpaid"
PAYMENT_EXPIRED = "payment.expired"
PAYMENT_LATE = "payment.late"
PAYMENT_CANCELLED = "payment.cancelled"
PAYMENT_REVERSED = "payment.reversed"
PAYMENT_REFUNDED = "payment.refunded"
WEBHOOK_TEST = "webhook.test"

CATALOGUE: Mapping[str, str] = MappingProxyType(
    {
        PAYMENT_CREATED: "A payment was created.",
        PAYMENT_PENDING: "Money for a payment was seen on its network and waits for confirmations.",
        PAYMENT_UNDERPAID: "Money is confirmed, and it is less than was due; the rest may still come.",
        PAYMENT_COMPLETED: "Enough is confirmed. This is the one to deliver goods on.",
        PAYMENT_OVERPAID: "More than was due is confirmed; the surplus waits for a decision.",
        PAYMENT_EXPIRED: "The window ended and nothing had come.",
        PAYMENT_LATE: "Money is confirmed that came after the window; it waits for a decision.",
        PAYMENT_CANCELLED: "The payment was cancelled before anything was paid.",
        PAYMENT_REVERSED: "A reorganisation of the network undid a transfer; the payment went back.",
        PAYMENT_REFUNDED: "Money was given back to the payer, in part or whole.",
        WEBHOOK_TEST: "Somebody asked for a test of this endpoint.",
    }
)
