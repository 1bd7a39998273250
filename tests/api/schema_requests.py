"""Two thousand requests made up from the schema, half of them against its rules: never a fault, always in shape."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import count
from typing import Any

import jsonschema
import pytest
import schemathesis
from django.core.wsgi import get_wsgi_application
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
from tests.api.errors import ERROR_SCHEMA
from tests.api.hostile import VALID
from tests.factories import api_client, key_headers, make_key
from tests.payments.scenes import STELLAR
from tests.refunds.scenes import ask, paid, paid_by_two
from tests.settlements.page_scenes import earn_and_settle

CASES = 2000
SEED = 20_270_131
REQUESTS_PER_KEY = 45
"""A key's budget in the sandbox is 100 requests a minute; helping takes some of it."""

WALLETS = {
    "stellar": "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ",
    "ethereum": VALID["merchantWallet"],
    "polygon": VALID["merchantWallet"],
}

TRANSACTION_HASH = "0x" + "ab" * 32
WEBHOOK_URL = "https://shop.example.com/webhooks"
URL_FORM = re.compile(rf"https?://.{{0,{MAX_URL_CHARACTERS - len('https://')}}}", re.DOTALL)

CHECKS = [content_type_conformance, negative_data_rejection, response_schema_conformance, status_code_conformance]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


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
runs = [
    (operation, GenerationMode.POSITIVE)
    for operation in operations
    if inputs_of(operation) or operation.path_parameters
]
# Any text fits a path, so only what is in a body, a query or a header can be against the rules.
runs += [(operation, GenerationMode.NEGATIVE) for operation in operations if inputs_of(operation)]


class Caller:
    """Keys that are not yet used up. Every second request is helped past what no schema can say.

    It acts on a record of the same merchant, and names a wallet that exists or an address that webhooks may have.
    """

    def __init__(self, mode: GenerationMode) -> None:
        self._mode = mode
        self._number = count()
        self.statuses: Counter[int] = Counter()

    def call(self, case: Any) -> Any:
        number = next(self._number)
        if number % REQUESTS_PER_KEY == 0:
            self._issued = make_key()
            self._client = api_client(self._issued)
            self._payment_id = self._client.call("POST", "/payments", json_body=VALID).json()["id"]
            settlement = earn_and_settle(self._issued.key.merchant, network=STELLAR)
            self._refund = ask(paid_by_two(merchant=self._issued.key.merchant), "1")
            self._overpaid = paid(received=["60", "45"], senders=["Ada", "Bob"], merchant=self._issued.key.merchant)
            self._ids = {
                "settlement_id": settlement.public_id,
                "refund_id": self._refund.public_id,
                "discrepancy_id": self._overpaid.discrepancies.get().public_id,
            }
            self._make_webhook()
        if number % 2:
            self._help(case)
        response = case.call(headers=key_headers(self._issued))
        self.statuses[response.status_code] += 1
        return response

    def _help(self, case: Any) -> None:
        if case.method == "DELETE":
            self._make_webhook()
        for name in case.path_parameters or {}:
            case.path_parameters[name] = self._ids[name]
        if "discrepancy_id" in (case.path_parameters or {}):
            case.path_parameters["payment_id"] = self._overpaid.public_id
        if self._mode is GenerationMode.POSITIVE and isinstance(case.body, dict):
            self._help_to_refund(case.body)
            if "transactionHash" in case.body:
                case.body["transactionHash"] = TRANSACTION_HASH
        if isinstance(case.body, dict) and case.body.get("network") in WALLETS:
            case.body["merchantWallet"] = WALLETS[case.body["network"]]
        if isinstance(case.body, dict) and URL_FORM.fullmatch(str(case.body.get("url"))):
            case.body["url"] = WEBHOOK_URL

    def _help_to_refund(self, body: dict[str, Any]) -> None:
        """What is against the rules must stay so: only bodies that fit them are helped."""
        if "paymentId" in body:
            body |= {"paymentId": self._refund.payment.public_id, "amount": 0.01}
            body.pop("discrepancyId", None)
        if "destination" in body:
            body["destination"] = WALLETS["stellar"]
        if "destination" in body or "paymentId" in body:
            body.pop("memo", None)

    def _make_webhook(self) -> None:
        webhook = self._client.call("POST", "/webhooks", json_body={"url": WEBHOOK_URL}).json()
        delivery = self._client.call("POST", f"/webhooks/{webhook['id']}/test").json()
        self._ids |= {
            "payment_id": self._payment_id,
            "webhook_id": webhook["id"],
            "event_id": delivery["event"],
            "delivery_id": delivery["id"],
        }


@pytest.mark.parametrize(("operation", "mode"), runs, ids=[f"{run[0].label} {run[1].value}" for run in runs])
def test_requests_made_up_from_the_schema_are_answered_in_shape(operation: Any, mode: GenerationMode) -> None:
    caller = Caller(mode)

    @seed(SEED)
    @settings(
        max_examples=-(-CASES // len(runs)),
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
            jsonschema.validate(response.json(), ERROR_SCHEMA)
        case.validate_response(response, checks=CHECKS)

    answers()
    assert 401 not in caller.statuses
    assert 429 not in caller.statuses
    if mode is GenerationMode.POSITIVE:
        assert caller.statuses.keys() & {200, 201}
