"""Mails operators about alarms, in a step of its own that delays nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import structlog
from django.conf import settings
from django.core.mail import send_mail
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from config.database.advisory_locks import LockClass, advisory_lock
from config.environments import Environment
from payments.monitoring.models import Alarm
from payments.monitoring.states import PATIENCE

logger = structlog.get_logger(__name__)

LOCK = (LockClass.ALARM_MAILS, 0)
"""The advisory lock of the task that mails."""

MOST_IN_A_MAIL = 100


def mail_alarms() -> int:
    """Mail operators in one mail what was raised and what has ended since the last; returns how many alarms.

    Only production: in the sandbox no money is at stake, and merchants try failures out there. What the mail server
    refuses stays due. An alarm that ends before it was mailed is in the admin only.
    """
    if not settings.OPERATOR_EMAILS:
        return 0
    with advisory_lock(*LOCK) as is_ours:
        if not is_ours:
            return 0
        raised, over = list(_raised()[:MOST_IN_A_MAIL]), list(_over()[:MOST_IN_A_MAIL])
        if not (raised or over) or not _send(raised, over):
            return 0
        now = timezone.now()
        Alarm.objects.filter(pk__in=[alarm.pk for alarm in raised]).update(raise_mailed_at=now)
        Alarm.objects.filter(pk__in=[alarm.pk for alarm in over]).update(clear_mailed_at=now)
        return len(raised) + len(over)


def _raised() -> QuerySet[Alarm]:
    """Alarms that have been open as long as their kind asks for."""
    lasting = ~Q(kind__in=PATIENCE)
    for kind, patience in PATIENCE.items():
        lasting |= Q(kind=kind, last_seen_at__gte=F("raised_at") + patience)
    here = Alarm.objects.filter(environment=Environment.PRODUCTION, cleared_at__isnull=True, raise_mailed_at=None)
    return here.filter(lasting).order_by("raised_at", "pk")


def _over() -> QuerySet[Alarm]:
    told = Alarm.objects.filter(cleared_at__isnull=False, raise_mailed_at__isnull=False, clear_mailed_at__isnull=True)
    return told.filter(environment=Environment.PRODUCTION).order_by("cleared_at", "pk")


def _send(raised: Sequence[Alarm], over: Sequence[Alarm]) -> bool:
    try:
        send_mail(_subject(raised, over), _text(raised, over), None, settings.OPERATOR_EMAILS)
    except Exception as error:  # however the mail server fails, alarms go on
        logger.warning("alarm_mail_not_sent", error=str(error))
        return False
    return True


def _subject(raised: Sequence[Alarm], over: Sequence[Alarm]) -> str:
    if len(raised) + len(over) == 1:
        return f"[Ballast] {raised[0]}" if raised else f"[Ballast] Over: {over[0]}"
    counted = [f"{len(raised)} raised"] * bool(raised) + [f"{len(over)} over"] * bool(over)
    return f"[Ballast] Alarms: {', '.join(counted)}"


def _text(raised: Sequence[Alarm], over: Sequence[Alarm]) -> str:
    new = [f"{alarm}\nSince {_instant(alarm.raised_at)}. {alarm.message}\n{alarm.advice}" for alarm in raised]
    ended = [f"Over: {alarm}\nFrom {_instant(alarm.raised_at)} to {_instant(alarm.cleared_at)}." for alarm in over]
    return "\n\n".join([*new, *ended, f"{settings.PUBLIC_URL}/admin/"]) + "\n"


def _instant(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC" if at else ""
