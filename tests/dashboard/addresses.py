"""Every address of the merchant's pages, so that what must be true of all of them is asked of all of them."""

from __future__ import annotations

from dataclasses import dataclass

from config import ids
from config.environments import Environment
from merchants.models import ApiKey, Merchant
from payments.models import Payment
from tests.factories import make_key
from tests.payments.scenes import make_payment
from webhooks.models import Delivery, Endpoint
from webhooks.services import register_endpoint, send_test

READS = (
    "/dashboard",
    "/dashboard/payments",
    "/dashboard/payments/{payment}",
    "/dashboard/keys",
    "/dashboard/keys/new",
    "/dashboard/keys/{key}/delete",
    "/dashboard/settings",
    "/dashboard/webhooks",
    "/dashboard/webhooks/new",
    "/dashboard/webhooks/signing-secret",
    "/dashboard/webhooks/{webhook}",
    "/dashboard/webhooks/{webhook}/edit",
    "/dashboard/webhooks/{webhook}/rotate",
    "/dashboard/webhooks/{webhook}/disable",
    "/dashboard/webhooks/{webhook}/delete",
    "/dashboard/deliveries",
    "/dashboard/deliveries/{delivery}",
)
WRITES = (
    "/dashboard/environment",
    "/dashboard/payments/{payment}/cancel",
    "/dashboard/payments/{payment}/simulate",
    "/dashboard/keys/new",
    "/dashboard/keys/{key}/delete",
    "/dashboard/settings",
    "/dashboard/webhooks/new",
    "/dashboard/webhooks/signing-secret",
    "/dashboard/webhooks/{webhook}/edit",
    "/dashboard/webhooks/{webhook}/rotate",
    "/dashboard/webhooks/{webhook}/test",
    "/dashboard/webhooks/{webhook}/enable",
    "/dashboard/webhooks/{webhook}/disable",
    "/dashboard/webhooks/{webhook}/delete",
    "/dashboard/deliveries/{delivery}/redeliver",
)

UNKNOWN = {"payment": ids.PAYMENT, "key": ids.KEY, "webhook": ids.WEBHOOK, "delivery": ids.DELIVERY}
"""What the braces stand for."""


@dataclass(frozen=True)
class Records:
    """One record of each kind that an address can name."""

    payment: Payment
    key: ApiKey
    webhook: Endpoint
    delivery: Delivery

    def in_path(self, path: str) -> str:
        return path.format(**{name: getattr(self, name).public_id for name in UNKNOWN})


def make_records(merchant: Merchant) -> Records:
    payment, key = make_payment(merchant=merchant), make_key(merchant).key
    url = "https://harbourcoffee.example/ballast"
    webhook, _ = register_endpoint(merchant=merchant, environment=Environment.SANDBOX, url=url)
    return Records(payment, key, webhook, send_test(endpoint=webhook))


def unknown(path: str) -> str:
    """The address of a record that never was."""
    return path.format(**{name: kind.encode(ids.new_uuid()) for name, kind in UNKNOWN.items()})


def malformed(path: str) -> str:
    return path.format(**{name: f"{kind.prefix}_1" for name, kind in UNKNOWN.items()})
