"""The pieces of three characters that a part of a text is found by. Pure.

PostgreSQL's own trigrams are an extension, which the embedded server does not bring. These are numbers in an array,
indexed by what every server has. A piece holds the merchant and the environment too, so that one merchant's search
reads no other's entries.
"""

from __future__ import annotations

import uuid
from zlib import crc32

LENGTH = 3
"""Fewer characters are too few to look for a part of a text by."""

_SIGN = 1 << 31


def pieces_of(text: str, merchant_id: uuid.UUID, environment: str) -> list[int]:
    """Numbers of 32 bits with a sign, each once, sorted; none for a text that is too short. Lines are apart."""
    seed = crc32(environment.encode(), crc32(merchant_id.bytes))
    found = {
        crc32(line[start : start + LENGTH].encode(), seed)
        for line in text.split("\n")
        for start in range(len(line) - LENGTH + 1)
    }
    return sorted(number - (1 << 32) if number >= _SIGN else number for number in found)
