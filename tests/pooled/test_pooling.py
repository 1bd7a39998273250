"""Behind pgbouncer with pool_mode=transaction: limits hold, one beat leads, and the journeys go the whole way."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.conf import settings as configured
from django.db import DatabaseError, OperationalError, connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from pytest_django.fixtures import Settings

from config.celery import app
from config.database import sessions
from config.database.advisory_locks import LockClass, named_lock
from config.database.pooled.base import DatabaseWrapper
from config.embedded.postgres import DATABASE, SUPERUSER, EmbeddedPostgres
from config.environments import Environment
from config.periodic.beat import LOCK, ElectedScheduler
from merchants.access.keys import generate_pair
from settlements import tasks as settlement_tasks
from tests.advisory_locks import end_beats, holders
from tests.bench.server import HOST, free_port
from tests.database_address import database_address
from tests.patience import until
from tests.platform.test_web_process import documented
from tests.pooled.pooler import BINARY, Pooler
from webhooks.sending.store import DeliveryStore

needs_pgbouncer = pytest.mark.skipif(
    BINARY is None, reason="pgbouncer is not installed (Debian: apt install pgbouncer)"
)
pytestmark = [needs_pgbouncer, pytest.mark.django_db(transaction=True), pytest.mark.slow]

ROOT = Path(__file__).parents[2]


def real() -> dict[str, Any]:
    return connections["default"].settings_dict


@pytest.fixture
def pooler() -> Iterator[Pooler]:
    """With one session for everybody."""
    with Pooler(host=real()["HOST"], port=real()["PORT"], user=real()["USER"], sessions=1) as running:
        yield running


def pooled(pooler: Pooler, engine: type[BaseDatabaseWrapper] = DatabaseWrapper) -> BaseDatabaseWrapper:
    options = {name: value for name, value in real()["OPTIONS"].items() if name != "options"}
    place = {"HOST": pooler.host, "PORT": "", "USER": "anybody", "PASSWORD": "", "OPTIONS": options}
    return engine({**real(), **place, "DISABLE_SERVER_SIDE_CURSORS": True}, alias="default")


def documented_limits() -> dict[str, int]:
    """The time limits of the pgbouncer.ini in docs/databases.md."""
    text = (ROOT / "docs" / "databases.md").read_text(encoding="utf-8")
    names = ("server_connect_timeout", "server_login_retry", "query_wait_timeout")
    return {name: int(re.findall(rf"^    {name} = (\d+)$", text, re.MULTILINE)[0]) for name in names}


def test_a_database_that_is_away_is_an_error_and_not_a_hang() -> None:
    limits = documented_limits()
    assert limits["query_wait_timeout"] <= 5
    for extra, said in (
        (limits | {"query_wait_timeout": 1}, "query_wait_timeout"),
        ({}, "timeout expired"),  # pgbouncer's own limits, and the client has had enough
    ):
        lines = "\n".join(f"{name} = {value}" for name, value in extra.items())
        with Pooler(host="127.0.0.1", port=1, user="nobody", extra=lines) as away:
            wrapper = pooled(away)
            wrapper.settings_dict["OPTIONS"] = {**wrapper.settings_dict["OPTIONS"], "connect_timeout": 3}
            with pytest.raises(OperationalError, match=said):
                wrapper.cursor()


@pytest.fixture
def own_server() -> Iterator[EmbeddedPostgres]:
    """A PostgreSQL that no other test uses, so that it can be stopped."""
    with tempfile.TemporaryDirectory(prefix="ballast-silent-") as folder:
        Path(folder).chmod(0o755)
        with EmbeddedPostgres(Path(folder), durable=False) as server:
            yield server


@contextmanager
def silence(server: EmbeddedPostgres) -> Iterator[None]:
    """Nothing of it runs, while the machine keeps its connections, as when its disk does not answer."""
    postmaster = server._postmaster()
    assert postmaster
    processes = [postmaster, *postmaster.children(recursive=True)]
    for process in processes:
        process.suspend()
    try:
        yield
    finally:
        for process in reversed(processes):
            process.resume()


@pytest.mark.parametrize("moment", ["connecting", "first statement", "in a transaction", "at its end"])
def test_a_database_that_is_silent_is_given_up_in_seconds(
    own_server: EmbeddedPostgres, settings: Settings, moment: str
) -> None:
    place = {"HOST": str(own_server.socket_folder), "USER": SUPERUSER, "PORT": "", "NAME": DATABASE}
    settings.DATABASE_DIRECT = {**real(), **place}
    with Pooler(host=place["HOST"], port="", user=SUPERUSER) as pooler:  # with pgbouncer's own limits
        wrapper = pooled(pooler)
        wrapper.settings_dict["NAME"] = DATABASE
        if moment != "connecting":
            value("SELECT 1", wrapper)
        if moment in ("in a transaction", "at its end"):
            wrapper.set_autocommit(False)
            value("SELECT 1", wrapper)
        with silence(own_server):
            begun = time.monotonic()
            with pytest.raises(OperationalError):
                wrapper.commit() if moment == "at its end" else value("SELECT 1", wrapper)
            assert time.monotonic() - begun < 6
            wrapper.close()
            begun = time.monotonic()
            with pytest.raises(OperationalError):  # nobody who has waited meanwhile waits as long again
                value("SELECT 1", wrapper)
            assert time.monotonic() - begun < 0.5
        until(lambda: _answers(wrapper))
        wrapper.close()


def _answers(wrapper: BaseDatabaseWrapper) -> bool:
    try:
        return bool(value("SELECT 1", wrapper) == 1)
    except OperationalError:
        wrapper.close()
        return False


def test_a_statement_that_only_takes_long_is_waited_for(
    behind: BaseDatabaseWrapper, pooler: Pooler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The only session of the pooler is taken, by this statement itself."""
    monkeypatch.setattr("config.database.pooled.base.PATIENCE_SECONDS", 1.0)
    with transaction.atomic():
        value("SELECT 1")
        assert value("SELECT pg_sleep(4)::text") == ""


@contextmanager
def web(folder: Path, database: str, direct: str) -> Iterator[int]:
    """A web process, started as the documents say, in front of a pooler; yields its port."""
    port = free_port()
    values = {"8000": str(port), "<cores>": "1"}
    command = [sys.executable, "-m", "granian", "--host", HOST, *(values.get(each, each) for each in documented())]
    environment = {
        **{name: text for name, text in os.environ.items() if not name.startswith(("PYTEST", "COV"))},
        "DATABASE_URL": database,
        "DATABASE_DIRECT_URL": direct,
        "ALLOWED_HOSTS": HOST,
    }
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            until(lambda: _ask(port, "/health/live")[0] == 200)
            yield port
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)


def _ask(port: int, path: str) -> tuple[int, float, Any]:
    """The status of an answer, the seconds it took and what it said; 0 when there was none for a long time."""
    begun = time.monotonic()
    try:
        reply = httpx.get(f"http://{HOST}:{port}{path}", timeout=20, headers=KEYS)
    except httpx.HTTPError as error:
        return 0, time.monotonic() - begun, str(error)
    if reply.status_code == 503 and not path.startswith("/health"):
        assert int(reply.headers["Retry-After"]) > 0
    return reply.status_code, time.monotonic() - begun, reply.json()


PAIR = generate_pair(Environment.SANDBOX)
KEYS = {"Authorization": f"Bearer {PAIR.public_key}", "X-Api-Secret": PAIR.secret}


def test_health_answers_while_the_database_is_silent(own_server: EmbeddedPostgres, tmp_path: Path) -> None:
    place = str(own_server.socket_folder)
    direct = f"postgres://{SUPERUSER}@/{place}/{DATABASE}"
    with Pooler(host=place, port="", user=SUPERUSER) as pooler, web(tmp_path, pooler.address(DATABASE), direct) as port:
        ready = _ask(port, "/health/ready")
        assert (ready[0], ready[2]["checks"]["database"]) == (503, "ok")  # it has no tables
        with silence(own_server), ThreadPoolExecutor(12) as requests:
            waiting = [requests.submit(_ask, port, "/sandbox/v1/payments") for _ in range(12)]
            time.sleep(0.5)
            live, ready, work = (_ask(port, f"/health/{page}") for page in ("live", "ready", "work"))
            assert live[0] == 200
            assert live[1] < 1
            for page in (ready, work):
                assert (page[0], page[2]["noAnswer"]) == (503, ["database"])
                assert page[1] < 3
            answers = [each.result() for each in waiting]
            assert {status for status, *_ in answers} == {503}
            assert max(seconds for _, seconds, _ in answers) < 8
        until(lambda: _ask(port, "/health/ready")[2]["checks"]["database"] == "ok")


def test_health_answers_while_a_table_is_locked(tmp_path: Path) -> None:
    name = real()["NAME"]
    with (
        Pooler(host=real()["HOST"], port=real()["PORT"], user=real()["USER"], sessions=9) as pooler,
        web(tmp_path, pooler.address(name), database_address(name)) as port,
    ):
        assert _ask(port, "/sandbox/v1/payments")[0] == 401
        _ask_while_locked(port)
        until(lambda: _ask(port, "/health/ready")[0] == 200)


def _ask_while_locked(port: int) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE operations_pulse, merchants_apikey IN ACCESS EXCLUSIVE MODE")
        with ThreadPoolExecutor(5) as requests:
            waiting = [requests.submit(_ask, port, "/sandbox/v1/payments") for _ in range(5)]
            time.sleep(0.5)
            live, ready, again = (_ask(port, f"/health/{page}") for page in ("live", "ready", "live"))
            assert live[0] == 200
            assert live[1] < 1
            assert (ready[0], ready[2]["noAnswer"]) == (503, ["write"])
            assert ready[1] < 3
            assert again[1] < 1
            assert not any(each.done() for each in waiting)
            assert {each.result()[0] for each in waiting} == {503}
            assert max(each.result()[1] for each in waiting) < 12


@pytest.fixture
def behind(pooler: Pooler, settings: Settings) -> Iterator[BaseDatabaseWrapper]:
    """All that Django does goes through the pooler, and session locks to PostgreSQL itself."""
    default = connections["default"]
    settings.DATABASE_DIRECT = {**real(), "NAME": ""}
    connections["default"] = pooled(pooler)
    try:
        yield connections["default"]
    finally:
        if (session := getattr(sessions._here, "session", None)) is not None:
            session.close()
        sessions._here.__dict__.clear()
        connections["default"].close()
        connections["default"] = default


def value(query: str, on: BaseDatabaseWrapper | None = None) -> Any:
    with (on or connection).cursor() as cursor:
        cursor.execute(query)
        return (cursor.fetchone() or [None])[0]


@contextmanager
def limit(settings: Settings, **limits: str) -> Iterator[None]:
    from config.database.pooled import base

    settings.DATABASE_LIMITS = {**configured.DATABASE_LIMITS, **limits}
    base._limits.cache_clear()
    try:
        yield
    finally:
        base._limits.cache_clear()


LIMITS = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")


def test_limits_hold_in_a_database_transaction_and_outside_of_one(behind: BaseDatabaseWrapper) -> None:
    expected = ["30s", "10s", "1min"]
    assert [value(f"SHOW {name}") for name in LIMITS] == expected
    with transaction.atomic():
        assert [value(f"SHOW {name}") for name in LIMITS] == expected


def test_a_new_connection_has_the_time_zone_without_a_statement(behind: BaseDatabaseWrapper) -> None:
    database = connections["default"].ops.quote_name(behind.settings_dict["NAME"])
    value(f"SELECT 1; ALTER DATABASE {database} SET TimeZone = 'Europe/Vienna'")
    try:
        for wrapper in (behind, sessions.new_session()):
            fresh = wrapper.get_new_connection(wrapper.get_connection_params())
            assert fresh.info.parameter_status("TimeZone") == "UTC"
            fresh.close()
    finally:
        value(f"SELECT 1; ALTER DATABASE {database} RESET TimeZone")


def test_a_statement_that_takes_too_long_is_ended(behind: BaseDatabaseWrapper, settings: Settings) -> None:
    with limit(settings, statement_timeout="1s"):
        with pytest.raises(OperationalError, match="statement timeout"):
            value("SELECT pg_sleep(60)")
        with transaction.atomic():
            value("SELECT 1")
            with pytest.raises(OperationalError, match="statement timeout"):
                value("SELECT pg_sleep(60)")
            transaction.set_rollback(True)


def test_a_transaction_that_does_nothing_is_ended(behind: BaseDatabaseWrapper, settings: Settings) -> None:
    with limit(settings, idle_in_transaction_session_timeout="1s"):
        connection.set_autocommit(False)
        session = value("SELECT pg_backend_pid()")
        other = sessions.new_session()
        sessions_here = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        until(lambda: not value(f"{sessions_here} AND pid = {session}", other))
        other.close()
        with pytest.raises(DatabaseError, match="idle-in-transaction timeout"):
            value("SELECT 1")
    connection.close()


def test_without_the_engine_the_limits_are_gone(pooler: Pooler) -> None:
    """The control: what was asked for at the start of a connection is not there behind the pooler."""
    plain = pooled(pooler, type(connections["default"]))
    try:
        assert [value(f"SHOW {name}", plain) for name in LIMITS] == ["0", "0", "0"]
    finally:
        plain.close()


def test_rows_come_back_whole(behind: BaseDatabaseWrapper) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT number FROM generate_series(1, %s) AS number", [3])
        assert ([column.name for column in cursor.description], cursor.fetchall()) == (["number"], [(1,), (2,), (3,)])
        cursor.execute("CREATE TEMPORARY TABLE gone ON COMMIT DROP AS SELECT 1 AS one")
        assert cursor.rowcount == 1


def test_settlements_are_run(behind: BaseDatabaseWrapper) -> None:
    """They go through their merchants by an iterator, which would be a cursor of the server."""
    settlement_tasks.run_due()


def scheduler() -> ElectedScheduler:
    return ElectedScheduler(app=app, lazy=True)


def test_of_two_beats_one_leads(behind: BaseDatabaseWrapper) -> None:
    first, second = scheduler(), scheduler()
    try:
        assert (first._is_elected(), second._is_elected(), first._is_elected()) == (True, False, True)
        first._resign()
        until(second._is_elected)
    finally:
        end_beats(first, second)


def test_locks_of_the_poolers_sessions_would_elect_two(pooler: Pooler) -> None:
    """The control: both are served by the same session, which holds the lock already."""
    beats = [pooled(pooler), pooled(pooler)]
    try:
        assert [value(f"SELECT pg_try_advisory_lock({LOCK})", beat) for beat in beats] == [True, True]
        assert [value("SELECT pg_advisory_unlock_all()::text", beat) for beat in beats] == ["", ""]
    finally:
        for beat in beats:
            beat.close()


def test_a_beat_that_was_not_told_of_the_pooler_does_not_lead(settings: Settings) -> None:
    with Pooler(
        host=real()["HOST"], port=real()["PORT"], user=real()["USER"], extra="ignore_startup_parameters = options"
    ) as pooler:
        default = connections["default"]
        connections["default"] = pooled(pooler, type(default))
        try:
            with pytest.raises(sessions.SessionShared, match="DATABASE_DIRECT_URL"):
                scheduler()._is_elected()
        finally:
            connections["default"].close()
            connections["default"] = default


def test_a_turn_is_one_sessions(behind: BaseDatabaseWrapper) -> None:
    other = sessions.new_session()
    try:
        with named_lock("a piece of work") as is_ours:
            assert is_ours
            [holder] = holders(LockClass.TASK, on=other)
            assert holder != value("SELECT pg_backend_pid()")
        until(lambda: holders(LockClass.TASK, on=other) == [])
    finally:
        other.close()


def test_a_dispatcher_holds_its_number_by_a_session_that_does_all_of_its_work(behind: BaseDatabaseWrapper) -> None:
    store = DeliveryStore()
    store.exchange([], room=0, probes=0, holdings=[])
    assert holders(LockClass.DISPATCHER, store.number) == [value("SELECT pg_backend_pid()")]
    assert value("SHOW statement_timeout") == "30s"
    store.give_back()
    connection.close()
    until(lambda: holders(LockClass.DISPATCHER, store.number, on=behind) == [])  # PostgreSQL sees the session end


def test_the_journeys_go_the_whole_way() -> None:
    """A payment from its creation to its settlement and back, with every process's database behind the pooler."""
    template = real()["TEST"].get("TEMPLATE")  # of a server of our own
    if template:
        with connection.cursor() as cursor:
            cursor.execute("DROP DATABASE IF EXISTS test_pooled_journeys")
            cursor.execute(f"CREATE DATABASE test_pooled_journeys TEMPLATE {template}")
    with Pooler(host=real()["HOST"], port=real()["PORT"], user=real()["USER"]) as pooler:
        environment = {
            **{name: text for name, text in os.environ.items() if not name.startswith(("PYTEST", "COV"))},
            "DATABASE_URL": pooler.address("pooled_journeys"),
            "DATABASE_DIRECT_URL": database_address("pooled_journeys"),
        }
        journeys = ["tests/journeys/test_paid.py", "tests/journeys/test_paid_out.py"]
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        command += ["--reuse-db" if template else "--create-db", *journeys]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
