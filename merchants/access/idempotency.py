"""`Idempotency-Key`: a POST sent twice is done once, and answered twice with the same bytes.

The record commits together with the work it answers for, so there is no moment in which one exists
without the other. Refusals leave no record: the request may be corrected and sent again with its key.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import connection
from django.http import HttpRequest
from django.utils import timezone

from config.environments import Environment
from config.errors import DomainError
from config.purging import delete_in_batches
from merchants.models import IdempotencyRecord, Merchant

KEPT_FOR: Final = timedelta(hours=72)
RETRY_AFTER_SECONDS: Final = 1
_KEY: Final = re.compile(r"[\x21-\x7e]([\x20-\x7e]{0,253}[\x21-\x7e])?")


class IdempotencyError(DomainError):
    type = "idempotency_error"


class IdempotencyKeyInvalid(IdempotencyError):
    code = "idempotency_key_invalid"
    message = "Idempotency-Key must have 1 to 255 printable ASCII characters."


class IdempotencyKeyReused(IdempotencyError):
    code = "idempotency_key_reused"
    message = "This Idempotency-Key was used for another request. Use a new key for a new request."


class IdempotencyKeyInUse(IdempotencyError):
    code = "idempotency_key_in_use"
    status = 409
    message = "The request that first used this Idempotency-Key is still running. Send this one again shortly."


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to do the work for a key, held until the database transaction ends."""

    record_id: int


@dataclass(frozen=True, slots=True)
class StoredReply:
    status: int
    body: bytes


def key_of(request: HttpRequest) -> str | None:
    """The Idempotency-Key of a request, None when it has none."""
    key: str | None = request.META.get("HTTP_IDEMPOTENCY_KEY")
    if key is not None and not _KEY.fullmatch(key):
        raise IdempotencyKeyInvalid
    return key


def request_digest(request: HttpRequest) -> bytes:
    """What makes two requests the same: method, path and the raw bytes of the body."""
    heading = f"{request.method} {request.get_full_path()}\n".encode()
    return hashlib.sha256(heading + request.body).digest()


# One statement decides. The advisory lock, held by whoever works on this key, makes a second request answer at once
# instead of waiting for the first to commit; the unique constraint makes it impossible to do the work twice.
_CLAIM: Final = f"""
    INSERT INTO {IdempotencyRecord._meta.db_table} (merchant_id, environment, key, request_digest, created_at)
    SELECT %s, %s, %s, %s, %s WHERE pg_try_advisory_xact_lock(%s)
    ON CONFLICT DO NOTHING
    RETURNING id
"""


def claim(
    *, merchant: Merchant, environment: Environment, key: str, digest: bytes, now: datetime | None = None
) -> Claim | StoredReply:
    """Inside the request's database transaction: the right to do the work, or the reply of when it was done."""
    with connection.cursor() as cursor:
        cursor.execute(
            _CLAIM,
            [merchant.pk, environment, key, digest, now or timezone.now(), _lock_number(merchant, environment, key)],
        )
        row = cursor.fetchone()
    if row is not None:
        return Claim(record_id=row[0])
    record = (
        IdempotencyRecord.objects.filter(merchant=merchant, environment=environment, key=key)
        .values_list("request_digest", "status", "body")
        .first()
    )
    if record is None:  # its transaction has not committed, so nobody else may see it yet
        raise IdempotencyKeyInUse(retry_after_seconds=RETRY_AFTER_SECONDS)
    stored_digest, status, body = record
    if bytes(stored_digest) != digest:
        raise IdempotencyKeyReused
    if status is None or body is None:
        raise RuntimeError("an idempotency record was committed without its reply")
    return StoredReply(status=status, body=bytes(body))


def store(claimed: Claim, *, status: int, body: bytes) -> None:
    IdempotencyRecord.objects.filter(pk=claimed.record_id).update(status=status, body=body)


def purge(*, now: datetime) -> int:
    """Drops the records that are past their time; answers how many."""
    return delete_in_batches(IdempotencyRecord.objects.filter(created_at__lt=now - KEPT_FOR))


def _lock_number(merchant: Merchant, environment: Environment, key: str) -> int:
    name = f"idempotency {merchant.pk} {environment} {key}".encode()
    return int.from_bytes(hashlib.sha256(name).digest()[:8], "big", signed=True)
