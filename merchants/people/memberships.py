"""Changes of a membership, with all that follows: mails, sessions that end, invitations that go."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils.translation import gettext as _

from merchants import members
from merchants.models import Member
from merchants.people import log_ins
from merchants.people.invitations import withdraw_ungiven
from merchants.people.mailing import write_mail
from merchants.roles import Role


@dataclass(frozen=True)
class ChangedMembership:
    """The row as it was before, and the addresses of the invitations that fell with the change."""

    before: Member
    withdrawn: list[str]


@transaction.atomic
def change_role(*, member: Member, role: str, by: Member) -> ChangedMembership:
    """Gives a member another role and a mail about it. Invitations of theirs that they could not send with the new role
    go."""
    before = members.change_role(member=member, role=role, by=by)
    if before.role != role and before.pk != by.pk:
        _mail_role(member, role, by)
    return ChangedMembership(before, withdraw_ungiven(merchant=before.merchant, sent_by=before.user))


@transaction.atomic
def hand_over(*, by: Member, to: Member, become: str) -> list[str]:
    """Makes another member an owner, who gets a mail, and gives the owner who does it another role.

    Returns the addresses of invitations of the former owner that fell with it.
    """
    members.hand_over(by=by, to=to, become=become)
    _mail_role(to, Role.OWNER, by)
    return withdraw_ungiven(merchant=by.merchant, sent_by=by.user)


@transaction.atomic
def remove_member(*, member: Member, by: Member) -> ChangedMembership:
    """Takes the membership away and mails the person.

    Their sessions end where this merchant is in view, and the invitations that they have sent go.
    """
    gone = members.remove_member(member=member, by=by)
    withdrawn = _end(gone)
    names = _names(gone, by)
    write_mail(
        to=gone.user.email,
        subject=_("You are no longer a member of %(merchant)s") % names,
        text=_(
            "%(by)s has removed you from %(merchant)s. You keep your account and your other businesses.\n\nIf you "
            "think that this is a mistake, ask the person who removed you."
        )
        % names,
    )
    return ChangedMembership(gone, withdrawn)


@transaction.atomic
def leave(*, member: Member, session_key: str | None = None) -> ChangedMembership:
    """Takes somebody's own membership away, and mails the owners. The invitations that they have sent go.

    The session in which they do it goes on.
    """
    gone = members.remove_member(member=member, by=member)
    withdrawn = _end(gone, but=session_key)
    owners = Member.objects.filter(merchant=gone.merchant, role=Role.OWNER).select_related("user")
    for owner in owners:
        write_mail(
            to=owner.user.email,
            subject=_("%(by)s has left %(merchant)s") % _names(gone, gone),
            text=_("%(by)s, %(role)s of %(merchant)s, has left.")
            % {**_names(gone, gone), "role": Role(gone.role).label},
        )
    return ChangedMembership(gone, withdrawn)


def _end(gone: Member, *, but: str | None = None) -> list[str]:
    """Ends their sessions here and withdraws their invitations, whose addresses it returns."""
    log_ins.end_where_in_view(gone.user, gone.merchant, but=but)
    return withdraw_ungiven(merchant=gone.merchant, sent_by=gone.user)


def _mail_role(member: Member, role: str, by: Member) -> None:
    names = {**_names(member, by), "role": Role(role).label}
    write_mail(
        to=member.user.email,
        subject=_("Your role at %(merchant)s is now %(role)s") % names,
        text=_("%(by)s has changed your role at %(merchant)s to %(role)s. See all members:\n\n%(link)s") % names,
    )


def _names(member: Member, by: Member) -> dict[str, str]:
    return {
        "merchant": member.merchant.name,
        "by": by.user.name or by.user.email,
        "link": f"{settings.PUBLIC_URL}{reverse('dashboard_members')}",
    }
