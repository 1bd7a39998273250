"""An installation for one run: PostgreSQL, Redis, a Celery worker and beat as real processes that can be killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit, urlunsplit

import psutil
import psycopg
from psycopg import sql

from config.embedded.postgres import DATABASE, SUPERUSER, EmbeddedPostgres
from tests.access.redis_server import BINARY, RedisServer
from tests.pooled.pooler import Pooler

ROOT = Path(__file__).parents[2]
OPTIONS = ["--pool", "threads", "--concurrency", "4", "--without-gossip", "--without-mingle", "--loglevel", "WARNING"]
WORKER = [sys.executable, "-m", "celery", "--app", "config.celery", "worker", "--queues", "webhooks", *OPTIONS]
BEAT = [sys.executable, "-m", "celery", "--app", "config.celery", "beat", "--loglevel", "WARNING"]

SETTINGS = {
    "BALLAST_MODE": "embedded",
    "DJANGO_SETTINGS_MODULE": "config.settings",
    "SECRET_KEY": "a key for the gauntlet, and for nothing else but the gauntlet",
    "API_KEY_PEPPER": "a pepper for the gauntlet and nothing else",
    "WEBHOOK_ENCRYPTION_KEY": "a key for the webhooks of the gauntlet",
    "WEBHOOK_ALLOW_LOOPBACK": "true",
    "LOG_FORMAT": "text",
    "LOG_LEVEL": "ERROR",
    "SIMULATED_BLOCK_SECONDS": "0.2",
}


TEMPLATE = "BALLAST_GAUNTLET_TEMPLATE"
"""A folder with the data of an embedded PostgreSQL whose tables are made: several scenarios begin with a copy of it."""


@contextmanager
def template() -> Iterator[Path]:
    """Such a folder. Nothing but migrations has run on it."""
    folder = Path(tempfile.mkdtemp(prefix="ballast-gauntlet-"))
    try:
        folder.chmod(0o755)
        with EmbeddedPostgres(folder):
            environment = {**os.environ, **SETTINGS, "BALLAST_VAR": str(folder)}
            command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
            subprocess.run(command, cwd=ROOT, env=environment, check=True)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Installation:
    """Enter it before anything of Django is imported: its database and its broker are in the environment then."""

    def __init__(self, *, is_pooled: bool = False, is_empty: bool = False) -> None:
        self._is_pooled, self._is_empty = is_pooled, is_empty
        self._template = "" if is_empty or os.environ.get("DATABASE_URL") else os.environ.get(TEMPLATE, "")
        self.folder = Path(tempfile.mkdtemp(prefix="ballast-gauntlet-"))
        self.folder.chmod(0o755)  # PostgreSQL runs as another account when the gauntlet runs as root
        self.redis = RedisServer()
        self.postgres: EmbeddedPostgres | None = None
        self._stack = ExitStack()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        if BINARY is None:
            raise SystemExit("The gauntlet needs redis-server on the PATH (Debian: apt install redis-server).")
        os.environ.update(SETTINGS, BALLAST_VAR=str(self.folder), REDIS_URL=self.redis.url)
        self._stack.callback(shutil.rmtree, self.folder, ignore_errors=True)
        self._stack.callback(self.redis.remove)
        self._make_database()
        if self._is_pooled:
            self._put_pooler_before_it()
        self._stack.callback(self._stop_all)
        self.redis.start()
        if not self._is_empty:
            self._set_up()
        return self

    def __exit__(self, *details: object) -> None:
        self._stack.close()

    # --- processes -----------------------------------------------------------------------------------

    def start(
        self, name: str, command: Sequence[str], environment: Mapping[str, str] | None = None, *, code: Path = ROOT
    ) -> None:
        """With the variables of this process, or these instead of them, and the code of this folder."""
        with (self.folder / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                command, cwd=code, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )

    def kill(self, name: str) -> None:
        """SIGKILL to the process and its children: nothing gets to say goodbye."""
        process = self._processes.pop(name)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self, name: str, seconds: float = 15.0) -> bool:
        """Ask it to end; whether it did so within the time."""
        process = self._processes.pop(name)
        process.terminate()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return False
        return True

    def is_running(self, name: str) -> bool:
        return self._processes[name].poll() is None

    def memory_mib(self, name: str) -> float:
        """What the process and its children hold in memory."""
        process = psutil.Process(self._processes[name].pid)
        return sum(each.memory_info().rss for each in [process, *process.children(recursive=True)]) / 2**20

    def log_of(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def manage(
        self,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        code: Path = ROOT,
        typed: str | None = None,
    ) -> tuple[int, str]:
        """A management command, with these variables or those of this process: its exit code and what it said. `typed`
        is what somebody types; without a terminal it is read from the standard input."""
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(
            command,
            cwd=code,
            env=environment,
            input=typed,
            capture_output=True,
            text=True,
            check=False,
            start_new_session=typed is not None,
        )
        return done.returncode, done.stdout + done.stderr

    # --- servers -------------------------------------------------------------------------------------

    def flush_redis(self) -> None:
        import redis

        redis.Redis.from_url(self.redis.url).flushall()

    def kill_servers(self) -> str:
        """SIGKILL to Redis, and to every process of PostgreSQL if it is our own; answers what was killed."""
        self.redis.kill()
        if self.postgres is None:
            return "worker, beat and Redis"
        postmaster = psutil.Process(int((self.postgres.data / "postmaster.pid").read_text().splitlines()[0]))
        for process in [postmaster, *postmaster.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        return "worker, beat, Redis and PostgreSQL"

    def start_servers(self) -> None:
        self.redis.start()
        if self.postgres is not None:
            self.postgres.start()

    def _make_database(self) -> None:
        address = os.environ.get("DATABASE_URL", "")
        if not address:
            if self._template:
                home = self.folder / "postgres"
                home.mkdir()
                subprocess.run(["cp", "--archive", f"{self._template}/postgres/data", home], check=True)
            self.postgres = EmbeddedPostgres(self.folder)
            self.postgres.start()
            self._stack.callback(self.postgres.stop)
            return
        name = f"ballast_gauntlet_{os.getpid()}"
        self._stack.callback(self._drop_database, address, name)
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        os.environ["DATABASE_URL"] = urlunsplit(urlsplit(address)._replace(path=f"/{name}"))

    def _put_pooler_before_it(self) -> None:
        """From here on everybody reaches the database through pgbouncer, but for locks that need a session."""
        if self.postgres is not None:
            folder = self.postgres.socket_folder
            direct = f"postgres://{SUPERUSER}@/{folder}/{DATABASE}"
            pooler = Pooler(host=str(folder), port="", user=SUPERUSER, sessions=20)
        else:
            direct = os.environ["DATABASE_URL"]
            place = urlsplit(direct)
            pooler = Pooler(
                host=place.hostname or "", port=place.port or "", user=place.username or SUPERUSER, sessions=20
            )
        self._stack.enter_context(pooler)
        database = urlsplit(direct).path.rpartition("/")[2]
        os.environ.update(DATABASE_URL=pooler.address(database), DATABASE_DIRECT_URL=direct)

    def _drop_database(self, address: str, name: str) -> None:
        os.environ["DATABASE_URL"] = address
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def _set_up(self) -> None:
        import django
        from django.core.management import call_command

        django.setup()
        if not self._template:
            call_command("migrate", verbosity=0)

    def _stop_all(self) -> None:
        for name in list(self._processes):
            self.kill(name)
