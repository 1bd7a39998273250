"""Payments for a payer's wallet to sign: built without the library, so that the web process can. Pure.

The layout is that of XDR: numbers big-endian, a variant before each choice. A wallet shows what it signs.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass

from payments.chains.stellar import addresses

MOST_SIGNATURES = 20
_HINT_BYTES, _LENGTH_BYTES, _MOST_SIGNATURE_BYTES = 4, 4, 64
_ENVELOPE = struct.pack(">i", 2)
"""An envelope of a transaction, before its signatures; also what its hash begins with."""


@dataclass(frozen=True, slots=True)
class PaymentRequest:
    """One payment of `amount` stroops, with a memo id or none. `account` pays, and its `sequence` is used."""

    account: str
    sequence: int
    fee: int
    valid_until: int
    """Seconds since 1970."""
    recipient: str
    memo: int | None
    code: str
    issuer: str
    amount: int


def unsigned(request: PaymentRequest) -> bytes:
    """The envelope, without signatures."""
    memo = struct.pack(">i", 0) if request.memo is None else struct.pack(">iQ", 2, request.memo)
    size = 4 if len(request.code) <= 4 else 12
    asset = struct.pack(f">i{size}s", 1 if size == 4 else 2, request.code.encode()) + _account(request.issuer)
    return b"".join(
        (
            _ENVELOPE,
            _account(request.account),
            struct.pack(">Iq", request.fee, request.sequence),
            struct.pack(">iQQ", 1, 0, request.valid_until),
            memo,
            struct.pack(">Iii", 1, 0, 1),  # one operation, of the same account: a payment
            _account(request.recipient),
            asset,
            struct.pack(">q", request.amount),
            struct.pack(">i", 0),
            struct.pack(">I", 0),
        )
    )


def is_signed(raw: bytes, *, request: bytes) -> bool:
    """Whether these bytes are the requested envelope, and signatures of it."""
    body = request[:-_LENGTH_BYTES]
    if not raw.startswith(body) or len(raw) < len(request):
        return False
    (count,) = struct.unpack_from(">I", raw, len(body))
    place = len(request)
    for _ in range(min(count, MOST_SIGNATURES + 1)):
        length = raw[place + _HINT_BYTES : place + _HINT_BYTES + _LENGTH_BYTES]
        if int.from_bytes(length, "big") != _MOST_SIGNATURE_BYTES:
            return False
        place += _HINT_BYTES + _LENGTH_BYTES + _MOST_SIGNATURE_BYTES
    return 1 <= count <= MOST_SIGNATURES and place == len(raw)


def hash_of(request: bytes, passphrase: str) -> str:
    """The hash of its on-chain transaction, however it is signed."""
    network = hashlib.sha256(passphrase.encode()).digest()
    return hashlib.sha256(network + request[:-_LENGTH_BYTES]).hexdigest()


def _account(address: str) -> bytes:
    return struct.pack(">i", 0) + addresses.key_of(address)
