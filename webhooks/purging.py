"""Drops old attempts by the month, and deletes old events with their deliveries."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from config import ids
from config.database.months import keep_months
from config.database.purging import BATCH, delete_in_batches
from webhooks.models import Attempt, Delivery, Event
from webhooks.states import DeliveryStatus

KEPT_FOR = timedelta(days=60)


def purge_attempts(*, now: datetime | None = None, batch: int = BATCH) -> int:
    """Drop the months of deliveries that ended 60 days ago, but for younger attempts, and delete those once they are
    older; returns how many it deleted."""
    oldest = (now or timezone.now()) - KEPT_FOR
    rest = keep_months(Attempt._meta.db_table, before=oldest, kept_by="started_at")
    if rest is None:
        return 0
    late = Attempt.objects.filter(delivery_id__lt=ids.first_uuid_at(rest), started_at__lt=oldest)
    return delete_in_batches(late, batch=batch)


def kept_since(now: datetime | None = None) -> datetime | None:
    """The instant since which all events are kept; None when events are never deleted."""
    days: int = settings.EVENTS_KEPT_DAYS
    return (now or timezone.now()) - timedelta(days=days) if days else None


def purge_events(*, now: datetime | None = None, batch: int = 200) -> int:
    """Delete events older than EVENTS_KEPT_DAYS together with their deliveries; returns how many events.

    An event with a pending delivery is kept, with its deliveries.
    """
    since = kept_since(now)
    if since is None:
        return 0
    pending = Delivery.objects.filter(event=OuterRef("pk"), status=DeliveryStatus.PENDING)
    too_old = Event.objects.filter(~Exists(pending), pk__lt=ids.first_uuid_at(since), is_fanned_out=True)
    purged = 0
    while count := _purge_batch(too_old, batch):
        purged += count
    return purged


def _purge_batch(too_old: QuerySet[Event], batch: int) -> int:
    """Of one batch events, deliveries and attempts go together: reconcile never finds an event without deliveries."""
    with transaction.atomic():
        keys = list(too_old.order_by("pk").select_for_update(skip_locked=True).values_list("pk", flat=True)[:batch])
        deliveries = list(
            Delivery.objects.filter(event__in=keys).order_by("pk").select_for_update().values_list("pk", "status")
        )
        if any(status == DeliveryStatus.PENDING for _, status in deliveries):
            return 0  # one is due again since a moment ago: deleted the next time
        gone = [key for key, _ in deliveries]
        Attempt.objects.filter(delivery__in=gone).delete()
        Delivery.objects.filter(pk__in=gone).delete()
        Event.objects.filter(pk__in=keys).delete()
    return len(keys)
