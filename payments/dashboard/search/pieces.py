"""The pieces of three characters, and of two, that a part of a text is found by. Pure.

PostgreSQL's own trigrams are an extension, which the embedded server does not bring. These are numbers in an array,
indexed by what every server has. A piece holds the merchant and the environment too, so that one merchant's search
reads no other's entries, and the span of time in which the payment was created, so that a search can go back span by
span and end once it has found enough.
"""

from __future__ import annotations

import uuid
from typing import Final
from unicodedata import normalize
from zlib import crc32

LENGTH = 3
SHORT = 2
"""So few characters are looked for in what people wrote: two of the digits of a hash are in nearly every hash."""

DATED: Final = 1
"""The piece of every entry whose pieces hold their span: those without it were written by the version before."""

_SPAN_BITS = 108
_SIGN = 1 << 31


def folded(text: str) -> str:
    """A text as it is compared: in lower case, spaces as one, a letter and its accent as Unicode composes them."""
    return " ".join(normalize("NFKC", text).lower().split())


def span_of(key: uuid.UUID) -> int:
    """The span in which a key was made: its first five hexadecimal digits, which change every three days."""
    return key.int >> _SPAN_BITS


def pieces_of(
    text: str, merchant_id: uuid.UUID, environment: str, span: int | None, *, length: int = LENGTH
) -> list[int]:
    """Numbers of 32 bits with a sign, each once, sorted; none for a text that is too short. Lines are apart.

    Without a span they are as the version before wrote them.
    """
    seed = crc32(environment.encode(), crc32(merchant_id.bytes))
    if span is not None:
        seed = crc32(span.to_bytes(4), seed)
    found = {
        crc32(line[start : start + length].encode(), seed)
        for line in text.split("\n")
        for start in range(len(line) - length + 1)
    }
    return sorted(number - (1 << 32) if number >= _SIGN else number for number in found)
