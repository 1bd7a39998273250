"""Every example of a request in the OpenAPI document can be sent as it stands; only ids are those of records here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from payments.models import Payment
from tests.factories import api_client, make_key, make_merchant
from tests.payments.linking import make_link
from tests.payments.scenes import ETHEREUM, discrepancy, end_window, make_payment, now, pay_and_confirm
from tests.refunds import scenes as refunds
from tests.webhooks.scenes import make_endpoint

DOCUMENT = json.loads((Path(__file__).parents[2] / "docs/openapi.json").read_text())
EXAMPLES = [
    (method.upper(), path, example["value"])
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
    if isinstance(operation, dict)
    for content in operation.get("requestBody", {}).get("content", {}).values()
    for example in content.get("examples", {}).values()
]


def test_there_are_examples_and_each_operation_that_needs_a_body_has_one() -> None:
    assert len(EXAMPLES) >= 14
    assert "…" not in json.dumps(EXAMPLES, ensure_ascii=False)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("method", "path", "body"), EXAMPLES, ids=[f"{e[0]} {e[1]} {n}" for n, e in enumerate(EXAMPLES)]
)
def test_an_example_is_taken_as_it_stands(method: str, path: str, body: dict[str, Any]) -> None:
    merchant = make_merchant()

    def paid(amount: str = "") -> Payment:
        return pay_and_confirm(make_payment(ETHEREUM, merchant=merchant), amount)

    if "payment_id" in path or "paymentId" in body:
        short = paid("60") if "discrepancy_id" in path else None
        payment = end_window(short) if short else paid() if "paymentId" in body else make_payment(merchant=merchant)
        path = path.replace("{payment_id}", payment.public_id)
        if short:
            path = path.replace("{discrepancy_id}", discrepancy(now(payment)).public_id)
        if "paymentId" in body:
            body = body | {"paymentId": payment.public_id}
    if "link_id" in path:
        path = path.replace("{link_id}", make_link(merchant).public_id)
    if "webhook_id" in path:
        path = path.replace("{webhook_id}", make_endpoint(merchant).public_id)
    if "refund_id" in path:
        refund = refunds.ask(refunds.paid_by_two(ETHEREUM, merchant=merchant))
        path = path.replace("{refund_id}", refund.public_id)
    reply = api_client(make_key(merchant)).call(method, path, json_body=body)
    assert reply.status_code in (200, 201, 202), reply.content
