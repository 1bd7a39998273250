"""Events, as webhooks bring them. Generated from docs/openapi.json by sdk/generator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from ballast._models import Model
from ballast.models import Environment, Payment, Refund, Settlement, WebhookEndpoint


@dataclass(frozen=True, kw_only=True)
class BaseEvent(Model):
    """What all events have. The same event has the same `id`, however often it comes."""

    id: str
    api_version: str
    created_at: datetime
    environment: Environment | str
    version: int
    """Of the record: keep the record with the highest."""


@dataclass(frozen=True, kw_only=True)
class PaymentData(Model):
    object: Payment
    """The whole record, as it was then."""


@dataclass(frozen=True, kw_only=True)
class RefundData(Model):
    object: Refund
    """The whole record, as it was then."""


@dataclass(frozen=True, kw_only=True)
class SettlementData(Model):
    object: Settlement
    """The whole record, as it was then."""


@dataclass(frozen=True, kw_only=True)
class WebhookEndpointData(Model):
    object: WebhookEndpoint
    """The whole record, as it was then."""


@dataclass(frozen=True, kw_only=True)
class PaymentCreatedEvent(BaseEvent):
    """A payment was created."""

    type: Literal["payment.created"]
    data: PaymentData


@dataclass(frozen=True, kw_only=True)
class PaymentPendingEvent(BaseEvent):
    """Money for a payment was seen on its network and waits for confirmations."""

    type: Literal["payment.pending"]
    data: PaymentData


@dataclass(frozen=True, kw_only=True)
class PaymentUnderpaidEvent(BaseEvent):
    """Money is confirmed, and it is less than was due; the rest may still come."""

    type: Literal["payment.underpaid"]
    data: PaymentData


@dataclass(frozen=True, kw_only=True)
class PaymentCompletedEvent(BaseEvent):
    """Enough is confirmed. Deliver goods on this event."""

    type: Literal["payment.completed"]
    data: PaymentData


@dataclass(frozen=True, kw_only=True)
class PaymentOverpaidEvent(BaseEvent):
    """More than was due is confirmed; the surplus waits for a decision."""

    type: Literal["payment.overpaid"]
    data: PaymentData


@dataclass(frozen=True, kw_only=True)
class PaymentExpiredEvent(BaseEvent):
    """The time to pay ended, and nothing had arrived."""

    type: Literal["payment.expired"]
    data: PaymentData


@dataclass(frozen=True, kw_only=True)
class PaymentLateEvent(BaseEvent):
    """Money that arrived after the time to pay is confirmed. It waits for a decision."""

    type: Literal["payment.late"]
    data: PaymentData


@dataclass(frozen=True, kw_only=True)
class PaymentCancelledEvent(BaseEvent):
    """The payment was cancelled before anything was paid."""

    type: Literal["payment.cancelled"]
    data: PaymentData


@dataclass(frozen=True, kw_only=True)
class PaymentReversedEvent(BaseEvent):
    """A reorganisation of the network undid a transfer; the payment went back."""

    type: Literal["payment.reversed"]
    data: PaymentData


@dataclass(frozen=True, kw_only=True)
class PaymentRefundedEvent(BaseEvent):
    """Money was refunded to the payer, in part or in full."""

    type: Literal["payment.refunded"]
    data: PaymentData


@dataclass(frozen=True, kw_only=True)
class PaymentUpdatedEvent(BaseEvent):
    """A payment changed and no other event says so: more was received, money was reserved for a refund or came back
    from one, the time of an underpaid payment ended, a reason was added or removed, or somebody changed its
    description, note or metadata."""

    type: Literal["payment.updated"]
    data: PaymentData


@dataclass(frozen=True, kw_only=True)
class PaymentCoinsMissingEvent(BaseEvent):
    """Coins that were paid are missing on the network. The part of your balance that came from them is held until it
    is decided who bears the loss."""

    type: Literal["payment.coins_missing"]
    data: PaymentData


@dataclass(frozen=True, kw_only=True)
class PaymentCoinsRestoredEvent(BaseEvent):
    """Missing coins are back, or the operator has covered them. The money that was held is settled again."""

    type: Literal["payment.coins_restored"]
    data: PaymentData


@dataclass(frozen=True, kw_only=True)
class PaymentCoinsLostEvent(BaseEvent):
    """Missing coins are lost. They are taken off your balance."""

    type: Literal["payment.coins_lost"]
    data: PaymentData


@dataclass(frozen=True, kw_only=True)
class RefundCreatedEvent(BaseEvent):
    """A refund was created, and its money is reserved."""

    type: Literal["refund.created"]
    data: RefundData


@dataclass(frozen=True, kw_only=True)
class RefundRequiresActionEvent(BaseEvent):
    """A refund needs an address: give one, or send its `claimUrl` to the payer."""

    type: Literal["refund.requires_action"]
    data: RefundData


@dataclass(frozen=True, kw_only=True)
class RefundPendingEvent(BaseEvent):
    """A refund has an address now and waits to be sent."""

    type: Literal["refund.pending"]
    data: RefundData


@dataclass(frozen=True, kw_only=True)
class RefundProcessingEvent(BaseEvent):
    """A refund was signed and is on its way."""

    type: Literal["refund.processing"]
    data: RefundData


@dataclass(frozen=True, kw_only=True)
class RefundCompletedEvent(BaseEvent):
    """A refund is final on its network."""

    type: Literal["refund.completed"]
    data: RefundData


@dataclass(frozen=True, kw_only=True)
class RefundFailedEvent(BaseEvent):
    """A refund could not be paid; its money is back where it was."""

    type: Literal["refund.failed"]
    data: RefundData


@dataclass(frozen=True, kw_only=True)
class RefundCancelledEvent(BaseEvent):
    """A refund was cancelled before it was sent; its money is back where it was."""

    type: Literal["refund.cancelled"]
    data: RefundData


@dataclass(frozen=True, kw_only=True)
class SettlementCreatedEvent(BaseEvent):
    """A settlement was made and its money is reserved."""

    type: Literal["settlement.created"]
    data: SettlementData


@dataclass(frozen=True, kw_only=True)
class SettlementCompletedEvent(BaseEvent):
    """A settlement is final on its network."""

    type: Literal["settlement.completed"]
    data: SettlementData


@dataclass(frozen=True, kw_only=True)
class SettlementFailedEvent(BaseEvent):
    """A settlement could not be paid; its money will be in a later one."""

    type: Literal["settlement.failed"]
    data: SettlementData


@dataclass(frozen=True, kw_only=True)
class WebhookTestEvent(BaseEvent):
    """A test of this webhook was requested."""

    type: Literal["webhook.test"]
    data: WebhookEndpointData


@dataclass(frozen=True, kw_only=True)
class UnknownEvent(BaseEvent):
    """An event that this version of the package does not know. Answer 2xx, and do nothing."""

    type: str
    data: dict[str, Any]


Event: TypeAlias = (
    PaymentCreatedEvent
    | PaymentPendingEvent
    | PaymentUnderpaidEvent
    | PaymentCompletedEvent
    | PaymentOverpaidEvent
    | PaymentExpiredEvent
    | PaymentLateEvent
    | PaymentCancelledEvent
    | PaymentReversedEvent
    | PaymentRefundedEvent
    | PaymentUpdatedEvent
    | PaymentCoinsMissingEvent
    | PaymentCoinsRestoredEvent
    | PaymentCoinsLostEvent
    | RefundCreatedEvent
    | RefundRequiresActionEvent
    | RefundPendingEvent
    | RefundProcessingEvent
    | RefundCompletedEvent
    | RefundFailedEvent
    | RefundCancelledEvent
    | SettlementCreatedEvent
    | SettlementCompletedEvent
    | SettlementFailedEvent
    | WebhookTestEvent
    | UnknownEvent
)

EVENTS: dict[str, type[BaseEvent]] = {
    "payment.created": PaymentCreatedEvent,
    "payment.pending": PaymentPendingEvent,
    "payment.underpaid": PaymentUnderpaidEvent,
    "payment.completed": PaymentCompletedEvent,
    "payment.overpaid": PaymentOverpaidEvent,
    "payment.expired": PaymentExpiredEvent,
    "payment.late": PaymentLateEvent,
    "payment.cancelled": PaymentCancelledEvent,
    "payment.reversed": PaymentReversedEvent,
    "payment.refunded": PaymentRefundedEvent,
    "payment.updated": PaymentUpdatedEvent,
    "payment.coins_missing": PaymentCoinsMissingEvent,
    "payment.coins_restored": PaymentCoinsRestoredEvent,
    "payment.coins_lost": PaymentCoinsLostEvent,
    "refund.created": RefundCreatedEvent,
    "refund.requires_action": RefundRequiresActionEvent,
    "refund.pending": RefundPendingEvent,
    "refund.processing": RefundProcessingEvent,
    "refund.completed": RefundCompletedEvent,
    "refund.failed": RefundFailedEvent,
    "refund.cancelled": RefundCancelledEvent,
    "settlement.created": SettlementCreatedEvent,
    "settlement.completed": SettlementCompletedEvent,
    "settlement.failed": SettlementFailedEvent,
    "webhook.test": WebhookTestEvent,
}


def parse_event(data: Mapping[str, Any]) -> Event:
    """The event of its JSON. It verifies nothing: `Webhook.verify` does."""
    kind = EVENTS.get(data.get("type", ""), UnknownEvent)
    event: Any = kind.from_json(data)
    found: Event = event
    return found
