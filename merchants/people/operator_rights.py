"""What operators do about people: one proposes who may do more, another agrees, and merchants are told of members."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from django.contrib.auth.models import Group, Permission
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from config.environments import Environment
from merchants.audit.models import LoggedAction
from merchants.four_eyes.models import Proposal, ProposalKind
from merchants.four_eyes.people import people_needed
from merchants.four_eyes.services import propose, register
from merchants.members import add_member
from merchants.models import Member, Merchant, User
from merchants.people.mailing import write_mail
from merchants.roles import Action, Role
from merchants.services import FEE_BY_ONE_BPS, change_fee, change_plan, check_fee, fee_bps_by, fee_bps_of

FLAGS = ("is_active", "is_staff", "is_superuser")


def are_kept_apart() -> bool:
    """Whether it takes two to make an operator, so that none may take over another's account."""
    return people_needed(Environment.PRODUCTION) > 1


def gains(user: User, entered: Mapping[str, Any]) -> dict[str, Any]:
    """What somebody would be allowed beyond what they are now, of what was entered in a form; empty for nothing.

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
    names = [name.removeprefix("is_") for name in FLAGS if name in more]
    names += Group.objects.filter(pk__in=more.get("groups", ())).values_list("name", flat=True)
    names += Permission.objects.filter(pk__in=more.get("user_permissions", ())).values_list("codename", flat=True)
    return propose(
        ProposalKind.OPERATOR,
        environment=Environment.PRODUCTION,
        subject=user.pk,
        before={"email": user.email},
        after=more,
        told=f"{user.email} becomes: {', '.join(names)}",
        by=by,
    )


def _give(proposal: Proposal, people: str) -> bool:
    with transaction.atomic():
        user = User.objects.select_for_update().get(pk=proposal.subject)
        if user.email != proposal.before["email"]:
            return False
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
        told=f"{user.email} becomes {role} of {merchant.name} ({merchant.public_id})",
        by=by,
    )


def _add_as_agreed(proposal: Proposal, people: str) -> bool:
    merchant_id, user_id = proposal.subject.split("/")
    merchant = Merchant.objects.select_for_update().get(pk=merchant_id)
    user = User.objects.select_for_update().get(pk=user_id)
    if user.email != proposal.before["email"] or Member.objects.filter(merchant=merchant, user=user).exists():
        return False
    # Nobody's money can be in danger with the first member of a merchant: there was nobody to take any.
    is_first = not any(each.objects.filter(merchant_id=merchant.pk).exists() for each in (Member, LoggedAction))
    member = add_member(merchant=merchant, user=user, role=proposal.after["role"])
    note_let_in([member], Action.ADDED_BY_OPERATORS, by=proposal.decided_by, people=people, waits=not is_first)
    return True


register(ProposalKind.MEMBER, _add_as_agreed, permission="merchants.add_member")


def note_let_in(
    members: Iterable[Member], action: Action, *, by: User | None = None, people: str = "", waits: bool = True
) -> None:
    """Tell merchants, in their audit log and by mail to all owners, what operators have done to a member, who `waits`
    before anything sensitive. Without `by` it was a command of the service, and the row names the member."""
    for member in members:
        if waits:
            User.objects.filter(pk=member.user_id).update(let_in_by_operators_at=timezone.now())
        LoggedAction.objects.create(
            merchant_id=member.merchant_id,
            action=action.value,
            person=by or member.user,
            email=(by or member.user).email,
            role="operator",
            record=member.public_id,
            after={"person": member.user.email, "role": member.role, "operators": people},
        )
        told = {"person": member.user.email, "role": Role(member.role).label, "merchant": member.merchant.name}
        for owner in Member.objects.filter(merchant=member.merchant_id, role=Role.OWNER).select_related("user"):
            write_mail(
                to=owner.user.email,
                subject=_("Somebody was let in at %(merchant)s") % told,
                text=_(
                    "%(what)s: %(person)s, %(role)s of %(merchant)s. For 24 hours this person can neither refund, make "
                    "keys, change wallets nor say who is a member. If you did not ask for this, tell the people who "
                    "run this service at once, and remove the member."
                )
                % {**told, "what": action.label},
            )


@dataclass(frozen=True, slots=True)
class Terms:
    plan: str
    requests_per_minute: int | None
    fee_bps: int | None
    """None: the fee of the plan."""


def set_terms(*, merchant: Merchant, asked: Terms, by: User) -> Proposal | None:
    """Change a merchant's plan and fee, where one operator may; a fee that becomes higher above the bound, its own or
    its plan's, is proposed."""
    check_fee(asked.fee_bps)
    fee_bps = fee_bps_by(asked.plan, asked.fee_bps)
    with transaction.atomic():
        stored = Merchant.objects.select_for_update().get(pk=merchant.pk)
        if fee_bps <= max(FEE_BY_ONE_BPS, fee_bps_of(stored)):
            _set(stored, asked)
            return None
    return propose(
        ProposalKind.FEE,
        environment=Environment.PRODUCTION,
        subject=merchant.pk,
        before={"plan": stored.plan, "fee_bps": stored.fee_bps},
        after=asdict(asked),
        told=f"The fee of {merchant.name} ({merchant.public_id}), {asked.plan}, becomes {fee_bps / 100:.2f} % of its "
        "settlements",
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


register(ProposalKind.FEE, _set_fee_as_agreed, permission="merchants.change_merchant")
