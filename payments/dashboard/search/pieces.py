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

STEP: Final = 2
"""Of ids, amounts, addresses and hashes, which are most of an entry, only each second piece is kept: parts of them from
four characters on are found, whichever piece they begin with."""

SPARSE: Final = 2
"""The piece of every entry that is written so: those without it were written by the release before, and have all."""

_SPAN_BITS = 108
_SIGN = 1 << 31


def folded(text: str) -> str:
    """A text as it is compared: in lower case, spaces as one, a letter and its accent as Unicode composes them."""
    return " ".join(normalize("NFKC", text).lower().split())


def span_of(key: uuid.UUID) -> int:
    """The span in which a key was made: its first five hexadecimal digits, which change every three days."""
    return key.int >> _SPAN_BITS


def pieces_of(
    text: str,
    merchant_id: uuid.UUID,
    environment: str,
    span: int,
    *,
    length: int = LENGTH,
    first: int = 0,
    step: int = 1,
) -> list[int]:
    """Numbers of 32 bits with a sign, each once, sorted; none for a text that is too short. Lines are apart.

    Of each line those from the place `first` on, each `step`.
    """
    seed = crc32(span.to_bytes(4), crc32(environment.encode(), crc32(merchant_id.bytes)))
    found = {
        crc32(line[start : start + length].encode(), seed)
        for line in text.split("\n")
        for start in range(first, len(line) - length + 1, step)
    }
    return sorted(number - (1 << 32) if number >= _SIGN else number for number in found)


def alternatives(
    part: str, merchant_id: uuid.UUID, environment: str, span: int, *, sparser: int = 1
) -> tuple[list[int], list[int]]:
    """Pieces of entries that have this part: each has all of the first list, or all of the second if it is not empty.

    Only one in so many pieces if `sparser` is more than 1.
    """
    of, length, step = (part, merchant_id, environment, span), min(len(part), LENGTH), STEP * sparser
    even, odd = (pieces_of(*of, length=length, first=first, step=step) for first in range(STEP))
    return even, odd


def as_array(pieces: list[int]) -> str | None:
    """Pieces as PostgreSQL reads an array, a list being adapted number by number. NULL, which is in none, for none."""
    return f"{{{','.join(map(str, pieces))}}}" if pieces else None
