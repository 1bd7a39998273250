"""Secrets at rest, sealed under a key of the environment: who has the database alone cannot use them."""

from __future__ import annotations

import base64
import hashlib
import os
from dataclasses import dataclass
from typing import Final

from Crypto.Cipher import AES
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

_NONCE_BYTES, _TAG_BYTES = 12, 16


@dataclass(frozen=True, slots=True)
class Seal:
    """AES-256-GCM under a key derived from the setting of this name; its `_FALLBACKS` unseal as well."""

    what: str
    setting: str
    after_a_loss: str
    """The remedy when none of the keys unseals."""

    @property
    def is_at_hand(self) -> bool:
        """True if this process was given the key."""
        return bool(getattr(settings, self.setting))

    def seal(self, text: str) -> str:
        """Nonce, tag and text, in base64."""
        cipher = AES.new(self._keys()[0], AES.MODE_GCM, nonce=os.urandom(_NONCE_BYTES), mac_len=_TAG_BYTES)
        sealed, tag = cipher.encrypt_and_digest(text.encode())
        return base64.b64encode(bytes(cipher.nonce) + tag + sealed).decode()

    def unseal(self, sealed: str) -> str:
        """The text again; ImproperlyConfigured where neither the key nor a fallback of it is the one that sealed it."""
        content = base64.b64decode(sealed)
        nonce, tag = content[:_NONCE_BYTES], content[_NONCE_BYTES:][:_TAG_BYTES]
        for key in self._keys():
            cipher = AES.new(key, AES.MODE_GCM, nonce=nonce, mac_len=_TAG_BYTES)
            try:
                return cipher.decrypt_and_verify(content[_NONCE_BYTES + _TAG_BYTES :], tag).decode()
            except ValueError:
                continue
        raise ImproperlyConfigured(
            f"A {self.what} is sealed under none of {self.setting} and "
            f"{self.setting}_FALLBACKS. Give the old key back as a fallback{self.after_a_loss}."
        )

    def _keys(self) -> list[bytes]:
        if not self.is_at_hand:
            raise ImproperlyConfigured(f"This process was not given {self.setting}: its role has no use for it.")
        return [
            hashlib.blake2b(secret.encode(), digest_size=32, person=f"{self.what} 1".encode()).digest()
            for secret in (getattr(settings, self.setting), *getattr(settings, f"{self.setting}_FALLBACKS"))
        ]


SECOND_FACTORS: Final = Seal("second factor", "SECRET_KEY", ", and run manage.py reseal_second_factors")
MAILS: Final = Seal("mail", "WEBHOOK_ENCRYPTION_KEY", "")
"""Written by the web process, sent by the `webhooks` worker: the key is the one that these two have."""
