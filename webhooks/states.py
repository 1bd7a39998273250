"""Statuses of endpoints and deliveries, and the moves between them. Pure."""

from __future__ import annotations

from django.db import models

from config.states import Transitions


class EndpointStatus(models.TextChoices):
    ENABLED = "enabled", "Enabled"
    DISABLED = "disabled", "Disabled"


ENDPOINT_MOVES = Transitions(
    {
        EndpointStatus.ENABLED: [EndpointStatus.DISABLED],
        EndpointStatus.DISABLED: [EndpointStatus.ENABLED],
    }
)


class DisabledReason(models.TextChoices):
    """Why an endpoint gets nothing any more."""

    MERCHANT = "merchant", "Disabled by the merchant"
    GONE = "gone", "It answered 410 Gone"
    FAILING = "failing", "No attempt succeeded for five days"


class DeliveryStatus(models.TextChoices):
    PENDING = "pending", "Waiting for an attempt"
    DELIVERED = "delivered", "Delivered"
    FAILED = "failed", "Given up"
    DISCARDED = "discarded", "Endpoint disabled or deleted"


# Whatever its end, a delivery can be asked for again.
DELIVERY_MOVES = Transitions(
    {
        DeliveryStatus.PENDING: [DeliveryStatus.DELIVERED, DeliveryStatus.FAILED, DeliveryStatus.DISCARDED],
        DeliveryStatus.DELIVERED: [DeliveryStatus.PENDING],
        DeliveryStatus.FAILED: [DeliveryStatus.PENDING],
        DeliveryStatus.DISCARDED: [DeliveryStatus.PENDING],
    }
)
