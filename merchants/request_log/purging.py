"""Drops the months of the log of requests that it has kept long enough."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings

from config import ids
from config.database.months import keep_months
from config.database.purging import delete_in_batches
from merchants.request_log.models import LoggedRequest, kept_since


def purge(*, now: datetime) -> int:
    """Drop months that are over for REQUESTS_KEPT_DAYS, and delete what no month was made for; returns how many rows.

    Where that is 0, all rows go.
    """
    oldest = kept_since(now)
    rest = keep_months(LoggedRequest._meta.db_table, before=oldest)
    if not settings.REQUESTS_KEPT_DAYS:
        rest = oldest
    if rest is None:
        return 0
    return delete_in_batches(LoggedRequest.objects.filter(pk__lt=ids.first_uuid_at(min(rest, oldest))))
