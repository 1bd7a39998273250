"""Deletes old rows in batches, so that even a long backlog keeps within the time limit of a statement."""

from __future__ import annotations

from typing import Any

import structlog
from django.db import OperationalError, models, transaction
from psycopg.errors import QueryCanceled

logger = structlog.get_logger(__name__)

BATCH = 2_000
"""Rows of one statement."""


def delete_in_batches(rows: models.QuerySet[Any], *, batch: int = BATCH, lock: bool = True) -> int:
    """Delete these rows, which nothing refers to; returns how many.

    Each batch is a statement and a database transaction of its own. One that takes too long is tried again with a
    quarter of the rows, so that there is always some progress. Locked rows are left for the next time.
    Without `lock` for rows that are never changed: PostgreSQL lets nobody lock what he may not change.
    """
    model: type[models.Model] = rows.model
    oldest = rows.order_by("pk").values("pk")
    if lock:
        oldest = oldest.select_for_update(skip_locked=True)
    deleted = 0
    while True:
        try:
            with transaction.atomic(using=rows.db):
                keys = list(oldest[:batch].values_list("pk", flat=True))
                found = model._base_manager.using(rows.db).filter(pk__in=keys)
                count = found._raw_delete(rows.db) if keys else 0
        except OperationalError as error:
            if not isinstance(error.__cause__, QueryCanceled) or batch == 1:
                raise
            batch = max(1, batch // 4)
            logger.warning("purge_slowed_down", table=model._meta.db_table, batch=batch)
            continue
        deleted += count
        if count < batch:
            return deleted
