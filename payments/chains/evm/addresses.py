"""Addresses of EVM networks: EIP-55 spelling, and deposit addresses by CREATE2 (EIP-1014, EIP-1167). Pure."""

from __future__ import annotations

import re
from functools import lru_cache

from Crypto.Hash import keccak

from payments.chains.errors import InvalidAddress

ADDRESS_BYTES = 20
ZERO_ADDRESS = "0x" + "00" * ADDRESS_BYTES

# By the digits of a hash: the bit that makes a letter of ASCII lower case, for the digits that require upper case.
_CASE_BITS = bytes(0x20 * (chr(digit) in "89abcdef") for digit in range(256))

_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
_LENGTH = 2 + 2 * ADDRESS_BYTES

# The creation code of an EIP-1167 clone stands around the address of its implementation.
_CLONE_PREFIX = bytes.fromhex("602d3d8160093d39f3363d3d373d3d3d363d73")
_CLONE_SUFFIX = bytes.fromhex("5af43d82803e903d91602b57fd5bf3")


def keccak256(data: bytes) -> bytes:
    return keccak.new(data=data, digest_bits=256).digest()


def encode(raw: bytes) -> str:
    """The EIP-55 spelling of 20 bytes: the hash of the address decides which letters are upper case."""
    if len(raw) != ADDRESS_BYTES:
        raise ValueError(f"an address has {ADDRESS_BYTES} bytes, not {len(raw)}")
    digits = raw.hex().encode()
    digest = keccak256(digits)[:ADDRESS_BYTES].hex().encode().translate(_CASE_BITS)
    # All 40 at once, as watchers spell tens of thousands: letters have the bit 0x40, which figures lack.
    lower = int.from_bytes(digits, "big")
    raised = lower ^ (int.from_bytes(digest, "big") & lower >> 1)
    return "0x" + raised.to_bytes(2 * ADDRESS_BYTES, "big").decode()


@lru_cache(maxsize=16_384)
def spelled(raw: bytes) -> str:
    """As encode, remembered: whoever reads a network meets the same contracts and people again and again."""
    return encode(raw)


def decode(address: str) -> bytes:
    """The 20 bytes of an address whose spelling has been checked before."""
    return bytes.fromhex(address[2:])


def parse(text: str) -> str:
    """The EIP-55 spelling of an address someone typed; InvalidAddress names the fault.

    All-lower and all-upper spellings carry no checksum and are accepted; mixed case must be exact.
    """
    if text != text.strip():
        raise InvalidAddress("The address has spaces around it.")
    if re.fullmatch(r"[\w-]+(\.[\w-]+)+", text):
        raise InvalidAddress("Names are not resolved: send the address that the name stands for. It starts with 0x.")
    if text[:2] not in ("0x", "0X"):
        raise InvalidAddress("An address of this network starts with 0x.")
    if len(text) != _LENGTH:
        raise InvalidAddress(f"An address has 40 characters after 0x, this one has {len(text) - 2}.")
    digits = text[2:]
    if foreign := next((character for character in digits if character not in _HEX_DIGITS), None):
        raise InvalidAddress(f"“{foreign}” cannot stand in an address: only 0 to 9 and a to f can.")
    raw = bytes.fromhex(digits)
    if not any(raw):
        raise InvalidAddress("This is the zero address: money sent there is lost.")
    checksummed = encode(raw)
    if digits not in (digits.lower(), digits.upper()) and digits != checksummed[2:]:
        wrong = next(place for place in range(40) if digits[place] != checksummed[2 + place])
        raise InvalidAddress(
            f"The mix of upper and lower case does not match the address's checksum (first at character {wrong + 3}): "
            "it was probably mistyped. Copy it again from the wallet."
        )
    return checksummed


def create2_address(*, deployer: str, salt: int, creation_code_hash: bytes) -> str:
    """Where `deployer` puts a contract with this creation code and salt (EIP-1014)."""
    return encode(keccak256(b"\xff" + decode(deployer) + salt.to_bytes(32, "big") + creation_code_hash)[12:])


def clone_address(*, factory: str, implementation: str, salt: int) -> str:
    """The deposit address of one payment: a clone of `implementation` that only `factory` can put there.

    Neither network nor chain id takes part, so that the address is the same on every EVM network.
    """
    return create2_address(deployer=factory, salt=salt, creation_code_hash=_clone_code_hash(implementation))


@lru_cache(maxsize=16)
def forwarder_of(factory: str) -> str:
    """The code that a factory's deposit addresses share: the first contract it creates (RLP of its address and 1)."""
    return encode(keccak256(b"\xd6\x94" + decode(factory) + b"\x01")[12:])


@lru_cache(maxsize=16)
def _clone_code_hash(implementation: str) -> bytes:
    return keccak256(_CLONE_PREFIX + decode(implementation) + _CLONE_SUFFIX)
