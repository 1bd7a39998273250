"""Whether an account's key, or enough of its signers, signed a text (SEP-53). Pure; no network, and no key of ours."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from Crypto.Signature import eddsa

from payments.chains.stellar import addresses

SIGNATURE_BYTES = 64


def digest_of(text: str) -> bytes:
    """The digest that a wallet signs for this text."""
    return hashlib.sha256(b"Stellar Signed Message:\n" + text.encode()).digest()


@dataclass(frozen=True)
class Signers:
    """Who signs for an account: the weight of each key by its G address, and how much weight a payment needs."""

    weights: Mapping[str, int]
    needed: int

    def have_signed(self, text: str, signatures: bytes) -> bool:
        """Whether so many signers made these signatures, one behind the other, that a payment would be taken."""
        size = SIGNATURE_BYTES
        each = [signatures[start : start + size] for start in range(0, len(signatures), size)]
        keys = [key for key, weight in self.weights.items() if weight and key.startswith("G")]
        if len(signatures) % size or len(each) > len(keys):
            return False
        signed = [key for key in keys if any(is_signed_by(key, text, signature) for signature in each)]
        return sum(self.weights[key] for key in signed) >= max(1, self.needed)


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
