"""The pieces of three characters, and of two, that a part of a text is found by. Pure.

PostgreSQL's own trigrams are an extension, which the embedded server does not bring. These are numbers in an array,
indexed by what every server has. A piece holds the merchant and the environment too, so that one merchant's search
reads no other's entries.
"""

from __future__ import annotations

import uuid
from unicodedata import normalize
from zlib import crc32

LENGTH = 3
SHORT = 2
"""So few characters are looked for in what people wrote: two of the digits of a hash are in nearly every hash."""

_SIGN = 1 << 31


def folded(text: str) -> str:
    """A text as it is compared: in lower case, spaces as one, a letter and its accent as Unicode composes them."""
    return " ".join(normalize("NFKC", text).lower().split())


def pieces_of(text: str, merchant_id: uuid.UUID, environment: str, *, length: int = LENGTH) -> list[int]:
    """Numbers of 32 bits with a sign, each once, sorted; none for a text that is too short. Lines are apart."""
    seed = crc32(environment.encode(), crc32(merchant_id.bytes))
    found = {
        crc32(line[start : start + length].encode(), seed)
        for line in text.split("\n")
        for start in range(len(line) - length + 1)
    }
    return sorted(number - (1 << 32) if number >= _SIGN else number for number in found)
