"""Real threads on a real PostgreSQL: one effect per key, whoever comes first."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from django.db import connection, transaction

from config.environments import Environment
from merchants.access import idempotency
from merchants.models import ApiKey, IdempotencyRecord, Merchant, Plan
from merchants.services import IssuedKey, change_plan
from tests.factories import api_client, make_key, make_merchant

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls("tests.access.probe")]


@pytest.fixture
def issued() -> IssuedKey:
    merchant = make_merchant()
    change_plan(merchant=merchant, plan=Plan.ENTERPRISE, requests_per_minute=1_000_000)
    return make_key(merchant, Environment.PRODUCTION)


def send_until_done(issued: IssuedKey, key: str, body: bytes) -> tuple[Any, int]:
    """The reply other than "still running", and how often it was still running."""
    client, waits = api_client(issued), 0
    while True:
        reply = client.call("POST", "/probe", data=body, headers={"Idempotency-Key": key})
        if reply.status_code != 409:
            return reply, waits
        assert reply.json()["error"]["code"] == "idempotency_key_in_use"
        assert reply.headers["Retry-After"] == "1"
        waits += 1
        time.sleep(0.002)


def race(issued: IssuedKey, *, keys: int, threads: int) -> tuple[dict[str, set[bytes]], int]:
    """Every thread sends every key, all of them at the same moment; the distinct replies and the waits."""
    start = threading.Barrier(threads)
    replies: dict[str, set[bytes]] = {f"key-{number}": set() for number in range(keys)}
    waits: list[int] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            for key, seen in replies.items():
                start.wait(timeout=300)
                reply, waited = send_until_done(issued, key, f'{{"name": "{key}"}}'.encode())
                assert reply.status_code == 201, reply.content
                seen.add(reply.content)
                waits.append(waited)
        except BaseException as failure:
            failures.append(failure)
            start.abort()
        finally:
            connection.close()

    workers = [threading.Thread(target=run) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures, failures[0]
    return replies, sum(waits)


def made() -> int:
    return ApiKey.objects.filter(name__startswith="key-").count()


@pytest.mark.slow
def test_50_keys_sent_20_times_in_parallel_have_50_effects(issued: IssuedKey) -> None:
    replies, waits = race(issued, keys=50, threads=20)
    assert made() == 50
    assert all(len(seen) == 1 for seen in replies.values()), "every sender got the same bytes"
    assert IdempotencyRecord.objects.count() == 50
    assert waits > 0, "some were answered while the first was still running"


@pytest.fixture
def guard_off(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What everybody writes first: look whether the key is there, and insert it when it is not."""

    def look_then_insert(
        *,
        merchant: Merchant,
        environment: Environment,
        key: str,
        digest: bytes,
        exact: bytes | None = None,
        now: datetime | None = None,
    ) -> idempotency.AcquiredKey | idempotency.StoredReply:
        found = IdempotencyRecord.objects.filter(merchant=merchant, environment=environment, key=key).first()
        if found is not None:
            return idempotency.StoredReply(status=found.status or 0, body=bytes(found.body or b""))
        record = IdempotencyRecord.objects.create(
            merchant=merchant, environment=environment, key=key, request_digest=digest
        )
        return idempotency.AcquiredKey(record_id=record.pk)

    monkeypatch.setattr(idempotency, "acquire", look_then_insert)
    table = IdempotencyRecord._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT idempotency_key_once")
    yield
    IdempotencyRecord.objects.all().delete()
    with connection.cursor() as cursor:
        cursor.execute(
            f"ALTER TABLE {table} ADD CONSTRAINT idempotency_key_once UNIQUE (merchant_id, environment, key)"
        )


@pytest.mark.slow
def test_the_same_race_with_the_guard_off_does_work_twice(issued: IssuedKey, guard_off: None) -> None:
    race(issued, keys=20, threads=20)
    assert made() > 20


def test_a_second_request_is_answered_at_once_while_the_first_still_runs(issued: IssuedKey) -> None:
    digest = hashlib.sha256(b"whatever").digest()
    merchant, environment = issued.key.merchant, Environment.PRODUCTION
    replies: list[int] = []

    def second() -> None:
        reply = api_client(issued).call(
            "POST", "/probe", json_body={"name": "key-second"}, headers={"Idempotency-Key": "slow"}
        )
        replies.append(reply.status_code)
        connection.close()

    with transaction.atomic():
        acquired = idempotency.acquire(merchant=merchant, environment=environment, key="slow", digest=digest)
        assert isinstance(acquired, idempotency.AcquiredKey)
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(timeout=120)
        assert replies == [409], "it has not waited for the first"
        idempotency.store(acquired, status=201, body=b"{}")
    assert made() == 0


def test_a_key_is_free_again_when_its_first_request_was_rolled_back(issued: IssuedKey) -> None:
    merchant, environment = issued.key.merchant, Environment.PRODUCTION
    with transaction.atomic():
        idempotency.acquire(merchant=merchant, environment=environment, key="key-1", digest=bytes(32))
        transaction.set_rollback(True)
    reply, waits = send_until_done(issued, "key-1", b'{"name": "key-1"}')
    assert (reply.status_code, waits, made()) == (201, 0, 1)
