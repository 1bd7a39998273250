"""Statuses of endpoints and deliveries, and the moves between them. Pure."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from config.states import Transitions


class EndpointStatus(models.TextChoices):
    ENABLED = "enabled", _("Enabled")
    DISABLED = "disabled", _("Disabled")


ENDPOINT_MOVES = Transitions(
    {
        EndpointStatus.ENABLED: [EndpointStatus.DISABLED],
        EndpointStatus.DISABLED: [EndpointStatus.ENABLED],
    }
)


class DisabledReason(models.TextChoices):
    """Reasons an endpoint is disabled."""

    MERCHANT = "merchant", _("Disabled by the merchant")
    GONE = "gone", _("It answered 410 Gone")
    FAILING = "failing", _("No attempt succeeded for five days")


class DeliveryStatus(models.TextChoices):
    PENDING = "pending", _("Waiting for an attempt")
    DELIVERED = "delivered", _("Delivered")
    FAILED = "failed", _("Given up")
    DISCARDED = "discarded", _("Endpoint disabled or deleted")


# Whatever its end, a delivery can be requested again.
DELIVERY_MOVES = Transitions(
    {
        DeliveryStatus.PENDING: [DeliveryStatus.DELIVERED, DeliveryStatus.FAILED, DeliveryStatus.DISCARDED],
        DeliveryStatus.DELIVERED: [DeliveryStatus.PENDING],
        DeliveryStatus.FAILED: [DeliveryStatus.PENDING],
        DeliveryStatus.DISCARDED: [DeliveryStatus.PENDING],
    }
)
