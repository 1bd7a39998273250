"""Periodic tasks: mails to people, and what is kept of them only for a while."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from celery import shared_task
from django.db.models import QuerySet
from django.utils import timezone

from config.periodic.due_work import rows_of
from merchants.people import log_ins, mailing, services
from merchants.people.models import Mail


@shared_task(name="people.send_mails")
def send_mails() -> None:
    mailing.send_due(now=timezone.now())


@shared_task(name="people.purge")
def purge() -> None:
    """Delete old mails, sign-ups that nobody confirmed, and what is kept of sessions that are gone."""
    now = timezone.now()
    mailing.purge(now=now)
    services.purge_sign_ups(now=now)
    log_ins.purge()


@rows_of("people.send_mails")
def _to_send() -> Iterable[QuerySet[Any]]:
    return [Mail.objects.filter(next_attempt_at__lte=timezone.now())]
