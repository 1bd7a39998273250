"""`make run`: everything Ballast needs on one machine, started in order, watched, and stopped together."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType

import psutil
from django.core.exceptions import ImproperlyConfigured

from config.embedded import preparing
from config.embedded.finding import settings_of_running
from config.embedded.postgres import EmbeddedPostgres, PostgresError
from config.embedded.processes import Child, record, stop_left_overs
from config.embedded.secrets import ensure_secrets
from config.process.variables import Variables

BASE_DIR = Path(__file__).resolve().parents[2]
START_SECONDS = 90.0
STOP_SECONDS = 10.0
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class CannotRun(Exception):
    """Ballast cannot start here; the message has the remedy."""


class Stop(BaseException):
    """A signal to stop. Not an Exception, so that no handler takes it for a failure."""


class Installation:
    """The environment's settings of this run, and the environment its processes get."""

    def __init__(self) -> None:
        variables = Variables()
        variables.read_file(BASE_DIR / ".env")
        self.var = Path(variables.text("BALLAST_VAR") or BASE_DIR / "var").resolve()
        self.host = variables.text("BALLAST_HOST", "127.0.0.1")
        self.port = variables.integer("BALLAST_PORT", 8000, minimum=1)
        if self.port > 65_535:
            variables.refuse("BALLAST_PORT", "is no TCP port; set it to a number from 1 to 65535")
        self.redis_url = variables.text("REDIS_URL")
        self.has_database = bool(variables.text("DATABASE_URL"))
        # While the rate limiter is in the process, one process is best; with Redis every core has one.
        self.web_processes = (os.cpu_count() or 1) if self.redis_url else 1
        variables.check()
        # An address without a port would be wrong for every link and every QR code this run makes.
        self.url = variables.text("PUBLIC_URL", f"http://127.0.0.1:{self.port}").rstrip("/")

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "BALLAST_MODE": "embedded",
            "BALLAST_VAR": str(self.var),
            "PUBLIC_URL": self.url,
            "WEB_PROCESSES": str(self.web_processes),
            "WEB_THREADS": "4" if self.web_processes == 1 else "1",
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "PYTHONUNBUFFERED": "1",
        }

    @property
    def link_to_database(self) -> Path:
        """A link that exists once a run has made its database."""
        return self.var / "postgres"

    def make_folder(self) -> None:
        try:
            self.var.mkdir(parents=True, exist_ok=True)
            ensure_secrets(self.var)
        except OSError as error:
            raise CannotRun(
                f"{self.var} cannot be written to ({error.strerror}). Choose another: VAR=folder"
            ) from error

    @contextmanager
    def database(self, *, announce: bool = False) -> Iterator[None]:
        """A database to work with: the one of DATABASE_URL, or the embedded one as long as a process uses it."""
        if self.has_database:
            yield
            return
        with EmbeddedPostgres(self.var) as server:
            if announce and server.home != server.link:
                print(f"The database lives in {server.home}: PostgreSQL does not run as root, and {self.var} is")
                print("closed to other accounts.")
            yield


def run() -> int:
    """Runs until it is stopped: 0 then, and 1 when it cannot start or go on."""
    for number in STOP_SIGNALS:
        signal.signal(number, _stop)
    try:
        installation = Installation()
        installation.make_folder()
        with _only_one(installation.var), ExitStack() as stack:
            return _serve(installation, stack)
    except Stop:
        return 0
    except (CannotRun, ImproperlyConfigured, PostgresError) as error:
        print(f"\n{error}", file=sys.stderr, flush=True)
        return 1


def manage(arguments: list[str]) -> int:
    """A management command with the settings and the database of `make run`, whether that is running or not."""
    for number in STOP_SIGNALS:
        signal.signal(number, _stop)
    try:
        installation = Installation()
        is_there = installation.has_database or installation.link_to_database.exists()
        if not is_there and arguments[:1] != ["restore"]:
            raise CannotRun(f"There is no Ballast in {installation.var}: make run makes one. VAR=folder names another.")
        installation.make_folder()
        # Commands may take as long as they need; the limit is there for requests.
        environment = {
            "DATABASE_STATEMENT_TIMEOUT_SECONDS": "0",
            **installation.environment,
            **settings_of_running(installation.var),
        }
        with ExitStack() as stack:
            with _stop_deferred():
                stack.enter_context(installation.database())
            command = [sys.executable, str(BASE_DIR / "manage.py"), *arguments]
            with subprocess.Popen(command, env=environment) as process:  # noqa: S603 - our own program
                signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command gets Ctrl-C as well, and ends by itself
                signal.signal(signal.SIGTERM, lambda *_: process.terminate())
                return process.wait()
    except Stop:
        return 1
    except (CannotRun, ImproperlyConfigured, PostgresError) as error:
        print(error, file=sys.stderr)
        return 1


def _serve(installation: Installation, stack: ExitStack) -> int:
    began = time.monotonic()
    noted = installation.var / "processes.json"
    if stopped := stop_left_overs(noted):
        print(f"Stopped {stopped} processes that a killed run had left behind.", flush=True)
    _check_port(installation)
    with _stop_deferred():
        stack.enter_context(installation.database(announce=True))
    preparing.begin(installation.var)
    background = [sys.executable, "-m", "config.embedded.background"]
    children = [
        Child("background", background, installation.environment, BASE_DIR),
        Child("web", _web_command(installation), installation.environment, BASE_DIR),
    ]
    stack.callback(noted.unlink, missing_ok=True)
    for child in children:
        # The web process stops first: requests are only accepted while the workers run. While it loads, the background
        # process prepares the database; it waits for that.
        stack.callback(child.stop, STOP_SECONDS)
        child.start()
    record(noted, children)
    _wait_until_prepared(installation, children)
    _wait_until_ready(installation, children)
    _announce(installation, time.monotonic() - began)
    try:
        while True:
            time.sleep(0.25)
            if [child for child in children if child.watch(time.monotonic())]:
                record(noted, children)
    except Stop:
        print("\nStopping; what is being worked on is finished first.", flush=True)
        raise


def _web_command(installation: Installation) -> list[str]:
    return [
        sys.executable, "-m", "granian", "--interface", "wsgi", "--no-ws",
        "--host", installation.host, "--port", str(installation.port),
        "--workers", str(installation.web_processes), "--blocking-threads", "256",
        "--blocking-threads-idle-timeout", "600",
        "--workers-kill-timeout", "5", "--respawn-failed-workers", "--log-level", "error",  # it warns of 256 threads
        "config.embedded.web:application",
    ]  # fmt: skip


def _wait_until_prepared(installation: Installation, children: list[Child]) -> None:
    """Wait for the migrations, however long they take."""
    while not preparing.is_done(installation.var):
        if any(child.has_ended for child in children):
            raise CannotRun("Ballast could not prepare its database; the reason is above.")
        time.sleep(0.02)


def _wait_until_ready(installation: Installation, children: list[Child]) -> None:
    deadline = time.monotonic() + START_SECONDS
    answer = "no answer"
    while time.monotonic() < deadline:
        for child in children:
            child.watch(time.monotonic())
        try:
            with urllib.request.urlopen(f"{_local_url(installation)}/health/ready", timeout=5) as reply:  # noqa: S310
                health = json.load(reply)
            if health["beatHeartbeatAgeSeconds"] is not None:  # without beat a payment would never be seen
                return
            answer = "the background process is not up yet"
        except urllib.error.HTTPError as error:
            answer = error.read().decode(errors="replace")
        except (OSError, ValueError) as error:
            answer = str(error)
        time.sleep(0.1)
    raise CannotRun(f"Ballast did not become ready within {START_SECONDS:g} s: {answer}")


def _local_url(installation: Installation) -> str:
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(installation.host, installation.host)  # noqa: S104
    return f"http://{host}:{installation.port}"


def _announce(installation: Installation, seconds: float) -> None:
    demo = installation.var / "demo.env"
    print(
        f"""
Ballast is ready after {seconds:.1f} s, with its data in {installation.var}

  Dashboard    {installation.url}/dashboard/
  Operators    {installation.url}/admin/
  API          {installation.url}/v1 and {installation.url}/sandbox/v1
  Log-ins and keys of the demo are in {demo}

Create a payment in the sandbox, from another terminal:

  . {shlex.quote(str(demo))} && curl -sS "$BALLAST_SANDBOX_BASE_URL/payments" \\
    -H "Authorization: Bearer $BALLAST_PUBLIC_KEY" -H "X-Api-Secret: $BALLAST_SECRET_KEY" \\
    -H 'Content-Type: application/json' \\
    -d '{{"amount": 25, "currency": "USD", "cryptocurrency": "USDC", "network": "polygon",
         "merchantWallet": "'"$BALLAST_WALLET"'"}}'

Ctrl-C stops everything.
""",
        flush=True,
    )


def _check_port(installation: Installation) -> None:
    family = socket.AF_INET6 if ":" in installation.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((installation.host, installation.port))
        except OSError as error:
            raise CannotRun(
                f"Port {installation.port} is not free{_user_of(installation.port)} ({error.strerror}). "
                f"Choose another: make run PORT={installation.port + 1}"
            ) from error


def _user_of(port: int) -> str:
    with suppress(psutil.Error, OSError):
        for connection in psutil.net_connections("tcp"):
            if connection.laddr and connection.laddr.port == port and connection.status == psutil.CONN_LISTEN:
                name = psutil.Process(connection.pid).name() if connection.pid else "another account's process"
                return f": {name} is using it, process {connection.pid}" if connection.pid else f": {name} is using it"
    return ""


@contextmanager
def _only_one(var: Path) -> Iterator[None]:
    """One supervisor for a folder. The kernel drops the lock of a killed one."""
    with (var / "run.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise CannotRun(f"Ballast is already running with {var} (process {lock.read().strip()}).") from None
        lock.seek(0)
        lock.truncate()
        lock.write(str(os.getpid()))
        lock.flush()
        yield


@contextmanager
def _stop_deferred() -> Iterator[None]:
    """Delays a signal that arrives inside the block until its end."""
    pending: list[int] = []
    before = {number: signal.signal(number, lambda number, _: pending.append(number)) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if pending:
        _stop(pending[0], None)


def _stop(_number: int, _frame: FrameType | None) -> None:
    for number in STOP_SIGNALS:  # a second Ctrl-C must not leave half of it running
        signal.signal(number, signal.SIG_IGN)
    raise Stop
