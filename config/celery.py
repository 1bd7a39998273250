"""The Celery app: which tasks exist, how often each runs, and the wake that makes one run sooner."""

from __future__ import annotations

import logging
import os
import time
from functools import partial
from typing import Any

from celery import Celery
from celery.signals import beat_init, task_postrun, task_rejected, task_revoked, task_unknown, worker_init
from celery.states import SUCCESS
from django.conf import settings
from django.db import DatabaseError, connection, transaction

from config.periodic import consumer, in_process_broker, task_runs
from config.periodic.queued_tasks import is_waiting
from config.process.arenas import share_arenas
from config.process.exits import ending_in_a_line

share_arenas()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

logger = logging.getLogger(__name__)

app = Celery("ballast")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
consumer.install(app)
in_process_broker.install()


def _require_role_at_start(**_: object) -> None:
    from config.installation.checks import require_role_at_start  # needs the settings

    with ending_in_a_line():
        require_role_at_start()
    connection.close()  # this process forks others


worker_init.connect(_require_role_at_start)
beat_init.connect(_require_role_at_start)

QUEUES = ("chain", "webhooks", "money", "reports")

# A process may be given one queue alone: only the `money` worker holds the key that signs.
app.conf.task_routes = {
    "installation.*": {"queue": "chain"},
    "payments.sweep": {"queue": "money"},
    "payments.fold_turnover": {"queue": "reports"},
    "payments.index_payments": {"queue": "reports"},
    "payments.write_exports": {"queue": "reports"},
    "payments.purge_exports": {"queue": "reports"},
    "payments.mail_payers": {"queue": "webhooks"},  # it has the key that mails are sealed with
    "payments.*": {"queue": "chain"},
    "webhooks.write_notices": {"queue": "reports"},
    "webhooks.*": {"queue": "webhooks"},
    "transfers.*": {"queue": "money"},
    "refunds.*": {"queue": "money"},
    "settlements.*": {"queue": "money"},
    "invoices.*": {"queue": "reports"},
    "wallets.*": {"queue": "money"},
    "house.*": {"queue": "money"},
    "merchants.*": {"queue": "reports"},
    "people.send_mails": {"queue": "webhooks"},  # it has the key that mails are sealed with
    "people.*": {"queue": "reports"},
    "operations.measure_networks": {"queue": "chain"},
    "operations.audit_wallets": {"queue": "chain"},
    "operations.reconcile": {"queue": "chain"},
    "operations.*": {"queue": "reports"},
}


def every(seconds: float, task: str) -> dict[str, dict[str, Any]]:
    """A line of the schedule. While one of its messages waits, beat sends no other, so that no backlog grows."""
    return {task: {"task": task, "schedule": seconds}}


app.conf.beat_scheduler = "config.periodic.beat:ElectedScheduler"
app.conf.beat_max_loop_interval = 1
app.conf.beat_schedule = {
    **every(1, "installation.keep_pulse"),
    **every(1, "payments.watch_networks"),
    **every(1, "transfers.drive"),
    **every(2, "transfers.follow_payouts"),
    **every(1, "payments.assess_due"),
    **every(5, "payments.sweep"),
    **every(60, "payments.look_for_native_coin"),
    **every(5, "payments.expire_due"),
    **every(10, "payments.keep_surplus"),
    **every(30, "payments.refresh_rates"),
    **every(300, "payments.record_rates"),
    **every(10, "operations.watch_dangers"),
    **every(30, "operations.measure_networks"),
    **every(3600, "operations.audit_wallets"),
    **every(60, "operations.reconcile"),
    **every(2, "refunds.resolve_destinations"),
    **every(2, "refunds.make_batches"),
    **every(10, "refunds.give_back_surplus"),
    **every(3600, "invoices.issue_due"),
    **every(15, "settlements.run_due"),
    **every(2, "settlements.advance_due"),
    **every(15, "wallets.apply_due"),
    **every(30, "house.book_fundings"),
    **every(30, "house.follow_cold"),
    **every(5, "merchants.fold_counts"),
    **every(5, "payments.fold_turnover"),
    **every(2, "payments.index_payments"),
    **every(2, "payments.write_exports"),
    **every(2, "payments.mail_payers"),
    **every(3600, "payments.purge_exports"),
    **every(3600, "merchants.purge_idempotency"),
    **every(3600, "merchants.purge_requests"),
    **every(2, "people.send_mails"),
    **every(3600, "people.purge"),
    **every(1, "webhooks.deliver_due"),
    **every(60, "webhooks.mail_disabled"),
    **every(60, "webhooks.write_notices"),
    **every(3600, "webhooks.purge_attempts"),
}


def queue_of(task_name: str) -> str:
    return str(app.amqp.router.route({}, task_name)["queue"].name)


def note_task(task: Any = None, state: str | None = None, **_: Any) -> None:
    """Note that a task succeeded, and how far this worker's clock is off."""
    try:
        if state == SUCCESS:
            task_runs.note(task_runs.TASK, task.name)
        task_runs.note_clock("worker")
    except DatabaseError as error:
        logger.warning("pulse_not_noted", extra={"task": task.name, "error": str(error)})


def log_revoked(request: Any = None, expired: bool = False, **_: Any) -> None:
    """Log a message that a worker discards without running it; Celery itself logs nothing."""
    reason = "its end has passed by the clock of this worker" if expired else "it was revoked"
    logger.error("task_discarded", extra={"task": getattr(request, "task", None), "reason": reason})


def log_unknown(name: str | None = None, **_: Any) -> None:
    logger.error("task_discarded", extra={"task": name, "reason": "this version of Ballast has no such task"})


def log_rejected(message: Any = None, **_: Any) -> None:
    headers = getattr(message, "headers", None) or {}
    logger.error("task_discarded", extra={"task": headers.get("task"), "reason": "it cannot be read"})


task_postrun.connect(note_task)
task_revoked.connect(log_revoked)
task_unknown.connect(log_unknown)
task_rejected.connect(log_rejected)

_PAUSE_AFTER_FAILURE_SECONDS = 5.0
_paused_until = 0.0


def wake(task_name: str) -> None:
    """Queue the task as soon as the current database transaction has committed.

    It only makes sooner what beat does anyway, so it never raises, and a lost wake costs one interval.
    """
    if can_wake():
        transaction.on_commit(partial(_send, task_name), robust=True)


def can_wake() -> bool:
    """True if a message from this process reaches a worker: an in-memory broker serves only its own process."""
    return settings.CELERY_BROKER_URL != settings.IN_PROCESS_BROKER or os.environ.get("BALLAST_PROCESS") == "background"


def _send(task_name: str) -> None:
    global _paused_until
    if time.monotonic() < _paused_until:
        return
    try:
        if not is_waiting(queue_of(task_name), task_name):
            app.send_task(task_name, retry=False, ignore_result=True)
    except Exception as error:  # the broker is down: the request must neither fail nor wait again and again
        _paused_until = time.monotonic() + _PAUSE_AFTER_FAILURE_SECONDS
        logger.warning("wake_failed", extra={"task": task_name, "error": str(error)})
