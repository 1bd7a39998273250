"""Bodies of replies from outside, read up to a limit: a small compressed reply may unpack to gigabytes."""

from __future__ import annotations

import zlib

ACCEPT_ENCODING = "gzip"
"""The encoding to request. Any other, or one encoding inside another, is refused."""


class ReplyTooLarge(Exception):
    """The body is longer than the limit."""


class ReplyUnreadable(Exception):
    """The body is damaged, or compressed in a way that was not requested."""


class Body:
    """The content of one reply, unpacked as it arrives and never beyond `most_bytes`."""

    def __init__(self, content_encoding: str, *, most_bytes: int) -> None:
        encoding = content_encoding.strip().lower()
        if encoding not in ("", "identity", "gzip"):
            raise ReplyUnreadable("compressed in a way that was not asked for")
        self._unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16) if encoding == "gzip" else None
        self._most_bytes = most_bytes
        self.content = bytearray()

    def add(self, part: bytes) -> None:
        """Add what has just arrived; raises ReplyTooLarge or ReplyUnreadable."""
        if self._unpacker is not None:
            try:
                part = self._unpacker.decompress(part, self._most_bytes - len(self.content) + 1)
            except zlib.error as error:
                raise ReplyUnreadable("damaged") from error
        self.content += part
        if len(self.content) > self._most_bytes:
            raise ReplyTooLarge(f"more than {self._most_bytes} bytes")
