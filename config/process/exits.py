"""Ends a process that cannot start, or a command that cannot go on, with one line that has the reason."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.exceptions import ImproperlyConfigured

COULD_NOT_START = 3
"""Exit code, as for a reconcile that could not finish: it means neither clean nor discrepancy."""

_NO_FAULTS_OF_OURS = ("httpx", "redis", "kombu", "psycopg", "payments.chains.errors", "config.errors")
"""Modules whose exceptions are about something outside Ballast, or about a bad request."""


def in_a_line(error: BaseException) -> str | None:
    """The error in one line for an operator; None for a bug of ours, which needs its traceback."""
    if isinstance(error, ImproperlyConfigured):
        return str(error)
    from django.db import InterfaceError, OperationalError

    text = " ".join(str(error).split())
    if isinstance(error, OperationalError | InterfaceError):
        return f"The database cannot be used: {text}"
    homes = [kind.__module__ for kind in type(error).__mro__]
    if any(home == known or home.startswith(f"{known}.") for home in homes for known in _NO_FAULTS_OF_OURS):
        return f"{type(error).__name__}: {text}" if text else type(error).__name__
    return f"{type(error).__name__}: {text}" if isinstance(error, OSError) else None


@contextmanager
def ending_in_a_line() -> Iterator[None]:
    """Ends the process with COULD_NOT_START for an error that is no bug of ours; `--traceback` shows its traceback."""
    try:
        yield
    except Exception as error:
        line = None if "--traceback" in sys.argv else in_a_line(error)
        if line is None:
            raise
        sys.stderr.write(f"{line}\n")
        sys.exit(COULD_NOT_START)
