"""Whether an account's key signed a text (SEP-53). Pure; no network, and no key of ours."""

from __future__ import annotations

import hashlib

from Crypto.Signature import eddsa

from payments.chains.stellar import addresses

SIGNATURE_BYTES = 64


def digest_of(text: str) -> bytes:
    """What a wallet signs when it is asked for this text."""
    return hashlib.sha256(b"Stellar Signed Message:\n" + text.encode()).digest()


def is_signed_by(account: str, text: str, signature: bytes) -> bool:
    """Whether the key of a G address made the signature; ValueError when it has another length than any."""
    if len(signature) != SIGNATURE_BYTES:
        raise ValueError(f"a signature has {SIGNATURE_BYTES} bytes, not {len(signature)}")
    key = eddsa.import_public_key(addresses.key_of(account))
    try:
        eddsa.new(key, "rfc8032").verify(digest_of(text), signature)
    except ValueError:
        return False
    return True
