"""A real server over a database of its own: PostgreSQL and granian as in production, one worker per core."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psutil
import psycopg
from psycopg import sql

from config.embedded.postgres import EmbeddedPostgres

ROOT = Path(__file__).parents[2]
HOST = "127.0.0.1"
DATABASE = f"ballast_bench_{os.getpid()}"


def choose_settings() -> None:
    """The product's settings as the benchmark runs them, with secrets for nothing else but that. Before any import."""
    os.environ["BALLAST_MODE"] = "embedded"
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.bench.settings"
    os.environ["SECRET_KEY"] = "a key for the benchmark, and for nothing else but that"
    os.environ["API_KEY_PEPPER"] = "a pepper for the benchmark and nothing else"
    os.environ["WEBHOOK_ENCRYPTION_KEY"] = "a key for the webhooks of the benchmark and nothing else"
    os.environ["WEB_PROCESSES"] = str(cores())


@contextmanager
def database() -> Iterator[str]:
    """An empty database for this run alone, named by the environment's variables until it is dropped.

    On the server of DATABASE_URL, or on an embedded one that is as durable as that of `make run`.
    """
    folder = Path(tempfile.mkdtemp(prefix="ballast-bench-"))
    folder.chmod(0o755)  # PostgreSQL runs as another account when the benchmark runs as root
    (folder / "static").mkdir()
    os.environ["BALLAST_VAR"] = str(folder)
    address = os.environ.get("DATABASE_URL", "")
    try:
        if not address:
            with EmbeddedPostgres(folder):
                yield "embedded PostgreSQL"
            return
        os.environ["DATABASE_URL"] = urlunsplit(urlsplit(address)._replace(path=f"/{DATABASE}"))
        with psycopg.connect(address, autocommit=True) as connection:
            name = sql.Identifier(DATABASE)
            connection.execute(sql.SQL("CREATE DATABASE {}").format(name))
            try:
                yield f"PostgreSQL {connection.info.server_version // 10000} of DATABASE_URL"
            finally:
                connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Server:
    port: int
    process: psutil.Process

    def processor_seconds(self) -> float:
        """What its processes have used, and those of the database for them where it is on this machine."""
        from django.db import connection

        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            backends = [pid for (pid,) in cursor.fetchall()]
        used = 0.0
        for each in [*self.process.children(recursive=True), *map(psutil.Process, filter(psutil.pid_exists, backends))]:
            with suppress(psutil.NoSuchProcess):
                times = each.cpu_times()
                used += times.user + times.system
        return used


@contextmanager
def server(
    application: str = "tests.bench.wsgi:application",
    *,
    workers: int | None = None,
    python: str = sys.executable,
    **own: str,
) -> Iterator[Server]:
    """Granian, with a worker for each core if nothing else is said, and these variables beside those there are."""
    port = free_port()
    command = [
        python, "-m", "config.web", "--interface", "wsgi", "--no-ws", "--host", HOST, "--port", str(port),
        "--workers", str(workers or cores()), "--blocking-threads", "256", "--blocking-threads-idle-timeout", "600",
        "--workers-kill-timeout", "5", "--log-level", "warning", application,
    ]  # fmt: skip
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **own}, start_new_session=True)
    try:
        _wait_for(port, process)
        yield Server(port, psutil.Process(process.pid))
    finally:
        process.terminate()
        process.wait(timeout=20)


def cores() -> int:
    return os.cpu_count() or 1


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        return int(listener.getsockname()[1])


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with socket.create_connection((HOST, port), timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the server did not start")
