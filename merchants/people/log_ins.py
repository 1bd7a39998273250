"""Sessions of a person, and ending them from elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.sessions.models import Session
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _

from config.database.purging import delete_in_batches
from merchants import wording
from merchants.access.log_in.session_store import content_of, stored_key
from merchants.access.log_in.sessions import ADDRESS, DEVICE, MERCHANT, USED_AT
from merchants.models import Merchant, User
from merchants.people.models import LogIn


@dataclass(frozen=True)
class Where:
    """One session as its owner sees it."""

    id: int
    device: str
    address: str
    began_at: datetime
    used_at: datetime
    is_this: bool


def note(request: HttpRequest, user: User) -> None:
    """Notes whose the new session is."""
    request.session.save()
    LogIn.objects.update_or_create(
        session_key=stored_key(request.session.session_key), defaults={"user": user, "began_at": timezone.now()}
    )


def of(user: User, this: str | None) -> list[Where]:
    """The person's sessions that are good, this one first, then the last used."""
    found = []
    for each in LogIn.objects.filter(user=user):
        data = content_of(each.session_key)
        if data.get(HASH_SESSION_KEY) != user.get_session_auth_hash():
            continue  # it has ended, or another password has ended it
        found.append(
            Where(
                id=each.pk,
                device=wording.device(data.get(DEVICE, "")) or _("Unknown device"),
                address=data.get(ADDRESS, ""),
                began_at=each.began_at,
                used_at=datetime.fromtimestamp(data.get(USED_AT, 0), UTC),
                is_this=each.session_key == stored_key(this),
            )
        )
    return sorted(found, key=lambda where: (where.is_this, where.used_at), reverse=True)


def end(log_in: LogIn) -> None:
    with transaction.atomic():
        Session.objects.filter(session_key=log_in.session_key).delete()
        log_in.delete()


def end_others(user: User, this: str | None) -> None:
    """Ends every session of the person but this one."""
    for each in LogIn.objects.filter(user=user).exclude(session_key=stored_key(this)):
        end(each)


def end_where_in_view(user: User, merchant: Merchant, *, but: str | None = None) -> None:
    """Ends the sessions of somebody who is no member of the merchant any more, where it is in view, but one.

    Every request reads the memberships anew, so that their sessions at other merchants can go on.
    """
    for each in LogIn.objects.filter(user=user).exclude(session_key=stored_key(but)):
        if content_of(each.session_key).get(MERCHANT) in (None, merchant.public_id):
            end(each)


def follow(before: str | None, now: str | None) -> None:
    """The session goes on under another key."""
    LogIn.objects.filter(session_key=stored_key(before)).update(session_key=stored_key(now))


def purge() -> int:
    """Deletes what is kept of sessions that are gone; returns how many."""
    return delete_in_batches(LogIn.objects.exclude(session_key__in=Session.objects.values("session_key")))
