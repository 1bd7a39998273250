"""Servers to restore, copy and promote: PostgreSQL's own programs, on data folders of one test."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from django.core.management import call_command
from django.db import connection, connections

from config.embedded.postgres import DATABASE, SUPERUSER, EmbeddedPostgres
from tests.template import lay_migrated, stop_left_over


class Servers:
    """Makes servers and ends them all."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self.folder = Path(tempfile.mkdtemp(prefix="ballast-servers-"))
        self.folder.chmod(0o755)
        self._stack.callback(shutil.rmtree, self.folder, ignore_errors=True)

    def close(self) -> None:
        self._stack.close()

    def new(self, name: str, *, is_migrated: bool = False) -> EmbeddedPostgres:
        """A running server with an empty database, or a migrated one."""
        server = self._server(name)
        is_done = is_migrated and lay_migrated(server)
        server.start()
        if is_migrated and not is_done:
            with working_on(server):
                call_command("migrate", verbosity=0)
        return server

    def copy_of(self, primary: EmbeddedPostgres, name: str, *, is_standby: bool = False) -> EmbeddedPostgres:
        """A base backup of a server; with `is_standby` it follows the server once it is started."""
        copy = self._server(name)
        copy.data.parent.mkdir(parents=True, exist_ok=True)
        if primary.data.stat().st_uid != copy.data.parent.stat().st_uid:
            shutil.chown(copy.data.parent, primary.data.stat().st_uid, primary.data.stat().st_gid)
        options = ["--write-recovery-conf"] if is_standby else []
        primary._run(
            "pg_basebackup", "-D", str(copy.data), "-h", str(primary.socket_folder), "-U", SUPERUSER,
            "--checkpoint=fast", "--no-sync", "--wal-method=stream", *options,
        )  # fmt: skip
        return copy

    def dump(self, server: EmbeddedPostgres, database: str = DATABASE) -> Path:
        folder = server.home / "dumps"
        server._make_folder(folder)
        path = folder / f"{database}-{time.monotonic_ns()}"
        server._run("pg_dump", "-Fc", "-h", str(server.socket_folder), "-U", SUPERUSER, "-d", database, "-f", str(path))
        return path

    def restore(self, server: EmbeddedPostgres, dump: Path, database: str = DATABASE, *options: str) -> None:
        server._run("pg_restore", "-h", str(server.socket_folder), "-U", SUPERUSER, "-d", database, *options, str(dump))

    def _server(self, name: str) -> EmbeddedPostgres:
        server = EmbeddedPostgres(self.folder / name, durable=False)

        def end() -> None:
            stop_left_over(server)
            if server.home != server.link:
                shutil.rmtree(server.home, ignore_errors=True)

        self._stack.callback(end)
        return server


@contextmanager
def working_on(server: EmbeddedPostgres, database: str = DATABASE) -> Iterator[None]:
    """Everything Django does in here goes to this database."""
    settings = connections["default"].settings_dict
    before = {name: settings[name] for name in ("HOST", "PORT", "NAME", "USER", "PASSWORD")}
    connection.close()
    settings.update(HOST=str(server.socket_folder), PORT="", NAME=database, USER=SUPERUSER, PASSWORD="")
    try:
        yield
    finally:
        connection.close()
        settings.update(before)
