"""Servers of PostgreSQL on ports of loopback, of which one follows another: Debian's where that is installed."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg

from config.embedded.postgres import _account_for, _reachable_binaries
from tests.ports import free_port

USER, DATABASE = "postgres", "ballast"
OPTIONS = {"listen_addresses": "127.0.0.1", "max_connections": "200", "timezone": "UTC"}


class Server:
    """One server. Whoever makes it removes its folder, after `kill`."""

    def __init__(self, folder: Path, name: str) -> None:
        self.data, self.port = folder / name, free_port()
        self._account = _account_for(self.data)
        debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
        self._binaries = debian[-1].parent if debian else _reachable_binaries(self._account)
        self.data.mkdir(mode=0o700)
        if self._account:
            os.chown(self.data, self._account.pw_uid, self._account.pw_gid)

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    def make(self) -> None:
        self._run("initdb", "--username", USER, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")

    def copy(self, primary: Server) -> None:
        """A standby of the primary, by the name of `standby`."""
        source = f"host=127.0.0.1 port={primary.port} user={USER} application_name=standby"
        options = ["--checkpoint=fast", "--no-sync", "--wal-method=stream", "--write-recovery-conf"]
        self._run("pg_basebackup", "--dbname", source, *options)

    def start(self, **settings: str) -> None:
        given = {**OPTIONS, "port": str(self.port), "unix_socket_directories": str(self.data), **settings}
        words = " ".join(f"-c {name}='{value}'" for name, value in given.items())
        self._run("pg_ctl", "start", "--wait", "--log", f"{self.data}/log", "--options", words)

    def promote(self) -> None:
        self._run("pg_ctl", "promote", "--wait")

    def kill(self) -> None:
        """SIGKILL to every process of it."""
        for process in self.processes():
            with suppress(psutil.NoSuchProcess):
                process.kill()

    def processes(self) -> list[psutil.Process]:
        with suppress(FileNotFoundError, psutil.NoSuchProcess):
            postmaster = psutil.Process(int((self.data / "postmaster.pid").read_text().splitlines()[0]))
            return [postmaster, *postmaster.children()]
        return []

    def processor_seconds(self) -> float:
        """Of all its processes, those that have ended included."""
        postmaster, *others = self.processes()
        ended = postmaster.cpu_times()
        seconds = ended.children_user + ended.children_system
        for process in (postmaster, *others):
            with suppress(FileNotFoundError, ProcessLookupError):
                seconds += int(Path(f"/proc/{process.pid}/schedstat").read_text().split()[0]) / 1e9
        return seconds

    def rows(self, statement: str, database: str = DATABASE) -> list[tuple[Any, ...]]:
        """What a statement returns; nothing where it returns none."""
        with psycopg.connect(f"postgres://{USER}@{self.place}/{database}", autocommit=True) as session:
            cursor = session.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def _run(self, program: str, *arguments: str) -> None:
        account = self._account
        done = subprocess.run(
            [str(self._binaries / program), "--pgdata", str(self.data), *arguments],
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=(self.data.parent / "programs.log").open("ab"),
            check=False,
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
            extra_groups=[] if account else None,
        )
        if done.returncode:
            raise RuntimeError((self.data.parent / "programs.log").read_text()[-2000:])
