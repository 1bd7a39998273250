"""Operators who are eligible where more than one must agree, and how many must."""

from __future__ import annotations

import getpass
from datetime import timedelta

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from config.database.previews import is_preview
from config.environments import Environment
from config.errors import DomainError
from merchants.models import User

RESET_WAIT = timedelta(hours=24)
"""Time after which somebody is eligible again who got a new password by a link, or lost the second factors."""


class NotEligible(DomainError):
    code = "operator_does_not_count"
    message = (
        "You cannot propose or approve this at the moment. You have to wait 24 hours after your password was "
        "reset or your second factors were removed. If another operator has chosen your password, set your own "
        "with “Forgot your password?” first."
    )


class OperatorNotProven(DomainError):
    code = "operator_not_proven"
    message = "This is not the password, or not the code, of this operator."


def people_needed(environment: str) -> int:
    """Number of approvals by operators for anything that lets more money move in an environment.

    One in a preview, which shows what is done once all have agreed, and keeps none of it.
    """
    return 1 if is_preview() else _people_set(environment)


def _people_set(environment: str) -> int:
    if environment == Environment.SANDBOX:
        return int(settings.SANDBOX_OPERATORS_TO_DECIDE)
    return int(settings.OPERATORS_TO_DECIDE)


def eligible(environment: str, *, operator: str = "operator__", at: str = "") -> Q:
    """The filter of rows whose operator is eligible in an environment: `operator` is the path to the person, `at` the
    column with the time of the approval. Where one approval is enough, nobody's reset stands in the way."""
    still = Q(**{f"{operator}is_active": True, f"{operator}is_staff": True})
    if _people_set(environment) == 1:
        return still
    until = F(at) - RESET_WAIT if at else timezone.now() - RESET_WAIT
    unchanged = Q(**{f"{operator}credentials_reset_at__isnull": True}) | Q(
        **{f"{operator}credentials_reset_at__lte": until}
    )
    return still & unchanged & Q(**{f"{operator}is_password_known": False})


def require_eligible(user: User, *, environment: str) -> None:
    """NotEligible unless this person's word counts now."""
    if not User.objects.filter(eligible(environment, operator=""), pk=user.pk).exists():
        raise NotEligible


def lately_reset() -> QuerySet[User]:
    """Operators whose word does not count, because of a new password or removed second factors."""
    since = timezone.now() - RESET_WAIT
    found = User.objects.filter(is_staff=True, is_active=True, credentials_reset_at__gt=since).order_by("pk")
    return found if people_needed(Environment.PRODUCTION) > 1 else found.none()


def operator_of_command(email: str, *, permission: str, environment: str) -> User:
    """The operator in whose name a command acts: it proposes, and agrees to nothing. Where more than one must agree, it
    reads the password and, of somebody who has a second factor, a code; raises OperatorNotProven."""
    person = User.objects.filter(email__iexact=email, is_staff=True, is_active=True).first()
    if person is None or not person.has_perm(permission):
        raise OperatorNotProven(f"{email} is no operator who may do this.")
    if people_needed(environment) > 1:
        if not person.check_password(getpass.getpass(f"Password of {person.email}: ")):
            raise OperatorNotProven
        factors = [each.wrap() for each in Authenticator.objects.filter(user=person)]
        readers = [each for each in factors if hasattr(each, "validate_code")]
        if factors and not readers:
            raise OperatorNotProven(f"{person.email} has passkeys alone, which no terminal can read: use the admin.")
        code = getpass.getpass("Code of the app, or a recovery code: ") if readers else ""
        if readers and not any(each.validate_code(code) for each in readers):
            raise OperatorNotProven
    person.only_proposes = True
    return person


def note_reset(user: User, *, is_password_known: bool | None = None) -> None:
    """Note that somebody got a new password without the old one, or lost the second factors.

    `is_password_known`: whether another person chose the password; None leaves that as it is.
    """
    changes: dict[str, object] = {"credentials_reset_at": timezone.now()}
    if is_password_known is not None:
        changes["is_password_known"] = is_password_known
    User.objects.filter(pk=user.pk).update(**changes)
