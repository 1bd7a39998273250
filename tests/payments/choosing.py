"""Payments for tests whose payer chooses coin and network."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.db import transaction

from merchants.models import Merchant
from payments.models import Payment
from payments.services import NewPayment, create_payment
from tests.factories import make_merchant
from tests.payments.scenes import ETHEREUM, POLYGON, SANDBOX, STELLAR, WALLETS

THREE = (ETHEREUM, POLYGON, STELLAR)


def make_open(*networks: str, merchant: Merchant | None = None, coins: tuple[str, ...] = (), **fields: Any) -> Payment:
    """A payment of 100 dollars whose payer chooses."""
    asked: dict[str, Any] = {"amount": Decimal(100), "currency": "USD", **fields}
    wallets = {network: WALLETS[network] for network in networks or THREE}
    with transaction.atomic():
        request = NewPayment(wallets=wallets, coins=coins, **asked)
        payment, _ = create_payment(merchant=merchant or make_merchant(), environment=SANDBOX, request=request)
    return payment
