"""The mistakes of a first hour, each with the sentence that says what would be right: one table.

`{…}` in a request stands for a record of the scene.
"""
# ruff: noqa: E501 - a row of the table is a line

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from config.environments import Environment
from merchants.services import IssuedKey
from payments.services import cancel_payment
from tests.api import hostile
from tests.api.errors import check_error
from tests.factories import api_client, make_key
from tests.payments.scenes import STELLAR, make_payment, pay_and_confirm

pytestmark = pytest.mark.django_db

WEBHOOK = "https://shop.example.com/hook"
NEW: dict[str, Any] = hostile.VALID

MISTAKES: list[tuple[str, str, str, dict[str, Any] | None, str]] = [
    # what was meant, method, path, body, the end of the message
    ("paid is completed", "GET", "/payments?status=paid", None, "Did you mean completed?"),
    ("succeeded is completed", "GET", "/payments?status=succeeded", None, "Did you mean completed?"),
    ("an event payment.paid", "POST", "/webhooks", {"url": WEBHOOK, "events": ["payment.paid"]}, "Did you mean payment.completed?"),
    ("an event payment.succeeded", "POST", "/webhooks", {"url": WEBHOOK, "events": ["payment.succeeded"]}, "Did you mean payment.completed?"),
    ("an event refund.succeeded", "POST", "/webhooks", {"url": WEBHOOK, "events": ["refund.succeeded"]}, "Did you mean refund.completed?"),
    ("a scenario paid", "POST", "/payments/{new}/simulate", {"scenario": "paid"}, "Did you mean exact?"),
    ("matic", "POST", "/payments", {**NEW, "network": "matic"}, "Did you mean polygon?"),
    ("eth", "POST", "/payments", {**NEW, "network": "eth"}, "Did you mean ethereum?"),
    ("xlm", "POST", "/payments", {**NEW, "network": "xlm"}, "Did you mean stellar?"),
    ("the shop's own number", "GET", "/payments/1001", None, "No such payment. Ids of payments begin with pay_. Your order's number is found by GET /payments?metadata[order]=1007."),
    ("an id that is cut off", "GET", "/payments/pay_01kfjhr3c8e4", None, "No such payment. An id of this kind has 30 characters, this one has 16."),
    ("an id of a refund", "GET", "/payments/ref_01kfjhr3c8e4bs0dz6wd5n5yry", None, "that of a payment begins with pay_."),
    ("a number as the cursor", "GET", "/payments?starting_after=3", None, "Must be the id of a record in this list."),
    ("a filter by another name", "GET", "/payments?order=1001", None, 'Unknown parameter: "order".'),
    ("DELETE of a payment", "DELETE", "/payments/{new}", None, "which takes GET and PATCH. To end it while nothing was paid: POST /sandbox/v1/payments/{new}/cancel."),
    ("DELETE of a link", "DELETE", "/payment-links/plk_1", None, 'which takes GET and PATCH. To end it: PATCH with {"enabled": false}.'),
    ("PUT of a payment", "PUT", "/payments/{new}", {}, "which takes GET and PATCH."),
    ("charges", "POST", "/charges", {}, 'There is nothing at "/sandbox/v1/charges". Payments are at /sandbox/v1/payments.'),
    ("orders", "GET", "/orders/1001", None, "Payments are at /sandbox/v1/payments."),
    ("checkout sessions", "POST", "/checkout/sessions", {}, "Payments are at /sandbox/v1/payments."),
    ("payouts", "GET", "/payouts", None, "Payouts to your wallets are at /sandbox/v1/settlements."),
    ("logs", "GET", "/logs", None, "The log of your requests is at /sandbox/v1/requests."),
    ("customers", "POST", "/customers", {}, "No customers are kept here: name yours in a payment's metadata."),
    ("rates", "GET", "/rates", None, "What a price comes to is at /sandbox/v1/quote?amount=25.50&currency=EUR."),
    ("a refund at the payment", "POST", "/payments/{paid}/refund", {}, "A refund is made by POST /sandbox/v1/refunds with paymentId."),
    ("capture", "POST", "/payments/{paid}/capture", {}, "Nothing is confirmed or captured here: a payment completes by itself."),
    ("a preflight of a browser", "OPTIONS", "/payments", None, "The API is for servers: a page in a browser would show everybody the secret key."),
    ("a webhook on port 80 of this machine", "POST", "/webhooks", {"url": "http://localhost/hook"}, "This is port 80 of this machine. Did you mean another, as in http://localhost:3000/hook?"),
    ("the same by its address", "POST", "/webhooks", {"url": "http://127.0.0.1/"}, "Did you mean another, as in http://localhost:3000/?"),
    ("a webhook in the own network", "POST", "/webhooks", {"url": "http://192.168.1.10:3000/"}, "nothing is sent to local, private or reserved ones. Of this machine, http://localhost with a port from 1024 on is called."),
    ("a time as text", "POST", "/payments", {**NEW, "expiresIn": "1800"}, "Must be a whole number, not a string: write 1800 without quotation marks."),
    ("an amount as text", "POST", "/payments", {**NEW, "amount": "25.50"}, "Must be a number, not a string: write 19.99 without quotation marks."),
    ("a name for a wallet", "POST", "/payments", {**NEW, "merchantWallet": "shop.eth"}, "Names are not resolved: send the address that the name stands for. It starts with 0x."),
    ("a name for a wallet on stellar", "POST", "/payments", {**NEW, "network": "stellar", "merchantWallet": "shop*example.com"}, "Names are not resolved: send the address that the name stands for. It starts with G or M."),
    ("cancel what is completed", "POST", "/payments/{paid}/cancel", {}, "This payment is completed and cannot be cancelled. To give its money back, create a refund (POST /refunds)."),
    ("cancel what has expired", "POST", "/payments/{over}/simulate", {"scenario": "underpaid"}, "This payment is cancelled: underpaid cannot happen to it, only exact, late, wrong_token, wrong_network, missing_memo."),
]  # fmt: skip


@pytest.fixture
def key(db: None) -> IssuedKey:
    return make_key(environment=Environment.SANDBOX)


def test_each_mistake_is_answered_with_what_would_be_right(key: IssuedKey, settings: Any) -> None:
    settings.SANDBOX_REQUESTS_PER_MINUTE = 1000
    client = api_client(key)
    paid, over = (make_payment(STELLAR, merchant=key.key.merchant) for _ in range(2))
    pay_and_confirm(paid)
    cancel_payment(over)
    scene = {
        "{new}": make_payment(merchant=key.key.merchant).public_id,
        "{paid}": paid.public_id,
        "{over}": over.public_id,
    }
    wrong = {}
    for mistake, method, path, body, right in MISTAKES:
        for name, public_id in scene.items():
            path, right = path.replace(name, public_id), right.replace(name, public_id)
        message = check_error(client.call(method, path, json_body=body))["message"]
        if not message.endswith(right):
            wrong[mistake] = message
    assert wrong == {}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            lambda public, secret: (public, secret[:-1]),
            "A secret key has 51 characters, this one has 50. Copy it again.",
        ),
        (
            lambda public, secret: (public[:20], secret),
            "A public key has 51 characters, this one has 20. Copy it again.",
        ),
        (lambda public, secret: (public, f"{secret[:-1]}!"), "This key pair does not exist."),
    ],
)
def test_a_key_that_was_cut_off_is_told_its_length(key: IssuedKey, changed: Any, message: str) -> None:
    public, secret = changed(key.key.public_key, key.secret)
    headers = {"Authorization": f"Bearer {public}", "X-Api-Secret": secret}
    error = check_error(Client().get("/sandbox/v1/payments", headers=headers))
    assert (error["code"], error["message"]) == ("key_invalid", message)
    assert secret not in str(error)


def test_a_page_in_a_browser_is_told_so_before_it_has_sent_a_key() -> None:
    error = check_error(Client().options("/sandbox/v1/payments", headers={"Origin": "https://shop.example.com"}))
    assert error["message"].endswith("The API is for servers: a page in a browser would show everybody the secret key.")


def test_money_for_a_paid_payment_is_said_to_be_a_surplus(key: IssuedKey) -> None:
    def simulate(public_id: str) -> str:
        reply = api_client(key).call("POST", f"/payments/{public_id}/simulate", json_body={"scenario": "exact"})
        assert reply.status_code == 200
        return str(reply.json()["description"])

    payment = make_payment(STELLAR, merchant=key.key.merchant)
    assert simulate(payment.public_id) == "The payer sends exactly what is due or still missing."
    paid = make_payment(STELLAR, merchant=key.key.merchant)
    pay_and_confirm(paid)
    assert simulate(paid.public_id).endswith(
        "This payment is paid already: what comes now is a surplus, and waits for a decision."
    )
