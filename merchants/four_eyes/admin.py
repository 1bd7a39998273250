"""Proposals of operators, for another to agree to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, ClassVar, cast

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Model, QuerySet
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html_join

from config.admin.base import LongList, ReadOnly, confirms, unless
from config.admin.columns import RecordPage
from config.admin.previews import before_and_after
from config.admin.story import story_of
from config.admin.values import record_of
from config.errors import DomainError
from merchants.four_eyes.models import Proposal, ProposalKind, ProposalStatus
from merchants.four_eyes.services import agree, withdraw
from merchants.models import User


def show_outcome(page: admin.ModelAdmin[Any], request: HttpRequest, proposal: Proposal) -> None:
    """Shows an operator what became of a proposal just made: that another must agree, or how it ended."""
    words = f"{proposal.get_status_display()}: {proposal}"
    if proposal.status == ProposalStatus.WAITING:
        words = f"{proposal}: another operator must agree, under Proposals."
    level = messages.SUCCESS if proposal.status == ProposalStatus.DONE else messages.WARNING
    page.message_user(request, words, level)


def propose_by_form(
    page: admin.ModelAdmin[Any],
    request: HttpRequest,
    form: BaseForm,
    propose: Callable[[dict[str, Any]], Proposal],
    *,
    permission: str,
    title: str,
    template: str,
    shown: Callable[[], Mapping[str, Any]] = dict,
    field_of: Mapping[str, str] = {},
    unavailable: tuple[type[Exception], ...] = (),
) -> HttpResponse:
    """Show a page with a form, and pass its fields to `propose`; once that has made a proposal, redirect to the list.

    PermissionDenied without the permission. The form shows why it was refused: `field_of` names the field of a
    parameter that has another name, `unavailable` the errors of a network that was queried.
    """
    if not request.user.has_perm(permission):
        raise PermissionDenied
    options = page.model._meta
    if request.method == "POST" and form.is_valid():
        try:
            proposal = propose(form.cleaned_data)
        except unavailable as error:
            form.add_error(None, f"The network did not answer: {error}")
        except DomainError as error:
            field = field_of.get(error.param or "", error.param)
            form.add_error(field if field in form.fields else None, error.message)
        else:
            show_outcome(page, request, proposal)
            return HttpResponseRedirect(reverse(f"admin:{options.app_label}_{options.model_name}_changelist"))
    context = {**page.admin_site.each_context(request), "opts": options, "title": title, "form": form, **shown()}
    return TemplateResponse(request, template, context)


class ShowsProposals:
    """Proposals and approvals of operators about a row, on its page; `propose` makes one there."""

    proposal_kinds: ClassVar[tuple[ProposalKind, ...]]
    readonly_fields: ClassVar[Any] = ("proposals",)

    @admin.display(description="Proposals")
    def proposals(self, row: Model) -> str:
        about = Proposal.objects.filter(kind__in=self.proposal_kinds, subject=str(row.pk))
        found = about.select_related("proposed_by", "decided_by").order_by("pk")
        return format_html_join("\n", "<p>{}: {} ({})</p>", ((e.get_status_display(), e, e.people) for e in found))

    def propose(self, request: HttpRequest, row: Model, propose: Callable[..., Proposal]) -> None:
        """Let the operator who is logged in propose something of a row, or agree to it, and show the result."""
        page, note = cast("admin.ModelAdmin[Any]", self), request.POST.get("note", "").strip()
        try:
            proposal = propose(by=cast("User", request.user))
        except DomainError as error:
            page.message_user(request, f"{row}: {error.message}", messages.ERROR)
            return
        words = f"{proposal.get_status_display()}: {proposal}"
        page.log_change(request, row, words if note in words else f"{words} {note}")
        show_outcome(page, request, proposal)


@admin.register(Proposal)
class ProposalAdmin(ReadOnly, LongList, RecordPage[Proposal]):
    list_display = ("told", "kind", "status", "proposed_by", "proposed_at", "decided_by", "decided_at")
    list_filter = ("status", "kind", "environment")
    list_select_related = ("proposed_by", "decided_by")
    exclude = ("before", "after", "subject")
    actions = ("agree", "withdraw")
    refusals: ClassVar = dict.fromkeys(
        actions, unless(lambda row: row.status == ProposalStatus.WAITING, "it has ended: {}.")
    )

    def previewed(self, row: Proposal) -> Iterator[Model]:
        """The records that a proposal is about."""
        if (named := record_of(row.subject)) is not None:
            yield named
        for model, page in admin.site._registry.items():
            if row.kind in getattr(page, "proposal_kinds", ()):
                with suppress(ValidationError, ValueError):  # the subject is a key of another kind of record
                    yield from model._default_manager.filter(pk=row.subject)

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **options: Any) -> HttpResponse:
        row = context.get("original")
        if row is not None and row.status == ProposalStatus.WAITING:
            effects = before_and_after(self, request, Proposal.objects.filter(pk=row.pk), "agree")
            context["story"] = [*effects, *story_of(row)]
        return super().render_change_form(request, context, *args, **options)

    @admin.action(description="Agree: it is done at once", permissions=["decide"])
    @confirms(
        title="Agree to this?",
        consequence="It is done at once. Your name is kept beside the proposer's.",
        told="Whom the proposer's page named: those whom it concerns. The proposer sees it under Proposals.",
        describe=lambda each: f"{each} Proposed by {each.proposed_by} on {each.proposed_at:%Y-%m-%d %H:%M} UTC.",
    )
    def agree(self, request: HttpRequest, chosen: QuerySet[Proposal]) -> None:
        self._decide(request, chosen, lambda each: agree(each, by=cast("User", request.user)))

    @admin.action(description="Withdraw: nothing is done", permissions=["decide"])
    @confirms(title="Withdraw this?", consequence="Nothing is done. It can be proposed again.")
    def withdraw(self, request: HttpRequest, chosen: QuerySet[Proposal]) -> None:
        self._decide(request, chosen, lambda each: withdraw(each, by=cast("User", request.user)))

    def _decide(self, request: HttpRequest, chosen: QuerySet[Proposal], decide: Callable[[Proposal], Proposal]) -> None:
        for proposal in chosen:
            try:
                ended = decide(proposal)
            except DomainError as error:
                self.message_user(request, f"{proposal}: {error.message}", messages.ERROR)
                continue
            self.log_change(request, proposal, f"{ended.get_status_display()}.")
            level = messages.WARNING if ended.status == ProposalStatus.FALLEN else messages.SUCCESS
            self.message_user(request, f"{proposal}: {ended.get_status_display()}.", level)

    def has_decide_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("four_eyes.view_proposal")
