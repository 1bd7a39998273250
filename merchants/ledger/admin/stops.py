"""Stops of payouts, networks and merchants: listed, made and lifted."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from django import forms
from django.contrib import admin, messages
from django.db.models import F, QuerySet
from django.http import HttpRequest, HttpResponse

from config.admin.base import confirms, unless
from config.errors import DomainError
from merchants.four_eyes.models import ProposalKind, ProposalStatus
from merchants.ledger import stops
from merchants.ledger.admin.base import LedgerAdmin
from merchants.ledger.models import Stop, StopKind
from merchants.models import User


class StopForm(forms.ModelForm[Stop]):
    is_halt = forms.BooleanField(
        required=False,
        label="Reading as well",
        help_text="Halts the network: nothing is read, credited or paid there, and no payment is made on it.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "environment" in self.fields:
            self.fields["environment"].required = True  # only a suspension is of both, and it is not made here

    def clean(self) -> dict[str, Any]:
        if not self.errors:
            try:
                stops.require_known(**_place(self.cleaned_data), kind=_kind(self.cleaned_data))
            except DomainError as error:
                raise forms.ValidationError(error.message) from error
        return self.cleaned_data


def _place(given: dict[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in ("environment", "network", "asset", "address", "merchant")}


def _kind(given: dict[str, Any]) -> StopKind | None:
    return StopKind.HALT if given["is_halt"] else None


@admin.register(Stop)
class StopAdmin(LedgerAdmin):
    """Stops, also those kept elsewhere; adding one stops payouts at once."""

    form = StopForm
    list_display = ("__str__", "kind", "since", "reason", "how", "lifted_at", "lifted_by")
    list_filter = (("lifted_at", admin.EmptyFieldListFilter), "environment", "network", "kind")
    ordering = (F("lifted_at").desc(nulls_first=True), "-id")
    proposal_kinds = (ProposalKind.BREAKER, ProposalKind.SWITCH, ProposalKind.HALT, ProposalKind.THAW)
    actions = ("lift",)
    refusals: ClassVar = {"lift": unless(lambda row: row.lifted_at is None, "it is lifted.")}
    change_list_template = "admin/stops.html"
    add_label = "Stop payouts"
    autocomplete_fields = ("merchant",)
    list_select_related = ("merchant",)

    def get_fields(self, request: HttpRequest, obj: Stop | None = None) -> tuple[str, ...]:
        fields = ("environment", "network", "asset", "address", "merchant", "reason")
        return (*fields, "is_halt") if obj is None else (*fields, "kind", "since", "how", "lifted_at", "lifted_by")

    @admin.display(description="Who lifts it, and how")
    def how(self, row: Stop) -> str:
        found = stops.listed(row)
        return "" if row.lifted_at else f"{found.who}: {found.how}"

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return super().changelist_view(request, {"elsewhere": list(stops.elsewhere()), **(extra_context or {})})

    def save_model(self, request: HttpRequest, obj: Stop, form: Any, change: bool) -> None:
        place = _place(form.cleaned_data)
        stops.stop(_kind(form.cleaned_data), **place, reason=f"{obj.reason} ({request.user})")
        obj.pk = Stop.objects.standing().filter(**place).latest("pk").pk

    @admin.action(description="Lift: waiting payouts are sent", permissions=["lift"])
    @confirms(
        title="Let this go on?",
        consequence="What waits there is credited, signed and sent at once, when as many operators agree as the "
        "environment asks for. Your name is kept.",
        told="Nobody at once. Merchants get the events of what goes on.",
        note_label="What was found out?",
        describe=lambda row: f"{row}, stopped: {row.reason}",
    )
    def lift(self, request: HttpRequest, chosen: QuerySet[Stop]) -> None:
        note = request.POST["note"].strip()
        for row in Stop.objects.standing().filter(pk__in=chosen):
            try:
                proposal = stops.propose_lifting(row, by=cast("User", request.user), note=note)
            except DomainError as error:
                self.message_user(request, f"{row}: {error.message}", messages.ERROR)
                continue
            is_done = proposal.status == ProposalStatus.DONE
            waits = "another operator must agree, under Proposals"
            outcome = (
                "goes on" if is_done else waits if proposal.status == ProposalStatus.WAITING else str(proposal.status)
            )
            self.log_change(request, row, f"Lifted: {note}" if is_done else f"Proposed to lift it: {note}")
            self.message_user(request, f"{row}: {outcome}.", messages.SUCCESS if is_done else messages.WARNING)

    def has_lift_permission(self, request: HttpRequest) -> bool:
        return stops.may_lift_any(cast("User", request.user))

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        return request.user.has_perm("ledger.add_stop") or self.has_lift_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Stop | None = None) -> bool:
        return super().has_view_permission(request, obj) or self.has_lift_permission(request)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)
