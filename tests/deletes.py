"""What is deleted row by row, for tests of what is to be dropped instead."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection


@contextmanager
def deletes() -> Iterator[list[int]]:
    """The number of rows of each DELETE inside the block, in their order."""
    found: list[int] = []

    def watched(execute: Any, sql: str, parameters: Any, many: bool, context: Any) -> Any:
        result = execute(sql, parameters, many, context)
        if sql.startswith("DELETE"):
            found.append(context["cursor"].rowcount)
        return result

    with connection.execute_wrapper(watched):
        yield found
