"""The locks that a migration is said to take are those that PostgreSQL takes, and `upgrade_check` says what to do."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from contextlib import closing

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, ProgrammingError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from config.database.sessions import new_session
from config.environments import Environment
from config.installation.backups.records import note
from config.installation.migration_locks import (
    HELD,
    MOMENT,
    READS,
    REWRITES,
    WRITES,
    Lock,
    locks_in,
    removed_by,
    statements_in,
)
from config.installation.models import BackupRun, Installation, Sign, Standstill
from config.installation.services import keep_pulse
from config.process.release import RELEASE
from merchants.ledger.models import ReconcileOutcome, ReconcileRun
from merchants.people.mailing import write_mail
from tests.networks import ETHEREUM
from tests.transfers.scenes import COIN, ask, drive, stock

EVERYTHING = {
    "environments": list(Environment.values), "network": None, "since": None, "atBlock": None, "noChain": False,
}  # fmt: skip
MODES = (
    "ACCESS SHARE", "ROW SHARE", "ROW EXCLUSIVE", "SHARE UPDATE EXCLUSIVE", "SHARE", "SHARE ROW EXCLUSIVE",
    "EXCLUSIVE", "ACCESS EXCLUSIVE",
)  # fmt: skip
SHARE, EXCLUSIVE = "SHARE", "ACCESS EXCLUSIVE"

LOCKS: dict[str, tuple[str, str]] = {
    "CREATE INDEX i ON one (a)": (SHARE, READS),
    'CREATE UNIQUE INDEX "i" ON "one" ("a") WHERE "a" > 0': (SHARE, READS),
    'ALTER TABLE "one" ADD COLUMN "b" integer DEFAULT 1 NOT NULL': (EXCLUSIVE, MOMENT),
    'ALTER TABLE "one" ADD COLUMN "b" integer NULL UNIQUE': (EXCLUSIVE, READS),
    'ALTER TABLE "one" DROP COLUMN "a" CASCADE': (EXCLUSIVE, MOMENT),
    'ALTER TABLE "one" ALTER COLUMN "a" TYPE bigint USING "a"::bigint': (EXCLUSIVE, REWRITES),
    'ALTER TABLE "one" ALTER COLUMN "a" SET NOT NULL': (EXCLUSIVE, READS),
    'ALTER TABLE "one" ADD CONSTRAINT "c" CHECK ("a" > 0)': (EXCLUSIVE, READS),
    'ALTER TABLE "one" ADD CONSTRAINT "c" CHECK ("a" > 0) NOT VALID': (EXCLUSIVE, MOMENT),
    'ALTER TABLE "one" VALIDATE CONSTRAINT "known"': ("SHARE UPDATE EXCLUSIVE", READS),
    'ALTER TABLE "one" ADD CONSTRAINT "c" FOREIGN KEY ("a") REFERENCES "two" ("a")': ("SHARE ROW EXCLUSIVE", READS),
    'ALTER TABLE "one" ADD CONSTRAINT "c" FOREIGN KEY ("a") REFERENCES "two" ("a") NOT VALID': (
        "SHARE ROW EXCLUSIVE",
        MOMENT,
    ),
    "LOCK TABLE one": (EXCLUSIVE, HELD),
    "LOCK TABLE one IN SHARE ROW EXCLUSIVE MODE": ("SHARE ROW EXCLUSIVE", HELD),
    "UPDATE one SET a = 2": ("ROW EXCLUSIVE", WRITES),
    'DROP TABLE "one" CASCADE': (EXCLUSIVE, MOMENT),
    "CREATE TRIGGER t BEFORE UPDATE ON one FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()": (
        "SHARE ROW EXCLUSIVE",
        MOMENT,
    ),
    "DROP TRIGGER known ON one": (EXCLUSIVE, MOMENT),
}


@pytest.mark.django_db
def test_a_statement_takes_the_lock_that_is_said() -> None:
    with closing(new_session()) as session, session.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE two (a integer PRIMARY KEY)")
        cursor.execute("CREATE TEMPORARY TABLE one (a integer)")
        cursor.execute("ALTER TABLE one ADD CONSTRAINT known CHECK (a > -1) NOT VALID")
        cursor.execute(
            "CREATE TRIGGER known BEFORE UPDATE ON one FOR EACH ROW"
            " EXECUTE FUNCTION suppress_redundant_updates_trigger()"
        )
        for statement, (mode, lasting) in LOCKS.items():
            assert list(locks_in(statement)) == [Lock("one", mode, lasting)], statement
            cursor.execute("SELECT 'one'::regclass::oid::bigint")
            table = (cursor.fetchone() or [0])[0]
            cursor.execute("BEGIN")
            cursor.execute(statement)
            cursor.execute("SELECT mode FROM pg_locks WHERE relation = %s AND pid = pg_backend_pid()", [table])
            taken = {_words(name) for (name,) in cursor.fetchall()}
            cursor.execute("ROLLBACK")
            assert mode == max(taken, key=MODES.index), (statement, taken)


def _words(mode: str) -> str:
    """AccessExclusiveLock as statements name it."""
    return re.sub(r"(?<!^)([A-Z])", r" \1", mode.removesuffix("Lock")).upper()


def test_comments_and_bodies_of_functions_take_none() -> None:
    sql = """-- LOCK TABLE one;
        CREATE FUNCTION f() RETURNS trigger AS $$ BEGIN UPDATE one SET a = 1; RETURN NEW; END $$ LANGUAGE plpgsql;
        CREATE INDEX CONCURRENTLY i ON one (a)"""
    [lock] = [lock for each in statements_in(sql) for lock in locks_in(each)]
    assert (str(lock), lock.is_long) == ("SHARE UPDATE EXCLUSIVE on one, while all of it is read", False)


def test_what_is_taken_away_is_named() -> None:
    statements = [
        'ALTER TABLE "one" DROP COLUMN "a" CASCADE',
        'DROP TABLE "two" CASCADE',
        "ALTER TABLE one RENAME TO x",
    ]
    statements += ["ALTER TABLE one RENAME COLUMN b TO c", 'ALTER TABLE "one" DROP CONSTRAINT "c"']
    assert list(removed_by(statements)) == ["one.a", "two", "one", "one.b"]


def check() -> str:
    said = io.StringIO()
    try:
        call_command("upgrade_check", stdout=said)
    except CommandError as error:
        return f"{said.getvalue()}\n{error}"
    return said.getvalue()


@pytest.mark.django_db
class TestUpgradeCheck:
    def test_nothing_speaks_against_it(self) -> None:
        ReconcileRun.objects.create(
            outcome=ReconcileOutcome.CLEAN, finished_at=timezone.now(), checks=[{}], options=EVERYTHING
        )
        note(BackupRun.Kind.MADE, taken_at=timezone.now())
        said = check()
        assert "may begin" in said
        assert not re.search("^(warn|fail)", said, re.MULTILINE)

    def test_a_pending_migration_is_shown_with_its_locks(self) -> None:
        later = MigrationRecorder.Migration.objects.filter(app__in=["merchants", "installation"])
        later.exclude(name="0001_tables").delete()
        said = check()
        assert re.search(r"merchants.0002_branding_language: ACCESS EXCLUSIVE on merchants_branding,", said)
        assert "installation.0002_backup_runs: no lock on a table that is there." in said

    @pytest.mark.parametrize(
        ("before", "now", "said"),
        [
            ("", "0.1.4", "ok    release: From 0.1.0 to 0.1.4."),
            ("0.1.3", "0.2.0", "ok    release: From 0.1.3 to 0.2.0."),
            ("1.9.2", "2.0.0", "ok    release: From 1.9.2 to 2.0.0."),
            ("", "0.3.0", "next is 0.2."),
            ("1.4.0", "2.1.0", "next is 2.0, after the last of 1."),
            ("0.2.1", "0.1.0", "This code is older than what runs."),
        ],
    )
    def test_releases_are_upgraded_to_in_order(
        self, monkeypatch: pytest.MonkeyPatch, before: str, now: str, said: str
    ) -> None:
        keep_pulse()
        assert Installation.objects.get().release == RELEASE
        Installation.objects.update(release=before)
        monkeypatch.setattr("payments.monitoring.management.commands.upgrade_check.RELEASE", now)
        shown = check()
        assert said in shown
        assert ("Do not begin" in shown) == (not said.startswith("ok"))

    def test_a_database_of_the_first_release_has_no_such_column(self) -> None:
        keep_pulse()
        connection.cursor().execute("ALTER TABLE installation_installation DROP COLUMN release")
        assert f"release: From 0.1.0 to {RELEASE}." in check()

    def test_one_does_not_begin_on_books_that_do_not_add_up(self) -> None:
        stock(ETHEREUM, 5 * COIN)
        ask(ETHEREUM, COIN)
        drive(ETHEREUM)
        write_mail(to="ada@example.com", subject="A mail", text="Hello")
        ReconcileRun.objects.create(
            outcome=ReconcileOutcome.DISCREPANCY,
            finished_at=timezone.now(),
            checks=[{}],
            error_count=2,
            options=EVERYTHING,
        )
        said = check()
        for words in ("found 2 errors", "1 transfers that are signed", "1 mails", "made none", "Do not begin"):
            assert words in said

    def test_one_does_not_begin_where_nobody_could_look(self, monkeypatch: pytest.MonkeyPatch) -> None:
        module = "payments.monitoring.management.commands.upgrade_check"

        def fail_by(error: Exception) -> Callable[[], None]:
            def fail() -> None:
                raise error

            return fail

        for asked in ("require_tables_of_release", "last_runs"):
            with monkeypatch.context() as patched:
                patched.setattr(f"{module}.{asked}", fail_by(OperationalError("connection refused")))
                assert "Do not begin" in check(), asked
        monkeypatch.setattr(f"{module}.last_runs", fail_by(ProgrammingError("no such column")))
        assert "may begin" in check()
        Standstill.objects.create(sign=Sign.COPIED, message="A copy", complete_until=timezone.now())
        assert "It stands still: A copy" in check()
        assert "Do not begin" in check()
