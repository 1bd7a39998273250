"""A restored database is told from the one that was here, by whatever way it was restored; a fail-over is none."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from pytest_django.fixtures import Settings
from pytest_django.plugin import DjangoDbBlocker

from config.embedded.postgres import EmbeddedPostgres
from config.installation import marker, services
from config.installation.models import Installation, Sign, Standstill
from config.periodic.redis_servers import RedisServers
from tests.access.redis_server import BINARY, RedisServer
from tests.installation.servers import Servers, working_on


@pytest.fixture(autouse=True)
def memory(settings: Settings) -> Iterator[None]:
    """What the processes of before have seen is forgotten with them. Notes are files, whatever Redis there is."""
    settings.REDIS_SERVERS = None
    services.forget()
    yield
    services.forget()


@pytest.fixture(scope="module")
def made(django_db_blocker: DjangoDbBlocker) -> Iterator[tuple[Servers, EmbeddedPostgres]]:
    servers = Servers()
    with django_db_blocker.unblock():
        try:
            primary = servers.new("primary")
            with working_on(primary):
                call_command("migrate", "installation", verbosity=0)
            yield servers, primary
        finally:
            servers.close()


@pytest.fixture
def servers(made: tuple[Servers, EmbeddedPostgres]) -> Servers:
    return made[0]


@pytest.fixture
def primary(made: tuple[Servers, EmbeddedPostgres]) -> EmbeddedPostgres:
    """A server with an installation that has just begun and kept its pulse three times."""
    server = made[1]
    with working_on(server):
        Installation.objects.all().delete()
        Standstill.objects.all().delete()
        beat(3)
    return server


def beat(times: int) -> None:
    for _ in range(times):
        assert services.keep_pulse() is None


def sign() -> Sign | None:
    """By what this database is told to be restored; it stands still from then on."""
    services.forget()
    doubt = services.keep_pulse()
    assert services.may_act() is (doubt is None)
    assert (services.current_standstill() is None) is (doubt is None)
    return doubt.sign if doubt else None


def value(query: str) -> object:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return (cursor.fetchone() or [None])[0]


def run(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def wait_until_true(query: str) -> None:
    deadline = time.monotonic() + 120
    while value(query) is not True:
        assert time.monotonic() < deadline, query
        time.sleep(0.05)


def promote() -> None:
    assert value("SELECT pg_promote()") is True
    wait_until_true("SELECT NOT pg_is_in_recovery()")


def test_a_first_start_writes_down_where_it_is_and_goes_on(primary: EmbeddedPostgres) -> None:
    with working_on(primary):
        row = Installation.objects.get()
        assert (row.pulse, marker.read(row.pk)) == (4, 4)
        assert row.server == str(value("SELECT system_identifier FROM pg_control_system()"))
        assert (row.timeline, sign()) == (1, None)


def test_a_dump_is_told_in_another_database_of_the_server(primary: EmbeddedPostgres, servers: Servers) -> None:
    dump = servers.dump(primary)
    name = f"restored_{uuid.uuid4().hex[:8]}"
    with primary.connect("postgres") as admin:
        admin.execute(f"CREATE DATABASE {name}".encode())
    servers.restore(primary, dump, name)
    with working_on(primary, name):
        assert sign() is Sign.COPIED
    with working_on(primary):
        assert sign() is None


def test_a_dump_is_told_in_the_very_database_it_was_made_of(primary: EmbeddedPostgres, servers: Servers) -> None:
    dump = servers.dump(primary)
    servers.restore(primary, dump, "ballast", "--clean")
    with working_on(primary):
        assert sign() is Sign.COPIED


def test_rows_that_were_put_back_into_the_same_tables_are_told_by_what_they_lack(
    primary: EmbeddedPostgres, servers: Servers
) -> None:
    dump = servers.dump(primary)
    with working_on(primary):
        beat(1)
        Installation.objects.all().delete()
    servers.restore(primary, dump, "ballast", "--data-only", "--table", "installation_installation")
    with working_on(primary):
        assert sign() is Sign.LOST
        begun = Standstill.objects.get()
        assert "ends at pulse 4" in begun.message
        assert begun.complete_until == Installation.objects.get().pulsed_at


def test_a_dump_is_told_on_another_server_without_the_note(
    primary: EmbeddedPostgres, servers: Servers, settings: Settings
) -> None:
    dump = servers.dump(primary)
    other = servers.new("other")
    servers.restore(other, dump)
    settings.VAR_DIR = servers.folder  # nothing was ever noted here
    with working_on(other):
        assert sign() is Sign.COPIED


def test_a_base_backup_is_told_by_what_it_lacks(primary: EmbeddedPostgres, servers: Servers) -> None:
    copy = servers.copy_of(primary, "backup")
    with working_on(primary):
        beat(2)
    copy.start()
    with working_on(copy):
        assert value("SELECT pg_is_in_recovery()") is False
        assert Installation.objects.get().timeline == 1  # neither server nor tables have changed
        assert sign() is Sign.LOST
    copy.stop()


def test_a_replica_that_was_promoted_goes_on(primary: EmbeddedPostgres, servers: Servers) -> None:
    """It has everything that was committed, under another timeline."""
    standby = servers.copy_of(primary, "standby", is_standby=True)
    standby.start()
    with working_on(primary):
        beat(2)
        last = value("SELECT pg_current_wal_insert_lsn()::text")
    with working_on(standby):
        wait_until_true(f"SELECT pg_last_wal_replay_lsn() >= '{last}'")
        promote()
        assert sign() is None
        row = Installation.objects.get()
        assert (row.pulse, row.timeline, marker.read(row.pk)) == (7, 2, 7)
    standby.stop()


def test_a_replica_that_lacks_the_last_commits_is_told(primary: EmbeddedPostgres, servers: Servers) -> None:
    """As is a recovery to a point in time: both are promoted before the end."""
    standby = servers.copy_of(primary, "behind", is_standby=True)
    with (standby.data / "postgresql.auto.conf").open("a") as configuration:
        configuration.write("primary_conninfo = ''\n")
    with working_on(primary):
        beat(1)
    standby.start()
    with working_on(standby):
        promote()
        assert sign() is Sign.LOST
    standby.stop()


def test_a_promotion_is_taken_for_a_recovery_where_the_note_is_missing(
    primary: EmbeddedPostgres, servers: Servers, settings: Settings
) -> None:
    standby = servers.copy_of(primary, "unproved", is_standby=True)
    standby.start()
    settings.VAR_DIR = servers.folder
    with working_on(standby):
        promote()
        assert sign() is Sign.UNPROVED
    standby.stop()


def test_a_note_that_was_lost_is_written_again(primary: EmbeddedPostgres, settings: Settings) -> None:
    settings.VAR_DIR = settings.VAR_DIR / "elsewhere"
    settings.VAR_DIR.mkdir(exist_ok=True)
    with working_on(primary):
        assert marker.read(Installation.objects.get().pk) is None
        assert sign() is None
        assert marker.read(Installation.objects.get().pk) == 5


def test_a_process_that_goes_on_running_needs_no_note(primary: EmbeddedPostgres, settings: Settings) -> None:
    """It has seen the pulse itself, and asks nobody while the database falls back beneath it."""
    with working_on(primary):
        assert services.may_act()
        connection.cursor().execute("UPDATE installation_installation SET pulse = pulse - 1")
        settings.VAR_DIR = settings.VAR_DIR / "nowhere"
        assert not services.may_act()


@pytest.mark.skipif(BINARY is None, reason="redis-server is not installed")
def test_with_redis_the_pulse_is_noted_there_and_waits_while_it_is_away(
    primary: EmbeddedPostgres, settings: Settings
) -> None:
    redis = RedisServer()
    redis.start()
    settings.REDIS_SERVERS = RedisServers.parse(redis.url)
    try:
        with working_on(primary):
            beat(1)
            row = Installation.objects.get()
            assert (row.pulse, marker.read(row.pk)) == (5, 5)
            redis.kill()
            assert (services.keep_pulse(), services.may_act()) == (None, True)
            assert Installation.objects.get().pulse == 5
    finally:
        redis.remove()


def test_an_ordinary_role_that_may_read_nothing_of_the_server_is_enough(primary: EmbeddedPostgres) -> None:
    with working_on(primary):
        Installation.objects.all().delete()
        functions = "FUNCTION pg_control_system(), pg_walfile_name(pg_lsn)"
        run(f"REVOKE EXECUTE ON {functions} FROM PUBLIC", "CREATE ROLE ordinary")
        run("GRANT ALL ON ALL TABLES IN SCHEMA public TO ordinary", "SET ROLE ordinary")
        beat(2)
        row = Installation.objects.get()
        assert (row.pulse, row.server, row.timeline) == (3, "", None)
        run("RESET ROLE", f"GRANT EXECUTE ON {functions} TO PUBLIC")


def test_a_false_alarm_is_ended_with_a_name_and_a_reason(primary: EmbeddedPostgres) -> None:
    with working_on(primary):
        marker.write(Installation.objects.get().pk, 100)
        assert sign() is Sign.LOST
        with pytest.raises(CommandError):
            call_command("resume_after_restore", "--not-restored")
        call_command("resume_after_restore", "--not-restored", "--by", "Ada", "--reason", "Redis was shared")
        ended = Standstill.objects.get()
        assert (ended.ended_by, ended.was_restored, ended.reason) == ("Ada", False, "Redis was shared")
        row = Installation.objects.get()
        assert (row.pulse, marker.read(row.pk), sign()) == (1100, 1100, None)
