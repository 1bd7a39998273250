"""Endpoint secrets at rest: encrypted under a key of the environment, so that a stolen database signs nothing."""

from __future__ import annotations

import base64
import hashlib
import os
from datetime import datetime

from Crypto.Cipher import AES
from django.conf import settings

from webhooks.models import Endpoint, SigningSecret
from webhooks.signing import SECRET_PREFIX

_VERSION = b"\x01"
_NONCE_BYTES, _TAG_BYTES = 12, 16


class SecretUnreadable(Exception):
    """The stored secret was not encrypted under this installation's key, or for this owner."""


def new_secret() -> str:
    """`whsec_` and 32 random bytes in base64."""
    return SECRET_PREFIX + base64.b64encode(os.urandom(32)).decode()


def encrypt(secret: str, *, owner: str) -> bytes:
    """AES-256-GCM: version, nonce, tag, text. `owner` is bound in, so that a value cannot be moved to another row."""
    cipher = AES.new(_key(), AES.MODE_GCM, nonce=os.urandom(_NONCE_BYTES), mac_len=_TAG_BYTES)
    cipher.update(_VERSION + owner.encode())
    text, tag = cipher.encrypt_and_digest(secret.encode())
    return _VERSION + cipher.nonce + tag + text


def decrypt(blob: bytes | memoryview, *, owner: str) -> str:
    """The secret again; SecretUnreadable when key, owner or bytes are not the ones it was encrypted with."""
    blob = bytes(blob)
    version, rest = blob[:1], blob[1:]
    if version != _VERSION or len(rest) < _NONCE_BYTES + _TAG_BYTES:
        raise SecretUnreadable("these bytes are no secret that was stored by this version")
    nonce, sealed = rest[:_NONCE_BYTES], rest[_NONCE_BYTES:]
    tag, text = sealed[:_TAG_BYTES], sealed[_TAG_BYTES:]
    cipher = AES.new(_key(), AES.MODE_GCM, nonce=nonce, mac_len=_TAG_BYTES)
    cipher.update(version + owner.encode())
    try:
        return cipher.decrypt_and_verify(text, tag).decode()
    except ValueError as error:
        raise SecretUnreadable("WEBHOOK_ENCRYPTION_KEY is not the one this secret was stored under") from error


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
    """What a stored secret is bound to."""
    if isinstance(holder, Endpoint):
        return f"endpoint {holder.pk}"
    return f"merchant {holder.merchant_id} {holder.environment}"


def _key() -> bytes:
    return hashlib.sha256(settings.WEBHOOK_ENCRYPTION_KEY.encode()).digest()
