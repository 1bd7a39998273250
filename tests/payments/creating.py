"""Requests to create a payment, and what a refused one leaves behind: nothing."""

from __future__ import annotations

from typing import Any

from merchants.models import Merchant
from payments.models import Payment
from tests.factories import api_client, make_key, make_merchant
from tests.payments.scenes import ETHEREUM, WALLETS
from webhooks.models import Event


def body(network: str = ETHEREUM, **fields: Any) -> dict[str, Any]:
    asked = {
        "amount": 19.99,
        "currency": "USD",
        "cryptocurrency": "USDC",
        "network": network,
        "merchantWallet": WALLETS[network],
    }
    return {**asked, **fields}


def create(merchant: Merchant | None = None, **fields: Any) -> Any:
    client = api_client(make_key(merchant or make_merchant()))
    return client.call("POST", "/payments", json_body=body(**fields))


def assert_refused(reply: Any, *, code: str, param: str | None, message: str = "") -> dict[str, Any]:
    assert reply.status_code == 400
    error: dict[str, Any] = reply.json()["error"]
    assert (error["type"], error["code"], error.get("param")) == ("invalid_request_error", code, param)
    assert message in error["message"]
    assert not Payment.objects.exists()
    assert not Event.objects.exists()
    return error
