"""The log of API requests: what leaves a row, that no secret is in it, and that no request pays for it."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import close_old_connections, connection, connections, transaction
from django.db.models.expressions import RawSQL
from django.utils import timezone
from pytest_django.fixtures import Settings

from config import ids
from config.process.logs import SECRET_NAME
from merchants.models import ApiKey, Merchant
from merchants.request_log import recording
from merchants.request_log.bodies import MOST_BYTES, beginning_of, kept_text
from merchants.request_log.models import LoggedRequest
from merchants.request_log.purging import purge
from merchants.services import IssuedKey, revoke_api_key
from tests.access.probe import effects
from tests.factories import api_client, key_headers, make_key, make_merchant

pytestmark = pytest.mark.django_db


def logged() -> list[LoggedRequest]:
    """What the log has, oldest first, once everything that waits is written."""
    recording.RECORDER.flush()
    return list(LoggedRequest.objects.order_by("pk"))


def test_a_request_is_kept_with_its_reply() -> None:
    key = make_key()
    reply = api_client(key).call(
        "POST",
        "/payments",
        json_body={"amount": 5},
        headers={**key_headers(key), "Idempotency-Key": "order 7", "X-Request-Id": "shop-000001"},
        REMOTE_ADDR="192.0.2.7",
    )
    api_client(key).call("GET", "/payments?limit=1")
    row, listed = logged()
    assert (listed.method, listed.path, listed.query) == ("GET", "/sandbox/v1/payments", "limit=1")
    assert (row.merchant_id, row.environment, row.public_key) == (key.key.merchant_id, "sandbox", key.key.public_key)
    assert (row.method, row.path, row.query) == ("POST", "/sandbox/v1/payments", "")
    assert (row.status, row.error_code, row.request_id) == (400, reply.json()["error"]["code"], "shop-000001")
    assert (row.idempotency_key, row.address) == ("order 7", "192.0.2.7")
    assert (json.loads(row.body), row.body_bytes) == ({"amount": 5}, 13)
    assert (json.loads(row.reply), row.reply_bytes) == (reply.json(), len(reply.content))
    assert abs(row.created_at - timezone.now()) < timedelta(minutes=5)


@pytest.mark.urls("tests.access.probe")
def test_what_is_rolled_back_is_logged_too() -> None:
    key = make_key()
    client = api_client(key)
    for fail in ("refuse", "crash"):
        client.call("POST", "/probe", json_body={"name": "never", "fail": fail})
    assert effects("never") == 0
    assert [(row.status, row.error_code) for row in logged()] == [
        (400, "invalid_parameter"),
        (500, "internal_error"),
    ]


def expired() -> IssuedKey:
    key = make_key()
    ApiKey.objects.filter(pk=key.key.pk).update(expires_at=timezone.now() - timedelta(days=1))
    return key


def deleted() -> IssuedKey:
    key = make_key()
    revoke_api_key(key=key.key)
    return key


def from_elsewhere() -> IssuedKey:
    return make_key(allowed_networks=["203.0.113.0/24"])


def unsigned() -> IssuedKey:
    return make_key(require_signature=True)


def narrow() -> IssuedKey:
    return make_key(scopes=["refunds:read"])


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (expired, "key_expired"),
        (deleted, "key_invalid"),
        (from_elsewhere, "ip_not_allowed"),
        (unsigned, "signature_missing"),
        (narrow, "insufficient_scope"),
    ],
)
def test_a_refusal_of_somebody_who_holds_the_secret_is_logged(make: Callable[[], IssuedKey], code: str) -> None:
    key = make()
    api_client(key).get("/sandbox/v1/payments")
    assert [(row.merchant_id, row.error_code) for row in logged()] == [(key.key.merchant_id, code)]


def test_who_does_not_hold_a_secret_leaves_no_row_with_anybody(settings: Settings) -> None:
    key, stranger = make_key(), make_key()
    for headers in (
        {},
        {"Authorization": f"Bearer {key.key.public_key}"},
        {"Authorization": f"Bearer {key.key.public_key}", "X-Api-Secret": stranger.secret},
        {"Authorization": "Bearer pk_test_nobody", "X-Api-Secret": key.secret},
    ):
        assert api_client().get("/sandbox/v1/payments", headers=headers).status_code == 401
    api_client(key).get("/docs/api")
    settings.REQUESTS_KEPT_DAYS = 0
    api_client(key).get("/sandbox/v1/payments")
    assert logged() == []


# --- secrets -----------------------------------------------------------------------------------------


def test_no_secret_is_in_any_column(db: None) -> None:
    key = make_key()
    client = api_client(key)
    made = client.call("POST", "/webhooks", json_body={"url": "https://shop.example/hook"})
    secret = made.json()["secret"]
    path = f"/webhooks/{made.json()['id']}/rotate"
    assert client.call("POST", f"{path}?token=hush-hush", json_body={}).status_code == 400
    rotated = client.call("POST", path, json_body={}, headers={**key_headers(key), "Idempotency-Key": key.secret})
    assert rotated.status_code == 200
    rows = logged()
    kept = json.dumps([list(map(str, LoggedRequest.objects.filter(pk=row.pk).values_list()[0])) for row in rows])
    for hidden in (secret, rotated.json()["secret"], key.secret, "hush-hush"):
        assert hidden not in kept
    assert json.loads(rows[0].reply)["secret"] == "[redacted]"
    assert json.loads(rows[0].reply)["url"] == "https://shop.example/hook"


HUSH = "hush-hush-0123"


@pytest.mark.parametrize(
    "body",
    [
        {"password": HUSH},
        {"metadata": {"customerToken": HUSH, "nested": [{"api_key": HUSH}]}},
        {"credentials": {"a": {"b": HUSH}}},
        {"client-secret of 2027": HUSH},
        {"note": f"sk_test_{HUSH}"},
        {"note": "Authorization: Bearer " + HUSH},
        {"url": f"https://me:{HUSH}@shop.example/"},
    ],
    ids=str,
)
@pytest.mark.parametrize("form", ["whole", "broken", "cut", "quoted otherwise"])
def test_a_secret_is_left_out_however_the_body_is_written(body: dict[str, Any], form: str) -> None:
    text = json.dumps(body)
    if form == "broken":
        text = text[:-1]
    elif form == "cut":
        text = text[:-1] + ', "more": "' + "x" * MOST_BYTES + '"}'
    elif form == "quoted otherwise":
        text = text.replace('"', "'")
    kept = kept_text(beginning_of(text.encode()))
    assert HUSH not in kept
    assert "[redacted]" in kept


def test_every_name_that_the_logs_know_is_known_here() -> None:
    """Most bodies are not searched at all: what is in none of them may not be in a name of a secret."""
    for alternative in SECRET_NAME.pattern.split("|"):
        for name in (alternative.replace("[sz]", "s"), alternative.replace("[sz]", "z")):
            name = re.sub(r"\(\?!.*?\)", "", name)
            for spelled in {name.replace("_?", "_"), name.replace("_?", ""), name.replace("_?", "").title()}:
                assert SECRET_NAME.search(spelled), spelled
                assert HUSH not in kept_text(json.dumps({spelled: HUSH}).encode()), spelled
                assert HUSH not in kept_text(f"{spelled}={HUSH}".encode()), spelled


def test_a_secret_at_the_cut_is_left_out_with_its_beginning() -> None:
    for inside in range(1, 12):
        text = '{"a": "' + "x" * (MOST_BYTES - 7 - len('", "whole_secret": "') - inside)
        text += f'", "whole_secret": "{HUSH}"}}'
        assert "hush"[:inside] not in kept_text(beginning_of(text.encode()))[-inside - 5 :]


def test_a_body_is_cut_and_holds_no_picture() -> None:
    image = "data:image/png;base64," + "iVBORw0KGgo" * 2_000
    body = json.dumps({"id": "pay_1", "qrCode": image, "tokenFee": "0.10", "amount": 19.990}).encode()
    assert json.loads(kept_text(beginning_of(body))) == {
        "id": "pay_1", "qrCode": "data:image", "tokenFee": "0.10", "amount": 19.99,
    }  # fmt: skip
    assert len(kept_text(beginning_of(b"y" * 300_000))) == MOST_BYTES
    as_sent = b'{"a" : 1.50,\n "b": null}'
    assert kept_text(beginning_of(as_sent)).encode() == as_sent
    assert kept_text(beginning_of(b'{"a": "\x00\xff"}')) == '{"a": "\ufffd\ufffd"}'
    assert kept_text(beginning_of(rb'{"a": "\ud800"}')) == r'{"a": "\ud800"}'


# --- what it costs others ----------------------------------------------------------------------------


def entry(merchant: Merchant) -> recording.Entry:
    return recording.Entry(
        id=ids.new_uuid(), merchant_id=merchant.pk, environment="sandbox", public_key="pk_test_1", request_id="req_1",
        method="GET", path="/sandbox/v1/payments", query="", idempotency_key="", address=None, status=200,
        duration_milliseconds=3, body=b"", body_bytes=0, reply=b"{}", reply_bytes=2,
    )  # fmt: skip


def test_whatever_is_in_an_entry_is_written_as_it_is() -> None:
    """COPY has signs of its own."""
    merchant = make_merchant()
    odd = ['"', "\\", '\\"', "\\N", "\\.", "{a}", "NULL", " a ", "", "'", "%s", "\n\t\r", "é\U0001f600", "'; --"]
    recording.write([entry(merchant)._replace(path=text, reply=text.encode()) for text in odd])
    written = LoggedRequest.objects.values_list("path", "reply", "address")
    assert sorted(written) == sorted((text, text, None) for text in odd)


@pytest.mark.django_db(transaction=True)
def test_a_request_writes_nothing_itself() -> None:
    client = api_client(make_key())
    client.get("/sandbox/v1/payments")
    client.get("/sandbox/v1/payments")
    assert not LoggedRequest.objects.exists()
    assert recording.RECORDER.flush() == 2
    transactions = LoggedRequest.objects.annotate(by=RawSQL("xmin::text", [])).values_list("by", flat=True)
    assert len(transactions) == 2
    assert len(set(transactions)) == 1, "both by one statement"


@pytest.mark.django_db(transaction=True)
def test_a_log_that_cannot_be_written_fails_nothing_and_goes_on_later(caplog: pytest.LogCaptureFixture) -> None:
    client = api_client(make_key())
    assert client.get("/sandbox/v1/payments").status_code == 200
    (other := connection.copy()).cursor().execute(
        "SELECT pg_terminate_backend(%s)", [connection.connection.info.backend_pid]
    )
    other.close()
    with caplog.at_level(logging.ERROR):
        recording.RECORDER.flush()
    assert "requests_not_logged" in caplog.text
    assert connection.errors_occurred, "so the next look at it finds that it is lost"
    close_old_connections()
    assert logged() == []
    assert client.get("/sandbox/v1/payments").status_code == 200
    recording.RECORDER.flush()
    assert len(logged()) == 1


def test_more_than_can_wait_is_dropped() -> None:
    recorder, merchant = recording.Recorder(most_waiting=2), make_merchant()
    for _ in range(5):
        recorder.add(entry(merchant))
    assert recorder.flush() == 2


@pytest.mark.django_db(transaction=True)
def test_the_thread_writes_and_ends() -> None:
    recorder, merchant = recording.Recorder(), make_merchant()
    recorder.start()
    for _ in range(recording.BATCH + 1):
        recorder.add(entry(merchant))
    recorder.end()
    assert LoggedRequest.objects.filter(merchant=merchant).count() == recording.BATCH + 1


@pytest.mark.django_db(transaction=True)
def test_a_locked_merchant_holds_nothing_up() -> None:
    """With a foreign key in the database it would: inserting takes a lock of the row that it points to."""
    merchant = make_merchant()
    other = connections["default"].copy()
    try:
        with other.cursor() as cursor:
            other.set_autocommit(False)
            cursor.execute("SELECT 1 FROM merchants_merchant WHERE id = %s FOR UPDATE", [merchant.pk])
            with transaction.atomic(), connection.cursor() as own:
                own.execute("SET LOCAL lock_timeout = '200ms'")
                recording.write([entry(merchant)])
                assert LoggedRequest.objects.filter(merchant=merchant).count() == 1
    finally:
        other.rollback()
        other.close()


def test_without_a_log_all_that_is_left_goes(settings: Settings) -> None:
    recording.write([entry(make_merchant())])
    settings.REQUESTS_KEPT_DAYS = 0
    assert purge(now=timezone.now() + timedelta(seconds=1)) == 1
