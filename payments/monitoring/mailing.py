"""Mails to operators about alarms."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from config.admin.values import page_of
from config.environments import Environment
from merchants.people.mailing import send_due, write_mail
from payments.monitoring.models import Alarm
from payments.monitoring.states import PATIENCE

MOST_IN_A_MAIL = 100


def mail_alarms() -> int:
    """Write a mail to each operator about what was raised and what has ended since the last; returns how many alarms.

    Only production: in the sandbox no money is at stake, and merchants try failures out there. An alarm that ends
    before it was mailed is in the admin only. The worker that raises alarms sends these mails itself: they do not wait
    for the worker of webhooks, which may be what an alarm is about.
    """
    if not settings.OPERATOR_EMAILS:
        return 0
    with transaction.atomic():
        raised = list(_raised().select_for_update(skip_locked=True)[:MOST_IN_A_MAIL])
        over = list(_over().select_for_update(skip_locked=True)[:MOST_IN_A_MAIL])
        if raised or over:
            for to in settings.OPERATOR_EMAILS:
                write_mail(to=to, subject=_subject(raised, over), text=_text(raised, over))
            now = timezone.now()
            Alarm.objects.filter(pk__in=[alarm.pk for alarm in raised]).update(raise_mailed_at=now)
            Alarm.objects.filter(pk__in=[alarm.pk for alarm in over]).update(clear_mailed_at=now)
    send_due(now=timezone.now(), is_sealed=False)
    return len(raised) + len(over)


def _raised() -> QuerySet[Alarm]:
    """Alarms that have been open as long as their kind requires."""
    lasting = ~Q(kind__in=PATIENCE)
    for kind, patience in PATIENCE.items():
        lasting |= Q(kind=kind, last_seen_at__gte=F("raised_at") + patience)
    here = Alarm.objects.filter(environment=Environment.PRODUCTION, cleared_at__isnull=True, raise_mailed_at=None)
    return here.filter(lasting).order_by("raised_at", "pk")


def _over() -> QuerySet[Alarm]:
    mailed = Alarm.objects.filter(cleared_at__isnull=False, raise_mailed_at__isnull=False, clear_mailed_at__isnull=True)
    return mailed.filter(environment=Environment.PRODUCTION).order_by("cleared_at", "pk")


def _subject(raised: Sequence[Alarm], over: Sequence[Alarm]) -> str:
    if len(raised) + len(over) == 1:
        return f"[Ballast] {raised[0]}" if raised else f"[Ballast] Over: {over[0]}"
    counted = [f"{len(raised)} raised"] * bool(raised) + [f"{len(over)} over"] * bool(over)
    return f"[Ballast] Alarms: {', '.join(counted)}"


def _text(raised: Sequence[Alarm], over: Sequence[Alarm]) -> str:
    new = [_lines(alarm) for alarm in raised]
    ended = [f"Over: {alarm}\nFrom {_instant(alarm.raised_at)} to {_instant(alarm.cleared_at)}." for alarm in over]
    return "\n\n".join([*new, *ended, f"{settings.PUBLIC_URL}/admin/"]) + "\n"


def _lines(alarm: Alarm) -> str:
    """Its page first, where it is acknowledged and stopped; then what to read."""
    lines = [
        str(alarm),
        f"Since {_instant(alarm.raised_at)}. {alarm.message}",
        alarm.advice,
        f"{settings.PUBLIC_URL}{page_of(Alarm, alarm.pk)}",
        f"Runbook: {settings.PUBLIC_URL}{alarm.runbook}" if alarm.runbook else "",
    ]
    return "\n".join(filter(None, lines))


def _instant(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC" if at else ""
