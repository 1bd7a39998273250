"""Invitations: who is let in by a mail, as what, and by whom."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from allauth.account.models import EmailAddress
from django.conf import settings
from django.core import signing
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from config.errors import DomainError
from merchants.members import AlreadyMember, add_member, check_may_give, may_give
from merchants.models import Member, Merchant, User
from merchants.people.mailing import write_mail
from merchants.people.models import Invitation, SignUp
from merchants.people.services import free_address, is_confirmed
from merchants.roles import Role
from merchants.services import open_merchant

GOOD_FOR: Final = timedelta(days=7)
MOST_OPEN: Final = 50
_SALT: Final = "ballast.invitation"


class TooManyInvitations(DomainError):
    code = "too_many_invitations"
    message = f"At most {MOST_OPEN} invitations can be open. Withdraw some."


class InvitationGone(DomainError):
    code = "invitation_gone"
    message = "This invitation no longer works."


@transaction.atomic
def invite_member(*, by: Member, email: str, role: str) -> Invitation:
    """Invites somebody to the merchant of `by`; once more to the same address sends a new mail.

    Raises RoleNotYours, MemberGone, AlreadyMember or TooManyInvitations. What `by` may do is read anew, under the lock
    of the merchant.
    """
    check_may_give(by=by, role=role)
    if Member.objects.filter(merchant=by.merchant, user__email__iexact=email.strip()).exists():
        raise AlreadyMember
    if Invitation.objects.filter(merchant=by.merchant).count() >= MOST_OPEN:
        raise TooManyInvitations
    return _invite(merchant=by.merchant, email=email, role=role, by=by.user)


def invite_merchant(*, by: User, email: str) -> Invitation:
    """An operator invites somebody to open a merchant of their own."""
    return _invite(merchant=None, email=email, role=Role.OWNER, by=by)


@transaction.atomic
def _invite(*, merchant: Merchant | None, email: str, role: str, by: User) -> Invitation:
    invitation, _is_new = Invitation.objects.update_or_create(
        merchant=merchant,
        email=email.strip().lower(),
        defaults={"role": role, "invited_by": by, "sent_at": timezone.now()},
    )
    link = f"{settings.PUBLIC_URL}{reverse('invitation', args=[token_of(invitation)])}"
    facts = {"merchant": merchant, "role": invitation.get_role_display(), "by": by.name or by.email, "link": link}
    subject, _separator, text = render_to_string("account/email/invitation.txt", facts).strip().partition("\n")
    write_mail(to=invitation.email, subject=subject, text=f"{text.strip()}\n")
    return invitation


def withdraw(*, merchant: Merchant, invitation_id: int) -> bool:
    """Withdraw an invitation of this merchant, so that its link does not work any more; False if there was none."""
    return bool(Invitation.objects.filter(merchant=merchant, pk=invitation_id).delete()[0])


def open_invitations(merchant: Merchant) -> list[Invitation]:
    """Invitations of the merchant that their senders may still give, by address."""
    members = {each.user_id: each for each in _active_members(merchant)}
    found = Invitation.objects.filter(merchant=merchant).order_by("email")
    return [each for each in found if _is_given_by(members.get(each.invited_by_id), each)]


def withdraw_ungiven(*, merchant: Merchant, sent_by: User) -> list[str]:
    """Withdraws the invitations that this person may not give, or not any more; returns their addresses.

    It belongs into the database transaction that has changed or ended the membership, under the lock of the merchant.
    """
    member = _active_members(merchant).filter(user=sent_by).first()
    found = Invitation.objects.filter(merchant=merchant, invited_by=sent_by).order_by("email")
    ungiven = [each for each in found if not _is_given_by(member, each)]
    Invitation.objects.filter(pk__in=[each.pk for each in ungiven]).delete()
    return [each.email for each in ungiven]


def _active_members(merchant: Merchant) -> QuerySet[Member]:
    return Member.objects.filter(merchant=merchant, user__is_active=True)


def _is_given_by(member: Member | None, invitation: Invitation) -> bool:
    return member is not None and may_give(member, invitation.role)


def _is_given(invitation: Invitation) -> bool:
    """True if its sender may still let somebody in with this role. Operators may always."""
    if invitation.merchant is None:
        return True
    sender = _active_members(invitation.merchant).filter(user=invitation.invited_by_id).first()
    return _is_given_by(sender, invitation)


def token_of(invitation: Invitation) -> str:
    """Token of the invitation in its link. A new mail makes the link of the old one useless."""
    return signing.dumps([invitation.pk, invitation.sent_at.timestamp()], salt=_SALT)


def invitation_of(token: str) -> Invitation | None:
    """The invitation behind a link, if it is still good: not withdrawn, and by somebody who may still give the role."""
    try:
        invitation_id, sent_at = signing.loads(token, salt=_SALT, max_age=GOOD_FOR)
    except (signing.BadSignature, ValueError, TypeError):
        return None
    found = Invitation.objects.select_related("merchant").filter(pk=invitation_id).first()
    if found is None or found.sent_at.timestamp() != sent_at or not _is_given(found):
        return None
    return found


def accept(*, invitation: Invitation, user: User, merchant_name: str = "") -> Merchant:
    """Makes the person a member, and the invitation goes; InvitationGone when it went meanwhile, or when whoever has
    sent it may not give the role any more, which is read under the lock of the merchant."""
    with transaction.atomic():
        if invitation.merchant_id is not None:
            Merchant.objects.select_for_update().get(pk=invitation.merchant_id)
        held = Invitation.objects.select_for_update().filter(pk=invitation.pk, sent_at=invitation.sent_at).first()
        if held is None or user.email.lower() != held.email or not _is_given(held):
            raise InvitationGone
        if held.merchant is None:
            merchant = open_merchant(name=merchant_name, email=user.email, owner=user)
        else:
            merchant = held.merchant
            add_member(merchant=merchant, user=user, role=held.role)
        held.delete()
    return merchant


def accept_as_new_person(*, invitation: Invitation, password_hash: str, name: str, merchant_name: str = "") -> User:
    """A new person, whose address counts as confirmed because the link came by mail, and a member at once."""
    try:
        with transaction.atomic():
            free_address(email=invitation.email, of=User())
            user = User.objects.create(email=invitation.email, name=name.strip(), password=password_hash)
            EmailAddress.objects.create(user=user, email=invitation.email, primary=True, verified=True)
            accept(invitation=invitation, user=user, merchant_name=merchant_name)
    except IntegrityError:
        raise InvitationGone from None
    return user


def person_invited(invitation: Invitation) -> User | None:
    """The person who has the address already. Somebody who signed up with it and never confirmed it does not count."""
    found = User.objects.filter(email__iexact=invitation.email).first()
    is_waiting = found is not None and SignUp.objects.filter(user=found).exists() and not is_confirmed(found)
    return None if is_waiting else found
