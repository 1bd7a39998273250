"""Makes a backup: one snapshot, from which the manifest is read and PostgreSQL dumps, straight into its file."""

from __future__ import annotations

import fcntl
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE, Popen
from typing import IO

from django.db import Error
from django.db.backends.base.base import BaseDatabaseWrapper

from config.database.sessions import SessionShared, new_session, require_own_session
from config.installation.backups.archive import PIECE_BYTES, Writer
from config.installation.backups.manifest import TABLES, Manifest, server_major, take_manifest
from config.installation.backups.programs import BackupError, encryption, find_program, reach, running

STANDARD_OUTPUT = "-"
LOCK_WAIT = "60s"
"""A table that a migration holds for longer fails the backup, rather than queueing all others behind it."""
REPORT_EVERY_SECONDS = 5.0

Report = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Made:
    name: str
    manifest: Manifest
    size: int
    removed: int
    """How many older ones were removed."""


def make_backup(to: str, *, encrypt_to: str = "", keep: int = 0, report: Report) -> Made:
    """Into a new file of this folder, or to the standard output. BackupError, and nothing is left, when it fails."""
    try:
        with _snapshot() as (session, snapshot):
            program = find_program("pg_dump", server=server_major(session))
            report("counting rows")
            manifest = take_manifest(session, dumped_by=program.major)
            place, environment = reach(session.get_connection_params())
            dump = [str(program.path), "--format=custom", "--no-password", f"--dbname={place}"]
            dump += [f"--snapshot={snapshot}", f"--lock-wait-timeout={LOCK_WAIT}"]
            ending, encrypt = encryption(encrypt_to)
            with (
                _target(to, manifest, f".tar{ending}") as (name, file),
                running(dump, env=environment, stdout=PIPE) as dumping,
                _encrypted(file, encrypt) as sink,
            ):
                size = _copy(manifest, dumping, sink, report)
    except SessionShared as error:
        raise BackupError(str(error)) from error
    except (OSError, Error) as error:
        raise BackupError(f"{type(error).__name__}: {' '.join(str(error).split())}") from error
    removed = _remove_old(Path(to), _prefix(manifest), keep, made=name) if keep and to != STANDARD_OUTPUT else 0
    return Made(name, manifest, size, removed)


@contextmanager
def _encrypted(file: IO[bytes], command: list[str]) -> Iterator[IO[bytes]]:
    """What writes to the file, through this command if there is one."""
    if not command:
        yield file
        return
    with running(command, stdin=PIPE, stdout=file) as encrypting:
        assert encrypting.stdin is not None  # noqa: S101 - a pipe was asked for
        yield encrypting.stdin


@contextmanager
def _snapshot() -> Iterator[tuple[BaseDatabaseWrapper, str]]:
    """A session of its own with an open snapshot, and the name by which others read the same."""
    session = new_session()
    try:
        require_own_session(session)
        session.set_autocommit(False)
        with session.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute("SET LOCAL statement_timeout = 0")
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            cursor.execute("SELECT pg_export_snapshot()")
            [snapshot] = cursor.fetchone() or [""]
            # Those that are counted and dumped: a month that is dropped meanwhile would be missing.
            cursor.execute(TABLES)
            tables = ", ".join(session.ops.quote_name(table) for (table,) in cursor.fetchall())
            cursor.execute(f"LOCK TABLE {tables} IN ACCESS SHARE MODE")
        yield session, str(snapshot)
    finally:
        session.close()


def _copy(manifest: Manifest, dumping: Popen[bytes], sink: IO[bytes], report: Report) -> int:
    """Returns how many bytes the dump has. It counts as whole only if the program ended well."""
    writer, told = Writer(sink), time.monotonic()
    writer.write_manifest(manifest.as_json())
    assert dumping.stdout is not None  # noqa: S101 - a pipe was asked for
    while piece := dumping.stdout.read(PIECE_BYTES):
        writer.write_piece(piece)
        if time.monotonic() - told >= REPORT_EVERY_SECONDS:
            told = time.monotonic()
            report(f"dumped {writer.size / 2**20:,.0f} MiB")
    if dumping.wait() or not writer.size:
        raise BackupError("pg_dump wrote no whole dump.")
    writer.close()
    sink.flush()
    return writer.size


@contextmanager
def _target(to: str, manifest: Manifest, ending: str) -> Iterator[tuple[str, IO[bytes]]]:
    """What to write to. A file gets its name when all of it is on the disk; it is locked until then, so that the next
    run can tell it from what a killed one has left behind."""
    if to == STANDARD_OUTPUT:
        yield STANDARD_OUTPUT, sys.stdout.buffer
        return
    folder, prefix = Path(to), _prefix(manifest)
    name = f"{prefix}{manifest.instant:%Y%m%dT%H%M%SZ}{ending}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _remove_unfinished(folder, prefix)
    unfinished = folder / f".{name}.{os.getpid()}.partial"
    try:
        with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield name, file
            file.flush()
            os.fsync(file.fileno())
            unfinished.rename(folder / name)
        _sync(folder)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _prefix(manifest: Manifest) -> str:
    """Tells the backups of several installations in one folder apart."""
    return f"ballast-{manifest.installation[:8] or 'new'}-"


def _remove_unfinished(folder: Path, prefix: str) -> None:
    for path in folder.glob(f".{prefix}*.partial"):
        with suppress(OSError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


def _remove_old(folder: Path, prefix: str, keep: int, *, made: str) -> int:
    """Never the one just made, whatever the dates of others say: a clock may have been wrong."""
    pattern = re.compile(re.escape(prefix) + r"\d{8}T\d{6}Z\.tar(\.age|\.gpg)?")
    found = sorted((path for path in folder.iterdir() if pattern.fullmatch(path.name)), key=lambda path: path.name)
    old = [path for path in found[:-keep] if path.name != made]
    for path in old:
        path.unlink()
    return len(old)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
