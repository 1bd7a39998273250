"""Restores a backup into an empty database, whose figures must then be those of the manifest.

PostgreSQL restores it in one database transaction: one that fails leaves the database as empty as it was.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import PIPE
from typing import IO, Any

from django.db import Error
from django.db.backends.base.base import BaseDatabaseWrapper

from config.database.sessions import SessionShared, require_own_session
from config.installation.backups.archive import Reader
from config.installation.backups.keys import fingerprints, missing_fallbacks, missing_keys
from config.installation.backups.making import STANDARD_OUTPUT, Report
from config.installation.backups.manifest import (
    OURS,
    Manifest,
    differences,
    later_migrations,
    server_major,
    unknown_migrations,
)
from config.installation.backups.programs import BackupError, decryption, find_program, reach, running
from config.process.release import RELEASE

_SOMETHING = f"""
    SELECT relname FROM pg_class WHERE relkind IN ('r', 'p', 'v', 'm', 'S') AND {OURS}
    ORDER BY relkind = 'S', relname LIMIT 1
"""  # noqa: S608 - constant

_COPIED = "UPDATE installation_installation SET database_oid = 0, table_oid = 0"
"""No table has this number: the copy stands still even on another server where its own happen to be those of then."""


@contextmanager
def opened(file: str, identity: str = "") -> Iterator[Reader]:
    """The backup of this file, or of the standard input; decrypted by `identity`, age's file of a private key, or by
    the key that GPG has."""
    with ExitStack() as stack:
        source: IO[bytes] = sys.stdin.buffer if file == STANDARD_OUTPUT else stack.enter_context(_opened(Path(file)))
        beginning: Any = source.peek(512)[:512]  # type: ignore[attr-defined]  # both are buffered
        if command := decryption(beginning, identity):
            if file == STANDARD_OUTPUT:
                raise BackupError("Decrypt it before: age --decrypt … | manage.py restore -")
            source = stack.enter_context(_decrypted(source, command))
        yield Reader(source)


def restore_backup(
    file: str, *, identity: str = "", without_keys: bool = False, session: BaseDatabaseWrapper, report: Report
) -> Manifest:
    """Into the empty database of this session. BackupError when it is not empty, when the backup is cut, changed, of
    a later version or under other keys, and when the copy is not as the manifest says."""
    try:
        require_own_session(session)  # pg_restore leaves settings in its session, which are nobody else's business
        require_empty(session)
        with opened(file, identity) as reader:
            manifest = Manifest.read(reader.manifest)
            report(f"backup of {manifest.taken_at} by Ballast {manifest.release}, PostgreSQL {manifest.server}")
            _require_fitting(manifest, session, report, without_keys=without_keys)
            _restore(reader, manifest, session, report)
        with session.cursor() as cursor:
            cursor.execute(_COPIED)
        report("comparing with the manifest")
        found = list(differences(manifest, session))
    except SessionShared as error:
        raise BackupError(str(error)) from error
    except (OSError, Error) as error:
        raise BackupError(f"{type(error).__name__}: {' '.join(str(error).split())}") from error
    if found:
        raise BackupError("The copy is not what was backed up; do not go on with it: " + "; ".join(found[:20]) + ".")
    if later := later_migrations(manifest):
        report(f"it lacks {len(later)} migrations of this version: run manage.py migrate next")
    return manifest


def require_empty(session: BaseDatabaseWrapper) -> None:
    with session.cursor() as cursor:
        cursor.execute(_SOMETHING)
        if found := cursor.fetchone():
            raise BackupError(f"The database is not empty: it has {found[0]}. Restore into a new one.")


def _require_fitting(manifest: Manifest, session: BaseDatabaseWrapper, report: Report, *, without_keys: bool) -> None:
    if unknown := unknown_migrations(manifest):
        raise BackupError(
            f"It is of Ballast {manifest.release}, later than this {RELEASE}, which does not know "
            f"{', '.join(unknown[:3])}. Restore it with that version."
        )
    if (server := server_major(session)) < manifest.server:
        raise BackupError(f"It is of PostgreSQL {manifest.server}, later than this server, which is {server}.")
    here = fingerprints()
    missing = missing_keys(manifest.keys, here)
    if missing and not without_keys:
        raise BackupError(
            f"Keys of the backup are not here: {', '.join(missing)}. What is stored under them could never be read. "
            "Set them as they were then (or as fallbacks), or restore by --without-keys what needs none."
        )
    for name in missing:
        report(f"WARNING: {name} is not the one of the backup")
    for name in missing_fallbacks(manifest.keys, here):
        report(f"WARNING: a key of {name}_FALLBACKS of then is not here: what is still under it cannot be read")


def _restore(reader: Reader, manifest: Manifest, session: BaseDatabaseWrapper, report: Report) -> None:
    program = find_program("pg_restore", server=server_major(session), dumped_by=manifest.dumped_by)
    place, environment = reach(session.get_connection_params())
    options = ["--exit-on-error", "--single-transaction", "--no-owner", "--no-privileges", "--no-password"]
    with running([str(program.path), *options, f"--dbname={place}"], env=environment, stdin=PIPE) as restoring:
        assert restoring.stdin is not None  # noqa: S101 - a pipe was asked for
        restored = 0
        for piece in reader.pieces():
            restoring.stdin.write(piece)
            restoring.stdin.flush()
            restored += len(piece)
        report(f"read {restored / 2**20:,.1f} MiB; making indexes")


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    try:
        file = path.open("rb")
    except OSError as error:
        raise BackupError(f"{path} cannot be read: {error.strerror}.") from error
    with file:
        yield file


@contextmanager
def _decrypted(source: IO[bytes], command: list[str]) -> Iterator[IO[bytes]]:
    """By a program that reads the file itself, from its first byte on."""
    os.lseek(source.fileno(), 0, os.SEEK_SET)
    with running(command, stdin=source, stdout=PIPE) as decrypting:
        assert decrypting.stdout is not None  # noqa: S101 - a pipe was asked for
        yield decrypting.stdout
