"""The core at the wire: what is sent, tried again, signed, logged, and made of replies."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import pickle
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import ballast
import httpx
import pytest
from ballast import (
    ApiConnectionError,
    ApiStatusError,
    ApiTimeoutError,
    AppInfo,
    AsyncBallast,
    Ballast,
    BallastError,
    NotFoundError,
)  # fmt: skip
from ballast._core import signature_headers
from ballast._errors import ERRORS

KEYS = {"public_key": "pk_test_public", "secret_key": "sk_test_secret", "base_url": "https://pay.example.com"}
PAYMENT = {
    "id": "pay_1", "object": "payment", "status": "paid_in_gold", "amount": 25.5, "amountDue": "29.580000",
    "createdAt": "2027-01-31T09:30:00.000Z", "transfers": [{"status": "seen"}], "metadata": {"some_key": 1.10},
    "newField": {"a": 1},
}  # fmt: skip
Reply = httpx.Response | Exception


class Server:
    """Replies in turn, and keeps what it was asked."""

    def __init__(self, *replies: Reply) -> None:
        self.replies: Iterator[Reply] = iter(replies)
        self.requests: list[httpx.Request] = []
        self.waits: list[float] = []

    def handle(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        reply = next(self.replies)
        if isinstance(reply, Exception):
            raise reply
        return reply

    def client(self, **options: Any) -> Ballast:
        client = Ballast(**{**KEYS, **options}, http_client=httpx.Client(transport=httpx.MockTransport(self.handle)))
        for resource in (client.payments, client.webhooks, client.events, client.statements, client.merchant):
            resource._transport.sleep = self.waits.append
        return client

    @property
    def keys(self) -> list[str | None]:
        return [request.headers.get("Idempotency-Key") for request in self.requests]


def json_reply(status: int, body: Any, **headers: str) -> httpx.Response:
    return httpx.Response(status, json=body, headers={name.replace("_", "-"): text for name, text in headers.items()})


def error(status: int, code: str, type_: str = "api_error", **headers: str) -> httpx.Response:
    body = {"error": {"type": type_, "code": code, "message": "No.", "requestId": "req_1"}}
    return json_reply(status, body, **headers)


def page(ids: list[str], has_more: bool) -> httpx.Response:
    return json_reply(
        200, {"object": "list", "data": [{"id": one} for one in ids], "hasMore": has_more, "totalCount": 3}
    )


def create(client: Ballast, **options: Any) -> Any:
    return client.payments.create(amount="25.50", currency="EUR", **options)


def test_what_is_sent() -> None:
    server = Server(json_reply(201, PAYMENT))
    client = server.client(app_info=AppInfo("shop", "2.1", "https://shop.example.com"))
    payment = create(client, merchant_wallets={"polygon": "0x1"}, metadata={"an_order": Decimal("1.10")})
    request = server.requests[0]
    assert (request.method, str(request.url)) == ("POST", "https://pay.example.com/sandbox/v1/payments")
    assert request.content == (
        b'{"amount":25.50,"currency":"EUR","merchantWallets":{"polygon":"0x1"},"metadata":{"an_order":1.10}}'
    )
    assert request.headers["Authorization"] == "Bearer pk_test_public"
    assert request.headers["X-Api-Secret"] == "sk_test_secret"
    assert request.headers["User-Agent"].startswith(f"ballast-python/{ballast.__version__} python/3.")
    assert request.headers["User-Agent"].endswith(" shop/2.1 (https://shop.example.com)")
    assert len(server.keys[0] or "") == 36
    assert payment.id == "pay_1"


def test_what_comes_back() -> None:
    payment = create(Server(json_reply(201, PAYMENT)).client())
    assert (payment.amount, payment.amount_due, payment.status) == (Decimal("25.5"), "29.580000", "paid_in_gold")
    assert payment.created_at == datetime(2027, 1, 31, 9, 30, tzinfo=UTC)
    assert payment.transfers[0].status == "seen"
    assert payment.metadata == {"some_key": Decimal("1.1")}
    assert payment.raw["newField"] == {"a": 1}
    assert payment.network is None  # which this reply does not have


RETRIED = [
    error(409, "idempotency_key_in_use", "idempotency_error", Retry_After="2"),
    error(429, "rate_limit_exceeded", "rate_limit_error", Retry_After="2"),
    error(503, "service_unavailable", Retry_After="2"),
    httpx.Response(502, text="<html>Bad gateway</html>", headers={"Retry-After": "2"}),
]


@pytest.mark.parametrize("reply", RETRIED, ids=lambda reply: str(reply.status_code))
def test_what_is_tried_again(reply: httpx.Response) -> None:
    server = Server(reply, json_reply(201, PAYMENT))
    assert create(server.client()).id == "pay_1"
    assert server.waits == [2.0]
    assert server.keys[0] == server.keys[1] is not None
    assert server.requests[0].content == server.requests[1].content


NOT_RETRIED = [
    error(400, "missing_parameter", "invalid_request_error"),
    error(409, "another_conflict", "idempotency_error"),
    error(429, "too_many_bad_keys", "rate_limit_error", Retry_After="60"),
    error(500, "internal_error"),
    error(503, "service_unavailable", Retry_After="86400"),
]


@pytest.mark.parametrize("reply", NOT_RETRIED, ids=lambda reply: str(reply.status_code))
def test_what_is_not_tried_again(reply: httpx.Response) -> None:
    server = Server(reply)
    with pytest.raises(ApiStatusError) as caught:
        create(server.client())
    assert (len(server.requests), server.waits, caught.value.request_id) == (1, [], "req_1")


def test_connections_are_tried_again_and_waits_grow() -> None:
    server = Server(
        httpx.ConnectError("refused"),
        httpx.RemoteProtocolError("cut"),
        httpx.ReadTimeout("slow"),
        httpx.ReadTimeout("slow"),
    )
    with pytest.raises(ApiTimeoutError) as caught:
        create(server.client())
    assert isinstance(caught.value, ApiConnectionError)
    assert {caught.value.idempotency_key} == set(server.keys)
    for wait, longest in zip(server.waits, (0.5, 1.0, 2.0), strict=True):
        assert longest / 2 <= wait <= longest


def test_each_call_may_have_its_own_options() -> None:
    server = Server(httpx.ConnectError("refused"), json_reply(201, PAYMENT))
    with pytest.raises(ApiConnectionError):
        create(server.client(), max_retries=0)
    create(server.client(), idempotency_key="order-1", timeout=5, headers={"X-Request-Id": "mine-1234"})
    last = server.requests[-1]
    assert last.headers["Idempotency-Key"] == "order-1"
    assert last.headers["X-Request-Id"] == "mine-1234"
    assert last.extensions["timeout"]["read"] == 5


def test_a_header_of_the_callers_takes_the_place_of_ours() -> None:
    server = Server(json_reply(201, PAYMENT))
    create(server.client(), headers={"idempotency-key": "order-1"})
    assert server.requests[0].headers.get_list("Idempotency-Key") == ["order-1"]


def test_text_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="'25,50' is no number"):
        Server().client().payments.create(amount="25,50", currency="EUR")


@pytest.mark.parametrize("type_", [*ERRORS, "a_new_error"])
def test_errors_have_a_type(type_: str) -> None:
    body = {"error": {
        "type": type_, "code": "invalid_parameter", "message": "Wrong.", "param": "amount", "requestId": "req_9",
        "errors": [{"param": "amount", "code": "invalid_parameter", "message": "Wrong."}],
    }}  # fmt: skip
    with pytest.raises(BallastError) as caught:
        create(Server(json_reply(400, body)).client())
    found = caught.value
    assert isinstance(found, ApiStatusError)
    assert type(found) is ERRORS.get(type_, ApiStatusError)
    assert (found.status, found.code, found.param, found.request_id) == (400, "invalid_parameter", "amount", "req_9")
    assert [one.param for one in found.errors] == ["amount"]
    assert str(found) == "Wrong. (invalid_parameter, amount, req_9)"


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (error(404, "resource_missing", "not_found_error", X_Mark="7"), NotFoundError),
        (
            httpx.Response(500, content=gzip.compress(b"<html>"), headers={"Content-Encoding": "gzip", "X-Mark": "7"}),
            ApiStatusError,
        ),
        (httpx.ConnectError("refused"), ApiConnectionError),
    ],
    ids=["json", "compressed", "no reply"],
)
def test_an_error_reaches_another_process_without_keys(reply: Reply, kind: type[BallastError]) -> None:
    with pytest.raises(kind) as caught:
        create(Server(reply).client(max_retries=0))
    pickled = pickle.dumps(caught.value)
    assert b"sk_test_secret" not in pickled
    found, first = pickle.loads(pickled), caught.value  # noqa: S301 - its own
    assert (type(found), str(found)) == (type(first), str(first))
    if isinstance(first, ApiStatusError):
        assert (found.status, found.type, found.code, found.request_id) == (
            first.status, first.type, first.code, first.request_id
        )  # fmt: skip
        assert (found.response.headers["X-Mark"], found.response.content) == ("7", first.response.content)


def test_a_reply_of_something_else_is_an_error() -> None:
    with pytest.raises(ApiStatusError, match="HTTP 404 Not Found"):
        create(Server(httpx.Response(404, text="<html>")).client())
    with pytest.raises(ApiConnectionError, match="no JSON"):
        create(Server(httpx.Response(200, text="<html>")).client())
    with pytest.raises(ApiStatusError, match="HTTP 301"):
        create(Server(httpx.Response(301, headers={"Location": "https://elsewhere.example.com"})).client())


def test_lists_fetch_what_follows() -> None:
    server = Server(page(["pay_3", "pay_2"], True), page(["pay_1"], False))
    found = server.client().payments.list(status="completed", created_gte=datetime(2027, 1, 31, tzinfo=UTC), limit=2)
    assert (len(found.data), found.total_count) == (2, 3)
    assert [payment.id for payment in found] == ["pay_3", "pay_2", "pay_1"]
    first, second = (dict(request.url.params) for request in server.requests)
    assert first == {"status": "completed", "created_gte": "2027-01-31T00:00:00.000Z", "limit": "2"}
    assert second == {**first, "starting_after": "pay_2"}


def test_a_list_that_ends_before_a_record_goes_on_to_newer_ones() -> None:
    server = Server(page(["pay_2", "pay_1"], True), page(["pay_3"], False))
    found = server.client().payments.list(ending_before="pay_0")
    assert [payment.id for payment in found] == ["pay_2", "pay_1", "pay_3"]
    assert [dict(request.url.params) for request in server.requests] == [
        {"ending_before": "pay_0"}, {"ending_before": "pay_2", "limit": "100"},
    ]  # fmt: skip


def test_asyncio_has_the_same_methods() -> None:
    server = Server(
        error(503, "service_unavailable", Retry_After="0"), page(["pay_3", "pay_2"], True), page(["pay_1"], False),
        json_reply(200, PAYMENT), page(["pay_1"], False), page(["pay_1"], False),
    )  # fmt: skip

    async def walk() -> None:
        http = httpx.AsyncClient(transport=httpx.MockTransport(server.handle))
        async with AsyncBallast(**KEYS, http_client=http) as client:
            assert [payment.id async for payment in client.payments.list()] == ["pay_3", "pay_2", "pay_1"]
            assert (await client.payments.get("pay_1")).id == "pay_1"
            assert (await client.payments.list()).data[0].id == "pay_1"
            raw = await client.payments.with_raw_response.list()
            assert (raw.status, raw.parse().data[0].id) == (200, "pay_1")

    asyncio.run(walk())


def test_the_reply_itself() -> None:
    server = Server(json_reply(200, PAYMENT, X_Request_Id="req_7"), page(["pay_1"], False))
    client = server.client()
    raw = client.payments.with_raw_response.get("pay_1")
    assert (raw.status, raw.request_id, raw.parse().id) == (200, "req_7", "pay_1")
    assert client.payments.with_raw_response.list().parse().data[0].id == "pay_1"


def test_a_file_is_bytes() -> None:
    server = Server(httpx.Response(200, content=b"%PDF"))
    assert server.client().statements.download("2027-01", format="pdf") == b"%PDF"
    assert dict(server.requests[0].url.params) == {"format": "pdf"}


def test_null_is_sent_and_what_is_left_out_is_not() -> None:
    server = Server(json_reply(200, {}))
    server.client().merchant.update_settings(
        settlement_schedule={"frequency": "weekly", "minimum_amount": "10", "day_of_week": None}
    )
    assert json.loads(server.requests[0].content) == {
        "settlementSchedule": {"frequency": "weekly", "minimumAmount": "10", "dayOfWeek": None}
    }
    assert server.keys == [None]  # a PATCH sets a state, and takes no key


def test_requests_are_signed_anew_for_each_try() -> None:
    # docs/api/signing.md has the same example.
    headers = signature_headers(
        "sk_test_example", "POST", "/v1/payments", b'{"amount": 25, "currency": "EUR"}', 1795000000
    )
    assert headers["X-Service-Timestamp"] == "1795000000000"
    assert headers["X-Service-Signature"] == "2c7691fe28be615a8f2dbbb4ea8d2932713ef73277136c743617caa6a2e76be8"
    server = Server(error(503, "service_unavailable", Retry_After="0"), json_reply(200, PAYMENT))
    server.client(sign_requests=True).payments.get("pay_1")
    for request in server.requests:
        now = int(request.headers["X-Service-Timestamp"]) / 1000
        right = signature_headers("sk_test_secret", "GET", "/v1/payments/pay_1", b"", now)
        assert request.headers["X-Service-Signature"] == right["X-Service-Signature"]


def test_logs_have_neither_keys_nor_bodies(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server = Server(error(503, "service_unavailable", Retry_After="0"), json_reply(201, PAYMENT, X_Request_Id="req_7"))
    client = server.client(sign_requests=True)
    create(client, metadata={"name": "Ada"})
    text = caplog.text + repr(client)
    assert "POST /sandbox/v1/payments: 201 req_7 in" in text
    for secret in ("sk_test_secret", "Ada", server.requests[0].headers["X-Service-Signature"], str(server.keys[0])):
        assert secret not in text
    secret_of_a_webhook = (
        Server(json_reply(201, {"id": "whk_1", "secret": "whsec_1"}))
        .client()
        .webhooks.create(url="https://a.example.com")
    )
    assert secret_of_a_webhook.secret == "whsec_1"
    assert "whsec_1" not in repr(secret_of_a_webhook)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"public_key": ""}, "BALLAST_PUBLIC_KEY"),
        ({"public_key": "sk_test_secret"}, "the other half"),
        ({"secret_key": "pk_test_public"}, "the other half"),
        ({"secret_key": "sk_live_secret"}, "different environments"),
        ({"secret_key": "sk_test_secret\nBALLAST_X=1"}, "a line break"),
        ({"secret_key": "sk_test_secret\u00e9"}, "copy it again"),
        ({"base_url": "pay.example.com"}, "https://"),
        ({"base_url": None}, "BALLAST_URL"),
    ],
)
def test_a_wrong_set_up_is_said_at_once(options: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BALLAST_PUBLIC_KEY", "BALLAST_SECRET_KEY", "BALLAST_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match=words) as caught:
        Ballast(**{**KEYS, **options})
    assert "secret" not in str(caught.value).replace("secret_key", "").replace("SECRET_KEY", "")


@pytest.mark.parametrize(
    "url", ["https://pay.example.com/", "https://pay.example.com/sandbox/v1", "https://pay.example.com/v1/"]
)
def test_the_address_of_the_api_is_taken_too(url: str) -> None:
    server = Server(json_reply(200, PAYMENT), json_reply(200, PAYMENT))
    server.client(base_url=url).payments.get("pay/1")
    assert str(server.requests[0].url) == "https://pay.example.com/sandbox/v1/payments/pay%2F1"
    server.client(base_url=url, public_key="pk_live_a", secret_key="sk_live_b").payments.get("pay_1")
    assert str(server.requests[1].url) == "https://pay.example.com/v1/payments/pay_1"


def test_an_empty_id_is_no_list() -> None:
    with pytest.raises(ValueError, match="not empty"):
        Server().client().payments.get("")


@pytest.mark.parametrize("value", [float("nan"), Decimal("Infinity"), datetime(2027, 1, 31)])  # noqa: DTZ001
def test_what_json_cannot_say_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"no number|not JSON compliant|no time zone"):
        create(Server().client(), metadata={"value": value})
