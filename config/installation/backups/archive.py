"""The format of a backup: a tar with the manifest, the dump in pieces, and at its end what both amount to.

The size of a dump is known only when it has ended, so that it is written in pieces, as it comes. Without Ballast:
`tar -xOf FILE --wildcards 'dump/*' | pg_restore …`.
"""

from __future__ import annotations

import hashlib
import json
import tarfile
import time
from collections.abc import Iterator
from typing import IO, Any, Protocol

from config.installation.backups.programs import BackupError

MANIFEST, PIECES, END = "manifest.json", "dump/", "end.json"
PIECE_BYTES = 4 * 1024 * 1024

TRUNCATED = "It ends before its end: it was cut, or is no backup of Ballast."
CHANGED = "It is not what was written: bytes of it have changed."


class Sink(Protocol):
    def write(self, data: bytes, /) -> Any: ...


class Writer:
    """Writes one backup to a stream that need not be seekable."""

    def __init__(self, sink: Sink) -> None:
        self._sink, self._digest, self._pieces, self.size = sink, hashlib.sha256(), 0, 0

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        content = json.dumps(manifest, indent=1).encode()
        self._digest.update(content)
        self._write(MANIFEST, content)

    def write_piece(self, content: bytes) -> None:
        self._digest.update(content)
        self._pieces += 1
        self.size += len(content)
        self._write(f"{PIECES}{self._pieces:08}", content)

    def close(self) -> None:
        end = {"pieces": self._pieces, "bytes": self.size, "sha256": self._digest.hexdigest()}
        self._write(END, json.dumps(end).encode())
        self._sink.write(bytes(2 * tarfile.BLOCKSIZE))

    def _write(self, name: str, content: bytes) -> None:
        header = tarfile.TarInfo(name)
        header.size, header.mode, header.mtime = len(content), 0o600, int(time.time())
        self._sink.write(header.tobuf(format=tarfile.USTAR_FORMAT))
        self._sink.write(content)
        self._sink.write(bytes(-len(content) % tarfile.BLOCKSIZE))


class Reader:
    """Reads one backup; BackupError for one that is cut or changed."""

    def __init__(self, source: IO[bytes]) -> None:
        self._digest = hashlib.sha256()
        try:
            self._tar = tarfile.open(fileobj=source, mode="r|")  # noqa: SIM115 - it is read for as long as this
            name, content = self._next()
            self.manifest: dict[str, Any] = json.loads(content) if name == MANIFEST else {}
        except (tarfile.TarError, ValueError, EOFError) as error:
            raise BackupError(TRUNCATED) from error
        if not self.manifest:
            raise BackupError("It is no backup of Ballast: it does not begin with a manifest.")
        self._digest.update(content)

    def pieces(self) -> Iterator[bytes]:
        """The dump. The last piece comes only once everything before the end has been found to be as it was written,
        so that whoever needs all of it cannot have gone on with less."""
        held, count, size = b"", 0, 0
        while True:
            try:
                name, content = self._next()
            except (tarfile.TarError, EOFError) as error:
                raise BackupError(TRUNCATED) from error
            if not name.startswith(PIECES):
                break
            self._digest.update(content)
            count, size = count + 1, size + len(content)
            if held:
                yield held
            held = content
        try:
            end = json.loads(content) if name == END else {}
        except ValueError:
            end = {}
        if end != {"pieces": count, "bytes": size, "sha256": self._digest.hexdigest()}:
            raise BackupError(CHANGED)
        yield held

    def _next(self) -> tuple[str, bytes]:
        member = self._tar.next()
        if member is None:
            raise EOFError
        self._tar.members.clear()  # type: ignore[attr-defined]  # it would keep every one
        if member.size > 64 * PIECE_BYTES:
            raise tarfile.ReadError("too large a piece")
        source = self._tar.extractfile(member)
        content = source.read() if source else b""
        if len(content) != member.size:
            raise EOFError
        return member.name, content
