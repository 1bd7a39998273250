"""Receipts that tests ask for, as a payer does: without a log-in."""

from __future__ import annotations

import json
from typing import Any

from django.test import Client

from merchants.models import Merchant
from payments.models import Payment
from refunds.destination_links import destination_link_url
from refunds.models import Refund
from tests.factories import make_merchant
from tests.payments.scenes import STELLAR
from tests.refunds.scenes import ask, fresh, paid, paid_by_two, send, wallet
from tests.worlds import populated_once

KEYS = "/.well-known/ballast-receipts.json"


@populated_once
def refunded_in_part(merchant: Merchant | None = None) -> Payment:
    """A payment of 100 dollars by a payer, to whom 30 went back; 20 more are not sent yet."""
    payment = paid(amount="100", merchant=merchant or make_merchant("Harbour Coffee"))
    ask(payment, "30", destination=wallet())
    send()
    ask(payment, "20", destination=wallet())
    return Payment.objects.get(pk=payment.pk)


def sent_back() -> tuple[Refund, str]:
    """A refund that its payer has named an address for, once it is paid, and the path of its page."""
    refund = ask(paid_by_two(STELLAR, merchant=make_merchant("Harbour Coffee")))
    url = destination_link_url(refund)
    assert url is not None
    path = url.removeprefix("http://127.0.0.1:8000")
    mine = {"destination": wallet(name="mine"), "memo": "42", "confirm": "yes", "confirmed": "on"}
    assert Client().get(f"{path}/receipt").status_code == 404
    Client().post(path, mine)
    assert Client().get(f"{path}/receipt.json").status_code == 404
    send()
    return fresh(refund), path


def path_of(payment: Payment) -> str:
    return f"/pay/{payment.public_id}/receipt"


def receipt_of(payment: Payment) -> dict[str, Any]:
    receipt: dict[str, Any] = json.loads(file_of(payment))
    return receipt


def file_of(payment: Payment) -> bytes:
    return Client().get(f"{path_of(payment)}.json").content
