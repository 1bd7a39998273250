"""Contains failures: what fails for one network, payment or merchant does not stop the others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from django.db import connection

logger = structlog.get_logger(__name__)

_logged: dict[tuple[object, ...], str] = {}
"""By event and subject: what was expected and goes on. A network that is not set up fails each second."""


@contextmanager
def contained(event: str, *, expected: tuple[type[Exception], ...] = (), **where: object) -> Iterator[None]:
    """Log an exception of the block under this name, and go on after it. `where` names its subject.

    What is `expected` is logged as a warning and without a traceback, once for as long as it stays the same.
    """
    subject = (event, *sorted((name, str(value)) for name, value in where.items()))
    try:
        yield
        _logged.pop(subject, None)
    except Exception as error:
        if isinstance(error, expected):
            if _logged.get(subject) != str(error):
                logger.warning(event, error=str(error), **where)
            _logged[subject] = str(error)
        else:
            logger.exception(event, **where)
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()  # what comes next may have a database again
