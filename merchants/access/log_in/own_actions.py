"""Actions of people on their own account, such as logging in: each of their merchants reads it in its audit log."""

from __future__ import annotations

from django.db import transaction
from django.http import HttpRequest

from merchants.access.addresses import client_address
from merchants.audit.recording import Fields, Origin, log_action
from merchants.models import Member, User
from merchants.roles import Action


def origin_of(request: HttpRequest) -> Origin:
    """Address and device of the person behind a request."""
    address = client_address(request)
    return Origin(address=str(address) if address else None, device=request.headers.get("User-Agent", ""))


def log_own_action(
    request: HttpRequest, user: User, action: Action, *, before: Fields | None = None, after: Fields | None = None
) -> None:
    """Add a row for each merchant that the person is a member of.

    Call it in the database transaction of the work, where there is any.
    """
    with transaction.atomic():
        for member in Member.objects.filter(user=user).select_related("user").order_by("id"):
            log_action(action, member=member, environment="", origin=origin_of(request), before=before, after=after)
