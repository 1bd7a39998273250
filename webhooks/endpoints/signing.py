"""Signatures by the Standard Webhooks scheme: HMAC-SHA256 over `<id>.<timestamp>.<body>`. Pure.

Any of its public libraries verifies them. A header may hold several, one for each secret that signs now.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable

SECRET_PREFIX = "whsec_"  # noqa: S105 - how a secret begins, not one


def secret_bytes(secret: str) -> bytes:
    """The key inside a secret as merchants see it: `whsec_` and base64."""
    return base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)


def signature_of(secret: str, *, message_id: str, timestamp: int, body: bytes) -> str:
    """One signature, `v1,<base64>`. `timestamp` is in seconds since the Unix epoch."""
    text = f"{message_id}.{timestamp}.".encode() + body
    digest = hmac.digest(secret_bytes(secret), text, hashlib.sha256)
    return f"v1,{base64.b64encode(digest).decode()}"


def signed_headers(secrets: Iterable[str], *, message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The three headers of a signed request, with a signature for every live secret."""
    signatures = (signature_of(secret, message_id=message_id, timestamp=timestamp, body=body) for secret in secrets)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signatures),
    }
