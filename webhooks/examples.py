"""Examples of webhooks, events and deliveries for the API reference."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwX6Zk3dQhN1o="  # noqa: S105 - nobody's

NEW_WEBHOOK: dict[str, Any] = {
    "url": "https://shop.example.com/hooks/ballast",
    "events": ["payment.completed", "payment.expired"],
    "description": "Order service",
}

WEBHOOK: dict[str, Any] = {
    "id": "whk_01kfjhr3c8e4bs0dz6wd5n5yry",
    "object": "webhook",
    "url": "https://shop.example.com/hooks/ballast",
    "events": ["payment.completed", "payment.expired"],
    "status": "enabled",
    "disabledReason": None,
    "disabledAt": None,
    "description": "Order service",
    "isPaymentAddress": False,
    "previousSecretExpiresAt": None,
    "environment": "production",
    "createdAt": "2026-01-22T09:49:39.592Z",
}

ACCOUNT_SECRET: dict[str, Any] = {
    "object": "signing_secret",
    "secret": SECRET,
    "previousSecretExpiresAt": "2026-01-23T09:49:39.592Z",
    "environment": "production",
}

EVENT: dict[str, Any] = {
    "id": "evt_01kfjhxe5wf1v8n3m2c9q7r4zk",
    "object": "event",
    "type": "webhook.test",
    "apiVersion": "v1",
    "createdAt": "2026-01-22T09:53:05.212Z",
    "environment": "production",
    "version": 1,
    "data": {"object": WEBHOOK},
}

DELIVERY: dict[str, Any] = {
    "id": "dlv_01kfjhxe6a2m4w8v0c7p9r3t5y",
    "object": "delivery",
    "status": "delivered",
    "event": "evt_01kfjhxe5wf1v8n3m2c9q7r4zk",
    "eventType": "payment.completed",
    "endpoint": "whk_01kfjhr3c8e4bs0dz6wd5n5yry",
    "url": "https://shop.example.com/hooks/ballast",
    "attemptCount": 2,
    "nextAttemptAt": None,
    "deliveredAt": "2026-01-22T09:53:11.040Z",
    "environment": "production",
    "createdAt": "2026-01-22T09:53:05.226Z",
    "attempts": [
        {
            "number": 1,
            "status": "failed",
            "statusCode": 503,
            "durationMs": 212,
            "error": None,
            "startedAt": "2026-01-22T09:53:05.340Z",
            "reply": "deploying, back in a moment",
        },
        {
            "number": 2,
            "status": "succeeded",
            "statusCode": 204,
            "durationMs": 38,
            "error": None,
            "startedAt": "2026-01-22T09:53:11.002Z",
            "reply": "",
        },
    ],
}

WAITING: dict[str, Any] = {
    **DELIVERY,
    "status": "pending",
    "attemptCount": 0,
    "nextAttemptAt": "2026-01-22T09:53:05.226Z",
    "deliveredAt": None,
    "attempts": [],
}

CREATE = [
    OpenApiExample("Two events of payments", value=NEW_WEBHOOK, request_only=True),
    OpenApiExample("With its secret", value={**WEBHOOK, "secret": SECRET}, response_only=True),
]
RETRIEVE = [OpenApiExample("Enabled", value=WEBHOOK, response_only=True)]
UPDATE = [
    OpenApiExample("Disable", value={"status": "disabled"}, request_only=True),
    OpenApiExample(
        "Disabled",
        value={
            **WEBHOOK,
            "status": "disabled",
            "disabledReason": "merchant",
            "disabledAt": "2026-01-22T10:02:17.480Z",
        },
        response_only=True,
    ),
]
DELETE = [
    OpenApiExample("Deleted", value={"id": WEBHOOK["id"], "object": "webhook", "deleted": True}, response_only=True)
]
ROTATE = [
    OpenApiExample(
        "With its new secret",
        value={**WEBHOOK, "previousSecretExpiresAt": "2026-01-23T10:02:17.480Z", "secret": SECRET},
        response_only=True,
    )
]
ROTATE_ACCOUNT_SECRET = [OpenApiExample("With the new secret", value=ACCOUNT_SECRET, response_only=True)]
TEST = [
    OpenApiExample("Waiting to be sent", value={**WAITING, "eventType": "webhook.test"}, response_only=True),
]
REPLAY = [
    OpenApiExample(
        "The payments completed on one day",
        value={"createdGte": "2026-01-21", "createdLte": "2026-01-21", "types": ["payment.completed"]},
        request_only=True,
    ),
    OpenApiExample(
        "Under way",
        value={"object": "replay", "endpoint": WEBHOOK["id"], "deliveryCount": 118},
        response_only=True,
    ),
]
EVENT_SHOWN = [OpenApiExample("A test", value=EVENT, response_only=True)]
DELIVERED = [OpenApiExample("Delivered at the second attempt", value=DELIVERY, response_only=True)]
REDELIVER = [OpenApiExample("Waiting to be sent", value=WAITING, response_only=True)]
