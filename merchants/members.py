"""Members of a merchant and their roles: there is an owner at all times, and only owners decide who the owners are."""

from __future__ import annotations

from collections.abc import Sequence
from zoneinfo import available_timezones

from django.conf import settings
from django.db import transaction
from django.utils.translation import get_language, gettext_noop

from config.errors import DomainError, InvalidParameter
from config.pages.wording import style_of
from merchants.models import Member, Merchant, User
from merchants.preferences import Notice, NumberStyle
from merchants.roles import Permission, Role


class AlreadyMember(DomainError):
    code = "already_member"
    message = "This person is already a member of the merchant."


class LastOwner(DomainError):
    code = "last_owner"
    message = gettext_noop("A merchant needs at least one owner. Make somebody else an owner first.")


class MemberGone(DomainError):
    code = "member_gone"
    message = "This person is no longer a member."


class RoleNotYours(DomainError):
    code = "role_not_yours"
    status = 403
    message = "Only an owner can add or remove owners."


def roles_to_give(member: Member) -> list[Role]:
    """The roles that this member may give to others."""
    return [role for role in Role if role != Role.OWNER or member.may[Permission.MANAGE_OWNERS]]


def may_give(by: Member, role: str) -> bool:
    """True if this member may let others in with this role, or change theirs to it."""
    return by.may[Permission.MANAGE_MEMBERS] and role in roles_to_give(by)


def check_may_give(*, by: Member, role: str) -> None:
    """RoleNotYours or MemberGone unless `by` may give the role now. The merchant stays locked, so the role does too."""
    _lock_merchant(by)
    if not may_give(_reread(by), role):
        raise RoleNotYours


def may_manage(by: Member, member: Member) -> bool:
    """True if one member may change the role of another, or remove them: owners are the affair of owners."""
    return by.may[Permission.MANAGE_OWNERS if member.role == Role.OWNER else Permission.MANAGE_MEMBERS]


def add_member(*, merchant: Merchant, user: User, role: str = Role.OWNER) -> Member:
    """Lets somebody in, in the language of the page on which that happens, where the dashboard is in it."""
    _check_role(role)
    language = get_language() or settings.LANGUAGE_CODE
    if language not in dict(settings.DASHBOARD_LANGUAGES):
        language = settings.LANGUAGE_CODE
    chosen = {"role": role, "language": language, "number_style": style_of(language)}
    member, is_new = Member.objects.get_or_create(merchant=merchant, user=user, defaults=chosen)
    if not is_new:
        raise AlreadyMember
    return member


@transaction.atomic
def change_role(*, member: Member, role: str, by: Member) -> Member:
    """Gives a member another role, and returns the row as it was before.

    Raises RoleNotYours, LastOwner or MemberGone. What `by` may do is read anew, under the lock of the merchant.
    """
    _check_role(role)
    _lock_merchant(member)
    before, by = _reread(member), _reread(by)
    if not may_manage(by, before) or role not in roles_to_give(by):
        raise RoleNotYours
    if role != Role.OWNER:
        _check_other_owner(before)
    Member.objects.filter(pk=before.pk).update(role=role)
    member.role = role
    return before


@transaction.atomic
def hand_over(*, by: Member, to: Member, become: str) -> None:
    """Makes another member an owner, and gives the owner who does it another role."""
    change_role(member=to, role=Role.OWNER, by=by)
    change_role(member=by, role=become, by=by)


@transaction.atomic
def remove_member(*, member: Member, by: Member | None = None) -> Member:
    """Takes somebody's membership away, and returns the row as it was; everybody may take their own.

    Without `by` it is an operator who does it. Raises RoleNotYours, LastOwner or MemberGone.
    """
    _lock_merchant(member)
    held = _reread(member)
    if by is not None and by.pk != held.pk and not may_manage(_reread(by), held):
        raise RoleNotYours
    _check_other_owner(held)
    Member.objects.filter(pk=held.pk).delete()
    return held


def prefer(*, member: Member, language: str, timezone: str, number_style: str, notices: Sequence[str]) -> Member:
    """Keeps what a member has chosen for themselves, and returns the row as it was before."""
    if language not in dict(settings.DASHBOARD_LANGUAGES):
        raise InvalidParameter("There is no such language.", param="language")
    if timezone not in available_timezones():
        raise InvalidParameter("This is not a time zone. Use a name such as Europe/Berlin.", param="timezone")
    if number_style not in NumberStyle.values:
        raise InvalidParameter("There is no such way to write numbers.", param="number_style")
    if unknown := set(notices) - set(Notice.values):
        raise InvalidParameter(f"There is no mail about {min(unknown)!r}.", param="notices")
    before = _reread(member)
    member.language, member.timezone, member.number_style = language, timezone, number_style
    member.chosen_notices = sorted(set(notices))
    member.save(update_fields=["language", "timezone", "number_style", "chosen_notices"])
    return before


def _lock_merchant(member: Member) -> None:
    Merchant.objects.select_for_update().get(pk=member.merchant_id)


def _reread(member: Member) -> Member:
    """The row as it is now; MemberGone when there is none any more."""
    found = Member.objects.select_related("merchant", "user").filter(pk=member.pk).first()
    if found is None:
        raise MemberGone
    return found


def _check_other_owner(member: Member) -> None:
    """LastOwner when nobody else of the merchant is an owner. PostgreSQL checks the same at the commit."""
    owners = Member.objects.filter(merchant_id=member.merchant_id, role=Role.OWNER)
    if member.role == Role.OWNER and not owners.exclude(pk=member.pk).exists():
        raise LastOwner


def _check_role(role: str) -> None:
    if role not in Role.values:
        raise InvalidParameter(f"role must be one of {', '.join(Role.values)}.", param="role")
