"""Bodies of replies from outside, read up to a limit: a small compressed reply may unpack to gigabytes."""

from __future__ import annotations

import zlib

ACCEPT_ENCODING = "gzip"
"""What to ask for. Anything else, and one encoding inside another, is refused."""


class ReplyTooLarge(Exception):
    """More than anybody should have to read."""


class ReplyUnreadable(Exception):
    """Compressed in another way than was asked for, or damaged."""


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
        """Take what has just arrived; ReplyTooLarge or ReplyUnreadable."""
        if self._unpacker is not None:
            try:
                part = self._unpacker.decompress(part, self._most_bytes - len(self.content) + 1)
            except zlib.error as error:
                raise ReplyUnreadable("damaged") from error
        self.content += part
        if len(self.content) > self._most_bytes:
            raise ReplyTooLarge(f"more than {self._most_bytes} bytes")
