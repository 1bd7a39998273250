"""Debian's pgbouncer in front of a PostgreSQL, giving out few sessions for one database transaction each."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self

BINARY = shutil.which("pgbouncer") or shutil.which("/usr/sbin/pgbouncer")


class Pooler:
    """Enter it to have it run. `extra` are further lines of its configuration."""

    def __init__(self, *, host: str, port: str | int, user: str, sessions: int = 3, extra: str = "") -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="ballast-pgbouncer-"))
        self.host = str(self._folder)
        """A socket in a folder of its own: a free port might be somebody else's by the time pgbouncer wants it."""
        self._configuration = f"""[databases]
* = host={host} port={port or 5432} user={user}
[pgbouncer]
listen_addr =
listen_port = 5432
unix_socket_dir = {self._folder}
auth_type = any
pool_mode = transaction
default_pool_size = {sessions}
max_client_conn = 500
server_idle_timeout = 2
logfile = {self._folder}/log
{extra}
"""
        self._process: subprocess.Popen[bytes] | None = None

    def address(self, database: str) -> str:
        return f"postgres://anybody@/{self.host}/{database}"

    def __enter__(self) -> Self:
        if BINARY is None:
            raise SystemExit("This needs pgbouncer (Debian: apt install pgbouncer).")
        path = self._folder / "pgbouncer.ini"
        path.write_text(self._configuration)
        account = _account_that_may_reach(self._configuration)
        if account is not None:
            for each in (self._folder, path):
                os.chown(each, account.pw_uid, account.pw_gid)
        self._process = subprocess.Popen(
            [BINARY, "-q", str(path)],
            stderr=subprocess.DEVNULL,
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
            extra_groups=[] if account else None,
        )
        deadline = time.monotonic() + 60
        while True:
            with socket.socket(socket.AF_UNIX) as probe:
                if probe.connect_ex(f"{self.host}/.s.PGSQL.5432") == 0:
                    return self
            assert self._process.poll() is None, (self._folder / "log").read_text()
            assert time.monotonic() < deadline, (self._folder / "log").read_text()
            time.sleep(0.02)

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()  # a run in the background ignores SIGINT and SIGQUIT, and so would pgbouncer
            self._process.wait(10)
        shutil.rmtree(self._folder, ignore_errors=True)


def _account_that_may_reach(configuration: str) -> pwd.struct_passwd | None:
    """pgbouncer does not run as root: it gets the account of the server whose socket it is to use."""
    if os.geteuid() != 0:
        return None
    folder = Path(configuration.partition("host=")[2].partition(" ")[0])
    if folder.is_absolute():
        return pwd.getpwuid(folder.stat().st_uid)
    return pwd.getpwnam("nobody")
