"""The contract ABI as far as it is needed here: words, lists of words and byte strings, both ways. Pure.

A library would bring ten others into the web process to lay out what are nearly always 32-byte words.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from payments.chains.evm.addresses import decode as address_bytes
from payments.chains.evm.addresses import encode as address_text
from payments.chains.evm.addresses import keccak256

WORD = 32

Argument = int | str | bytes | Sequence[int]
"""A number, an address, a byte string of any length, or a list of numbers."""


@lru_cache(maxsize=128)
def selector(signature: str) -> bytes:
    """The four bytes that name a function, as `transfer(address,uint256)`."""
    return keccak256(signature.encode())[:4]


@lru_cache(maxsize=128)
def topic(signature: str) -> str:
    """The first topic of an event, as `Transfer(address,address,uint256)`."""
    return "0x" + keccak256(signature.encode()).hex()


def call(signature: str, *arguments: Argument) -> bytes:
    """What is sent to a contract to call one of its functions."""
    return selector(signature) + encode(*arguments)


def encode(*arguments: Argument) -> bytes:
    """Arguments one behind the other; those without a fixed length follow, and an offset stands in their place."""
    places, tail = b"", b""
    for argument in arguments:
        if isinstance(argument, int | str):
            places += _word(argument)
        else:
            places += _word(WORD * len(arguments) + len(tail))
            tail += _packed(argument)
    return places + tail


def uint(data: bytes, place: int = 0) -> int:
    """The number in the word at this place; ValueError when there is none."""
    word = data[place * WORD : (place + 1) * WORD]
    if len(word) != WORD:
        raise ValueError(f"an answer of {len(data)} bytes has no word {place}")
    return int.from_bytes(word, "big")


def address(data: bytes, place: int = 0) -> str:
    """The address in the word at this place; ValueError when there is none."""
    number = uint(data, place)
    if number >> 160:
        raise ValueError("the word is larger than an address")
    return address_text(number.to_bytes(20, "big"))


def address_topic(text: str) -> str:
    """An address as a topic of a log filter."""
    return "0x" + address_bytes(text).rjust(WORD, b"\0").hex()


def reason(data: bytes) -> str:
    """The reason that a contract gave for reverting: the text of `Error(string)`, else the bytes in hexadecimal."""
    if data[:4] == selector("Error(string)") and len(data) >= 4 + 2 * WORD:
        length = uint(data[4:], 1)
        return data[4 + 2 * WORD : 4 + 2 * WORD + length].decode("utf-8", "replace")
    return "0x" + data.hex() if data else ""


def _word(argument: int | str) -> bytes:
    if isinstance(argument, str):
        return address_bytes(argument).rjust(WORD, b"\0")
    return argument.to_bytes(WORD, "big")


def _packed(argument: bytes | Sequence[int]) -> bytes:
    if isinstance(argument, bytes):
        return _word(len(argument)) + argument + bytes(-len(argument) % WORD)
    return _word(len(argument)) + b"".join(_word(item) for item in argument)
