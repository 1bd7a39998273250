"""The keys that sign receipts: one a year, derived from SECRET_KEY, and the public keys of all years (ADR 0079)."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from config.api.renderers import format_instant
from payments.receipts.models import ReceiptKey


def signing_key(now: datetime) -> tuple[str, Ed25519PrivateKey]:
    """The id of this year's key, and the key. Its public key is published before it signs."""
    year = now.astimezone(UTC).year
    private = _derived(settings.SECRET_KEY, year)
    public = private.public_key().public_bytes_raw().hex()
    key, _ = ReceiptKey.objects.get_or_create(public_key=public, defaults={"year": year})
    return key.key_id, private


def published_keys(now: datetime) -> list[dict[str, str]]:
    """Every key that a receipt may have been signed with, the one of now among them."""
    signing_key(now)
    return [
        {
            "id": key.key_id,
            "algorithm": "Ed25519",
            "publicKey": key.public_key,
            "validFrom": format_instant(datetime(key.year, 1, 1, tzinfo=UTC)),
            "validUntil": format_instant(datetime(key.year + 1, 1, 1, tzinfo=UTC)),
        }
        for key in ReceiptKey.objects.all()
    ]


def verifies(public_key: bytes, message: bytes, signature: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except InvalidSignature:
        return False
    return True


@lru_cache(maxsize=4)
def _derived(secret: str, year: int) -> Ed25519PrivateKey:
    seed = HKDF(SHA256(), length=32, salt=None, info=f"ballast receipts {year}".encode()).derive(secret.encode())
    return Ed25519PrivateKey.from_private_bytes(seed)
