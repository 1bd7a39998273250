"""`manage.py upgrade_check`: whether the database may be migrated to this code now, and what that will hold up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, ProgrammingError, connection
from django.utils import timezone

from config.doctor.registry import Finding, Level, fail, ok, warn
from config.installation.backups import records
from config.installation.checks import require_tables_of_release
from config.installation.migration_locks import Pending, pending_migrations, sizes_of
from config.installation.models import Standstill
from config.pages import wording
from config.process.release import RELEASE
from payments.monitoring.reconciling import last_runs
from payments.transfers.states import OPEN_TRANSFERS

FRESH = timedelta(hours=2)
"""Age up to which a backup counts as one from before the upgrade."""

LARGE_ROWS = 100_000
"""Rows from which on reading a table holds others up."""

FIRST_RELEASE = "0.1.0"
"""It did not note which it is."""

UNSENT = {
    "transfers that are signed or sent and not final": (
        "SELECT count(*) FROM transfers_transfer WHERE status = ANY(%s)",
        [list(map(str, OPEN_TRANSFERS))],
    ),
    "mails that wait": ("SELECT count(*) FROM people_mail", []),
}
"""Read by SQL, as are other old tables: the models of this code may have columns that are not there yet."""


class Command(BaseCommand):
    help = (
        "Looks, with the code of the new version, whether the database may be migrated now: the release that runs, the "
        "jump, each pending migration with the locks it takes, what is half sent, the last reconcile and the backup. "
        "Changes nothing; exits with 1 where one should not begin."
    )
    requires_system_checks = ()

    def handle(self, **options: Any) -> None:
        found = [finding for look in LOOKS for finding in _contained(look)]
        for each in found:
            self.stdout.write(f"{each.level:5} {each.name}: {each.text}")
            if each.advice:
                self.stdout.write(f"      {each.advice}")
        if any(each.level == Level.FAIL for each in found):
            raise CommandError("Do not begin: put right what failed.")
        self.stdout.write(self.style.SUCCESS(f"The upgrade to {RELEASE} may begin: docs/upgrading.md has the steps."))


def check_release() -> Iterator[Finding]:
    """MINOR releases are upgraded to in order (docs/releases.md)."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_jsonb(installation) ->> 'release' FROM installation_installation AS installation")
        [before] = cursor.fetchone() or [None]
    before = before or FIRST_RELEASE
    (was, minor), (now, newer) = (tuple(map(int, each.split(".")[:2])) for each in (before, RELEASE))
    text = f"From {before} to {RELEASE}."
    if (now, newer) < (was, minor):
        yield fail("release", text, "This code is older than what runs. docs/upgrading.md says how to go back.")
    elif (now == was and newer <= minor + 1) or (now == was + 1 and newer == 0):
        yield ok("release", text)
    else:
        between = f"{was}.{minor + 1}" if now == was else f"{was + 1}.0, after the last of {was}"
        yield fail("release", text, f"Releases are upgraded to in order: next is {between}.")


def check_jump() -> Iterator[Finding]:
    try:
        require_tables_of_release()
    except ImproperlyConfigured as error:
        yield fail("jump", str(error), "docs/upgrading.md, “Over two releases”, says more.")
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT app, name FROM django_migrations")
        applied = set(cursor.fetchall())
    pending = pending_migrations()
    if removed := [each for migration in pending for each in migration.removed]:
        yield warn(
            "jump",
            f"Taken away: {', '.join(removed)}. The release right before {RELEASE} does not use it; older ones may.",
            "From an older release stop all old processes before migrate, or go release by release.",
        )
    else:
        yield ok("jump", f"{len(applied)} migrations are applied, {len(pending)} pending; old processes go on beside.")


def check_migrations() -> Iterator[Finding]:
    pending = pending_migrations()
    sizes = sizes_of([lock.table for each in pending for lock in each.locks])
    for migration in pending:
        yield _of_migration(migration, sizes)
    if not pending:
        yield ok("migrations", "None is pending.")


def _of_migration(migration: Pending, sizes: dict[str, tuple[int, int]]) -> Finding:
    taken, is_slow = [], False
    for lock in migration.locks:
        size, rows = sizes.get(lock.table, (0, 0))
        is_slow |= lock.is_long and rows >= LARGE_ROWS
        taken.append(f"{lock} (about {rows:,} rows, {size / 2**20:,.0f} MiB)")
    if migration.runs_code:
        taken.append("code that writes rows, or takes locks for a moment")
    text = f"{migration.name}: {'; '.join(taken) or 'no lock on a table that is there'}."
    if is_slow:
        advice = "Nobody can write to that table meanwhile. Do it at a quiet hour, or stop all processes first."
        return warn("migrations", text, advice)
    return ok("migrations", text)


def check_unsent() -> Iterator[Finding]:
    with connection.cursor() as cursor:
        for what, (query, values) in UNSENT.items():
            cursor.execute(query, values)
            [count] = cursor.fetchone() or [0]
            if count:
                advice = (
                    "They go on by themselves, with the same signed bytes. Wait for them if you may have to go back."
                )
                yield warn("half sent", f"{count:,} {what}.", advice)
            else:
                yield ok("half sent", f"No {what}.")


def check_books() -> Iterator[Finding]:
    for message in Standstill.objects.filter(ended_at=None).values_list("message", flat=True):
        yield fail("books", f"It stands still: {message}", "Run manage.py resume_after_restore first.")
    full = last_runs().get("full")
    if full is None:
        yield warn("books", "reconcile has never run in full.", "Run manage.py reconcile --full.")
    elif not full.is_clean:
        text = f"The last full reconcile found {full.errors} errors and {full.warnings} warnings."
        grade = fail if full.errors else warn
        yield grade("books", text, "Put them right, or you will not know what the upgrade has changed.")
    else:
        yield ok("books", f"The last full reconcile, {wording.duration(full.age)} ago, was clean.")


def check_backup() -> Iterator[Finding]:
    age = records.current().age(timezone.now())
    text = f"The newest is {wording.duration(age.total_seconds())} old." if age else "manage.py backup made none."
    if age is None or age > FRESH:
        yield warn("backup", text, "Run manage.py backup now: there is no way back from a migration without one.")
    else:
        yield ok("backup", text)


LOOKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    check_release,
    check_jump,
    check_migrations,
    check_unsent,
    check_books,
    check_backup,
)


def _contained(look: Callable[[], Iterator[Finding]]) -> list[Finding]:
    """What it finds. Only tables of another shape are left to the old version: what nobody could look at, as where the
    database does not answer, is no reason to begin."""
    name, found = look.__name__.removeprefix("check_"), []
    try:
        for finding in look():
            found.append(finding)  # noqa: PERF402 - one that fails later keeps what it has found
    except (DatabaseError, ValueError) as error:
        text = f"It cannot be looked at: {' '.join(str(error).split())}"
        is_of_shape = look is not check_jump and isinstance(error, ProgrammingError | ValueError)
        advice = "Perhaps the tables are too old for this code: look with the old version as well."
        found.append(warn(name, text, advice) if is_of_shape else fail(name, text, "Mend that, and look again."))
    return found
