"""The embedded PostgreSQL: anywhere, for several processes at once, and after any kind of end."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from config.embedded.postgres import EmbeddedPostgres, PostgresError, home_of, socket_folder_of
from tests.patience import until
from tests.template import stop_left_over

pytestmark = pytest.mark.slow

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has to run PostgreSQL as somebody else")


@contextmanager
def new_folder() -> Iterator[Path]:
    """A folder any account may pass through, as a checkout under /srv or /home usually is."""
    folder = Path(tempfile.mkdtemp(prefix="ballast-var-"))
    folder.chmod(0o755)
    yield folder
    server = EmbeddedPostgres(folder)
    stop_left_over(server)
    if server.home != server.link:
        shutil.rmtree(server.home, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def var() -> Iterator[Path]:
    with new_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def shared() -> Iterator[Path]:
    with new_folder() as folder:
        with EmbeddedPostgres(folder, durable=False):
            pass
        yield folder


@pytest.fixture
def used(shared: Path) -> Iterator[Path]:
    """A folder that has been used before, with its server stopped: initdb is most of what a first start costs."""
    yield shared
    stop_left_over(EmbeddedPostgres(shared))


def value(server: EmbeddedPostgres, query: str) -> object:
    with server.connect() as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


def process_id(server: EmbeddedPostgres) -> int:
    return int((server.data / "postmaster.pid").read_text().splitlines()[0])


def is_alive(number: int) -> bool:
    try:
        return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_it_starts_keeps_its_data_and_stops(var: Path) -> None:
    with EmbeddedPostgres(var) as server:
        assert value(server, "show fsync") == "on"
        assert value(server, "show listen_addresses") == ""
        with server.connect() as connection:
            connection.execute("create table kept as select 7 as number")
        running = process_id(server)
    assert not server.is_running()
    until(lambda: not is_alive(running))  # it removes its note of itself a moment before it ends
    with EmbeddedPostgres(var) as server:
        assert value(server, "select number from kept") == 7


def test_nobody_else_can_reach_the_data_or_the_socket(used: Path) -> None:
    with EmbeddedPostgres(used, durable=False) as server:
        for folder in (server.home, server.data, server.socket_folder):
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE((server.socket_folder / ".s.PGSQL.5432").stat().st_mode) == 0o700


def test_the_last_one_out_stops_it(used: Path) -> None:
    with EmbeddedPostgres(used, durable=False) as first:
        second = EmbeddedPostgres(used, durable=False)
        second.start()
        assert process_id(second) == process_id(first)
        second.stop()
        assert first.is_running()
    assert not first.is_running()


def test_whoever_started_it_may_leave_first(used: Path) -> None:
    starter, other = EmbeddedPostgres(used, durable=False), EmbeddedPostgres(used, durable=False)
    starter.start()
    other.start()
    starter.stop()
    assert value(other, "select 1") == 1
    other.stop()
    assert not other.is_running()


def test_a_user_that_is_killed_holds_nothing(used: Path) -> None:
    """The kernel drops a dead process's lock, so the next one out stops the server."""
    script = (
        "import sys, time; from pathlib import Path; from config.embedded.postgres import EmbeddedPostgres;"
        "EmbeddedPostgres(Path(sys.argv[1]), durable=False).start(); print('up', flush=True); time.sleep(60)"
    )
    root = Path(__file__).resolve().parents[2]
    with subprocess.Popen([sys.executable, "-c", script, str(used)], cwd=root, stdout=subprocess.PIPE) as user:
        assert user.stdout is not None
        assert user.stdout.readline() == b"up\n"
        user.kill()
    server = EmbeddedPostgres(used, durable=False)
    assert server.is_running()
    with server:
        assert value(server, "select 1") == 1
    assert not server.is_running()


def test_it_recovers_from_being_killed(used: Path) -> None:
    with EmbeddedPostgres(used) as server:
        with server.connect() as connection:
            connection.execute("create table kept as select 7 as number")
        killed = psutil.Process(process_id(server))
        family = [killed, *killed.children()]
        killed.send_signal(signal.SIGKILL)
        psutil.wait_procs(family, timeout=10)
        assert not server.is_running()
        assert (server.data / "postmaster.pid").exists()
    with EmbeddedPostgres(used) as server:
        assert value(server, "select number from kept") == 7


def test_a_process_that_took_the_old_number_is_neither_taken_for_it_nor_touched(used: Path) -> None:
    server = EmbeddedPostgres(used, durable=False)
    (server.data / "postmaster.pid").write_text(f"{os.getpid()}\n{server.data}\n")
    assert not server.is_running()
    with server:
        assert value(server, "select 1") == 1


def test_an_interrupted_first_start_is_begun_again(used: Path) -> None:
    server = EmbeddedPostgres(used, durable=False)
    (server.data / "PG_VERSION").unlink()
    with server:
        assert value(server, "select count(*) from pg_database where datname = 'ballast'") == 1


def test_data_of_another_version_are_left_alone(var: Path) -> None:
    server = EmbeddedPostgres(var, durable=False)
    with server:
        pass
    (server.data / "PG_VERSION").write_text("16\n")
    with pytest.raises(PostgresError, match="made by PostgreSQL 16 and this is 18"):
        server.start()
    assert (server.data / "base").is_dir()


@pytest.mark.parametrize("name", ["x" * 150, "with space", "comma,comma", "quote'quote"])
def test_it_runs_wherever_the_folder_is(var: Path, name: str) -> None:
    inner = var / name
    server = EmbeddedPostgres(inner, durable=False)
    with server:
        assert value(server, "select 1") == 1
    if server.socket_folder.parent != server.home:
        assert not server.socket_folder.exists()


def test_a_short_path_replaces_a_socket_path_that_is_too_long() -> None:
    short, long = Path("/srv/var/postgres"), Path("/srv") / ("x" * 100) / "postgres"
    assert socket_folder_of(short) == short / "socket"
    assert len(str(socket_folder_of(long) / ".s.PGSQL.5432")) < 50
    assert socket_folder_of(long) != socket_folder_of(long.parent)


@as_root
def test_a_closed_folder_stays_closed_and_the_data_go_elsewhere(var: Path) -> None:
    closed = var / "home"
    closed.mkdir(mode=0o700)
    inner = closed / "var"
    server = EmbeddedPostgres(inner, durable=False)
    try:
        with server:
            assert value(server, "select 1") == 1
            assert server.home.parent == Path("/var/lib/ballast")
        assert (inner / "postgres").resolve() == server.home
        assert stat.S_IMODE(closed.stat().st_mode) == 0o700
        moved = closed / "moved"
        inner.rename(moved)
        assert home_of(moved) == server.home
    finally:
        shutil.rmtree(server.home, ignore_errors=True)


@as_root
def test_binaries_that_cannot_be_reached_are_copied_to_where_they_can(
    var: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from config.embedded import postgres

    monkeypatch.setattr(postgres, "_others_can_reach", lambda path: "pginstall" not in str(path))
    monkeypatch.setattr(postgres, "ROOT_HOME", var / "elsewhere")
    with EmbeddedPostgres(var, durable=False) as server:
        assert value(server, "select 1") == 1
        assert Path(psutil.Process(process_id(server)).exe()).is_relative_to(var / "elsewhere")


@as_root
def test_an_account_of_its_own_runs_it(used: Path) -> None:
    with EmbeddedPostgres(used, durable=False) as server:
        assert psutil.Process(process_id(server)).username() == "ballast"
