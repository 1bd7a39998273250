"""POST /payments/:id/claim: who may ask, what a question looks like, and that asking changes nothing."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from config.environments import Environment
from config.errors import InvalidParameter
from merchants.access.scopes import Scope
from merchants.models import IdempotencyRecord
from payments.chains.simulated import control
from payments.chains.simulated.reading import Reading
from payments.claims.claims import parse_transaction_hash
from payments.models import Payment
from tests.factories import ApiClient, api_client, make_key, make_merchant
from tests.payments.claiming import UNKNOWN
from tests.payments.scenes import ETHEREUM, POLYGON, STELLAR, confirm, everything, make_payment, mine_and_watch, pay

pytestmark = pytest.mark.django_db


def client_of(payment: Payment, **key: Any) -> ApiClient:
    return api_client(make_key(payment.merchant, **key))


def ask(client: ApiClient, payment: Payment, body: Any, **headers: str) -> Any:
    return client.call("POST", f"/payments/{payment.public_id}/claim", json_body=body, headers=headers)


def refusal(reply: Any) -> tuple[int, str, str | None]:
    error = reply.json()["error"]
    return reply.status_code, error["code"], error.get("param")


def test_a_claim_is_answered_in_full() -> None:
    payment = make_payment(POLYGON)
    transaction_hash = pay(payment)
    confirm(payment)
    before = everything()
    reply = ask(client_of(payment), payment, {"transactionHash": transaction_hash})
    assert reply.status_code == 200
    record = reply.json()
    [transfer] = record.pop("transfers")
    assert record == {
        "object": "claim",
        "payment": payment.public_id,
        "transactionHash": transaction_hash,
        "network": "polygon",
        "status": "credited",
        "message": "It matches and is credited to this payment.",
        "block": 1,
        "confirmations": 2,
        "requiredConfirmations": 2,
        "transferCount": 1,
    }
    assert (transfer["amount"], transfer["matched"], transfer["code"]) == ("100.000000", True, "credited")
    assert everything() == before


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, (400, "missing_parameter", "transactionHash")),
        ({"transactionHash": None}, (400, "invalid_parameter", "transactionHash")),
        ({"transactionHash": 7}, (400, "invalid_parameter", "transactionHash")),
        ({"transactionHash": "0x" + "ab" * 31}, (400, "invalid_parameter", "transactionHash")),
        ({"transactionHash": "ab" * 32}, (400, "invalid_parameter", "transactionHash")),
        ({"transactionHash": "a" * 81}, (400, "invalid_parameter", "transactionHash")),
        ({"transactionHash": UNKNOWN, "amount": 5}, (400, "unknown_parameter", "amount")),
    ],
)
def test_the_body_is_strict(body: dict[str, Any], expected: tuple[int, str, str]) -> None:
    payment = make_payment(ETHEREUM)
    assert refusal(ask(client_of(payment), payment, body)) == expected


def test_a_stellar_hash_has_no_prefix() -> None:
    payment = make_payment(STELLAR)
    client = client_of(payment)
    assert ask(client, payment, {"transactionHash": "ab" * 32}).json()["status"] == "not_found"
    assert refusal(ask(client, payment, {"transactionHash": UNKNOWN})) == (400, "invalid_parameter", "transactionHash")


@pytest.mark.parametrize(
    ("scopes", "status"),
    [
        ([Scope.PAYMENTS_READ], 200),
        ([Scope.PAYMENTS_WRITE], 200),
        ([Scope.REFUNDS_WRITE], 403),
        ([], 200),
    ],
)
def test_whoever_may_read_the_payment_may_ask(scopes: list[str], status: int) -> None:
    payment = make_payment(ETHEREUM)
    reply = ask(client_of(payment, scopes=scopes), payment, {"transactionHash": UNKNOWN})
    assert reply.status_code == status


def test_another_merchants_payment_is_none() -> None:
    payment = make_payment(ETHEREUM)
    stranger = api_client(make_key(make_merchant()))
    assert refusal(ask(stranger, payment, {"transactionHash": UNKNOWN})) == (404, "resource_missing", None)
    live = client_of(payment, environment=Environment.PRODUCTION)
    assert refusal(ask(live, payment, {"transactionHash": UNKNOWN})) == (404, "resource_missing", None)


def test_a_network_that_does_not_answer_is_said_with_a_time_to_wait() -> None:
    payment = make_payment(ETHEREUM)
    control.outage(ETHEREUM, 60)
    reply = ask(client_of(payment), payment, {"transactionHash": UNKNOWN}, **{"Idempotency-Key": "claim-1"})
    assert refusal(reply) == (400, "network_unavailable", None)
    assert reply.headers["Retry-After"] == "15"
    assert not IdempotencyRecord.objects.exists()
    control.outage(ETHEREUM, 0)
    again = ask(client_of(payment), payment, {"transactionHash": UNKNOWN}, **{"Idempotency-Key": "claim-1"})
    assert (again.status_code, again.json()["status"]) == (200, "not_found")


def test_the_same_key_gives_the_same_answer_although_the_chain_went_on() -> None:
    payment = make_payment(ETHEREUM)
    client, transaction_hash = client_of(payment), pay(payment)
    first = ask(client, payment, {"transactionHash": transaction_hash}, **{"Idempotency-Key": "claim-1"})
    mine_and_watch(ETHEREUM, 8)
    second = ask(client, payment, {"transactionHash": transaction_hash}, **{"Idempotency-Key": "claim-1"})
    assert (first.json()["status"], second.content) == ("pending", first.content)
    assert ("Idempotent-Replayed" in first.headers, second.headers["Idempotent-Replayed"]) == (False, "true")
    control.outage(ETHEREUM, 60)  # nobody is asked for a reply that is kept
    third = ask(client, payment, {"transactionHash": transaction_hash}, **{"Idempotency-Key": "claim-1"})
    assert third.content == first.content
    other = ask(client, payment, {"transactionHash": UNKNOWN}, **{"Idempotency-Key": "claim-1"})
    assert refusal(other) == (400, "idempotency_key_reused", None)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "claim-1"}])
def test_networks_are_asked_in_no_database_transaction(
    monkeypatch: pytest.MonkeyPatch, headers: dict[str, str]
) -> None:
    payment = make_payment(ETHEREUM)
    inside: list[bool] = []
    find = Reading.find_transaction

    def listening(reading: Reading, transaction_hash: str) -> Any:
        inside.append(connection.in_atomic_block)
        return find(reading, transaction_hash)

    monkeypatch.setattr(Reading, "find_transaction", listening)
    assert ask(client_of(payment), payment, {"transactionHash": UNKNOWN}, **headers).status_code == 200
    assert inside == [False, False]


# The hash itself.


@pytest.mark.parametrize("text", ["", "0x", "ab" * 32, UNKNOWN + "0", "0x" + "zz" * 32, "0x" + "ab" * 20])
def test_what_is_no_hash_on_an_evm_network_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidParameter) as refused:
        parse_transaction_hash(make_payment(ETHEREUM), text)
    assert (refused.value.param, refused.value.message) == (
        "transactionHash",
        "A transaction hash on this network is 0x and 64 hexadecimal digits.",
    )


def test_a_hash_is_taken_in_either_case() -> None:
    merchant = make_merchant()
    on_ethereum, on_stellar = make_payment(ETHEREUM, merchant=merchant), make_payment(STELLAR, merchant=merchant)
    assert parse_transaction_hash(on_ethereum, f" 0x{'AB' * 32} ") == UNKNOWN
    assert parse_transaction_hash(on_stellar, "AB" * 32) == "ab" * 32
    with pytest.raises(InvalidParameter):
        parse_transaction_hash(on_stellar, UNKNOWN)
