"""Backups by PostgreSQL's own programs: what is restored is what was backed up, and what is damaged is refused."""

from __future__ import annotations

import io
import os
import re
import shutil
import stat
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.utils import timezone
from pytest_django.fixtures import Settings
from pytest_django.plugin import DjangoDbBlocker

from config.database.months import months_of
from config.embedded.postgres import EmbeddedPostgres
from config.installation import services as standing
from config.installation.backups import drilling, making
from config.installation.backups.archive import Reader, Writer
from config.installation.identity import Identity
from config.installation.models import BackupRun, Installation, Sign
from merchants.ledger.models import Account
from merchants.request_log.purging import purge
from payments.models import Payment
from tests.installation.servers import Servers, working_on
from tests.payments.scenes import POLYGON, make_payment, pay_and_confirm
from tests.webhooks.scenes import make_endpoint


@dataclass(frozen=True)
class Backup:
    server: EmbeddedPostgres
    file: Path
    payment: uuid.UUID

    @contextmanager
    def empty_database(self) -> Iterator[None]:
        name = f"copy_{uuid.uuid4().hex[:8]}"
        with self.server.connect("postgres") as admin:
            admin.execute(f"CREATE DATABASE {name}".encode())
            with working_on(self.server, name):
                yield
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture(autouse=True)
def forgets() -> Iterator[None]:
    """What a process remembers of one database is not of another."""
    standing.forget()
    yield
    standing.forget()


@pytest.fixture(scope="module")
def backup(django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backup]:
    servers, folder = Servers(), tmp_path_factory.mktemp("backups") / "made"
    with django_db_blocker.unblock():
        try:
            server = servers.new("backups", is_migrated=True)
            with working_on(server):
                standing.keep_pulse()
                payment = pay_and_confirm(make_payment(network=POLYGON))
                with patch.object(making, "PIECE_BYTES", 2**16):  # several pieces, as of a large database
                    call_command("backup", to=folder, verbosity=0)
                [file] = folder.iterdir()
            yield Backup(server, file, payment.pk)
        finally:
            servers.close()


def restore(file: Path | str, **options: Any) -> str:
    said = io.StringIO()
    call_command("restore", file, stdout=said, **options)
    return said.getvalue()


def tables() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace")
        return int((cursor.fetchone() or [0])[0])


def test_what_is_restored_is_what_was_backed_up_and_stands_still(backup: Backup) -> None:
    with working_on(backup.server):
        balances = sorted(Account.objects.values_list("kind", "owner", "balance"))
        [run] = BackupRun.objects.all()
    assert (run.kind, run.name, run.fault) == ("made", backup.file.name, "")
    assert stat.S_IMODE(backup.file.stat().st_mode) == 0o600
    with backup.empty_database():
        said = restore(backup.file)
        assert "resume_after_restore" in said
        assert Payment.objects.get(pk=backup.payment).status == "completed"
        assert sorted(Account.objects.values_list("kind", "owner", "balance")) == balances
        standstill = standing.current_standstill()
        assert standstill is not None
        assert standstill.sign == Sign.COPIED


def test_a_month_that_is_due_waits_until_it_is_backed_up(backup: Backup, tmp_path: Path) -> None:
    def drop_months(said: str) -> None:
        if said == "counting rows":
            purge(now=timezone.now() + timedelta(days=100))

    with working_on(backup.server):
        months = months_of()
        making.make_backup(str(tmp_path), report=drop_months)
        assert [month.name for month in months_of()] == [month.name for month in months]


def test_a_backup_goes_through_standard_output_and_input(
    backup: Backup, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    with working_on(backup.server):
        call_command("backup", to="-")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(capsysbinary.readouterr().out))))
    with backup.empty_database():
        restore("-")
        assert Payment.objects.filter(pk=backup.payment).exists()


def cut(bytes_left_out: int) -> Callable[[bytes], bytes]:
    return lambda content: content[:-bytes_left_out]


def with_manifest(**changed: Any) -> Callable[[bytes], bytes]:
    """A whole backup whose manifest says something else."""

    def change(content: bytes) -> bytes:
        reader, target = Reader(io.BytesIO(content)), io.BytesIO()
        writer = Writer(target)
        writer.write_manifest({**reader.manifest, **changed})
        for piece in reader.pieces():
            writer.write_piece(piece)
        writer.close()
        return target.getvalue()

    return change


def whole_of_a_cut_dump(content: bytes) -> bytes:
    """As if the programs that made it had agreed on less: PostgreSQL finds out among the last tables."""
    reader, target = Reader(io.BytesIO(content)), io.BytesIO()
    writer = Writer(target)
    writer.write_manifest(reader.manifest)
    writer.write_piece(b"".join(reader.pieces())[:-3000])
    writer.close()
    return target.getvalue()


def one_byte_changed(content: bytes) -> bytes:
    return content[: len(content) // 2] + bytes([content[len(content) // 2] ^ 1]) + content[len(content) // 2 + 1 :]


DAMAGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "cut before its end": (cut(3000), "was cut"),
    "cut in the dump": (cut(100_000), "was cut"),
    "cut in the manifest": (lambda content: content[:700], "was cut"),
    "one byte of it changed": (one_byte_changed, "bytes of it have changed"),
    "whole, of a dump that is cut": (whole_of_a_cut_dump, "pg_restore failed"),
    "something else": (lambda content: b"-- PostgreSQL database dump --\n" * 50, "gpg failed"),
    "empty": (lambda content: b"", "gpg failed"),
    "of a later version": (with_manifest(migrations={"payments": ["0999_later"]}), "does not know payments.0999_later"),
    "of a later server": (with_manifest(server=99), "later than this server"),
    "of another format": (with_manifest(format=2), "format 2"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_backup_is_refused_and_leaves_the_database_empty(damage: str, backup: Backup, tmp_path: Path) -> None:
    change, message = DAMAGES[damage]
    file = tmp_path / "damaged"
    file.write_bytes(change(backup.file.read_bytes()))
    with backup.empty_database():
        with pytest.raises(CommandError, match=message):
            restore(file)
        assert tables() == 0


def test_a_key_that_is_another_is_named_before_anything_is_restored(backup: Backup, settings: Settings) -> None:
    settings.SECRET_KEY, settings.WEBHOOK_ENCRYPTION_KEY = "another key", "rotated"
    settings.WEBHOOK_ENCRYPTION_KEY_FALLBACKS = ["a key for the webhooks of tests and nothing else"]
    with backup.empty_database():
        with pytest.raises(CommandError, match=r"are not here: SECRET_KEY\. What"):
            restore(backup.file)
        assert tables() == 0
        assert "WARNING: SECRET_KEY" in restore(backup.file, without_keys=True)
    assert "another key" not in backup.file.read_text(errors="replace")


def test_a_copy_with_other_figures_is_named(backup: Backup, tmp_path: Path) -> None:
    with backup.file.open("rb") as source:
        manifest = Reader(source).manifest
    entries = [[*row[:-1], "1"] for row in manifest["figures"]["entries of the ledger"]]
    figures = manifest["figures"] | {"entries of the ledger": entries, "last address number": [[10**6]]}
    file = tmp_path / "wrong"
    file.write_bytes(
        with_manifest(figures=figures, rows=manifest["rows"] | {"payments_payment": 7})(backup.file.read_bytes())
    )
    with backup.empty_database(), pytest.raises(CommandError) as refused:
        restore(file)
    for words in ("payments_payment has 1 rows, and had 7 rows", "entries of the ledger differ", "address number"):
        assert words in str(refused.value)


def test_only_an_empty_database_is_restored_into(backup: Backup) -> None:
    with working_on(backup.server), pytest.raises(CommandError, match="not empty: it has "):
        restore(backup.file)


def test_the_newest_are_kept_and_one_that_fails_leaves_nothing(backup: Backup, tmp_path: Path) -> None:
    stranger, older = tmp_path / "ballast-00000000-20200101T000000Z.tar", []
    prefix = backup.file.name.rpartition("-")[0]
    for year in (2020, 2021, 2022):
        older.append(tmp_path / f"{prefix}-{year}0101T000000Z.tar.age")
        older[-1].touch()
    left_behind = tmp_path / f".{prefix}-20220101T000000Z.tar.1.partial"
    for path in (stranger, left_behind):
        path.touch()
    with working_on(backup.server):
        with pytest.raises(CommandError, match="No backup was made: gpg failed"):
            call_command("backup", to=tmp_path, encrypt_to="nobody@example.com", keep=1, verbosity=0)
        assert BackupRun.objects.latest("ended_at").fault.startswith("gpg failed")
        assert sorted(tmp_path.iterdir()) == sorted([stranger, *older])
        call_command("backup", to=tmp_path, keep=2, verbosity=0)
    assert len(list(tmp_path.iterdir())) == 3
    assert {stranger, older[-1]} < {*tmp_path.iterdir()}
    later = tmp_path / f"{prefix}-20990101T000000Z.tar"  # somebody's clock was wrong
    later.touch()
    with working_on(backup.server):
        call_command("backup", to=tmp_path, keep=1, verbosity=0)
        made = BackupRun.objects.latest("ended_at").name
        with pytest.raises(CommandError, match="--encrypt-to has no key"):
            call_command("backup", to=tmp_path, encrypt_to="", keep=1, verbosity=0)
    assert {path.name for path in tmp_path.iterdir()} == {stranger.name, later.name, made}


def drill(file: Path) -> str:
    said = io.StringIO()
    call_command("backup_drill", str(file), stdout=said)
    return said.getvalue()


def scratches(server: EmbeddedPostgres) -> int:
    with server.connect("postgres") as admin:
        found = admin.execute("SELECT count(*) FROM pg_database WHERE datname LIKE 'ballast_drill%'").fetchone()
    return int(str((found or [0])[0]))


def test_a_drill_that_the_database_ends_is_noted_as_failed(backup: Backup, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OperationalError("the disk is full")

    monkeypatch.setattr("config.installation.backups.restoring.differences", fail)
    with working_on(backup.server), pytest.raises(CommandError, match="the disk is full"):
        drill(backup.file)
    with working_on(backup.server):
        noted = BackupRun.objects.filter(kind=BackupRun.Kind.DRILLED).latest("ended_at")
    assert noted.fault == "OperationalError: the disk is full"
    assert scratches(backup.server) == 0


def test_a_copy_stands_still_where_its_tables_have_the_numbers_of_then(
    backup: Backup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on another new server, where the same steps make the same numbers, and whose name nobody may read."""
    with working_on(backup.server):
        row = Installation.objects.get()
    then = Identity("", row.database_oid, row.table_oid, row.timeline)
    with backup.empty_database():
        monkeypatch.setattr("config.installation.services.identity_here", lambda: then)
        monkeypatch.setattr("config.installation.marker.read", lambda _: None)
        restore(backup.file)
        assert (standing.may_act(), standing.look() is None) == (False, False)
        assert standing.current_standstill() is not None


def test_nothing_is_restored_through_a_pooler(backup: Backup, settings: Settings) -> None:
    settings.DATABASE_LIMITS = {**settings.DATABASE_LIMITS, "lock_timeout": "9s"}  # as if it had been dropped
    with backup.empty_database(), pytest.raises(CommandError, match="A pooler stands between"):
        restore(backup.file)


def test_what_killed_drills_left_behind_is_dropped(backup: Backup, tmp_path: Path) -> None:
    with backup.server.connect("postgres") as admin:
        admin.execute(f"CREATE DATABASE ballast_drill_{os.getpid()}".encode())
        admin.execute(b"CREATE DATABASE ballast_drill_1")
    (tmp_path / "no backup").write_bytes(bytes(1024))
    with working_on(backup.server), backup.server.connect("ballast_drill_1"), pytest.raises(CommandError) as told:
        drill(tmp_path / "no backup")
    assert "already exists" not in str(told.value)
    assert scratches(backup.server) == 1  # the one that goes on
    with backup.server.connect("postgres") as admin:
        admin.execute(b"DROP DATABASE ballast_drill_1")


def test_what_a_drill_meets_is_told_to_no_server_of_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("SENTRY_DSN", "OTEL_EXPORTER_OTLP_ENDPOINT")
    for name in names:
        monkeypatch.setenv(name, "https://key@errors.example.com/1")
    given = drilling._environment({"dbname": "ballast_drill_1", "host": "/run/postgresql"})
    assert {given[name] for name in names} == {""}


def test_a_drill_finds_a_secret_that_no_key_opens(backup: Backup, settings: Settings, tmp_path: Path) -> None:
    """Its fingerprint is that of the key of today: what was stored before is under another."""
    with working_on(backup.server):
        key, settings.WEBHOOK_ENCRYPTION_KEY = settings.WEBHOOK_ENCRYPTION_KEY, "a key that was lost long ago"
        endpoint = make_endpoint()
        settings.WEBHOOK_ENCRYPTION_KEY = key
        call_command("backup", to=tmp_path, verbosity=0)
        endpoint.delete()
        [file] = tmp_path.iterdir()
        with pytest.raises(CommandError, match="not every stored secret opens with the keys of today"):
            drill(file)
        noted = BackupRun.objects.get(kind=BackupRun.Kind.DRILLED, name=file.name)
        assert re.search(r"fail +webhook secrets: .* 1 ", noted.fault)
        assert "1 failed." in noted.fault
    assert scratches(backup.server) == 0


@pytest.mark.slow
def test_a_good_backup_passes_its_drill_beside_the_database(backup: Backup) -> None:
    with working_on(backup.server):
        said = drill(backup.file)
        assert said.count("ok: ") == 3
        noted = BackupRun.objects.filter(kind=BackupRun.Kind.DRILLED, name=backup.file.name)
        assert noted.latest("ended_at").fault == ""
        assert standing.current_standstill() is None
    assert scratches(backup.server) == 0


@pytest.mark.skipif(shutil.which("gpg") is None, reason="there is no gpg")
def test_an_encrypted_backup_is_restored_by_its_key_alone(
    backup: Backup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with keyring(monkeypatch) as recipient, working_on(backup.server):
        call_command("backup", to=tmp_path, encrypt_to=recipient, verbosity=0)
        [file] = tmp_path.iterdir()
        assert file.name.endswith(".tar.gpg")
        with backup.empty_database():
            restore(file)
            assert Payment.objects.filter(pk=backup.payment).exists()
    with keyring(monkeypatch), backup.empty_database():
        with pytest.raises(CommandError, match=r"gpg failed: .*secret key"):
            restore(file)
        assert tables() == 0


@contextmanager
def keyring(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Somebody whose private key GPG has here."""
    home = Path("/tmp") / f"ballast-gpg-{uuid.uuid4().hex[:8]}"  # noqa: S108 - the path of its socket must be short
    home.mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", str(home))
    name = f"{uuid.uuid4().hex[:8]}@example.com"
    make = ["gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", name, "future-default", "default"]
    try:
        subprocess.run(make, check=True, capture_output=True)
        yield name
    finally:
        subprocess.run(["gpgconf", "--kill", "all"], check=False, capture_output=True)
        shutil.rmtree(home, ignore_errors=True)
