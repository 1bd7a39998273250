"""Endpoint secrets at rest: encrypted with a key from the environment, so that a stolen database cannot sign.

The first key encrypts. The others can only decrypt: they are used while a key is being replaced.
"""

from __future__ import annotations

import base64
import hashlib
import os
from datetime import datetime

from Crypto.Cipher import AES
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from webhooks.endpoints.signing import SECRET_PREFIX
from webhooks.models import Endpoint, SigningSecret

_VERSION = b"\x01"
_NONCE_BYTES, _TAG_BYTES = 12, 16


class SecretUnreadable(Exception):
    """The stored secret was not encrypted under one of this installation's keys, or for this owner."""


def new_secret() -> str:
    """`whsec_` and 32 random bytes in base64."""
    return SECRET_PREFIX + base64.b64encode(os.urandom(32)).decode()


def encrypt(secret: str, *, owner: str) -> bytes:
    """AES-256-GCM: version, nonce, tag, text. `owner` is bound in, so that a value cannot be moved to another row."""
    cipher = AES.new(_keys()[0], AES.MODE_GCM, nonce=os.urandom(_NONCE_BYTES), mac_len=_TAG_BYTES)
    cipher.update(_VERSION + owner.encode())
    text, tag = cipher.encrypt_and_digest(secret.encode())
    return _VERSION + cipher.nonce + tag + text


def decrypt(blob: bytes | memoryview, *, owner: str) -> str:
    """The secret again; SecretUnreadable when keys, owner or bytes are not the ones it was encrypted with."""
    for key in _keys():
        if (secret := _open(bytes(blob), owner=owner, key=key)) is not None:
            return secret
    raise SecretUnreadable("neither WEBHOOK_ENCRYPTION_KEY nor a fallback of it is what this secret was stored under")


def reencrypt(blob: bytes | memoryview, *, owner: str) -> bytes:
    """The same secret under the key that encrypts now; the same bytes when they are encrypted with it already."""
    blob = bytes(blob)
    is_current = _open(blob, owner=owner, key=_keys()[0]) is not None
    return blob if is_current else encrypt(decrypt(blob, owner=owner), owner=owner)


def _open(blob: bytes, *, owner: str, key: bytes) -> str | None:
    """The secret; None when it was not encrypted with this key."""
    version, rest = blob[:1], blob[1:]
    if version != _VERSION or len(rest) < _NONCE_BYTES + _TAG_BYTES:
        raise SecretUnreadable("these bytes are no secret that was stored by this version")
    nonce, sealed = rest[:_NONCE_BYTES], rest[_NONCE_BYTES:]
    tag, text = sealed[:_TAG_BYTES], sealed[_TAG_BYTES:]
    cipher = AES.new(key, AES.MODE_GCM, nonce=nonce, mac_len=_TAG_BYTES)
    cipher.update(version + owner.encode())
    try:
        return cipher.decrypt_and_verify(text, tag).decode()
    except ValueError:
        return None


def live_secrets(holder: Endpoint | SigningSecret, now: datetime) -> list[str]:
    """The secrets that sign at this moment, newest first: two for a day after a rotation."""
    if isinstance(holder, Endpoint):
        current, previous, until = (
            holder.secret_encrypted,
            holder.previous_secret_encrypted,
            holder.previous_secret_expires_at,
        )
    else:
        current, previous, until = holder.encrypted, holder.previous_encrypted, holder.previous_expires_at
    owner = owner_of(holder)
    blobs = [current] if current else []
    if previous and until and until > now:
        blobs.append(previous)
    return [decrypt(blob, owner=owner) for blob in blobs]


def owner_of(holder: Endpoint | SigningSecret) -> str:
    """The name that a stored secret is bound to."""
    if isinstance(holder, Endpoint):
        return f"endpoint {holder.pk}"
    return f"merchant {holder.merchant_id} {holder.environment}"


def _keys() -> list[bytes]:
    """The keys; the first one encrypts. Raises ImproperlyConfigured in a process without a key."""
    if not settings.WEBHOOK_ENCRYPTION_KEY:
        raise ImproperlyConfigured("This process was not given WEBHOOK_ENCRYPTION_KEY: its role has no use for it.")
    texts = [settings.WEBHOOK_ENCRYPTION_KEY, *settings.WEBHOOK_ENCRYPTION_KEY_FALLBACKS]
    return [hashlib.sha256(text.encode()).digest() for text in texts]
