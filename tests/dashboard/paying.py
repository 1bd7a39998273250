"""A payment of a shop, and what its payer is shown."""

from __future__ import annotations

from html import unescape
from typing import Any

from django.test import Client
from django.utils import timezone

from payments.checkout.payer import PayerView, look_at
from payments.models import Payment
from tests.factories import make_merchant
from tests.payments.scenes import POLYGON, make_payment


def make(network: str = POLYGON, **fields: Any) -> Payment:
    return make_payment(network, merchant=make_merchant("Harbour Coffee"), **fields)


def page_of(payment: Payment) -> str:
    return unescape(Client().get(f"/pay/{payment.public_id}").text)


def view_of(payment: Payment) -> PayerView:
    return look_at(Payment.objects.select_related("merchant", "payment_link").get(pk=payment.pk), timezone.now())
