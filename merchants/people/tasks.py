"""Periodic tasks: mails to people, and what is kept of them only for a while."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from merchants.people import log_ins, mailing, services


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
