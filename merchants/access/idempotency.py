"""`Idempotency-Key`: a POST sent twice is done once, and gets the same reply twice, byte for byte.

The record is committed together with the work, so neither exists without the other. Refusals leave no record: the
request may be corrected and sent again with its key.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from django.db import connection
from django.http import HttpRequest
from django.utils import timezone

from config.api.parsers import MAX_NUMBER_CHARACTERS, MAX_NUMBER_MAGNITUDE
from config.database.purging import delete_in_batches
from config.environments import Environment
from config.errors import DomainError
from merchants.models import IdempotencyRecord, Merchant

KEPT_FOR: Final = timedelta(hours=72)
RETRY_AFTER_SECONDS: Final = 1
# A string without an end is taken to the end of the body: looked for again at each quote in it, it took minutes.
_STRING_OR_NUMBER: Final = re.compile(
    rb'"(?:[^"\\]|\\.)*"?|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,9})?', re.DOTALL
)
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
class AcquiredKey:
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
    """Digest by which two requests are the same: method, path and body, whose numbers are taken at their worth: 10 is
    10.00."""
    return _digest(request, _STRING_OR_NUMBER.sub(_plain_number, request.body))


def exact_digest(request: HttpRequest) -> bytes:
    """Digest stored by versions before `request_digest`: that of the raw bytes. Records are kept for 72 hours."""
    return _digest(request, request.body)


def _digest(request: HttpRequest, body: bytes) -> bytes:
    return hashlib.sha256(f"{request.method} {request.get_full_path()}\n".encode() + body).digest()


def _plain_number(found: re.Match[bytes]) -> bytes:
    """A JSON number without an exponent and without zeros at its end; anything else as it is."""
    text = found[0]
    if text.startswith(b'"') or len(text) > MAX_NUMBER_CHARACTERS:
        return text
    number = Decimal(text.decode())
    if not number:
        return b"0"
    if abs(number.adjusted()) > MAX_NUMBER_MAGNITUDE:  # the parser refuses it
        return text
    plain = f"{number:f}"
    return (plain.rstrip("0").rstrip(".") if "." in plain else plain).encode()


# One statement decides. The advisory lock, held by the request at work on this key, makes a second one return at once
# instead of waiting for the first to commit; the unique constraint makes it impossible to do the work twice.
_ACQUIRE: Final = f"""
    INSERT INTO {IdempotencyRecord._meta.db_table} (merchant_id, environment, key, request_digest, created_at)
    SELECT %s, %s, %s, %s, %s WHERE pg_try_advisory_xact_lock(%s)
    ON CONFLICT DO NOTHING
    RETURNING id
"""


def acquire(
    *,
    merchant: Merchant,
    environment: Environment,
    key: str,
    digest: bytes,
    exact: bytes | None = None,
    now: datetime | None = None,
) -> AcquiredKey | StoredReply:
    """Inside the request's database transaction: the right to do the work, or the stored reply if it is done.

    The request is the same as the one that was stored with `digest`, or with `exact` where that is given.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            _ACQUIRE,
            [merchant.pk, environment, key, digest, now or timezone.now(), _lock_number(merchant, environment, key)],
        )
        row = cursor.fetchone()
    if row is not None:
        return AcquiredKey(record_id=row[0])
    record = (
        IdempotencyRecord.objects.filter(merchant=merchant, environment=environment, key=key)
        .values_list("request_digest", "status", "body")
        .first()
    )
    if record is None:  # the other request has not committed yet
        raise IdempotencyKeyInUse(retry_after_seconds=RETRY_AFTER_SECONDS)
    stored_digest, status, body = record
    if bytes(stored_digest) not in (digest, exact):
        raise IdempotencyKeyReused
    if status is None or body is None:
        raise RuntimeError("an idempotency record was committed without its reply")
    return StoredReply(status=status, body=bytes(body))


def store(acquired: AcquiredKey, *, status: int, body: bytes) -> None:
    IdempotencyRecord.objects.filter(pk=acquired.record_id).update(status=status, body=body)


def purge(*, now: datetime) -> int:
    """Deletes the records that are too old; returns how many."""
    return delete_in_batches(IdempotencyRecord.objects.filter(created_at__lt=now - KEPT_FOR))


def _lock_number(merchant: Merchant, environment: Environment, key: str) -> int:
    name = f"idempotency {merchant.pk} {environment} {key}".encode()
    return int.from_bytes(hashlib.sha256(name).digest()[:8], "big", signed=True)
