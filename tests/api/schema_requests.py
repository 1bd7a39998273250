"""Requests made up from the schema, and what every answer to one must be."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from itertools import count
from typing import Any

import schemathesis
from django.core.cache import cache
from django.core.wsgi import get_wsgi_application
from django.utils import timezone
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import GenerationMode
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from config.api.fields import MAX_URL_CHARACTERS
from config.api.views import openapi_document
from merchants.access import throttling
from merchants.services import IssuedKey
from payments.models import Payment
from refunds.models import Refund
from tests.api.errors import ERRORS
from tests.api.hostile import VALID
from tests.factories import api_client, key_headers, make_key
from tests.long_form import IS_LONG
from tests.payments.scenes import STELLAR
from tests.refunds.scenes import ask, paid, paid_by_two
from tests.settlements.page_scenes import earn_and_settle, make_invoice
from tests.worlds import populated_once

EXAMPLES = 34 if IS_LONG else 20
"""Of each operation in each mode."""
SEED = 20_270_131
WALLETS = {
    "stellar": "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ",
    "ethereum": VALID["merchantWallet"],
    "polygon": VALID["merchantWallet"],
}

LINK = {"description": "A mug", "currency": "EUR", "merchantWallets": {"polygon": VALID["merchantWallet"]}}
TRANSACTION_HASH = "0x" + "ab" * 32
WEBHOOK_URL = "https://shop.example.com/webhooks"
URL_FORM = re.compile(rf"https?://.{{0,{MAX_URL_CHARACTERS - len('https://')}}}", re.DOTALL)

CHECKS = [content_type_conformance, negative_data_rejection, response_schema_conformance, status_code_conformance]


def described() -> list[Any]:
    """Every operation of the document; without its keys, so that no case is spent on spoiling those."""
    document = json.loads(openapi_document())
    for path in document["paths"].values():
        for operation in path.values():
            del operation["security"]
    schema = schemathesis.openapi.from_dict(document)
    schema.app = get_wsgi_application()
    return [result.ok() for result in schema.get_all_operations() if isinstance(result, Ok)]


def inputs_of(operation: Any) -> int:
    return len(operation.query) + len(operation.body) + len(operation.headers)


operations = described()
positive = [operation for operation in operations if inputs_of(operation) or operation.path_parameters]
# Any text fits a path, so only what is in a body, a query or a header can be against the rules.
negative = [operation for operation in operations if inputs_of(operation)]


@dataclass
class Records:
    """What the requests act on, all of one merchant."""

    issued: IssuedKey
    payment_id: str
    settlement_id: str
    invoice_id: str
    refund: Refund
    overpaid: Payment
    underpaid: Payment


@populated_once
def make_records() -> Records:
    issued = make_key()
    merchant = issued.key.merchant
    payment = api_client(issued).call("POST", "/payments", json_body=VALID).json()
    settlement = earn_and_settle(merchant, network=STELLAR)
    refund = ask(paid_by_two(merchant=merchant), "1")
    overpaid = paid(received=["60", "45"], senders=["Ada", "Bob"], merchant=merchant)
    underpaid = paid(received=["60"], merchant=merchant)
    invoice = make_invoice(merchant)
    return Records(issued, payment["id"], settlement.public_id, invoice.public_id, refund, overpaid, underpaid)


class Caller:
    """Sends requests with a key whose budget is whole. Every second one is helped past what no schema can say.

    It acts on a record of the same merchant, and names a wallet that exists or an address that webhooks may have.
    """

    def __init__(self, mode: GenerationMode) -> None:
        self._mode = mode
        self._number = count()
        self.statuses: Counter[int] = Counter()
        self._records = make_records()
        throttling.log.cache_clear()  # they are one merchant's in all tests
        cache.clear()  # and counted in Redis where there is one
        self._client = api_client(self._records.issued)
        self._ids = {
            "link_id": self._client.call("POST", "/payment-links", json_body=LINK).json()["id"],
            "settlement_id": self._records.settlement_id,
            "invoice_id": self._records.invoice_id,
            "month": f"{timezone.now():%Y-%m}",
            "refund_id": self._records.refund.public_id,
            "discrepancy_id": self._records.overpaid.discrepancies.get().public_id,
        }
        self._make_webhook()

    def call(self, case: Any) -> Any:
        if next(self._number) % 2:
            self._help(case)
        response = case.call(headers=key_headers(self._records.issued))
        self.statuses[response.status_code] += 1
        return response

    def _help(self, case: Any) -> None:
        if case.method == "DELETE":
            self._make_webhook()
        for name in case.path_parameters or {}:
            case.path_parameters[name] = self._ids[name]
        if "discrepancy_id" in (case.path_parameters or {}):
            case.path_parameters["payment_id"] = self._records.overpaid.public_id
        if case.path.endswith("/close"):
            case.path_parameters["payment_id"] = self._records.underpaid.public_id
        if self._mode is GenerationMode.POSITIVE and isinstance(case.body, dict):
            self._help_to_refund(case.body)
            self._help_to_link(case.body)
            if case.path == "/payments":
                self._help_to_pay(case.body)
            if "transactionHash" in case.body:
                case.body["transactionHash"] = TRANSACTION_HASH
        if isinstance(case.body, dict) and case.body.get("network") in WALLETS:
            case.body["merchantWallet"] = WALLETS[case.body["network"]]
        if isinstance(case.body, dict) and URL_FORM.fullmatch(str(case.body.get("url"))):
            case.body["url"] = WEBHOOK_URL

    def _help_to_refund(self, body: dict[str, Any]) -> None:
        """What is against the rules must stay so: only bodies that fit them are helped."""
        if "paymentId" in body:
            body |= {"paymentId": self._records.refund.payment.public_id, "amount": 0.01}
            body.pop("discrepancyId", None)
        if "destination" in body:
            body["destination"] = WALLETS["stellar"]
        if "destination" in body or "paymentId" in body:
            body.pop("memo", None)

    def _help_to_link(self, body: dict[str, Any]) -> None:
        if body.get("merchantWallets"):
            body["merchantWallets"] = LINK["merchantWallets"]
        if "merchantWallets" in body and "description" in body:
            body |= LINK
            for name in ("amount", "minAmount", "maxAmount", "cryptocurrencies"):
                body.pop(name, None)
        if body.get("expiresAt"):
            body["expiresAt"] = "2999-12-31"

    def _help_to_pay(self, body: dict[str, Any]) -> None:
        """Items come to the amount, and offers exclude a wallet: few examples meet either rule."""
        body |= VALID
        for name in ("items", "merchantWallets", "cryptocurrencies"):
            body.pop(name, None)

    def _make_webhook(self) -> None:
        webhook = self._client.call("POST", "/webhooks", json_body={"url": WEBHOOK_URL}).json()
        delivery = self._client.call("POST", f"/webhooks/{webhook['id']}/test").json()
        self._ids |= {
            "payment_id": self._records.payment_id,
            "webhook_id": webhook["id"],
            "event_id": delivery["event"],
            "delivery_id": delivery["id"],
        }


def answers_in_shape(operation: Any, mode: GenerationMode) -> Counter[int]:
    """Sends the requests, requires every answer to be one the schema describes; returns how often each status came."""
    caller = Caller(mode)

    @seed(SEED)
    @settings(
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def answers(case: Any) -> None:
        response = caller.call(case)
        assert response.status_code < 500, (case.as_curl_command(), response.text)
        assert response.headers["x-request-id"]
        if response.status_code >= 400:
            ERRORS.validate(response.json())
        case.validate_response(response, checks=CHECKS)

    answers()
    assert 401 not in caller.statuses
    assert 429 not in caller.statuses
    return caller.statuses
