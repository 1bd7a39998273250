"""Events, endpoints and deliveries as replies show them, and the body that is sent: plain values, plain functions."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from config import ids
from config.api.renderers import format_instant
from webhooks.events.rebuilding import complete
from webhooks.models import Attempt, Delivery, Endpoint, Event

API_VERSION = "v1"


def event_record(event: Event) -> dict[str, Any]:
    """The body sent to an endpoint, and the event in the API: the same.

    For several events, call `rebuilding.complete` first: it reads at once what they do not store.
    """
    complete([event])
    return {
        "id": event.public_id,
        "object": "event",
        "type": event.sample_of or event.type,
        "apiVersion": API_VERSION,
        "createdAt": format_instant(event.created_at),
        "environment": event.environment,
        "version": event.version,
        "data": {"object": event.payload},
    }


def webhook_record(endpoint: Endpoint, *, secret: str | None = None) -> dict[str, Any]:
    """The endpoint as the API shows it; `secret` only in the reply to the request that made it."""
    record: dict[str, Any] = {
        "id": endpoint.public_id,
        "object": "webhook",
        "url": endpoint.url,
        "events": endpoint.events,
        "status": endpoint.status,
        "disabledReason": endpoint.disabled_reason or None,
        "disabledAt": _instant(endpoint.disabled_at),
        "description": endpoint.description,
        "isPaymentAddress": endpoint.is_direct,
        "previousSecretExpiresAt": _instant(endpoint.previous_secret_expires_at),
        "environment": endpoint.environment,
        "createdAt": format_instant(endpoint.created_at),
    }
    return record if secret is None else {**record, "secret": secret}


def delivery_record(delivery: Delivery) -> dict[str, Any]:
    """A delivery with its attempts, oldest first. Expects one of `Delivery.objects.to_show()`."""
    return {
        "id": delivery.public_id,
        "object": "delivery",
        "status": delivery.status,
        "event": ids.EVENT.encode(delivery.event_id),
        "eventType": delivery.event.type,
        "endpoint": ids.WEBHOOK.encode(delivery.endpoint_id),
        "url": delivery.endpoint.url,
        "attemptCount": delivery.attempt_count,
        "nextAttemptAt": _instant(delivery.next_attempt_at),
        "deliveredAt": _instant(delivery.delivered_at),
        "environment": delivery.environment,
        "createdAt": format_instant(delivery.created_at),
        "attempts": [_attempt_record(attempt) for attempt in delivery.attempts.all()],
    }


def _attempt_record(attempt: Attempt) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "status": "succeeded" if attempt.is_success else "failed",
        "statusCode": attempt.status_code,
        "durationMs": attempt.duration_milliseconds,
        "error": attempt.error or None,
        "startedAt": format_instant(attempt.started_at),
        "reply": bytes(attempt.reply_start).decode(errors="replace"),
    }


def _instant(instant: datetime | None) -> str | None:
    return format_instant(instant) if instant else None
