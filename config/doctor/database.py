"""Checks of the database: can it be used, by which version, is it migrated, and what time is it there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from django.conf import settings
from django.db import DatabaseError, connection, connections
from django.db.migrations.executor import MigrationExecutor

from config.database.replica import REPLICA, has_everything
from config.doctor.host import host_zone
from config.doctor.registry import DATABASE, Asked, Finding, fail, ok, register, warn
from config.installation.services import current_standstill
from config.periodic.task_runs import CLOCK_OFF_SECONDS

OLDEST_POSTGRESQL: Final = 15
REPLICA_SECONDS: Final = 5.0
"""A replica that needs longer to have everything is seldom used."""


@register(DATABASE, reads_database=False)  # it finds out whether others can
def check_database(asked: Asked) -> Iterator[Finding]:
    try:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT current_setting('server_version'), current_setting('server_version_num')::int / 10000,"
                " pg_is_in_recovery(), pg_database_size(current_database()),"
                " (SELECT count(*) FROM pg_stat_activity), current_setting('max_connections')::int"
            )
            version, major, is_standby, size, used, most = cursor.fetchone() or ("", 0, False, 0, 0, 0)
    except DatabaseError as error:
        yield fail(
            DATABASE,
            f"It does not answer: {str(error).strip().splitlines()[0]}",
            "Start PostgreSQL, or correct DATABASE_URL. Until it answers nothing is taken and nothing is paid.",
        )
        return
    if is_standby:
        yield fail(
            DATABASE,
            "The server takes no writes: it is a standby.",
            "Let DATABASE_URL name the primary. After a promotion read docs/backups.md, “After a restore”, first.",
        )
    elif major < OLDEST_POSTGRESQL:
        yield fail(
            DATABASE, f"PostgreSQL {version} is too old.", f"Upgrade to PostgreSQL {OLDEST_POSTGRESQL} or newer."
        )
    elif used > 0.9 * most:
        yield warn(
            DATABASE,
            f"{used} of {most} connections are used.",
            "Raise max_connections, or connect through a pooler: a process that gets no connection answers 503.",
        )
    else:
        room = f"{used} of {most} connections"
        yield ok(DATABASE, f"PostgreSQL {version} answers; {size / 1e6:,.0f} MB, {room}.")


@register("replica")
def check_replica(asked: Asked) -> Iterator[Finding]:
    """Whether the replica is one of this database, and how long it takes to have everything."""
    if REPLICA not in settings.DATABASES:
        return
    sql = "SELECT pg_is_in_recovery(), system_identifier FROM pg_control_system()"
    with connection.cursor() as cursor:
        cursor.execute(sql)
        _, system = cursor.fetchone() or (False, 0)
    begun = time.monotonic()
    try:
        with connections[REPLICA].cursor() as cursor:
            cursor.execute(sql)
            is_replica = cursor.fetchone() == (True, system)
        is_near = is_replica and has_everything(REPLICA_SECONDS)
    except DatabaseError as error:
        yield warn(
            "replica",
            f"It does not answer: {str(error).strip().splitlines()[0]}",
            "Start it, or correct DATABASE_REPLICA_URL. Lists and reports are read from the primary meanwhile.",
        )
        return
    if not is_replica:
        yield fail(
            "replica",
            "It is no standby of this database.",
            "Let DATABASE_REPLICA_URL name a standby of DATABASE_URL, from which lists are read meanwhile.",
        )
    elif not is_near:
        yield warn(
            "replica",
            f"It is more than {REPLICA_SECONDS:g} s behind, or of another timeline.",
            "Look at its log and at pg_stat_replication. Lists and reports are read from the primary meanwhile.",
        )
    else:
        yield ok("replica", f"It has everything after {time.monotonic() - begun:.2f} s.")


@register("migrations")
def check_migrations(asked: Asked) -> Iterator[Finding]:
    loader = MigrationExecutor(connection).loader
    missing = sorted(".".join(key) for key in set(loader.graph.nodes) - set(loader.applied_migrations))
    apps = {app for app, _ in loader.graph.nodes}
    unknown = sorted(
        f"{app}.{name}"
        for app, name in loader.applied_migrations
        if app in apps and (app, name) not in loader.disk_migrations and (app, name) not in loader.replacements
    )
    if missing:
        yield fail(
            "migrations",
            f"{len(missing)} are not applied: {_some(missing)}.",
            "Run manage.py migrate, then database_roles, both as the tables' owner. If it runs, wait for it.",
        )
    elif unknown:
        yield warn(
            "migrations",
            f"The database has {len(unknown)} that this version does not know: {_some(unknown)}.",
            "An older version runs on a newer database. Run the version that migrated it, unless you are going back "
            "to an earlier one for a short time.",
        )
    else:
        yield ok("migrations", f"All {len(loader.graph.nodes)} are applied.")


@register("clock")
def check_clock(asked: Asked) -> Iterator[Finding]:
    """The database's clock and zone beside those of this machine."""
    with connection.cursor() as cursor:
        sent_at = time.time()
        cursor.execute("SELECT extract(epoch FROM clock_timestamp()), current_setting('TimeZone')")
        theirs, zone = cursor.fetchone() or (sent_at, "")
        ahead = (sent_at + time.time()) / 2 - float(theirs)
    if abs(ahead) > CLOCK_OFF_SECONDS:
        side = "ahead of" if ahead > 0 else "behind"
        yield fail(
            "clock",
            f"This machine's clock is {abs(ahead):,.0f} s {side} the database's.",
            "Have both set by a time server (chrony, systemd-timesyncd), then restart the processes of the machine "
            "that was wrong.",
        )
    elif zone not in ("UTC", "Etc/UTC", "GMT"):
        yield warn(
            "clock",
            f"Sessions of the database are in {zone}.",
            "Set PGTZ=UTC for every process, and in a pooler: days of statements would begin at another hour.",
        )
    else:
        yield ok("clock", f"{abs(ahead):.1f} s from the database's, which is in UTC; this machine: {host_zone()}.")


@register("restored database")
def check_standstill(asked: Asked) -> Iterator[Finding]:
    if (found := current_standstill()) is not None:
        yield fail(
            "restored database",
            f"Nothing is paid, and no payment is taken: {found.message}",
            "Run manage.py resume_after_restore, which compares this database with the chains. If nothing was "
            "restored, run it with --not-restored.",
        )
    else:
        yield ok("restored database", "This is the database that was here before.")


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
