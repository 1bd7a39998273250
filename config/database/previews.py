"""Previews: what a change would do, found out by making it and rolling it back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import structlog
from django.db import transaction

_is_preview: ContextVar[bool] = ContextVar("is_preview", default=False)


@contextmanager
def preview() -> Iterator[None]:
    """Rolls back what is done inside, whether it succeeds or not: nothing of it is kept, sent or mailed.

    Its row locks last as long. For what only writes to the database: whatever calls a network or writes files is not
    undone.
    """
    token = _is_preview.set(True)
    try:
        with structlog.contextvars.bound_contextvars(is_preview=True), transaction.atomic():
            yield
            transaction.set_rollback(True)
    finally:
        _is_preview.reset(token)


def is_preview() -> bool:
    """True inside a preview, whose changes are never kept."""
    return _is_preview.get()
