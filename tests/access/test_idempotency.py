"""A POST sent twice is done once and answered twice with the same bytes."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from config.api.parsers import MAX_BODY_BYTES
from config.environments import Environment
from merchants.access import idempotency
from merchants.models import IdempotencyRecord
from merchants.tasks import purge_idempotency
from tests.access.probe import effects
from tests.factories import ApiClient, api_client, make_key, make_merchant

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.access.probe")]

BODY = b'{"name": "Once"}'


@pytest.fixture
def client() -> ApiClient:
    return api_client(make_key())


def send(client: ApiClient, key: str | None, body: bytes = BODY, *, method: str = "POST", path: str = "/probe") -> Any:
    headers = {} if key is None else {"Idempotency-Key": key}
    return client.call(method, path, data=body, headers=headers)


def code(reply: Any) -> tuple[int, str, str]:
    error = reply.json()["error"]
    return reply.status_code, error["type"], error["code"]


def test_a_replay_answers_with_the_stored_status_and_bytes(client: ApiClient) -> None:
    first, second = send(client, "order-1"), send(client, "order-1")
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.content == second.content
    assert second.headers["Content-Type"] == "application/json"
    assert "Idempotent-Replayed" not in first.headers
    assert second.headers["Idempotent-Replayed"] == "true"
    assert second.headers["X-Request-Id"] != first.headers["X-Request-Id"]
    assert effects("Once") == 1


def test_another_pair_of_the_same_merchant_gets_the_same_reply() -> None:
    merchant = make_merchant()
    first = send(api_client(make_key(merchant)), "order-1")
    second = send(api_client(make_key(merchant)), "order-1")
    assert first.content == second.content
    assert effects("Once") == 1


def test_without_a_key_every_request_is_done(client: ApiClient) -> None:
    send(client, None)
    send(client, None)
    assert effects("Once") == 2
    assert not IdempotencyRecord.objects.exists()


def test_other_keys_merchants_and_environments_do_not_meet() -> None:
    merchant = make_merchant()
    live = api_client(make_key(merchant, Environment.PRODUCTION))
    for client, key in (
        (api_client(make_key(merchant)), "order-1"),
        (api_client(make_key(merchant)), "order-2"),
        (api_client(make_key(merchant)), "ORDER-1"),
        (live, "order-1"),
        (api_client(make_key()), "order-1"),
    ):
        assert "Idempotent-Replayed" not in send(client, key).headers
    assert effects("Once") == 5


@pytest.mark.parametrize(
    ("one", "same"),
    [
        (b"10", b"10.00"),
        (b"10.00", b"10"),
        (b"1e2", b"100.0"),
        (b"0.10", b"0.1"),
        (b"-0.0", b"0"),
        (b"[1, 2.50]", b"[1.0, 2.5]"),
    ],
)
def test_a_number_written_otherwise_is_the_same_request(client: ApiClient, one: bytes, same: bytes) -> None:
    first = send(client, "order-1", b'{"name": "Once", "amount": %s}' % one)
    second = send(client, "order-1", b'{"name": "Once", "amount": %s}' % same)
    assert (first.status_code, first.content) == (second.status_code, second.content) == (201, first.content)
    assert effects("Once") == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b"10", b"10.01"),
        (b"10", b'"10"'),
        (b'"10"', b'"10.00"'),
        (b'"a \\" 10"', b'"a \\" 10.0"'),
        (b"1000000000000000000000000000001", b"1000000000000000000000000000002"),
        (b"[1, 25]", b"[12, 5]"),
    ],
)
def test_another_number_or_text_is_another_request(client: ApiClient, one: bytes, other: bytes) -> None:
    assert send(client, "order-1", b'{"name": "Once", "amount": %s}' % one).status_code == 201
    refused = send(client, "order-1", b'{"name": "Once", "amount": %s}' % other)
    assert code(refused) == (400, "idempotency_error", "idempotency_key_reused")
    assert effects("Once") == 1


def test_a_text_without_an_end_is_read_once(client: ApiClient) -> None:
    """Read again from each quote in it, the largest body that is taken would hold a worker for minutes."""
    assert send(client, "order-1", b'"' + b'\\"' * (MAX_BODY_BYTES // 2 - 1)).status_code == 400


def test_a_record_of_an_earlier_version_is_still_found(client: ApiClient) -> None:
    body = b'{"name": "Once", "amount": 10.00}'
    first = send(client, "order-1", body)
    record = IdempotencyRecord.objects.get()
    record.request_digest = hashlib.sha256(b"POST /sandbox/v1/probe\n" + body).digest()
    record.save(update_fields=["request_digest"])
    assert send(client, "order-1", body).content == first.content
    assert effects("Once") == 1


@pytest.mark.parametrize("other", [b'{"name":"Once"}', b'{"name": "Twice"}', b"{}", b""])
def test_another_body_under_the_same_key_is_refused(client: ApiClient, other: bytes) -> None:
    send(client, "order-1")
    assert code(send(client, "order-1", other)) == (400, "idempotency_error", "idempotency_key_reused")
    assert (effects("Once"), effects("Twice")) == (1, 0)


def test_another_query_under_the_same_key_is_refused(client: ApiClient) -> None:
    send(client, "order-1")
    assert code(send(client, "order-1", path="/probe?x=1")) == (400, "idempotency_error", "idempotency_key_reused")


@pytest.mark.parametrize("key", ["", " ", " x", "x ", "a" * 256, "tab\there", "ümlaut", "nul\0", "del\x7f"])
def test_a_key_that_is_not_printable_ascii_is_refused(client: ApiClient, key: str) -> None:
    assert code(send(client, key)) == (400, "idempotency_error", "idempotency_key_invalid")
    assert effects("Once") == 0


@pytest.mark.parametrize("key", ["a", "a" * 255, "with space", "~!@#$%^&*()", "8f14e45f-ceea-467f-a8d2-3c4a3a3a3a3a"])
def test_a_key_of_printable_ascii_is_taken(client: ApiClient, key: str) -> None:
    assert [send(client, key).status_code for _ in range(2)] == [201, 201]
    assert effects("Once") == 1


def test_a_refusal_leaves_neither_work_nor_record_so_the_key_can_be_used_again(client: ApiClient) -> None:
    refused = send(client, "order-1", b'{"name": "Once", "fail": "refuse"}')
    assert code(refused) == (400, "invalid_request_error", "invalid_parameter")
    assert not IdempotencyRecord.objects.exists()
    assert send(client, "order-1").status_code == 201
    assert effects("Once") == 1


@pytest.mark.parametrize("fail", ["crash", "render"])
@pytest.mark.parametrize("key", [None, "order-1"])
def test_a_crash_leaves_neither_work_nor_record(client: ApiClient, fail: str, key: str | None) -> None:
    reply = send(client, key, f'{{"name": "Once", "fail": "{fail}"}}'.encode())
    assert code(reply) == (500, "api_error", "internal_error")
    assert effects("Once") == 0
    assert not IdempotencyRecord.objects.exists()


@pytest.mark.parametrize("fail", ["refuse", "crash", "render"])
def test_a_write_that_is_no_post_is_rolled_back_too(client: ApiClient, fail: str) -> None:
    reply = send(client, None, f'{{"name": "Once", "fail": "{fail}"}}'.encode(), method="PATCH")
    assert reply.status_code in {400, 500}
    assert effects("Once") == 0


def test_a_key_on_another_method_means_nothing(client: ApiClient) -> None:
    for _ in range(2):
        assert send(client, "order-1", method="PATCH").status_code == 201
    assert effects("Once") == 2
    assert client.call("GET", "/probe", headers={"Idempotency-Key": ""}).status_code == 200


def test_a_refused_key_or_scope_stores_nothing() -> None:
    reader = api_client(make_key(scopes=["payments:read"]))
    assert send(reader, "order-1").status_code == 403
    assert send(api_client(), "order-1").status_code == 401
    assert not IdempotencyRecord.objects.exists()


def test_it_costs_no_statement_without_the_header_and_two_with_it(
    client: ApiClient, django_assert_num_queries: Any
) -> None:
    send(client, None)
    with django_assert_num_queries(4):  # the key, the savepoint that stands for BEGIN and COMMIT, the work
        send(client, None)
    with django_assert_num_queries(6):
        send(client, "order-1")


class TestKeeping:
    def test_a_reply_is_kept_for_72_hours(self, client: ApiClient) -> None:
        send(client, "order-1")
        created_at = IdempotencyRecord.objects.get().created_at
        assert idempotency.purge(now=created_at + timedelta(hours=72)) == 0
        assert idempotency.purge(now=created_at + timedelta(hours=72, seconds=1)) == 1
        assert "Idempotent-Replayed" not in send(client, "order-1").headers
        assert effects("Once") == 2

    def test_the_task_purges(self, client: ApiClient) -> None:
        send(client, "old")
        IdempotencyRecord.objects.update(created_at=timezone.now() - timedelta(hours=73))
        send(client, "new")
        purge_idempotency()
        assert list(IdempotencyRecord.objects.values_list("key", flat=True)) == ["new"]


def test_a_record_without_its_reply_is_a_bug_that_shows(client: ApiClient) -> None:
    send(client, "order-1")
    IdempotencyRecord.objects.update(status=None)
    assert code(send(client, "order-1")) == (500, "api_error", "internal_error")
