"""The checks of `manage.py doctor`: what a finding is, how a room registers a check, and how one is run safely.

A check only reads: each of its statements has a transaction that is read-only by PostgreSQL's word. It is bounded in
time, and one that raises is a failed line of the report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from threading import Thread
from typing import Any, Final

from django.conf import settings
from django.db import DatabaseError, connection, connections, transaction
from psycopg.errors import InsufficientPrivilege

from config.process import roles
from config.process.logs import redact

SECONDS: Final = 30.0
"""Time limit of one check."""

DATABASE: Final = "database"
"""The line whose failure makes every check that reads the database pointless."""


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report: what is so, and what to do about it where it is not well."""

    name: str
    level: Level
    text: str
    advice: str = ""


def ok(name: str, text: str) -> Finding:
    return Finding(name, Level.OK, text)


def warn(name: str, text: str, advice: str) -> Finding:
    return Finding(name, Level.WARN, text, advice)


def fail(name: str, text: str, advice: str) -> Finding:
    return Finding(name, Level.FAIL, text, advice)


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked of a run."""

    deploy: bool = False
    """Also what `check --deploy` looks at."""
    mail_to: tuple[str, ...] = ()
    """Recipients of a mail that is really sent."""
    seconds: float = SECONDS
    """Time limit of one check; 0: none, and it runs in the thread of the caller."""


Find = Callable[[Asked], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    find: Find
    reads_database: bool


_checks: list[Check] = []


def register(name: str, *, reads_database: bool = True) -> Callable[[Find], Find]:
    """Have the decorated function run by `manage.py doctor`, after those that were registered before.

    The module is imported in the AppConfig.ready of its app. `name` is the line where the check cannot finish.
    """

    def add(find: Find) -> Find:
        _checks.append(Check(name, find, reads_database))
        return find

    return add


def names() -> list[str]:
    return [check.name for check in _checks]


def examine(
    asked: Asked, *, only: Iterable[str] = (), begins: Callable[[str], None] = lambda _: None
) -> Iterator[Finding]:
    """The findings of the checks, each as soon as it is known. `begins` is called with the name of each check."""
    chosen = set(only)
    is_away = False
    for check in _checks:
        if chosen and check.name not in chosen:
            continue
        begins(check.name)
        if check.reads_database and is_away:
            yield warn(check.name, "Not looked at: the database cannot be used.", "Put the database right first.")
            continue
        for finding in _run(check, asked):
            is_away |= finding.name == DATABASE and finding.level == Level.FAIL
            yield replace(finding, text=redact(finding.text))


def without(secret: str) -> str:
    """The reason that this process cannot look at what needs a secret; empty when its role has it."""
    if roles.uses(settings.BALLAST_ROLE, secret):
        return ""
    return f"Not looked at: a process with BALLAST_ROLE={settings.BALLAST_ROLE} is not given {secret}."


def ask_elsewhere(name: str, missing: str) -> Finding:
    """The line of a check whose secret this process does not have."""
    return warn(name, missing, "Run doctor without BALLAST_ROLE where all settings are, or in the process that has it.")


def _run(check: Check, asked: Asked) -> list[Finding]:
    if not asked.seconds:
        return list(_found(check, asked))
    look = _Look(check, asked)
    look.start()
    look.join(asked.seconds)
    found = list(look.found)
    if look.is_looking:
        found.append(
            fail(
                check.name,
                f"No answer within {asked.seconds:g} s.",
                "Something this check waits for hangs: a server, a name or a lock. Look at the other lines first, then "
                "run doctor again.",
            )
        )
    return found


class _Look(Thread):
    """Runs a check with a connection of its own. One that hangs ends with the process."""

    def __init__(self, check: Check, asked: Asked) -> None:
        super().__init__(daemon=True)
        self.check, self.asked = check, asked
        self.found = list[Finding]()
        self.is_looking = True

    def run(self) -> None:
        try:
            for finding in _found(self.check, self.asked):
                self.found.append(finding)
        finally:
            self.is_looking = False
            connections.close_all()


def _found(check: Check, asked: Asked) -> Iterator[Finding]:
    """The findings of a check, and the error that ends it as one of them."""
    try:
        if not check.reads_database:
            yield from check.find(asked)
            return
        with connection.execute_wrapper(_ReadOnly()):
            yield from check.find(asked)
    except DatabaseError as error:
        if isinstance(error.__cause__, InsufficientPrivilege):
            yield warn(
                check.name,
                f"Not looked at: the database's user may not read it ({_line(error)}).",
                "Run doctor with the DATABASE_URL of the web process. If a table is new, run "
                "manage.py database_roles as the owner of the tables.",
            )
        else:
            yield fail(check.name, _line(error), "Look at the lines about the database, then run doctor again.")
    except Exception as error:  # whatever a check stumbles over is a line, so that the others are still shown
        yield fail(
            check.name,
            f"The check itself failed: {type(error).__name__}: {_line(error)}",
            "Run doctor again. If it stays, keep this line for whoever maintains Ballast.",
        )


class _ReadOnly:
    """Runs each statement in a transaction of its own that PostgreSQL lets write nothing. None is open while a check
    waits for a provider: a migration would wait for its end."""

    def __init__(self) -> None:
        self._is_inside = False

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        if self._is_inside:  # what begins and ends this very transaction
            return execute(sql, params, many, context)
        self._is_inside = True
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION READ ONLY")
                return execute(sql, params, many, context)
        finally:
            self._is_inside = False


def _line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [""])[0]
