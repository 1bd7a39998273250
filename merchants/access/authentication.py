"""Authenticates requests: `Authorization: Bearer <public key>` and `X-Api-Secret: <secret key>`, and nothing else."""

from __future__ import annotations

import hashlib
import time
from datetime import datetime, timedelta
from typing import Any, Final

from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.http import HttpRequest
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from config.database import prepared
from config.database.purging import delete_in_batches
from config.environments import Environment
from merchants.access import attempts, key_format, keys, signing
from merchants.access.addresses import IPAddress, client_address, guesser, is_within
from merchants.access.errors import AuthenticationRefused, PermissionRefused, TooManyRequests
from merchants.models import ApiKey, AttemptCount, Merchant, SeenSignature

KEY_OF_REQUEST: Final = "ballast.api_key"
"""The key of `HttpRequest.META` under which the ApiKey is left whose secret the caller has proved to hold."""

_MAX_HEADER_CHARACTERS: Final = 200
_USE_IS_NOTED_EVERY: Final = timedelta(minutes=1)
_SIGNATURES_KEPT_FOR: Final = timedelta(minutes=15)  # a timestamp may be 5 minutes ahead and is good for 5 more


class KeyMissing(AuthenticationRefused):
    code = "key_missing"
    message = "Send your public key as Authorization: Bearer pk_… and your secret key as X-Api-Secret: sk_…."


class KeyInvalid(AuthenticationRefused):
    """Unknown, deleted, or not with this secret: the error is the same, so that the caller does not learn which."""

    code = "key_invalid"
    message = "This key pair does not exist."


class KeyExpired(AuthenticationRefused):
    code = "key_expired"
    message = "This key pair has expired."


class KeyWrongEnvironment(AuthenticationRefused):
    code = "key_wrong_environment"
    message = "Test keys (pk_test_) act in the sandbox only, live keys (pk_live_) in production only."


class AddressNotAllowed(PermissionRefused):
    code = "ip_not_allowed"
    message = "This key pair may not be used from your IP address."


class MerchantInactive(PermissionRefused):
    code = "merchant_inactive"
    message = "This merchant is suspended."


class TooManyBadKeys(TooManyRequests):
    code = "too_many_bad_keys"
    message = "Too many requests with wrong keys."


class KeyAuthentication(BaseAuthentication):
    """Sets `request.auth` to the ApiKey, with its merchant loaded. Cookies are ignored."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, ApiKey]:
        environment = Environment(request.parser_context["kwargs"]["environment"])
        return AnonymousUser(), authenticate(request._request, environment)


def authenticate(request: HttpRequest, environment: Environment) -> ApiKey:
    """The key behind a request, with its merchant loaded, by one database query."""
    public_key, secret = _presented(request)
    if keys.environment_of(public_key) not in {environment, None}:
        raise KeyWrongEnvironment
    address = client_address(request)
    guessed_by = f"key from {guesser(address)}"
    now = timezone.now()
    key, wait = _find_key(public_key, guessed_by, now)
    if not keys.secret_matches(key, secret) or key is None:
        # Only wrong keys have to wait: many clients share an address, and a right one must not wait for the others.
        if wait:
            raise TooManyBadKeys(retry_after_seconds=wait)
        _count_wrong_guess(public_key, guessed_by, now)
        raise KeyInvalid
    # From here on the caller has proved to hold the secret, so an exact error reveals nothing, and an old
    # job that still runs with a deleted key does not count as somebody guessing.
    request.META[KEY_OF_REQUEST] = key
    if key.revoked_at is not None:
        raise KeyInvalid
    if key.environment != environment:
        raise KeyWrongEnvironment
    if (ends_at := key.ends_at) is not None and ends_at <= now:
        raise KeyExpired
    if key.allowed_networks and not is_within(address, key.allowed_networks):
        raise AddressNotAllowed
    if not key.merchant.is_active:
        raise MerchantInactive
    _check_signature(request, key, secret)
    keys.bring_under_pepper(key, secret)
    _note_use(key, address, now)
    return key


def _presented(request: HttpRequest) -> tuple[str, str]:
    given: str = request.META.get("HTTP_AUTHORIZATION", "")
    secret: str = request.META.get("HTTP_X_API_SECRET", "")
    scheme, _, public_key = given.partition(" ")
    public_key = public_key.strip()
    if problem := key_format.problem_of(given, secret, random_characters=keys.RANDOM_CHARACTERS):
        raise KeyInvalid(problem)
    if scheme.lower() != "bearer" or not public_key or not secret:
        raise KeyMissing(key_format.missing(given, secret))
    if len(public_key) > _MAX_HEADER_CHARACTERS or len(secret) > _MAX_HEADER_CHARACTERS or "\0" in public_key:
        raise KeyInvalid
    return public_key, secret


def _columns(model: Any) -> str:
    return ", ".join(f'"{model._meta.db_table}"."{field.column}"' for field in model._meta.concrete_fields)


_KEY_FIELDS: Final = [field.attname for field in ApiKey._meta.concrete_fields]
_MERCHANT_FIELDS: Final = [field.attname for field in Merchant._meta.concrete_fields]

# Every request runs this, so it is written out: the same join through the ORM takes twice as long, most of it spent
# on building the statement. It always yields one row, whose parts are NULL when there is no such count or key.
_FIND_KEY: Final = f"""
    SELECT count.failures, count.last_attempt_at, {_columns(ApiKey)}, {_columns(Merchant)}
    FROM (VALUES (%s, %s)) AS presented (guesser, public_key)
    LEFT JOIN {AttemptCount._meta.db_table} AS count ON count.subject = presented.guesser
    LEFT JOIN {ApiKey._meta.db_table} ON {ApiKey._meta.db_table}.public_key = presented.public_key
    LEFT JOIN {Merchant._meta.db_table} ON {Merchant._meta.db_table}.id = {ApiKey._meta.db_table}.merchant_id
"""  # noqa: S608 - only our own table and column names


def _find_key(public_key: str, guessed_by: str, now: datetime) -> tuple[ApiKey | None, int]:
    """The key, None when there is none, and the seconds that the caller has to wait after too many wrong guesses."""
    [(failures, last_attempt_at, *columns)] = prepared.rows(_FIND_KEY, [guessed_by, public_key])
    wait = 0
    if failures:
        wait = attempts.KEYS_FROM_ADDRESS.wait_seconds(failures, last_attempt_at, now)
    if columns[0] is None:
        return None, wait
    key = ApiKey.from_db(connection.alias, _KEY_FIELDS, columns[: len(_KEY_FIELDS)])
    key.merchant = Merchant.from_db(connection.alias, _MERCHANT_FIELDS, columns[len(_KEY_FIELDS) :])
    return key, wait


def _count_wrong_guess(public_key: str, guessed_by: str, now: datetime) -> None:
    waits = (
        attempts.take_attempt(guessed_by, attempts.KEYS_FROM_ADDRESS, now=now),
        attempts.take_attempt(f"secret of {_digest(public_key)}", attempts.SECRETS_OF_KEY, now=now),
    )
    if wait := max(waits):
        raise TooManyBadKeys(retry_after_seconds=wait)


def _digest(public_key: str) -> str:
    """A digest for counting: a caller who mixes the keys up sends the private one, which must not be stored."""
    return hashlib.sha256(public_key.encode(errors="replace")).hexdigest()


_REMEMBER_SIGNATURE: Final = f"""
    INSERT INTO {SeenSignature._meta.db_table} (signature, seen_at) VALUES (%s, %s) ON CONFLICT DO NOTHING
"""  # noqa: S608 - only our own table name


def _check_signature(request: HttpRequest, key: ApiKey, secret: str) -> None:
    timestamp: str | None = request.META.get("HTTP_X_SERVICE_TIMESTAMP")
    signature: str | None = request.META.get("HTTP_X_SERVICE_SIGNATURE")
    if timestamp is None and signature is None and not key.require_signature:
        return
    accepted = signing.verify(
        secret=secret,
        timestamp=timestamp,
        signature=signature,
        method=request.method or "",
        path=signing.signed_path(_raw_path(request)),
        body=request.body,
        now_milliseconds=int(time.time() * 1000),  # as the caller's machine has it; see the dispatcher of webhooks
    )
    # The primary key lets only one of two equal requests pass, whatever process they reach.
    with connection.cursor() as cursor:
        cursor.execute(_REMEMBER_SIGNATURE, [accepted, timezone.now()])
        if cursor.rowcount == 0:
            raise signing.SignatureReplayed


def purge_signatures(*, now: datetime) -> int:
    """Deletes signatures whose timestamps are too old to be accepted again; returns how many."""
    return delete_in_batches(SeenSignature.objects.filter(seen_at__lt=now - _SIGNATURES_KEPT_FOR))


def _raw_path(request: HttpRequest) -> str:
    """The path as it was received, where the server passes it on; the path that was routed otherwise.

    They differ only in percent-encoding, which no URL of the API needs.
    """
    raw: str = request.META.get("RAW_URI") or request.META.get("REQUEST_URI") or request.path
    return raw.partition("?")[0]


def _note_use(key: ApiKey, address: IPAddress | None, now: datetime) -> None:
    """At most once a minute, so that a busy key is not written with every request, whatever it comes from."""
    due = now - _USE_IS_NOTED_EVERY
    if key.last_used_at is None or key.last_used_at <= due:
        ApiKey.objects.filter(pk=key.pk).exclude(last_used_at__gt=due).update(
            last_used_at=now, last_used_from=None if address is None else str(address).partition("%")[0]
        )
