"""Deletes what the audit log has kept long enough."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings

from config import ids
from config.database.purging import delete_in_batches
from merchants.audit.models import LoggedAction


def purge(*, now: datetime) -> int:
    """Delete actions older than AUDIT_KEPT_DAYS; returns how many. PostgreSQL refuses it for those of the last year."""
    days: int = settings.AUDIT_KEPT_DAYS
    if not days:
        return 0
    old = LoggedAction.objects.filter(pk__lt=ids.first_uuid_at(now - timedelta(days=days)))
    return delete_in_batches(old, lock=False)
