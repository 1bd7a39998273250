"""Secrets of second factors at rest: sealed under SECRET_KEY, so that a stolen database makes no codes."""

from __future__ import annotations

import base64
import hashlib
import os
from typing import Final

from Crypto.Cipher import AES
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

_PURPOSE: Final = b"second factor 1"
_NONCE_BYTES, _TAG_BYTES = 12, 16


def seal(text: str) -> str:
    """AES-256-GCM: nonce, tag and text, in base64."""
    cipher = AES.new(_keys()[0], AES.MODE_GCM, nonce=os.urandom(_NONCE_BYTES), mac_len=_TAG_BYTES)
    sealed, tag = cipher.encrypt_and_digest(text.encode())
    return base64.b64encode(bytes(cipher.nonce) + tag + sealed).decode()


def unseal(sealed: str) -> str:
    """The text again, under SECRET_KEY or one of SECRET_KEY_FALLBACKS; ImproperlyConfigured under none of them."""
    content = base64.b64decode(sealed)
    nonce, tag, text = content[:_NONCE_BYTES], content[_NONCE_BYTES:][:_TAG_BYTES], content[_NONCE_BYTES + _TAG_BYTES :]
    for key in _keys():
        cipher = AES.new(key, AES.MODE_GCM, nonce=nonce, mac_len=_TAG_BYTES)
        try:
            return cipher.decrypt_and_verify(text, tag).decode()
        except ValueError:
            continue
    raise ImproperlyConfigured(
        "A second factor is sealed under none of SECRET_KEY and SECRET_KEY_FALLBACKS. Give the old key back as a "
        "fallback, and run manage.py reseal_second_factors."
    )


def _keys() -> list[bytes]:
    return [
        hashlib.blake2b(secret.encode(), digest_size=32, person=_PURPOSE).digest()
        for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    ]
