"""Addresses and references of the stellar network: StrKey (SEP-23), muxed accounts, memo ids. Pure."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

from payments.chains.errors import InvalidAddress

MAXIMUM_ID = (1 << 64) - 1
"""Memo ids and muxed ids are unsigned 64-bit integers."""

_VERSIONS = {"G": 6 << 3, "M": 12 << 3}
_KEY_BYTES = 32
_LENGTHS = {"G": 56, "M": 69}
_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")

_OTHER_KINDS = {
    "S": "This is a secret key. Never paste a secret key anywhere: whoever has it owns the account. "
    "If it was sent to someone, move the funds to a new account.",
    "C": "This is a contract (C…). Payments go to accounts only: give an address that starts with G or M.",
    "T": "This names a transaction, not an account. An account's address starts with G or M.",
    "X": "This is a hash signer, not an account. An account's address starts with G or M.",
    "P": "This is a signed payload, not an account. An account's address starts with G or M.",
    "L": "This is a liquidity pool, not an account. An account's address starts with G or M.",
    "B": "This is a claimable balance, not an account. An account's address starts with G or M.",
}


def encode_account(key: bytes) -> str:
    """The G address of an ed25519 public key."""
    if len(key) != _KEY_BYTES:
        raise ValueError(f"a public key has {_KEY_BYTES} bytes, not {len(key)}")
    return _encode(_VERSIONS["G"], key)


def key_of(account: str) -> bytes:
    """The ed25519 public key of a G address."""
    if not account.startswith("G"):
        raise InvalidAddress("An account's own address starts with G.")
    return _decode(account)


def mux(account: str, identifier: int) -> str:
    """The M address that holds both the account and the id of a payment."""
    if not 0 <= identifier <= MAXIMUM_ID:
        raise ValueError("the id of a muxed account is an unsigned 64-bit integer")
    return _encode(_VERSIONS["M"], _decode(account) + identifier.to_bytes(8, "big"))


def split(address: str) -> tuple[str, int | None]:
    """The account and the muxed id of a G or M address; the id is None for G."""
    payload = _decode(address)
    if len(payload) == _KEY_BYTES:
        return address, None
    return encode_account(payload[:_KEY_BYTES]), int.from_bytes(payload[_KEY_BYTES:], "big")


def parse(text: str) -> str:
    """A G or M address someone typed, unchanged when it is right; InvalidAddress names the fault."""
    _decode(text)
    return text


def normalise_memo(text: str | None) -> str | None:
    """The one spelling of a reference: wallets send the same number as memo id, as text, or with spaces."""
    stripped = (text or "").strip()
    if stripped.isascii() and stripped.isdigit() and len(stripped) <= 20 and int(stripped) <= MAXIMUM_ID:
        return str(int(stripped))
    return stripped or None


def is_id(memo: str) -> bool:
    """Whether a memo is written as a memo id is: a whole number of 64 bits, without zeros before it."""
    return memo.isascii() and memo.isdigit() and normalise_memo(memo) == memo and int(memo) <= MAXIMUM_ID


# The reference of a payment. The permutation below spreads sequence numbers over the whole range, so that
# neighbours do not look alike and a mistyped digit hits nobody else's payment. Without a key it hides nothing: whoever
# sees memos counts payments by them. It must never change: the addresses of a lost database are found by counting.

FIRST_MEMO = 10**9
LAST_MEMO = (1 << 53) - 1
"""JavaScript still holds it exactly."""

_MEMO_COUNT = LAST_MEMO - FIRST_MEMO + 1
_HALF_BITS = 27
_HALF_MASK = (1 << _HALF_BITS) - 1
_ROUNDS = (1, 2, 3, 4)


def memo_of(sequence: int, key: bytes = b"") -> int:
    """The memo id of the payment with this number; by one key, or by none, different numbers never share one."""
    if not 0 <= sequence < _MEMO_COUNT:
        raise ValueError("the sequence is outside of what memo ids can distinguish")
    place = _permute(sequence, key)
    while place >= _MEMO_COUNT:  # the permutation covers 54 bits; walk on until it lands inside the range
        place = _permute(place, key)
    return FIRST_MEMO + place


def _permute(number: int, key: bytes) -> int:
    left, right = number >> _HALF_BITS, number & _HALF_MASK
    for position in _ROUNDS:
        left, right = right, left ^ _scramble(position, right, key)
    return left << _HALF_BITS | right


def _scramble(position: int, half: int, key: bytes) -> int:
    text = b"ballast memo %d %d" % (position, half)
    digest = hmac.digest(key, text, "sha256") if key else hashlib.sha256(text).digest()
    return int.from_bytes(digest[:4], "big") & _HALF_MASK


def _encode(version: int, payload: bytes) -> str:
    body = bytes([version]) + payload
    return base64.b32encode(body + _checksum(body)).decode().rstrip("=")


def _decode(text: str) -> bytes:
    """The key of a G address, or the key and id of an M address, as bytes."""
    if text != text.strip():
        raise InvalidAddress("The address has spaces around it.")
    kind = text[:1]
    if kind.upper() in _OTHER_KINDS and len(text) >= 40:
        raise InvalidAddress(_OTHER_KINDS[kind.upper()])
    if "*" in text or "." in text:
        raise InvalidAddress(
            "Names are not resolved: send the address that the name stands for. It starts with G or M."
        )
    if kind.upper() not in _LENGTHS:
        raise InvalidAddress("An address of this network starts with G or M.")
    if text != text.upper():
        raise InvalidAddress("Stellar addresses are written in capital letters only.")
    if len(text) != _LENGTHS[kind]:
        raise InvalidAddress(f"An address that starts with {kind} has {_LENGTHS[kind]} characters, not {len(text)}.")
    if foreign := next((character for character in text if character not in _ALPHABET), None):
        raise InvalidAddress(f"“{foreign}” cannot stand in an address: only A to Z and 2 to 7 can.")
    payload = base64.b32decode(text + "=" * (-len(text) % 8))[1:-2]
    if _encode(_VERSIONS[kind], payload) != text:  # kind, checksum and spare bits in one comparison
        raise InvalidAddress(
            "The address's checksum does not match: it was probably mistyped. Copy it again from the wallet."
        )
    return payload


def _checksum(body: bytes) -> bytes:
    """CRC16-XModem, low byte first."""
    return binascii.crc_hqx(body, 0).to_bytes(2, "little")
