"""The catalogue of events: every name, with its description for a merchant's developer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

EVERYTHING = "*"
"""Stands in an endpoint's list for all events, also those that are added later."""

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
PAYMENT_UPDATED = "payment.updated"
PAYMENT_COINS_MISSING = "payment.coins_missing"
PAYMENT_COINS_RESTORED = "payment.coins_restored"
PAYMENT_COINS_LOST = "payment.coins_lost"
REFUND_CREATED = "refund.created"
REFUND_REQUIRES_ACTION = "refund.requires_action"
REFUND_PENDING = "refund.pending"
REFUND_PROCESSING = "refund.processing"
REFUND_COMPLETED = "refund.completed"
REFUND_FAILED = "refund.failed"
REFUND_CANCELLED = "refund.cancelled"
SETTLEMENT_CREATED = "settlement.created"
SETTLEMENT_COMPLETED = "settlement.completed"
SETTLEMENT_FAILED = "settlement.failed"
WEBHOOK_TEST = "webhook.test"

CATALOGUE: Mapping[str, Promise] = MappingProxyType(
    {
        PAYMENT_CREATED: _("A payment was created."),
        PAYMENT_PENDING: _("Money for a payment was seen on its network and waits for confirmations."),
        PAYMENT_UNDERPAID: _("Money is confirmed, and it is less than was due; the rest may still come."),
        PAYMENT_COMPLETED: _("Enough is confirmed. Deliver goods on this event."),
        PAYMENT_OVERPAID: _("More than was due is confirmed; the surplus waits for a decision."),
        PAYMENT_EXPIRED: _("The time to pay ended, and nothing had arrived."),
        PAYMENT_LATE: _("Money that arrived after the time to pay is confirmed. It waits for a decision."),
        PAYMENT_CANCELLED: _("The payment was cancelled before anything was paid."),
        PAYMENT_REVERSED: _("A reorganisation of the network undid a transfer; the payment went back."),
        PAYMENT_REFUNDED: _("Money was refunded to the payer, in part or in full."),
        PAYMENT_UPDATED: _(
            "A payment changed and no other event says so: more was received, money was reserved for a refund or "
            "came back from one, the time of an underpaid payment ended, a reason was added or removed, or somebody "
            "changed its description, note or metadata."
        ),
        PAYMENT_COINS_MISSING: _(
            "Coins that were paid are missing on the network. The part of your balance that came from them is "
            "held until it is decided who bears the loss."
        ),
        PAYMENT_COINS_RESTORED: _(
            "Missing coins are back, or the operator has covered them. The money that was held is settled again."
        ),
        PAYMENT_COINS_LOST: _("Missing coins are lost. They are taken off your balance."),
        REFUND_CREATED: _("A refund was created, and its money is reserved."),
        REFUND_REQUIRES_ACTION: _("A refund needs an address: give one, or send its `claimUrl` to the payer."),
        REFUND_PENDING: _("A refund has an address now and waits to be sent."),
        REFUND_PROCESSING: _("A refund was signed and is on its way."),
        REFUND_COMPLETED: _("A refund is final on its network."),
        REFUND_FAILED: _("A refund could not be paid; its money is back where it was."),
        REFUND_CANCELLED: _("A refund was cancelled before it was sent; its money is back where it was."),
        SETTLEMENT_CREATED: _("A settlement was made and its money is reserved."),
        SETTLEMENT_COMPLETED: _("A settlement is final on its network."),
        SETTLEMENT_FAILED: _("A settlement could not be paid; its money will be in a later one."),
        WEBHOOK_TEST: _("A test of this webhook was requested."),
    }
)

GROUPS: Sequence[tuple[Promise, Sequence[str]]] = tuple(
    (title, tuple(name for name in CATALOGUE if name.startswith(f"{kind}.")))
    for kind, title in (
        ("payment", _("Payments")),
        ("refund", _("Refunds")),
        ("settlement", _("Settlements")),
        ("webhook", _("Webhooks")),
    )
)
"""Every event once, by what it is about."""
