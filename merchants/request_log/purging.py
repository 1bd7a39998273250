"""Deletes what the log of requests has kept long enough."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings

from config import ids
from config.database.purging import delete_in_batches
from merchants.request_log.models import LoggedRequest


def purge(*, now: datetime) -> int:
    """Delete requests older than REQUESTS_KEPT_DAYS, all of them where that is 0; returns how many."""
    oldest = ids.first_uuid_at(now - timedelta(days=settings.REQUESTS_KEPT_DAYS))
    return delete_in_batches(LoggedRequest.objects.filter(pk__lt=oldest))
