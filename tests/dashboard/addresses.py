"""Every address of the merchant's pages, so that what must be true of all of them is asked of all of them."""

from __future__ import annotations

from merchants.models import ApiKey
from payments.models import Payment

READS = (
    "/dashboard",
    "/dashboard/payments",
    "/dashboard/payments/{payment}",
    "/dashboard/keys",
    "/dashboard/keys/new",
    "/dashboard/keys/{key}/delete",
    "/dashboard/settings",
)
WRITES = (
    "/dashboard/environment",
    "/dashboard/payments/{payment}/cancel",
    "/dashboard/payments/{payment}/simulate",
    "/dashboard/keys/new",
    "/dashboard/keys/{key}/delete",
    "/dashboard/settings",
)


def filled(path: str, *, payment: Payment, key: ApiKey) -> str:
    return path.format(payment=payment.public_id, key=key.public_id)
