"""Requests to a key service, and how a setting names a key of one. Loads no library of any service."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

SECONDS = 4.0
"""How long one request may take: the executor waits ten for the whole of a signature."""

AWS_KMS, VAULT = "aws-kms", "vault"

_ARN = r"arn:aws[a-z-]*:kms:(?P<region>[a-z0-9-]+):\d{12}:key/[A-Za-z0-9-]+"
_VAULT_KEY = r"(?P<mount>[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*)/(?P<key>[A-Za-z0-9_.-]+)"


class KeyServiceFailed(Exception):
    """The service does not have this key, does not let us use it, or did not answer; the message states which."""


class SecpKey(Protocol):
    """A secp256k1 key, as wallets of ethereum and polygon have."""

    def public_key(self) -> bytes:
        """65 bytes, the point uncompressed. KeyServiceFailed."""
        ...

    def sign_digest(self, digest: bytes) -> bytes:
        """The DER of an ECDSA signature of these 32 bytes. KeyServiceFailed."""
        ...


class EdKey(Protocol):
    """An ed25519 key, as wallets on stellar have."""

    def public_key(self) -> bytes:
        """32 bytes. KeyServiceFailed."""
        ...

    def sign_message(self, message: bytes) -> bytes:
        """64 bytes. KeyServiceFailed."""
        ...


@dataclass(frozen=True, slots=True)
class KeyPlace:
    """Which key of which service."""

    service: str
    key: str
    """The ARN, or the name of a key in transit."""
    scope: str
    """The region of AWS, or where transit is mounted."""


def parse_place(text: str) -> KeyPlace:
    """The key that a setting names; ValueError for what names none."""
    service, _, rest = text.partition(":")
    if service == AWS_KMS and (arn := re.fullmatch(_ARN, rest)):
        return KeyPlace(service, rest, arn["region"])
    if service == VAULT and (found := re.fullmatch(_VAULT_KEY, rest)):
        return KeyPlace(service, found["key"], found["mount"])
    like = "aws-kms:arn:aws:kms:eu-central-1:111122223333:key/… or vault:transit/name"
    raise ValueError(f"names no key; set it like {like}")
