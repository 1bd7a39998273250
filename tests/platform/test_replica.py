"""Lists and reports from a real standby: it has what was committed before, or the primary is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Thread
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.template import engines
from django.template.response import TemplateResponse
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext, override_settings
from pytest_django.fixtures import Settings
from pytest_django.plugin import DjangoDbBlocker
from structlog.testing import capture_logs

from config.database import replica
from config.database.replica import (
    REPLICA,
    from_replica,
    has_everything,
    read_alias,
    reading_cursor,
    reads_from_replica,
)
from config.doctor.database import check_replica
from config.doctor.registry import Asked, Level
from config.embedded.postgres import SUPERUSER, EmbeddedPostgres
from config.installation.models import BackupRun
from merchants.roles import Role
from payments.dashboard.exports.services import request_export, write_exports
from payments.dashboard.search.filters import PaymentFilter
from tests.dashboard.addresses import READS, REPORTS, make_records
from tests.factories import api_client, make_key, make_member, make_user
from tests.forgetting import forget
from tests.installation.servers import Servers, working_on
from tests.list_addresses import reports
from tests.patience import until
from tests.pooled.pooler import BINARY, Pooler

pytestmark = [pytest.mark.slow, pytest.mark.servers]

Pair = tuple[Servers, EmbeddedPostgres, EmbeddedPostgres]


@pytest.fixture(scope="module")
def made(django_db_blocker: DjangoDbBlocker) -> Iterator[Pair]:
    """A primary and its standby."""
    servers = Servers()
    with django_db_blocker.unblock():
        try:
            primary = servers.new("primary", is_migrated=True)
            with primary.connect() as session:
                # Else what is committed is written, and sent to the standby, a fifth of a second later.
                session.execute(f"ALTER ROLE {SUPERUSER} SET synchronous_commit = on")
                session.execute("CREATE ROLE ballast_reader LOGIN IN ROLE pg_read_all_data")
            standby = servers.copy_of(primary, "standby", is_standby=True)
            standby.start()
            yield servers, primary, standby
        finally:
            servers.close()


def place_of(server: EmbeddedPostgres) -> dict[str, Any]:
    own = {"ENGINE": "config.database.standby", "HOST": str(server.socket_folder), "PORT": "", "NAME": "ballast"}
    return {**own, "USER": "ballast_reader", "PASSWORD": ""}


@contextmanager
def with_replica(primary: EmbeddedPostgres, **place: Any) -> Iterator[None]:
    """As DATABASE_REPLICA_URL sets it up."""
    databases = settings.DATABASES
    databases[REPLICA] = {**databases[DEFAULT_DB_ALIAS], **place}
    with working_on(primary), override_settings(DATABASE_ROUTERS=["config.database.replica.ReplicaRouter"]):
        try:
            yield
        finally:
            connections[REPLICA].close()
            del connections[REPLICA], databases[REPLICA]


@pytest.fixture
def standby(made: Pair) -> Iterator[EmbeddedPostgres]:
    """The replica of what is the database in here."""
    _, primary, second = made
    with with_replica(primary, **place_of(second)):
        wait_for_replica()
        yield second


def wait_for_replica() -> None:
    """Until it has everything; what a process remembers of it is forgotten."""

    def is_used() -> bool:
        forget()
        return from_replica(read_alias) == REPLICA

    until(is_used)


def write() -> None:
    BackupRun.objects.create(kind="made")


def seen() -> tuple[str, int]:
    """Where reads go, and what is there."""
    with reading_cursor() as cursor:
        cursor.execute("SELECT count(*) FROM installation_backuprun")
        [count] = cursor.fetchone()
    assert BackupRun.objects.count() == count
    return read_alias(), count


@contextmanager
def held_back(standby: EmbeddedPostgres) -> Iterator[None]:
    """The standby goes on to receive, and replays nothing."""
    with standby.connect() as session:
        session.execute("SELECT pg_wal_replay_pause()")
        until(lambda: session.execute("SELECT pg_get_wal_replay_pause_state()").fetchone() == ("paused",))
        try:
            yield
        finally:
            session.execute("SELECT pg_wal_replay_resume()")


def test_every_read_has_what_was_written_before_it(standby: EmbeddedPostgres) -> None:
    begun = BackupRun.objects.count()
    for number in range(1, 51):
        write()
        forget()  # that it was behind on a busy machine
        assert from_replica(seen)[1] == begun + number


def test_what_nobody_has_committed_is_not_waited_for(standby: EmbeddedPostgres, made: Pair) -> None:
    """It reaches the standby with the next commit, in a quiet hour seconds later."""
    with made[1].connect() as other, other.transaction():
        other.execute("CREATE TABLE unfinished (id int)")
        assert has_everything(1.0)
        raise psycopg.Rollback


def test_behind_or_away_it_is_left_alone(standby: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch) -> None:
    before = BackupRun.objects.count()
    with held_back(standby):
        write()
        assert from_replica(seen) == (DEFAULT_DB_ALIAS, before + 1)
        with CaptureQueriesContext(connection) as asked:
            from_replica(read_alias)
        assert not asked.captured_queries, "it is not looked at again at once"
        assert not has_everything(0)
        forget()
        with monkeypatch.context() as careless:
            careless.setattr(replica, "has_everything", lambda _: True)
            assert from_replica(seen) == (REPLICA, before), "control: unasked, it shows what was there before"
    wait_for_replica()
    assert from_replica(seen) == (REPLICA, before + 1)
    assert [each.level for each in check_replica(Asked())] == [Level.OK]
    standby.stop()
    try:
        connections[REPLICA].close()
        assert [each.level for each in check_replica(Asked())] == [Level.WARN]
        assert from_replica(seen) == (DEFAULT_DB_ALIAS, before + 1)
    finally:
        standby.start()


def end_sessions(standby: EmbeddedPostgres) -> None:
    with standby.connect() as session:
        session.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )


@contextmanager
def server_ends(standby: EmbeddedPostgres, _primary: EmbeddedPostgres) -> Iterator[str]:
    end_sessions(standby)
    yield "terminating connection"


@contextmanager
def rows_are_cleaned_away(standby: EmbeddedPostgres, primary: EmbeddedPostgres) -> Iterator[str]:
    """While a statement of the standby still sees them."""
    with standby.connect() as session, primary.connect() as there:
        session.execute("ALTER SYSTEM SET max_standby_streaming_delay = 0")
        session.execute("SELECT pg_reload_conf()")

        def clean() -> None:
            until(lambda: bool(session.execute(RUNNING, [SLOW]).fetchone()))
            there.execute("DELETE FROM installation_backuprun")
            there.execute("VACUUM installation_backuprun")

        cleaning = Thread(target=clean)
        cleaning.start()
        try:
            yield "conflict with recovery"
        finally:
            cleaning.join()
            session.execute("ALTER SYSTEM RESET max_standby_streaming_delay")
            session.execute("SELECT pg_reload_conf()")


@contextmanager
def server_hangs(standby: EmbeddedPostgres, _primary: EmbeddedPostgres) -> Iterator[str]:
    postmaster = standby._postmaster()
    assert postmaster is not None
    processes = [postmaster, *postmaster.children()]
    for each in processes:
        each.suspend()
    try:
        yield "does not answer"
    finally:
        for each in processes:
            each.resume()
        end_sessions(standby)  # that of the statement holds up what is replayed


RUNNING = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query = %s"
SLOW = "SELECT count(*), pg_sleep(600) FROM installation_backuprun"


@pytest.mark.parametrize("failure", [server_ends, rows_are_cleaned_away, server_hangs])
def test_what_fails_on_the_replica_is_read_again(
    made: Pair, standby: EmbeddedPostgres, failure: Callable[..., AbstractContextManager[str]]
) -> None:
    """A page of the primary in its place, whatever the standby does in the middle of one."""
    write()
    wait_for_replica()
    found = []

    def read() -> str:
        found.append(read_alias())
        if read_alias() == REPLICA:
            with reading_cursor() as cursor, failure(standby, made[1]) as why:
                expected.append(why)
                cursor.execute(SLOW)
        return str(seen())

    expected: list[str] = []
    with capture_logs() as logs:
        shown = from_replica(read)
    assert shown == str(seen())
    assert found == [REPLICA, DEFAULT_DB_ALIAS]
    [left] = [each for each in logs if each["event"] == "replica_left_alone"]
    assert expected[0] in left["why"]


def test_what_writes_or_decides_is_of_the_primary(standby: EmbeddedPostgres) -> None:
    def work() -> None:
        write()
        with transaction.atomic():
            assert read_alias() == DEFAULT_DB_ALIAS
            assert BackupRun.objects.select_for_update().first()
        assert read_alias() == REPLICA
        assert BackupRun.objects.select_for_update().db == DEFAULT_DB_ALIAS

    from_replica(work)
    with transaction.atomic():
        assert from_replica(read_alias) == DEFAULT_DB_ALIAS


def test_pages_and_files_are_read_from_it_to_their_end(standby: EmbeddedPostgres) -> None:
    @reads_from_replica
    def show(request: HttpRequest, kind: str) -> Any:
        if kind == "file":
            return StreamingHttpResponse(read_alias() for _ in range(2))
        if kind == "page":
            return TemplateResponse(request, engines["django"].from_string("{{ where }}"), {"where": read_alias})
        return HttpResponse(read_alias())

    get, post = RequestFactory().get("/"), RequestFactory().post("/")
    shown = [b"".join(show(get, kind)) for kind in ("text", "page", "file")]
    assert shown == [b"replica", b"replica", b"replicareplica"]
    assert b"".join(show(post, "text")) == b"default"
    assert read_alias() == DEFAULT_DB_ALIAS


@contextmanager
def noted() -> Iterator[list[str]]:
    """Statements for a page that the replica is asked, but those that ask how far it is."""
    found: list[str] = []
    with CaptureQueriesContext(connections[REPLICA]) as queries:
        yield found
    found += [each["sql"] for each in queries.captured_queries if "pg_is_in_recovery" not in each["sql"]]


def test_lists_reports_and_files_use_it_and_nothing_else_does(standby: EmbeddedPostgres, settings: Settings) -> None:
    settings.SIMULATED_BLOCK_SECONDS, settings.SANDBOX_REQUESTS_PER_MINUTE = 0, 10_000
    member = make_member(role=Role.OWNER)
    records, issued = make_records(member.merchant), make_key(member.merchant)
    readers: dict[str, Client] = {"api": api_client(issued), "owner": Client(), "operator": Client()}
    readers["owner"].force_login(member.user)
    readers["operator"].force_login(make_user(is_staff=True, is_superuser=True))
    read = []
    for reader, address in reports(records):
        wait_for_replica()
        with noted() as statements:
            response = readers[reader].get(address)
            list(response)
        assert response.status_code == 200, address
        read.append(address)
        assert statements, address
    assert len(read) > 90
    request_export(merchant=member.merchant, environment="sandbox", requested_by=member.user, filters=PaymentFilter())
    wait_for_replica()
    with noted() as statements:
        write_exports()
    assert statements
    for path in READS:
        if path not in REPORTS:
            wait_for_replica()
            with noted() as statements:
                assert readers["owner"].get(records.in_path(path)).status_code < 400, path
            assert not statements, path
    with noted() as statements:
        for path in (
            "/payments/{payment}",
            "/refunds/{refund}",
            "/balance",
            "/quote?amount=1&currency=USD",
            "/settlements/next",
        ):
            assert readers["api"].get(f"/sandbox/v1{records.in_path(path)}").status_code == 200, path
    assert not statements


@pytest.mark.skipif(BINARY is None, reason="pgbouncer is not installed (Debian: apt install pgbouncer)")
def test_behind_a_pooler_of_transactions(made: Pair) -> None:
    _, primary, second = made
    options = {name: value for name, value in settings.DATABASES["default"]["OPTIONS"].items() if name != "options"}
    with (
        Pooler(host=str(second.socket_folder), port="", user="ballast_reader", sessions=1) as pooler,
        with_replica(
            primary,
            **{**place_of(second), "HOST": pooler.host, "USER": "anybody", "ENGINE": "config.database.pooled"},
            OPTIONS=options,
        ),
    ):
        write()
        wait_for_replica()
        assert from_replica(seen) == (REPLICA, BackupRun.objects.count())


def test_everybody_may_ask_how_far_both_are(standby: EmbeddedPostgres, made: Pair) -> None:
    _, primary, _ = made
    with primary.connect() as session:
        session.execute("CREATE ROLE plain LOGIN")
        position = session.execute("SELECT pg_current_wal_lsn()").fetchone()
    for server, statement, values in (
        (primary, replica._COMMITTED, None),
        (standby, replica._HAS_ALL, ["0/0", 1]),
    ):
        until(
            lambda: standby.connect().execute("SELECT pg_last_wal_replay_lsn() >= %s", position).fetchone() == (True,)
        )
        with psycopg.connect(host=str(server.socket_folder), user="plain", dbname="ballast") as session:
            assert session.execute(statement, values).fetchone()


def test_one_of_another_history_is_not_used(made: Pair) -> None:
    """A standby that received more of a primary that died than the one which was promoted: its positions are greater,
    and it lacks what was written since."""
    servers, first, _ = made
    promoted, other = (servers.copy_of(first, name, is_standby=True) for name in ("promoted", "other"))
    promoted.start()
    other.start()
    with promoted.connect() as session:
        session.execute("ALTER SYSTEM SET primary_conninfo = ''")
        session.execute("SELECT pg_reload_conf()")
        until(lambda: session.execute("SHOW primary_conninfo").fetchone() == ("",))
    with working_on(first):
        BackupRun.objects.bulk_create(BackupRun(kind="made") for _ in range(5_000))
        count = BackupRun.objects.count()
    with working_on(other):
        until(lambda: BackupRun.objects.count() == count)
    with promoted.connect() as session:
        session.execute("SELECT pg_promote()")
    with with_replica(promoted, **place_of(first)):
        assert [each.level for each in check_replica(Asked())] == [Level.FAIL]
    with with_replica(promoted, **place_of(other)):
        write()
        assert from_replica(seen) == (DEFAULT_DB_ALIAS, BackupRun.objects.count())
        with connection.cursor() as there, connections[REPLICA].cursor() as here:
            there.execute("SELECT pg_current_wal_insert_lsn()::text, 1")
            here.execute(replica._HAS_ALL, there.fetchone())
            assert here.fetchone() == (True,), "control: by its position alone it would be"
