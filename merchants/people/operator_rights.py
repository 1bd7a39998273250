"""Operators' changes of people: one proposes additional rights, another agrees, and merchants get notice of members."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from allauth.mfa.models import Authenticator
from django.contrib.auth.models import Group, Permission
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from config.admin.roles import ADMIN, PREFIX
from config.environments import Environment
from config.errors import DomainError
from merchants.access.log_in.step_up import hours_of_waiting
from merchants.audit.models import LoggedAction
from merchants.four_eyes.models import Proposal, ProposalKind
from merchants.four_eyes.people import eligible, note_reset, people_needed, require_eligible
from merchants.four_eyes.services import AnotherMustAgree, NotPermitted, propose, register
from merchants.members import add_member, remove_member
from merchants.models import Member, Merchant, User
from merchants.people.mailing import write_mail
from merchants.roles import Action, Role
from merchants.services import (
    FEE_BY_ONE_BPS,
    MAY_CHANGE_FEE,
    change_fee,
    change_plan,
    check_fee,
    fee_bps_by,
    fee_bps_of,
)

FLAGS = ("is_active", "is_staff", "is_superuser")


def are_kept_apart() -> bool:
    """True if it takes two to make an operator, so that none may take over another's account."""
    return people_needed(Environment.PRODUCTION) > 1


def gains(user: User, entered: Mapping[str, Any]) -> dict[str, Any]:
    """Rights somebody would gain, of those entered in a form; empty for none.

    `is_active` counts for those alone who are, or would be, operators.
    """
    found: dict[str, Any] = {name: True for name in FLAGS if entered.get(name) and not getattr(user, name)}
    if not (user.is_staff or user.is_superuser or entered.get("is_staff") or entered.get("is_superuser")):
        found.pop("is_active", None)
    for name in ("groups", "user_permissions"):
        held = set(getattr(user, name).values_list("pk", flat=True))
        if more := sorted(each.pk for each in entered.get(name, ()) if each.pk not in held):
            found[name] = more
    return found


def propose_rights(user: User, more: Mapping[str, Any], *, by: User) -> Proposal:
    words = {"is_active": "active", "is_staff": "operator", "is_superuser": ADMIN[0]}
    names = [words[name] for name in FLAGS if name in more]
    groups = Group.objects.filter(pk__in=more.get("groups", ())).values_list("name", flat=True)
    names += [name.removeprefix(PREFIX) for name in groups]
    names += Permission.objects.filter(pk__in=more.get("user_permissions", ())).values_list("codename", flat=True)
    return propose(
        ProposalKind.OPERATOR,
        environment=Environment.PRODUCTION,
        subject=user.pk,
        before={"email": user.email},
        after=more,
        summary=f"{user.email} becomes: {', '.join(names)}",
        by=by,
    )


def propose_removing_factors(user: User, *, by: User) -> Proposal:
    """Propose that a password alone lets somebody in, who has lost the second factors."""
    return propose(
        ProposalKind.OPERATOR,
        environment=Environment.PRODUCTION,
        subject=user.pk,
        before={"email": user.email},
        after={"second_factors": "removed"},
        summary=f"The second factors of {user.email} are removed",
        by=by,
    )


@transaction.atomic
def remove_factors(user: User, *, by: User | None = None, people: str = "") -> int:
    """Removes every factor of somebody who has lost them, with a mail to them; returns how many there were."""
    removed, _by_table = Authenticator.objects.filter(user=user).delete()
    note_reset(user)
    members = Member.objects.filter(user=user).select_related("user", "merchant")
    note_let_in(members, Action.FACTORS_REMOVED, by=by, people=people)
    if user.is_staff:
        for operator in User.objects.filter(is_staff=True, is_active=True).exclude(pk=user.pk):
            write_mail(
                to=operator.email,
                subject=_("The second factors of an operator were removed"),
                text=_(
                    "%(people)s removed the second factors of %(person)s. For 24 hours, %(person)s cannot propose "
                    "or approve anything. If you do not know why, ask each other at once, and take the rights of "
                    "%(person)s away in the admin."
                )
                % {"people": people or _("Someone with access to the server"), "person": user.email},
            )
    if removed:
        write_mail(
            to=user.email,
            subject=_("Your second factors were removed"),
            text=_(
                "An operator removed your second factors. Until you add a new one, you log in with your password "
                "alone. If you did not ask for this, tell the operator of this service at once."
            ),
        )
    return int(removed)


class AnotherCanAgree(DomainError):
    code = "another_can_agree"
    message = "There is another operator who can agree: leave --alone out, and let both say so."


def remove_factors_alone(user: User, *, by: User) -> int:
    """Removes the factors of an operator where nobody but `by` is left who is eligible: all operators get notice, it is
    an alarm, and the person is not eligible for a day."""
    if by.pk == user.pk:
        raise AnotherMustAgree
    others = User.objects.filter(eligible(Environment.PRODUCTION, operator=""), is_superuser=True)
    if not user.is_staff or others.exclude(pk__in=[user.pk, by.pk]).exists():
        raise AnotherCanAgree
    require_eligible(by, environment=Environment.PRODUCTION)
    return remove_factors(user, by=by, people=by.email)


def _give(proposal: Proposal, people: str) -> bool:
    with transaction.atomic():
        user = User.objects.select_for_update().get(pk=proposal.subject)
        if user.email != proposal.before["email"]:
            return False
        if proposal.after.get("second_factors"):
            remove_factors(user, by=proposal.decided_by, people=people)
            return True
        for name in FLAGS:
            if proposal.after.get(name):
                setattr(user, name, True)
        user.save(update_fields=FLAGS)
        user.groups.add(*proposal.after.get("groups", ()))
        user.user_permissions.add(*proposal.after.get("user_permissions", ()))
        return True


register(ProposalKind.OPERATOR, _give)


def propose_member(*, merchant: Merchant, user: User, role: str, by: User) -> Proposal:
    """Propose that somebody becomes a member of a merchant, who could give its money away."""
    return propose(
        ProposalKind.MEMBER,
        environment=Environment.PRODUCTION,
        subject=f"{merchant.pk}/{user.pk}",
        before={"email": user.email},
        after={"role": role},
        summary=f"{user.email} becomes {role} of {merchant.name} ({merchant.public_id})",
        by=by,
    )


def propose_removal(*, member: Member, by: User) -> Proposal | None:
    """Propose that somebody is a member no longer; who is neither owner nor admin is removed at once."""
    if member.role not in (Role.OWNER, Role.ADMIN):
        _remove(member, by=by, people=by.email)
        return None
    with transaction.atomic():  # only to get the errors; rolled back
        remove_member(member=Member.objects.get(pk=member.pk))
        transaction.set_rollback(True)
    return propose(
        ProposalKind.MEMBER,
        environment=Environment.PRODUCTION,
        subject=f"{member.merchant_id}/{member.user_id}",
        before={"email": member.user.email, "role": member.role},
        after={"removed": True},
        summary=f"{member.user.email}, {member.role}, leaves {member.merchant.name} ({member.merchant.public_id})",
        by=by,
    )


def _remove(member: Member, *, by: User | None, people: str) -> None:
    with transaction.atomic():
        owners = _owners(member)
        remove_member(member=member)
        _log(member, Action.REMOVE_MEMBER, by=by, people=people)
        words = {"person": member.user.email, "role": Role(member.role).label, "merchant": member.merchant.name}
        for address in dict.fromkeys([*owners, member.user.email]):
            write_mail(
                to=address,
                subject=_("A member was removed from %(merchant)s") % words,
                text=_(
                    "The operator of this service has removed %(person)s, %(role)s of %(merchant)s. If nobody at "
                    "your business asked for this, tell the operator at once."
                )
                % words,
            )


def _add_as_agreed(proposal: Proposal, people: str) -> bool:
    merchant_id, user_id = proposal.subject.split("/")
    merchant = Merchant.objects.select_for_update().get(pk=merchant_id)
    user = User.objects.select_for_update().get(pk=user_id)
    if proposal.after.get("removed"):
        member = Member.objects.select_related("user", "merchant").filter(merchant=merchant, user=user).first()
        if member is None or member.role != proposal.before["role"]:
            return False
        _remove(member, by=proposal.decided_by, people=people)
        return True
    if user.email != proposal.before["email"] or Member.objects.filter(merchant=merchant, user=user).exists():
        return False
    # Nobody's money can be in danger with the first member of a merchant: there was nobody to take any.
    is_first = not any(each.objects.filter(merchant_id=merchant.pk).exists() for each in (Member, LoggedAction))
    member = add_member(merchant=merchant, user=user, role=proposal.after["role"])
    note_let_in([member], Action.ADDED_BY_OPERATORS, by=proposal.decided_by, people=people, waits=not is_first)
    return True


register(ProposalKind.MEMBER, _add_as_agreed, permission="merchants.add_member")


def _owners(member: Member) -> list[str]:
    owners = Member.objects.filter(merchant=member.merchant_id, role=Role.OWNER)
    return list(owners.values_list("user__email", flat=True))


def _log(member: Member, action: Action, *, by: User | None, people: str) -> None:
    LoggedAction.objects.create(
        merchant_id=member.merchant_id,
        action=action.value,
        person=by or member.user,
        email=(by or member.user).email,
        role="operator",
        record=member.public_id,
        after={"person": member.user.email, "role": member.role, "operators": people},
    )


def note_let_in(
    members: Iterable[Member], action: Action, *, by: User | None = None, people: str = "", waits: bool = True
) -> None:
    """Notify merchants, in their audit log and by mail to all owners, of an operators' change to a member, who `waits`
    before anything sensitive. Without `by` it was a command of the service, and the row names the member."""
    for member in members:
        if waits:
            User.objects.filter(pk=member.user_id).update(let_in_by_operators_at=timezone.now())
        _log(member, action, by=by, people=people)
        hours = hours_of_waiting(Environment.PRODUCTION)
        words = {"person": member.user.email, "role": Role(member.role).label, "merchant": member.merchant.name}
        for address in _owners(member):
            write_mail(
                to=address,
                subject=_("The operator gave a member access to %(merchant)s") % words,
                text=_(
                    "%(what)s: %(person)s, %(role)s of %(merchant)s. For %(hours)s hours this person cannot "
                    "refund payments, create keys, change wallets or manage members. If you did not ask for this, "
                    "tell the operator of this service at once, and remove the member."
                )
                % {**words, "what": action.label, "hours": hours},
            )


@dataclass(frozen=True, slots=True)
class Terms:
    plan: str
    requests_per_minute: int | None
    fee_bps: int | None
    """None: the fee of the plan."""


def set_terms(*, merchant: Merchant, terms: Terms, by: User) -> Proposal | None:
    """Change a merchant's plan, fee and limit, where one operator may; a fee that becomes higher above the bound, its
    own or its plan's, is proposed. NotPermitted where plan or fee differ and `by` may not change them."""
    check_fee(terms.fee_bps)
    fee_bps = fee_bps_by(terms.plan, terms.fee_bps)
    with transaction.atomic():
        stored = Merchant.objects.select_for_update().get(pk=merchant.pk)
        is_fee_same = (terms.plan, terms.fee_bps) == (stored.plan, stored.fee_bps)
        if not is_fee_same and not by.has_perm(MAY_CHANGE_FEE):
            raise NotPermitted
        if fee_bps <= max(FEE_BY_ONE_BPS, fee_bps_of(stored)):
            _set(stored, terms)
            return None
    return propose(
        ProposalKind.FEE,
        environment=Environment.PRODUCTION,
        subject=merchant.pk,
        before={"plan": stored.plan, "fee_bps": stored.fee_bps},
        after=asdict(terms),
        summary=f"The fee of {merchant.name} ({merchant.public_id}), {terms.plan}, becomes {fee_bps / 100:.2f} % of "
        "its settlements",
        by=by,
    )


def _set(merchant: Merchant, terms: Terms) -> None:
    change_plan(merchant=merchant, plan=terms.plan, requests_per_minute=terms.requests_per_minute)
    change_fee(merchant=merchant, fee_bps=terms.fee_bps)


def _set_fee_as_agreed(proposal: Proposal, people: str) -> bool:
    merchant = Merchant.objects.select_for_update().get(pk=proposal.subject)
    if any(getattr(merchant, name) != value for name, value in proposal.before.items()):
        return False
    now = {"plan": merchant.plan, "requests_per_minute": merchant.requests_per_minute}
    _set(merchant, Terms(**{**now, **proposal.after}))  # an older proposal has the fee alone
    return True


register(ProposalKind.FEE, _set_fee_as_agreed, permission=MAY_CHANGE_FEE)
