"""Rights of operators: what more somebody may do is proposed by one superuser and agreed to by another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import Group, Permission
from django.db import transaction

from config.environments import Environment
from merchants.four_eyes.models import Proposal, ProposalKind
from merchants.four_eyes.people import people_needed
from merchants.four_eyes.services import propose, register
from merchants.models import User

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
