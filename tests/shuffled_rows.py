"""Rows in any order but the one that was asked for, to find what rests on an order that nobody asked for.

`SHUFFLE_ROWS=1 make test` has PostgreSQL mix the rows of every query that does not say how they are ordered, and those
that are equal by what it says.
"""

from __future__ import annotations

import os
from typing import Any

from django.db.models.functions import Random
from django.db.models.sql.compiler import SQLCompiler


def shuffle_rows() -> None:
    if os.environ.get("SHUFFLE_ROWS"):
        SQLCompiler.get_order_by = _order_at_random  # type: ignore[assignment, method-assign]  # so that it need not name what it passes on


def _order_at_random(compiler: SQLCompiler, ordered: Any = SQLCompiler.get_order_by) -> Any:
    result = ordered(compiler)
    if not compiler.query.combinator and not compiler.query.distinct:
        result.append((Random().asc(), ("RANDOM()", (), False)))
    return result
