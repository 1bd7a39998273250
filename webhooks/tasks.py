"""Sweeps: send what is due, mail what should be known, forget what is old."""

from __future__ import annotations

from celery import shared_task
from celery.worker import state

from webhooks.mailing import mail_disabled
from webhooks.purging import purge_attempts, purge_events
from webhooks.sending.dispatch import dispatch

RUN_SECONDS = 240.0
"""Shorter than the worker's own limit for a task, with the last replies to wait for."""

IDLE_SECONDS = 5.0


@shared_task(name="webhooks.deliver_due")
def deliver_due() -> None:
    """Send until nothing is due. A second one in the same process wakes the first, and ends at once."""
    dispatch(run_seconds=RUN_SECONDS, idle_seconds=IDLE_SECONDS, is_stopping=_is_stopping)


@shared_task(name="webhooks.mail_disabled")
def mail_disabled_task() -> None:
    """Tell merchants which of their endpoints were disabled."""
    mail_disabled()


@shared_task(name="webhooks.purge_attempts")
def purge_attempts_task() -> None:
    """Forget attempts that are older than 60 days, and events that are older than EVENTS_KEPT_DAYS."""
    purge_attempts()
    purge_events()


def _is_stopping() -> bool:
    """Whether the worker around has been told to stop."""
    return any(code is not None and code is not False for code in (state.should_stop, state.should_terminate))
