"""A hot wallet's key that a key service has: it signs digests, and what they are digests of is made here."""

from __future__ import annotations

from typing import Any

from payments.chains.errors import SignerUnavailable
from payments.chains.evm import addresses
from payments.chains.evm.addresses import keccak256
from payments.chains.evm.keys.signing import NOTHING, Purpose, Signature, Transaction, unsigned
from payments.chains.key_services.base import KeyServiceFailed, SecpKey

_RECOVERY_IDS = (0, 1)
"""Which of two points a signature is of. The service does not return it. There are four in theory, two of them never
seen."""


class ServiceKeySigner:
    """The key of a service, whose address is found out at once (KeyServiceFailed). Each signature is checked against
    it before it is used.

    Unlike a key in this process it signs the same transaction differently each time: of the versions, which have one
    nonce, the network takes one.
    """

    def __init__(self, key: SecpKey) -> None:
        self._key = key
        self._address = _address_of(key.public_key())

    def __repr__(self) -> str:
        return f"ServiceKeySigner({self._address})"

    @property
    def address(self) -> str:
        return self._address

    def sign(self, transaction: Transaction, purpose: Purpose = NOTHING) -> Signature:
        from payments.chains.evm.keys.accounts import TypedTransaction

        fields = unsigned(transaction)
        digest = bytes(TypedTransaction.from_dict(fields).hash())
        try:
            recovery_id, r, s = self._signature(digest)
        except KeyServiceFailed as error:
            raise SignerUnavailable(f"The key's service does not sign: {error}.") from error
        raw = bytes(TypedTransaction.from_dict({**fields, "v": recovery_id, "r": r, "s": s}).encode())
        return Signature(raw, "0x" + keccak256(raw).hex())

    def _signature(self, digest: bytes) -> tuple[int, int, int]:
        """Recovery id, r and the lower of the two s there are (EIP-2); KeyServiceFailed when it is of another key."""
        from coincurve import PublicKey, ecdsa

        try:
            _, lower = ecdsa.signature_normalize(ecdsa.der_to_cdata(self._key.sign_digest(digest)))
            both = ecdsa.serialize_compact(lower)
            for each in _RECOVERY_IDS:
                point = _recovered(PublicKey, both, each, digest)
                if point and _address_of(point) == self._address:
                    return each, int.from_bytes(both[:32]), int.from_bytes(both[32:])
        except ValueError as error:
            raise KeyServiceFailed("it replied with no signature") from error
        raise KeyServiceFailed("it signed with another key, or something else than was requested")


def _recovered(public_key: Any, both: bytes, recovery_id: int, digest: bytes) -> bytes:
    """The point that the signature is of; empty where there is none."""
    try:
        found = public_key.from_signature_and_message(both + bytes([recovery_id]), digest, hasher=None)
    except Exception:  # the library's own kind, for what is no point
        return b""
    return bytes(found.format(compressed=False))


def _address_of(point: bytes) -> str:
    return addresses.encode(keccak256(point[1:])[-20:])
