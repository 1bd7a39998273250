"""Takes rows that are due, so that no other worker has them meanwhile.

A lease is the due time itself, put off: what a worker does not end, or loses with its process, is due again after it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import F, Model, QuerySet

Row = TypeVar("Row", bound=Model)


def lease(due: QuerySet[Row], field: str, *, until: datetime, limit: int, takes: str = "") -> list[Row]:
    """The first rows of those that are due, whose `field` is put off until then. Rows that are locked are skipped.

    `takes` is a column that counts how often a row was taken.
    """
    changes: dict[str, Any] = {field: until} | ({takes: F(takes) + 1} if takes else {})
    with transaction.atomic():
        rows = list(due.select_for_update(skip_locked=True, of=("self",))[:limit])
        if rows:
            due.model._base_manager.filter(pk__in=[row.pk for row in rows]).update(**changes)
    for row in rows:
        setattr(row, field, until)
        if takes:
            setattr(row, takes, getattr(row, takes) + 1)
    return rows


def lease_one(due: QuerySet[Row], field: str, *, until: datetime, takes: str = "") -> Row | None:
    """The first row that is due, as by `lease`."""
    return next(iter(lease(due, field, until=until, limit=1, takes=takes)), None)
