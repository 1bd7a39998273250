"""Periodic tasks: send what is due, mail about disabled endpoints, delete what is old."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from celery import shared_task
from celery.worker import state
from django.db.models import QuerySet
from django.utils import timezone

from config.periodic.due_work import rows_of
from webhooks.connections.codes import purge_codes
from webhooks.events.notices import write_notices
from webhooks.mailing import mail_disabled
from webhooks.models import Delivery, Event
from webhooks.purging import purge_attempts, purge_events
from webhooks.sending.dispatch import dispatch
from webhooks.states import DeliveryStatus

RUN_SECONDS = 240.0
"""Shorter than the worker's own limit for a task, because the last replies are waited for."""

IDLE_SECONDS = 1.0


@shared_task(name="webhooks.deliver_due")
def deliver_due() -> None:
    """Send until nothing is due. A second task in the same process wakes the first, and ends at once."""
    dispatch(run_seconds=RUN_SECONDS, idle_seconds=IDLE_SECONDS, is_stopping=_is_stopping)


@shared_task(name="webhooks.mail_disabled")
def mail_disabled_task() -> None:
    """Mail merchants about endpoints that were disabled."""
    mail_disabled()


@shared_task(name="webhooks.write_notices")
def write_notices_task() -> None:
    """Mail members the notices they have chosen."""
    write_notices(now=timezone.now())


@shared_task(name="webhooks.purge_attempts")
def purge_attempts_task() -> None:
    """Drop attempts older than 60 days by the month; delete events older than EVENTS_KEPT_DAYS, and expired codes."""
    purge_attempts()
    purge_events()
    purge_codes()


def _is_stopping() -> bool:
    """True if this worker is stopping."""
    return any(code is not None and code is not False for code in (state.should_stop, state.should_terminate))


@rows_of("webhooks.deliver_due")
def _to_deliver() -> Iterable[QuerySet[Any]]:
    """Events that have no deliveries yet, and deliveries that are due."""
    due = Delivery.objects.filter(status=DeliveryStatus.PENDING, next_attempt_at__lte=timezone.now())
    return [Event.objects.filter(is_fanned_out=False), due]
