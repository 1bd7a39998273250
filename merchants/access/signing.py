"""Signed requests: HMAC-SHA256, keyed with the secret key, over `<timestamp>.<METHOD>.<path>.<body>`. Pure.

The secret key travels beside the signature, so a signature does not prove who the caller is; what it
proves is that nobody on the way changed the method, the path or the body, and that the request is fresh.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import Final

from merchants.access.errors import AuthenticationRefused

TOLERANCE_MILLISECONDS: Final = 300_000
_TIMESTAMP: Final = re.compile(r"[0-9]{1,16}")
_SIGNATURE: Final = re.compile(r"[0-9a-f]{64}")


class SignatureMissing(AuthenticationRefused):
    code = "signature_missing"
    message = "A signed request carries both X-Service-Timestamp and X-Service-Signature, once each."


class SignatureInvalid(AuthenticationRefused):
    code = "signature_invalid"
    message = (
        "X-Service-Signature does not fit this request. It is the lowercase hex HMAC-SHA256, keyed with the secret "
        "key, of <timestamp>.<METHOD>.<path>.<body>, with the path from /v1 on and without the query."
    )


class TimestampInvalid(AuthenticationRefused):
    code = "signature_timestamp_invalid"
    message = "X-Service-Timestamp must be the milliseconds since the Unix epoch, in decimal digits."


class TimestampOutOfRange(AuthenticationRefused):
    code = "signature_timestamp_out_of_range"
    message = "X-Service-Timestamp is more than 300 seconds from the time of the service."


class SignatureReplayed(AuthenticationRefused):
    code = "signature_replayed"
    message = "A request with this signature was accepted before. Sign every request with a timestamp of its own."


def signed_path(path: str) -> str:
    """The part of a request's path that is signed: from `/v1` on, wherever the API is mounted."""
    start = path.find("/v1/")
    return path[start:] if start >= 0 else path


def signature_of(*, secret: str, timestamp: str, method: str, path: str, body: bytes) -> str:
    """The signature of a request; `path` is the signed path, an absent body is empty."""
    text = f"{timestamp}.{method}.{path}.".encode() + body
    return hmac.digest(secret.encode(), text, hashlib.sha256).hex()


def _out_of_range(timestamp: int, now_milliseconds: int) -> str:
    """The message of the refusal, which names the unit of the timestamp when it is the wrong one."""
    for unit, milliseconds in (("seconds", timestamp * 1000), ("microseconds", timestamp // 1000)):
        if abs(now_milliseconds - milliseconds) <= TOLERANCE_MILLISECONDS:
            return f"X-Service-Timestamp is in {unit}. Send milliseconds since the Unix epoch, as {now_milliseconds}."
    return f"{TimestampOutOfRange.message} That is {now_milliseconds}, in milliseconds since the Unix epoch."


def verify(
    *,
    secret: str,
    timestamp: str | None,
    signature: str | None,
    method: str,
    path: str,
    body: bytes,
    now_milliseconds: int,
) -> bytes:
    """Returns the 32 bytes of a valid signature, for the caller to remember; AuthenticationRefused otherwise.

    A header sent twice reaches us joined by a comma and is refused as not well formed.
    """
    if timestamp is None or signature is None:
        raise SignatureMissing
    if not _TIMESTAMP.fullmatch(timestamp):
        raise TimestampInvalid
    if not _SIGNATURE.fullmatch(signature):
        raise SignatureInvalid
    if abs(now_milliseconds - int(timestamp)) > TOLERANCE_MILLISECONDS:
        raise TimestampOutOfRange(_out_of_range(int(timestamp), now_milliseconds))
    expected = signature_of(secret=secret, timestamp=timestamp, method=method, path=path, body=body)
    if not hmac.compare_digest(expected, signature):
        raise SignatureInvalid
    return bytes.fromhex(signature)
