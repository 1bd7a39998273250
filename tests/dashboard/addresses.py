"""Every address of the merchant's pages, so that what must be true of all of them is asked of all of them."""

from __future__ import annotations

from dataclasses import dataclass

from config import ids
from config.environments import Environment
from merchants.models import ApiKey, Merchant
from payments.models import Payment
from refunds.models import Refund
from settlements.models import Settlement
from tests.factories import make_key
from tests.payments.scenes import STELLAR, make_payment
from tests.refunds.scenes import ask, paid_by_two
from tests.settlements.page_scenes import earn_and_settle
from webhooks.models import Delivery, Endpoint
from webhooks.services import register_endpoint, send_test

READS = (
    "/dashboard",
    "/dashboard/payments",
    "/dashboard/payments/{payment}",
    "/dashboard/payments/{payment}/refund",
    "/dashboard/refunds",
    "/dashboard/refunds/{refund}",
    "/dashboard/settlements",
    "/dashboard/settlements/now",
    "/dashboard/settlements/{settlement}",
    "/dashboard/settlements/{settlement}/statement",
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
    "/dashboard/payments/{payment}/refund",
    "/dashboard/refunds/{refund}/cancel",
    "/dashboard/refunds/{refund}/destination",
    "/dashboard/settlements/now",
    "/dashboard/settlements/{settlement}/retry",
    "/dashboard/settlements/{settlement}/wallet",
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

DOWNLOADS = ("/dashboard/settlements/{settlement}/statement",)
"""Those of READS that are files, not pages."""

UNKNOWN = {
    "payment": ids.PAYMENT,
    "refund": ids.REFUND,
    "settlement": ids.SETTLEMENT,
    "key": ids.KEY,
    "webhook": ids.WEBHOOK,
    "delivery": ids.DELIVERY,
}
"""What the braces stand for."""


@dataclass(frozen=True)
class Records:
    """One record of each kind that an address can name."""

    payment: Payment
    refund: Refund
    settlement: Settlement
    key: ApiKey
    webhook: Endpoint
    delivery: Delivery

    def in_path(self, path: str) -> str:
        return path.format(**{name: getattr(self, name).public_id for name in UNKNOWN})


def make_records(merchant: Merchant) -> Records:
    settlement = earn_and_settle(merchant, network=STELLAR)  # first: it takes all there is
    payment, key = make_payment(merchant=merchant), make_key(merchant).key
    url = "https://harbourcoffee.example/ballast"
    webhook, _ = register_endpoint(merchant=merchant, environment=Environment.SANDBOX, url=url)
    return Records(
        payment=payment,
        refund=ask(paid_by_two(merchant=merchant)),  # it needs an address
        settlement=settlement,
        key=key,
        webhook=webhook,
        delivery=send_test(endpoint=webhook),
    )


def unknown(path: str) -> str:
    """The address of a record that never was."""
    return path.format(**{name: kind.encode(ids.new_uuid()) for name, kind in UNKNOWN.items()})


def malformed(path: str) -> str:
    return path.format(**{name: f"{kind.prefix}_1" for name, kind in UNKNOWN.items()})
