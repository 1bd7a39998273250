"""What operators do with a merchant as a whole: suspend it, let it go on, look at its dashboard. Owners are told."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from django.db import transaction
from django.http import HttpRequest
from django.utils import translation
from django.utils.translation import gettext as _

from config.environments import Environment
from merchants.access.log_in import viewing
from merchants.audit.models import LoggedAction
from merchants.four_eyes.models import Proposal, ProposalKind
from merchants.four_eyes.services import NotPermitted
from merchants.ledger.models import Stop, StopKind
from merchants.ledger.stops import lift_stop, register_way
from merchants.models import Member, Merchant, User
from merchants.people.mailing import write_mail
from merchants.roles import Action, Role


def suspend_merchant(*, merchant: Merchant, reason: str, by: User) -> bool:
    """Suspend a merchant: its keys and payment links stop at once, its people can only look, and its settlement
    schedule pauses. Its payments stay watched, and what was settled is paid. False when it was suspended already.
    """
    with transaction.atomic():
        locked = Merchant.objects.select_for_update().get(pk=merchant.pk)
        if suspension_of(locked) is not None:
            return False
        locked.is_active = False
        locked.save(update_fields=["is_active"])
        Stop.objects.create(kind=StopKind.SUSPENSION, environment="", merchant=locked, reason=f"{reason} ({by})")
        note_by_operator(Action.SUSPENDED, merchant=locked, by=by, people=by.email)
        mail_owners(locked, _suspended)
    merchant.is_active = False
    return True


def suspension_of(merchant: Merchant) -> Stop | None:
    return Stop.objects.standing().filter(kind=StopKind.SUSPENSION, merchant=merchant).first()


def _let_go_on(stop: Stop, proposal: Proposal, people: str) -> bool:
    if stop.merchant is None or not lift_stop(stop, by=people):
        return False
    Merchant.objects.filter(pk=stop.merchant.pk).update(is_active=True)
    note_by_operator(
        Action.GOES_ON, merchant=stop.merchant, by=proposal.decided_by or proposal.proposed_by, people=people
    )
    mail_owners(stop.merchant, _goes_on)
    return True


register_way(
    StopKind.SUSPENSION,
    ProposalKind.BREAKER,
    first="See that the reason is gone.",
    permission="ledger.change_stop",
    lift=_let_go_on,
)


def begin_viewing(request: HttpRequest, *, merchant: Merchant, environment: Environment, reason: str) -> None:
    """Let the operator of this request look at the dashboard, for an hour at most. The merchant reads the reason in its
    audit log, and its owners in a mail."""
    by = cast("User", request.user)
    if not by.has_perm(viewing.PERMISSION):
        raise NotPermitted
    with transaction.atomic():
        note_by_operator(Action.LOOKED_AT, merchant=merchant, by=by, people=by.email, reason=reason)
        mail_owners(merchant, lambda merchant: _looked_at(merchant, by=by, reason=reason))
    viewing.begin(request, merchant, environment)


def note_by_operator(action: Action, *, merchant: Merchant, by: User, people: str, **more: str) -> None:
    """Add a row to the merchant's audit log about what operators did with the merchant as a whole."""
    LoggedAction.objects.create(
        merchant=merchant,
        action=action.value,
        person=by,
        email=by.email,
        role="operator",
        record=merchant.public_id,
        after={"operators": people, **more},
    )


def mail_owners(merchant: Merchant, subject_and_text: Callable[[Merchant], tuple[str, str]]) -> None:
    """Write a mail to each owner, in their language."""
    for owner in Member.objects.filter(merchant=merchant, role=Role.OWNER).select_related("user").order_by("pk"):
        with translation.override(owner.language):
            subject, text = subject_and_text(merchant)
            write_mail(to=owner.user.email, subject=subject, text=text)


def _suspended(merchant: Merchant) -> tuple[str, str]:
    return (
        _("%(merchant)s is suspended") % {"merchant": merchant.name},
        _(
            "The operator of this service has suspended %(merchant)s. API keys and payment links are refused, you can "
            "only look at the dashboard, and settlements pause. Payments that were made before are still completed, "
            "and settlements that were made before are paid. If you do not know why, ask the operator."
        )
        % {"merchant": merchant.name},
    )


def _looked_at(merchant: Merchant, *, by: User, reason: str) -> tuple[str, str]:
    words = {"merchant": merchant.name, "operator": by.email, "reason": reason}
    return (
        _("An operator looks at the dashboard of %(merchant)s") % words,
        _(
            "%(operator)s, an operator of this service, looks at the dashboard of %(merchant)s, for an hour at most, "
            "and can change nothing. The reason: %(reason)s\n\nIf you do not know why, ask the operator of this "
            "service."
        )
        % words,
    )


def _goes_on(merchant: Merchant) -> tuple[str, str]:
    return (
        _("%(merchant)s is no longer suspended") % {"merchant": merchant.name},
        _(
            "The operator of this service has ended the suspension of %(merchant)s: API keys, payment links, the "
            "dashboard and settlements work as before."
        )
        % {"merchant": merchant.name},
    )
