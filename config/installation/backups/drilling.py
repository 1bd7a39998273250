"""Tries a backup: it is restored beside the database, and looked at there by the commands that a real restore takes.

They run as processes of their own, with the address of the scratch database and otherwise the settings of here. Nothing
of the real database is read or changed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any
from urllib.parse import quote, urlencode

from django.conf import settings
from django.db import Error
from django.db.backends.base.base import BaseDatabaseWrapper

from config.database.sessions import new_session
from config.installation.backups.making import Report
from config.installation.backups.manifest import Manifest, later_migrations
from config.installation.backups.programs import BackupError
from config.installation.backups.restoring import restore_backup

SECRETS = ("second factors", "sealed mails", "API keys", "webhook secrets")
"""Checks of doctor that open what is stored under the keys of the settings."""
LINES_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Step:
    """A command that the copy must pass; `well` are its exit codes if it does."""

    what: str
    command: tuple[str, ...]
    well: tuple[int, ...] = (0,)


SECRETS_OPEN = Step("every stored secret opens with the keys of today", ("doctor", "--seconds=0", "--only", *SECRETS))
CHAINS = Step("compared with the chains", ("resume_after_restore", "--dry-run", "--by=backup_drill"))
INVARIANTS = Step(
    # It warns that no chain was asked: since the backup they went on.
    "every invariant of the books holds",
    ("reconcile", "--full", "--no-chain"),
    well=(0, 1),
)


def drill(file: str, *, identity: str = "", without_chains: bool = False, report: Report) -> Manifest:
    """Its manifest; BackupError for a backup by which one could not go on."""
    with _scratch() as (session, environment):
        manifest = restore_backup(file, identity=identity, session=session, report=report)
        steps = [SECRETS_OPEN, *([] if without_chains else [CHAINS]), INVARIANTS]
        if later_migrations(manifest):
            steps.insert(0, Step("migrated to this release", ("migrate", "--no-input")))
        for step in steps:
            _take(step, environment)
            report(f"ok: {step.what}")
        return manifest


def _take(step: Step, environment: dict[str, str]) -> None:
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), *step.command]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    if done.returncode not in step.well:
        said = [line.strip() for line in f"{done.stdout}\n{done.stderr}".splitlines() if line.strip()]
        raise BackupError(f"not {step.what} ({step.command[0]}): {' '.join(said[-LINES_SHOWN:])}")


@contextmanager
def _scratch() -> Iterator[tuple[BaseDatabaseWrapper, dict[str, str]]]:
    """An empty database on the same server, by a session and by the environment of a process; dropped in the end."""
    name = f"ballast_drill_{os.getpid()}"
    with closing(new_session()) as beside:
        quoted = beside.ops.quote_name(name)
        _drop_left_behind(beside)
        try:
            _run(beside, f"CREATE DATABASE {quoted} TEMPLATE template0")
        except Error as error:
            raise BackupError(
                f"No database beside it can be made: {' '.join(str(error).split())}. Run the drill as a user of "
                "PostgreSQL who has CREATEDB."
            ) from error
        try:
            session = new_session()
            session.settings_dict["NAME"] = name
            with closing(session):
                _run(session, "SET statement_timeout = 0")
                parameters = session.get_connection_params()
                yield session, _environment(parameters)
        finally:
            _run(beside, f"DROP DATABASE {quoted} WITH (FORCE)")


def _drop_left_behind(beside: BaseDatabaseWrapper) -> None:
    """Of drills that were killed. PostgreSQL refuses it of one that goes on, as that has a session there."""
    with beside.cursor() as cursor:
        cursor.execute("SELECT datname FROM pg_database WHERE datname ~ '^ballast_drill_[0-9]+$'")
        names = [name for (name,) in cursor.fetchall()]
    for name in names:
        with suppress(Error):
            _run(beside, f"DROP DATABASE {beside.ops.quote_name(name)}")


def _run(session: BaseDatabaseWrapper, statement: str) -> None:
    with session.cursor() as cursor:
        cursor.execute(statement)


def _environment(parameters: dict[str, Any]) -> dict[str, str]:
    """Of a process whose database is this one, and whose settings are those of here; what it meets in the copy is told
    to no server of errors or traces as if it were of the real one."""
    login = ":".join(quote(str(parameters[name]), safe="") for name in ("user", "password") if parameters.get(name))
    query = {name: value for name, value in parameters.items() if name.startswith("ssl") and value}
    host, port = (str(parameters.get(name) or "") for name in ("host", "port"))
    if host.startswith("/") and "," not in host:  # a socket's folder
        place, query = f"/{host}", {**query, **({"port": port} if port else {})}
    else:
        pairs = zip_longest(host.split(","), port.split(","), fillvalue="")
        place = ",".join(
            (f"[{each}]" if ":" in each else quote(each, safe="")) + (f":{of}" if of else "") for each, of in pairs
        )
    address = f"postgres://{login}@{place}/{parameters['dbname']}{(query and f'?{urlencode(query)}') or ''}"
    return {
        **os.environ,
        "BALLAST_MODE": settings.MODE,
        "DATABASE_URL": address,
        "DATABASE_DIRECT_URL": "",
        "DATABASE_STATEMENT_TIMEOUT_SECONDS": "0",
        "LOG_LEVEL": "ERROR",
        "SENTRY_DSN": "",
        "OTEL_EXPORTER_OTLP_ENDPOINT": "",
    }
