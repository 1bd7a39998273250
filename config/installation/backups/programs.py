"""The programs that backups are made of: PostgreSQL's own, and `age` or GPG."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from psycopg import conninfo, pq

from config.embedded.postgres import bundled_binaries

DEBIAN = Path("/usr/lib/postgresql")
ANY_LATER = 17
"""From this version on a server takes what the programs of a later one write."""
ENDS_IN_SECONDS = 2.0
"""Time a program that has failed takes to end."""
GPG = ("gpg", "--batch", "--quiet", "--yes")


class BackupError(Exception):
    """A backup cannot be made, read or restored; the message has the remedy."""


@dataclass(frozen=True, slots=True)
class Program:
    path: Path
    major: int


def find_program(name: str, *, server: int, dumped_by: int = 0) -> Program:
    """`pg_dump` or `pg_restore` that suits a server of this major version, and a dump that such a program wrote."""
    found = list(_installed(name))
    suiting = [each for each in found if _suits(each.major, server) and each.major >= dumped_by]
    if suiting:
        return min(suiting, key=lambda each: each.major)
    there = ", ".join(sorted({str(each.major) for each in found})) or "none"
    wanted = max(server, dumped_by)
    raise BackupError(
        f"{name} of PostgreSQL {wanted} is needed, and found is {there}. "
        f"Install it (Debian: postgresql-client-{wanted})."
    )


def _suits(program: int, server: int) -> bool:
    """pg_restore 17 sets what an older server does not know, and pg_dump refuses a server that is newer."""
    return program == server or program > server >= ANY_LATER


def _installed(name: str) -> Iterator[Program]:
    places = [Path(found)] if (found := shutil.which(name)) else []
    places += sorted(DEBIAN.glob(f"*/bin/{name}"))
    if bundled := bundled_binaries():
        places.append(bundled / name)
    for place in places:
        try:
            said = subprocess.run([str(place), "--version"], capture_output=True, text=True, check=True).stdout  # noqa: S603 - PostgreSQL's own
        except (OSError, subprocess.CalledProcessError):
            continue
        if version := re.search(r"\(PostgreSQL\) (\d+)", said):
            yield Program(place, int(version[1]))


def reach(parameters: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """What leads a program of PostgreSQL to a database, and its environment: there alone is the password."""
    known = {each.keyword.decode() for each in pq.Conninfo.get_defaults()} - {"password", "options", "client_encoding"}
    place = {name: str(value) for name, value in parameters.items() if name in known and value not in (None, "")}
    environment = {name: value for name, value in os.environ.items() if name != "PGOPTIONS"}
    if password := parameters.get("password"):
        environment["PGPASSWORD"] = str(password)
    return conninfo.make_conninfo(**place), environment


@contextmanager
def running(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A program, from whose failure a BackupError comes; it is ended when the block fails."""
    with tempfile.TemporaryFile() as complaints:
        try:
            process = subprocess.Popen(command, stderr=complaints, **options)  # noqa: S603 - named here and by the operator
        except OSError as error:
            raise BackupError(f"{command[0]} cannot be run: {error.strerror}. Install it.") from error
        try:
            yield process
            if process.stdin is not None:
                process.stdin.close()
            process.wait()
        except BaseException as error:
            # A program that ends by itself says best what was wrong; one that still waits for its input does not.
            if process.stdin is None or isinstance(error, BrokenPipeError):
                with suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=ENDS_IN_SECONDS)
            process.kill()
            if process.wait() <= 0:
                raise
        finally:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
        if process.returncode:
            raise BackupError(f"{Path(command[0]).name} failed: {_end_of(complaints)}")


def encryption(recipient: str) -> tuple[str, list[str]]:
    """The end of the file's name, and the command that encrypts its input to this public key."""
    if not recipient:
        return "", []
    if recipient.startswith(("age1", "ssh-")):
        return ".age", ["age", "--recipient", recipient]
    return ".gpg", [*GPG, "--trust-model", "always", "--encrypt", "--recipient", recipient]


def decryption(first_bytes: bytes, identity: str) -> list[str]:
    """The command that decrypts a file that begins so; empty where it is not encrypted."""
    if first_bytes.startswith(b"age-encryption.org/"):
        if not identity:
            raise BackupError("It is encrypted by age. Name the file of the private key by --identity.")
        return ["age", "--decrypt", "--identity", identity]
    if first_bytes[257:262] == b"ustar":
        return []
    return [*GPG, "--decrypt"]


def _end_of(complaints: IO[bytes]) -> str:
    complaints.seek(0)
    said = complaints.read().decode(errors="replace").split("\n")
    return " ".join(line.strip() for line in said[-12:] if line.strip()) or "it did not say why"
