"""Contains failures: what fails for one network, payment or merchant does not stop the others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from django.db import connection

logger = structlog.get_logger(__name__)


@contextmanager
def contained(event: str, *, expected: tuple[type[Exception], ...] = (), **where: object) -> Iterator[None]:
    """Log an exception of the block under this name, and go on after it. `where` says whom it concerned.

    What is `expected` is logged as a warning and without a traceback.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, expected):
            logger.warning(event, error=str(error), **where)
        else:
            logger.exception(event, **where)
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()  # what comes next may have a database again
