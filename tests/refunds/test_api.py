"""POST /refunds, GET /refunds/:id, GET /refunds, POST /refunds/:id/cancel and /destination."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config import ids
from config.environments import Environment
from merchants.counting import fold_counts
from merchants.models import Merchant
from payments.chains import registry
from payments.chains.stellar.addresses import mux
from payments.suspense.acceptance import accept_discrepancy
from refunds.models import Refund
from tests.api.errors import check_error
from tests.factories import ApiClient, api_client, make_key, make_merchant
from tests.payments.scenes import (
    POLYGON,
    SANDBOX,
    STELLAR,
    assert_all_is_well,
    discrepancy,
    end_window,
    make_payment,
    now,
    pay_and_confirm,
    spend,
)
from tests.refunds.scenes import ask, fresh, paid, paid_by_two, refunded, send, wallet
from webhooks.models import Event

pytestmark = pytest.mark.django_db


@pytest.fixture
def merchant() -> Merchant:
    return make_merchant()


@pytest.fixture
def client(merchant: Merchant) -> ApiClient:
    return api_client(make_key(merchant))


def created(client: ApiClient, **body: Any) -> dict[str, Any]:
    reply = client.call("POST", "/refunds", json_body=body)
    assert reply.status_code == 201, reply.content
    record: dict[str, Any] = reply.json()
    return record


def got(client: ApiClient, path: str) -> Any:
    reply = client.call("GET", path)
    assert reply.status_code == 200, reply.content
    return reply.json()


def refusal(client: ApiClient, path: str = "/refunds", **body: Any) -> tuple[int, str, str | None]:
    """How a request was refused. Nothing is left of it."""
    before = (Refund.objects.count(), Event.objects.count())
    reply = client.call("POST", path, json_body=body)
    error = check_error(reply)
    assert (Refund.objects.count(), Event.objects.count()) == before
    return reply.status_code, error["code"], error.get("param")


def message(client: ApiClient, path: str = "/refunds", **body: Any) -> str:
    words: str = client.call("POST", path, json_body=body).json()["error"]["message"]
    return words


# Creating.


def test_a_refund_is_recorded_as_it_was_asked_for(client: ApiClient, merchant: Merchant) -> None:
    payment = paid(merchant=merchant, currency="EUR", webhook_url="https://shop.example/hook")
    record = created(
        client,
        paymentId=payment.public_id,
        amount=12.34,
        reason="One of two bags was out of stock",
        destination=wallet(name="elsewhere"),
        memo="42",
        metadata={"order": "1007"},
    )
    refund = Refund.objects.get()
    assert record == {
        "id": refund.public_id,
        "object": "refund",
        "paymentId": payment.public_id,
        "discrepancyId": None,
        "amount": 12.34,
        "currency": "EUR",
        "cryptoAmount": f"{refund.amount // 10**7}.{refund.amount % 10**7:07}"[:-1],
        "tokenFee": "0.000000",
        "receivedAmount": None,
        "returnsFee": False,
        "cryptocurrency": "USDC",
        "network": "stellar",
        "destination": wallet(name="elsewhere"),
        "memo": "42",
        "memoType": "id",
        "status": "pending",
        "claimUrl": None,
        "reason": "One of two bags was out of stock",
        "transactionHash": None,
        "claimableBalanceId": None,
        "holdReason": None,
        "failureCode": None,
        "failureMessage": None,
        "metadata": {"order": "1007"},
        "environment": "sandbox",
        "createdAt": record["createdAt"],
        "completedAt": None,
        "version": 1,
    }
    assert got(client, f"/refunds/{refund.public_id}") == record
    event = Event.objects.get(type="refund.created")
    assert (event.payload["id"], event.direct_url) == (refund.public_id, "https://shop.example/hook")
    assert refund.requested_by.startswith("pk_test_")
    send()
    record = got(client, f"/refunds/{refund.public_id}")
    assert (record["status"], record["transactionHash"]) == ("completed", fresh(refund).transaction_hash)
    assert record["completedAt"] is not None
    assert got(client, f"/payments/{payment.public_id}")["amountRefunded"] == record["cryptoAmount"]


def test_without_an_amount_all_that_is_left_is_given_back_once(client: ApiClient, merchant: Merchant) -> None:
    payment = paid(merchant=merchant)
    assert created(client, paymentId=payment.public_id, amount=40)["amount"] == 40
    assert created(client, paymentId=payment.public_id)["amount"] == 60
    assert refunded(payment) == ("completed", payment.due, 0)
    assert refusal(client, paymentId=payment.public_id) == (400, "refund_exceeds_payment", None)
    assert refusal(client, paymentId=payment.public_id, amount=0.01) == (400, "refund_exceeds_payment", "amount")
    assert_all_is_well()


def test_more_than_is_left_is_refused_with_what_is_left(client: ApiClient, merchant: Merchant) -> None:
    payment = paid(merchant=merchant)
    created(client, paymentId=payment.public_id, amount=60)
    asked: dict[str, Any] = {"paymentId": payment.public_id, "amount": 40.01}
    assert refusal(client, **asked) == (400, "refund_exceeds_payment", "amount")
    assert message(client, **asked) == "Of this payment, 40.00 USD can still be refunded."
    assert created(client, paymentId=payment.public_id, amount=40)["cryptoAmount"] == "40.000000"


def test_an_idempotency_key_refunds_once(client: ApiClient, merchant: Merchant) -> None:
    body = {"paymentId": paid_by_two(merchant=merchant).public_id, "amount": 10}
    first, second = (
        client.call("POST", "/refunds", json_body=body, headers={"Idempotency-Key": "one"}) for _ in range(2)
    )
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.content == second.content
    assert second.headers["Idempotent-Replayed"] == "true"
    assert Refund.objects.count() == 1


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"amount": 0}, "invalid_parameter", "amount"),
        ({"amount": -1}, "invalid_parameter", "amount"),
        ({"amount": "10"}, "invalid_parameter", "amount"),
        ({"amount": True}, "invalid_parameter", "amount"),
        ({"amount": 1.001}, "invalid_parameter", "amount"),
        ({"amount": 1e30}, "invalid_parameter", "amount"),
        ({"amount": [1]}, "invalid_parameter", "amount"),
        ({"reason": "x" * 501}, "invalid_parameter", "reason"),
        ({"reason": "a\0b"}, "invalid_json", None),
        ({"reason": 7}, "invalid_parameter", "reason"),
        ({"metadata": [1]}, "invalid_parameter", "metadata"),
        ({"metadata": "x"}, "invalid_parameter", "metadata"),
        ({"memo": "42"}, "invalid_parameter", "memo"),
        ({"ammount": 1}, "unknown_parameter", "ammount"),
        ({"status": "completed"}, "unknown_parameter", "status"),
        ({"paymentId": 7}, "invalid_parameter", "paymentId"),
        ({"paymentId": ""}, "invalid_parameter", "paymentId"),
        ({"discrepancyId": "dis_1"}, "invalid_parameter", "discrepancyId"),
        ({"discrepancyId": ids.DISCREPANCY.encode(UUID(int=1))}, "invalid_parameter", "discrepancyId"),
    ],
    ids=str,
)
def test_hostile_values_are_refused(
    client: ApiClient, merchant: Merchant, fields: dict[str, Any], code: str, param: str | None
) -> None:
    payment = paid(merchant=merchant)
    assert refusal(client, **{"paymentId": payment.public_id, **fields}) == (400, code, param)


def test_a_payment_must_be_named(client: ApiClient) -> None:
    assert refusal(client) == (400, "missing_parameter", "paymentId")


def test_amounts_have_the_digits_of_their_currency(client: ApiClient, merchant: Merchant) -> None:
    yen = paid(merchant=merchant, amount="5400", currency="JPY").public_id
    assert message(client, paymentId=yen, amount=100.5) == "An amount in JPY has no decimal places."
    assert created(client, paymentId=yen, amount=100)["amount"] == 100


def test_another_merchants_payment_is_unknown(client: ApiClient) -> None:
    for payment_id in (paid().public_id, ids.PAYMENT.encode(ids.new_uuid()), "pay_1", "nonsense"):
        assert refusal(client, paymentId=payment_id) == (404, "resource_missing", "paymentId")


def test_a_payment_of_the_other_environment_is_unknown(merchant: Merchant) -> None:
    client = api_client(make_key(merchant, Environment.PRODUCTION))
    assert refusal(client, paymentId=paid(merchant=merchant).public_id) == (404, "resource_missing", "paymentId")


# What cannot be refunded.


def test_what_was_not_paid_cannot_be_given_back(client: ApiClient, merchant: Merchant) -> None:
    payment = make_payment(STELLAR, merchant=merchant)
    assert refusal(client, paymentId=payment.public_id) == (400, "payment_not_refundable", "paymentId")
    pay_and_confirm(payment, "60")  # the rest may still come
    assert refusal(client, paymentId=payment.public_id) == (400, "payment_not_refundable", "paymentId")
    end_window(payment)
    assert created(client, paymentId=payment.public_id)["cryptoAmount"] == "60.000000"


def test_money_that_was_settled_already_cannot_be_given_back(client: ApiClient, merchant: Merchant) -> None:
    payment = paid(merchant=merchant)
    spend(payment, "50")
    assert refusal(client, paymentId=payment.public_id, amount=60)[:2] == (400, "insufficient_balance")
    assert refunded(payment) == ("completed", 0, 0)
    assert created(client, paymentId=payment.public_id, amount=50)["status"] == "pending"


def test_several_sums_in_suspense_have_to_be_told_apart(client: ApiClient, merchant: Merchant) -> None:
    payment = make_payment(STELLAR, merchant=merchant)
    end_window(payment)
    pay_and_confirm(payment, "30")
    pay_and_confirm(payment, "7", coin="USDT")
    late, wrong = discrepancy(payment, "late"), discrepancy(payment, "wrong_token")
    assert refusal(client, paymentId=payment.public_id) == (400, "discrepancy_required", "discrepancyId")
    words = message(client, paymentId=payment.public_id)
    assert late.public_id in words
    assert wrong.public_id in words
    named = {"paymentId": payment.public_id, "discrepancyId": wrong.public_id}
    assert refusal(client, **named, amount=1) == (400, "invalid_parameter", "amount")
    record = created(client, **named)
    assert (record["discrepancyId"], record["amount"]) == (wrong.public_id, None)
    assert (record["cryptoAmount"], record["cryptocurrency"]) == ("7.000000", "USDT")
    assert refusal(client, **named) == (400, "discrepancy_resolved", "discrepancyId")
    assert created(client, paymentId=payment.public_id)["discrepancyId"] == late.public_id  # the only one left
    assert_all_is_well()


def test_money_that_was_accepted_is_no_longer_in_suspense(client: ApiClient, merchant: Merchant) -> None:
    payment = paid(received=["125"], merchant=merchant)
    surplus = discrepancy(payment)
    accept_discrepancy(surplus, resolved_by="Ada")
    assert refusal(client, paymentId=payment.public_id, discrepancyId=surplus.public_id) == (
        400,
        "discrepancy_resolved",
        "discrepancyId",
    )


def test_suspense_of_another_payment_is_not_given_back_with_this_one(client: ApiClient, merchant: Merchant) -> None:
    payment, other = paid(merchant=merchant), paid(received=["125"], merchant=merchant)
    assert refusal(client, paymentId=payment.public_id, discrepancyId=discrepancy(other).public_id) == (
        400,
        "invalid_parameter",
        "discrepancyId",
    )


# Where it goes.


@pytest.mark.parametrize("network", [STELLAR, POLYGON])
def test_addresses_that_cannot_be_paid_are_refused_with_the_reason(
    client: ApiClient, merchant: Merchant, network: str
) -> None:
    payment = paid(network, merchant=merchant)
    chain = registry.chain(SANDBOX, network)
    contract = chain.profile.assets["USDC"].contract
    right = wallet(network)
    bad = {
        payment.deposit_address: "address",
        chain.payout_address(): "address",
        contract.rpartition(":")[2]: "",
        contract: "",
        right[:-1]: "characters",
        wallet(POLYGON if network == STELLAR else STELLAR): "starts with",
        "": "empty",
        "0x" + "0" * 40: "" if network == STELLAR else "zero",
        right.swapcase(): "",
        "hello": "starts with",
    }
    for address, words in bad.items():
        asked = {"paymentId": payment.public_id, "destination": address}
        assert refusal(client, **asked) == (400, "invalid_parameter", "destination"), address
        assert words in message(client, **asked)
    assert created(client, paymentId=payment.public_id, destination=f" {right} ")["destination"] == right


def test_memos_are_for_stellar(client: ApiClient, merchant: Merchant) -> None:
    on_polygon = {"paymentId": paid(POLYGON, merchant=merchant).public_id, "destination": wallet(POLYGON)}
    assert refusal(client, **on_polygon, memo="42") == (400, "invalid_parameter", "memo")
    on_stellar = {"paymentId": paid(merchant=merchant).public_id, "destination": wallet()}
    assert refusal(client, **on_stellar, memo="é" * 15) == (400, "invalid_parameter", "memo")
    assert refusal(client, **on_stellar, memo="x" * 31) == (400, "invalid_parameter", "memo")
    muxed = mux(wallet(), 7)
    assert refusal(client, **{**on_stellar, "destination": muxed}, memo="42") == (400, "invalid_parameter", "memo")
    assert created(client, **{**on_stellar, "destination": muxed}, amount=1)["destination"] == muxed
    assert created(client, **on_stellar, memo="order 42", amount=1)["memo"] == "order 42"
    assert refusal(client, **on_stellar, memo="order 42", memoType="id") == (400, "invalid_parameter", "memoType")
    assert refusal(client, **on_stellar, memo="0042", memoType="id") == (400, "invalid_parameter", "memoType")
    assert refusal(client, **on_stellar, memo="42", memoType="hash") == (400, "invalid_parameter", "memoType")
    given = created(client, **on_stellar, memo="42", memoType="text", amount=1)
    assert (given["memo"], given["memoType"]) == ("42", "text")


def test_a_refund_without_address_can_be_given_one(client: ApiClient, merchant: Merchant) -> None:
    record = created(client, paymentId=paid_by_two(merchant=merchant).public_id)
    assert record["status"] == "requires_action"
    assert record["claimUrl"].startswith("http://127.0.0.1:8000/refund/")
    path = f"/refunds/{record['id']}/destination"
    assert refusal(client, path) == (400, "missing_parameter", "destination")
    assert refusal(client, path, destination="hello") == (400, "invalid_parameter", "destination")
    reply = client.call("POST", path, json_body={"destination": wallet(), "memo": "42"})
    assert reply.status_code == 200
    given = reply.json()
    assert (given["status"], given["destination"], given["memo"]) == ("pending", wallet(), "42")
    assert (given["claimUrl"], given["version"]) == (None, 2)
    assert refusal(client, path, destination=wallet()) == (400, "refund_has_destination", None)


def test_the_claim_link_is_shown_to_those_only_who_may_refund(client: ApiClient, merchant: Merchant) -> None:
    record = created(client, paymentId=paid_by_two(merchant=merchant).public_id)
    assert record["claimUrl"]
    writer = api_client(make_key(merchant, scopes=["refunds:write"]))
    reader = api_client(make_key(merchant, scopes=["refunds:read"]))
    assert got(writer, f"/refunds/{record['id']}")["claimUrl"]
    assert got(reader, f"/refunds/{record['id']}") == {**record, "claimUrl": None}
    assert got(reader, "/refunds")["data"] == [{**record, "claimUrl": None}]
    assert {event.payload["claimUrl"] for event in Event.objects.filter(type__startswith="refund.")} == {None}


# Cancelling.


def test_a_refund_is_cancelled_once(client: ApiClient, merchant: Merchant) -> None:
    record = created(client, paymentId=paid(merchant=merchant).public_id)
    path = f"/refunds/{record['id']}/cancel"
    assert refusal(client, path, why="no") == (400, "unknown_parameter", "why")
    cancelled = client.call("POST", path).json()
    assert cancelled == {**record, "status": "cancelled", "version": 2}
    assert client.call("POST", path).json() == cancelled


def test_a_refund_that_was_sent_cannot_be_cancelled(client: ApiClient, merchant: Merchant) -> None:
    record = created(client, paymentId=paid(merchant=merchant).public_id)
    send()
    assert refusal(client, f"/refunds/{record['id']}/cancel") == (400, "refund_not_cancellable", None)


# Reading.


def test_the_list_is_filtered_and_counted_exactly(client: ApiClient, merchant: Merchant) -> None:
    first, second = paid_by_two(merchant=merchant), paid(merchant=merchant)
    made = [ask(first, "10"), ask(second, "20"), ask(second, "30"), ask(first, "5")]
    ask(paid(merchant=make_merchant()))
    client.call("POST", f"/refunds/{made[1].public_id}/cancel")
    newest_first = [refund.public_id for refund in reversed(made)]

    def listed(query: str = "") -> tuple[list[str], bool, int]:
        reply = got(client, f"/refunds{query}")
        return [record["id"] for record in reply["data"]], reply["hasMore"], reply["totalCount"]

    for _ in range(2):  # the second time from folded counts
        assert listed() == (newest_first, False, 4)
        assert listed("?limit=3") == (newest_first[:3], True, 4)
        assert listed(f"?limit=3&starting_after={newest_first[2]}") == (newest_first[3:], False, 4)
        assert listed(f"?paymentId={second.public_id}") == (newest_first[1:3], False, 2)
        assert listed(f"?paymentId={second.public_id}&status=cancelled") == ([newest_first[2]], False, 1)
        assert listed("?status=requires_action") == ([newest_first[0], newest_first[3]], False, 2)
        assert listed("?status=completed") == ([], False, 0)
        today, tomorrow = timezone.now().date(), timezone.now().date() + timedelta(days=1)
        assert listed(f"?created_gte={today}&created_lte={today}") == (newest_first, False, 4)
        assert listed(f"?created_gte={tomorrow}") == ([], False, 0)
        assert listed(f"?paymentId={second.public_id}&created_gte={tomorrow}") == ([], False, 0)
        fold_counts()
    nobodys = ids.PAYMENT.encode(ids.new_uuid())
    assert listed(f"?paymentId={nobodys}") == ([], False, 0)


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("status=done", "status"),
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("created_gte=yesterday", "created_gte"),
        ("payment=pay_1", "payment"),
        ("starting_after=ref_1", "starting_after"),
        ("paymentId=a&paymentId=b", "paymentId"),
        ("paymentId=pay_1", "paymentId"),
    ],
)
def test_a_senseless_query_is_refused(client: ApiClient, query: str, param: str) -> None:
    reply = client.call("GET", f"/refunds?{query}")
    assert (reply.status_code, check_error(reply)["param"]) == (400, param)


def test_a_list_costs_the_same_however_long(client: ApiClient, merchant: Merchant) -> None:
    payment = paid_by_two(merchant=merchant)
    got(client, "/refunds")
    counts = []
    for _ in range(2):
        for _ in range(3):
            ask(payment, "1")
        with CaptureQueriesContext(connection) as queries:
            got(client, "/refunds")
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_another_merchants_refund_is_unknown(merchant: Merchant) -> None:
    refund = ask(paid_by_two())
    client = api_client(make_key(merchant))
    for method, path, body in [
        ("GET", "", None),
        ("POST", "/cancel", {}),
        ("POST", "/destination", {"destination": "x"}),
    ]:
        replies = [
            client.call(method, f"/refunds/{public_id}{path}", json_body=body)
            for public_id in (refund.public_id, ids.REFUND.encode(ids.new_uuid()))
        ]
        assert [reply.status_code for reply in replies] == [404, 404]
        assert replies[0].json()["error"] | {"requestId": ""} == replies[1].json()["error"] | {"requestId": ""}
    assert fresh(refund).status == "requires_action"
    assert now(refund.payment).refunded == refund.amount
