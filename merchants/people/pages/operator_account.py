"""An operator's own page in the admin: what they may do, their second factors and sessions, and what they did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from django.contrib import admin, messages
from django.contrib.admin.models import LogEntry
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from config.admin.roles import ADMIN, Role
from config.admin.values import Shown, related
from merchants.audit.models import LoggedAction
from merchants.four_eyes.models import Proposal, ProposalStatus
from merchants.four_eyes.services import waiting_for
from merchants.models import User
from merchants.people import log_ins, second_factors

SHOWN = 30
"""How many of the latest actions are shown."""

_ENDS = {
    ProposalStatus.DONE: "Agreed",
    ProposalStatus.WITHDRAWN: "Withdrew a proposal",
    ProposalStatus.FALLEN: "Agreed, but it had changed since",
}


@dataclass(frozen=True, slots=True)
class Done:
    at: datetime
    what: str
    record: Shown
    """The record that it was done to, with a link to its page."""


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@admin.site.admin_view
def show_own_account(request: HttpRequest) -> HttpResponse:
    """The page; by POST whether this operator gets a mail about each proposal that waits for them."""
    user = cast("User", request.user)
    if request.method == "POST":
        user.mails_proposals = "mails_proposals" in request.POST
        user.save(update_fields=["mails_proposals"])
        told = "You get a mail" if user.mails_proposals else "You get no more mails"
        messages.success(request, f"{told} about proposals that wait for you.")
        return redirect("operators_account")
    groups = set(user.groups.values_list("name", flat=True))
    roles = [ADMIN] if user.is_superuser else [role.value for role in Role if role.group in groups]
    own = sorted(groups - {role.group for role in Role})
    context = {
        **admin.site.each_context(request),
        "title": "My account",
        "roles": roles,
        "own_groups": own,
        "has_own_permissions": not user.is_superuser and user.user_permissions.exists(),
        "factors": second_factors.of(user),
        "log_ins": log_ins.of(user, request.session.session_key),
        "sees_proposals": user.has_perm("four_eyes.view_proposal"),
        "proposals": waiting_for(user) if user.has_perm("four_eyes.view_proposal") else [],
        "done": sorted(_done_by(user), key=lambda each: each.at, reverse=True)[:SHOWN],
    }
    return TemplateResponse(request, "admin/own_account.html", context)


def _done_by(user: User) -> Iterator[Done]:
    """The latest of each kind of record of what somebody did, with its page."""
    for entry in LogEntry.objects.filter(user=user).select_related("content_type").order_by("-pk")[:SHOWN]:
        yield Done(entry.action_time, _words_of(entry), _record_of(entry))
    for action in LoggedAction.objects.filter(person=user).select_related("merchant").order_by("-pk")[:SHOWN]:
        yield Done(action.created_at, action.words, related(action.merchant, is_page=True))
    mine = Proposal.objects.filter(Q(proposed_by=user) | Q(decided_by=user)).order_by("-pk")
    for proposal in mine[:SHOWN]:
        told = related(proposal, is_page=True)
        if proposal.proposed_by_id == user.pk:
            yield Done(proposal.proposed_at, "Proposed", told)
        if proposal.decided_by_id == user.pk and proposal.decided_at is not None:
            yield Done(proposal.decided_at, _ENDS[ProposalStatus(proposal.status)], told)


def _words_of(entry: LogEntry) -> str:
    verb = "Added" if entry.is_addition() else "Deleted" if entry.is_deletion() else ""
    return " ".join(filter(None, [verb and f"{verb}.", entry.get_change_message()])) or "Changed."


def _record_of(entry: LogEntry) -> Shown:
    model = entry.content_type.model_class() if entry.content_type else None
    page = admin.site._registry.get(model) if model else None
    row = page.model._default_manager.filter(pk=entry.object_id).first() if page else None
    return entry.object_repr if row is None else related(row, is_page=True)
