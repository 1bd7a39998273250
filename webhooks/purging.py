"""Forgetting attempts that are too old to be asked about."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.utils import timezone

from webhooks.models import Attempt

KEPT_FOR = timedelta(days=60)
BATCH = 10_000
"""Rows of one statement: short enough for the limit of statements, however much there is."""


def purge_attempts(*, now: datetime | None = None, batch: int = BATCH) -> int:
    """Delete what is older than 60 days; answers how many attempts."""
    too_old = Attempt.objects.filter(started_at__lt=(now or timezone.now()) - KEPT_FOR).order_by("started_at")
    purged = 0
    while keys := list(too_old.values_list("pk", flat=True)[:batch]):
        purged += Attempt.objects.filter(pk__in=keys).delete()[0]
    return purged
