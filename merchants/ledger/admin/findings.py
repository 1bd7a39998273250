"""Runs of reconcile, what they found, and the findings that operators have explained."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, cast

from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from config.admin.base import confirms, unless
from config.admin.columns import RecordPage
from config.admin.values import may, money, table
from config.errors import DomainError
from config.pages import wording
from merchants.four_eyes.models import ProposalStatus
from merchants.ledger import explained_findings
from merchants.ledger.admin.base import LedgerAdmin
from merchants.ledger.models import ExplainedFinding, ReconcileRun
from merchants.models import User


@admin.register(ReconcileRun)
class ReconcileRunAdmin(LedgerAdmin):
    list_display = (
        "started",
        "outcome",
        "error_count",
        "warning_count",
        "explained_count",
        "value_explained",
        "scope",
        "finished_at",
    )
    list_filter = ("outcome",)
    fields = (
        "started",
        "finished_at",
        "outcome",
        "scope",
        "value_explained",
        "unexplained",
        "payouts_stopped",
        "error_count",
        "warning_count",
        "explained_count",
        "finding_list",
        "check_list",
    )
    readonly_fields = fields
    ordering = ("-id",)

    @admin.display(description="Started", ordering="id")
    def started(self, run: ReconcileRun) -> datetime:
        return run.started_at

    @admin.display(description="Looked at")
    def scope(self, run: ReconcileRun) -> str:
        options = run.options
        parts = [" and ".join(options.get("environments", [])), options.get("network") or "all networks"]
        since = options.get("since")
        parts.append(f"touched since {wording.moment(datetime.fromisoformat(since))}" if since else "everything")
        if options.get("atBlock") is not None:
            parts.append(f"wallets at block {options['atBlock']:,}")
        if options.get("noChain"):
            parts.append("no chain asked")
        return ", ".join(part for part in parts if part)

    @admin.display(description="Value explained")
    def value_explained(self, run: ReconcileRun) -> str:
        if not run.summary:
            return ""
        bound = "" if run.summary.get("isComplete", True) else "at most "
        return f"{bound}{run.summary['valueExplained']} %"

    @admin.display(description="Unexplained")
    def unexplained(self, run: ReconcileRun) -> SafeString:
        pots = run.summary.get("unexplained", [])
        return format_html_join(
            "",
            "<div>{}, {}: {}</div>",
            (
                (
                    pot["environment"],
                    pot["network"],
                    money(int(pot["amount"]), (pot["environment"], pot["network"]), pot["asset"]),
                )
                for pot in pots
            ),
        )

    @admin.display(description="Payouts stopped")
    def payouts_stopped(self, run: ReconcileRun) -> SafeString:
        return format_html_join(
            "",
            "<div>{} {}: {}</div>",
            ((row["environment"], row["network"], row["reason"]) for row in run.breakers),
        )

    @admin.display(description="Checks")
    def check_list(self, run: ReconcileRun) -> SafeString:
        rows = format_html_join(
            "",
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{} s</td><td>{}</td></tr>",
            (
                (row["check"], row["title"], row["errors"], row["warnings"], row["seconds"], row["crash"])
                for row in run.checks
            ),
        )
        return table(("Check", "What is true", "Errors", "Warnings", "Duration", "Could not finish"), rows)

    @admin.display(description="First findings")
    def finding_list(self, run: ReconcileRun) -> SafeString:
        rows = format_html_join(
            "",
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>expected {}, found {}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            (
                (
                    "explained" if row.get("explained") else row["severity"],
                    row["check"],
                    row["subject"],
                    _figure(row, row["expected"]),
                    _figure(row, row["actual"]),
                    "" if row["delta"] is None else _figure(row, row["delta"]),
                    row["proposal"],
                    _explanation(row),
                )
                for row in run.findings
            ),
        )
        return table(("", "Check", "Where", "What", "Difference", "What to do", "Understood"), rows)


def _explanation(row: Mapping[str, Any]) -> str | SafeString:
    """The explanation of a finding and its author, or a link to explain it."""
    if explained := row.get("explained"):
        return f"{explained['by']}, until {explained['until'][:16]}: {explained['note']}"
    if "id" not in row or not may("ledger.add_explainedfinding"):  # a run before findings had ids has none
        return ""
    return format_html('<a href="{}?finding={}">Explain</a>', reverse("admin:ledger_explainedfinding_add"), row["id"])


def _figure(row: Mapping[str, Any], figure: str | int) -> str:
    environment, network, asset = (row.get(name) or "" for name in ("environment", "network", "asset"))
    return explained_findings.figure_in_words(environment, network, asset, str(figure))


class ExplainForm(forms.ModelForm[ExplainedFinding]):
    """The form in which an operator explains a finding."""

    class Meta:
        model = ExplainedFinding
        fields = ("finding", "note", "until")

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        if not self.errors:
            try:
                with transaction.atomic():  # only to get the errors; rolled back
                    explained_findings.explain(
                        given["finding"], note=given["note"], until=given["until"], explained_by="-"
                    )
                    transaction.set_rollback(True)
            except DomainError as error:
                raise forms.ValidationError(error.message) from error
        return given


@admin.register(ExplainedFinding)
class ExplainedFindingAdmin(RecordPage[ExplainedFinding]):
    """Findings that are understood: named, with a note and an end. Withdrawing one lets it count again."""

    form = ExplainForm
    list_display = (
        "check_code",
        "subject",
        "shown_figure",
        "note",
        "explained_by",
        "until",
        "withdrawn_at",
        "withdrawn_by",
    )
    list_filter = ("environment", "network", "check_code", ("withdrawn_at", admin.EmptyFieldListFilter))
    list_per_page = 50
    ordering = ("-id",)
    actions = ("withdraw",)
    refusals: ClassVar = {"withdraw": unless(lambda row: row.withdrawn_at is None, "it is withdrawn.")}

    def get_readonly_fields(self, request: HttpRequest, obj: ExplainedFinding | None = None) -> tuple[str, ...]:
        return ("shown_figure",) if obj else ()

    @admin.display(description="Figure")
    def shown_figure(self, explained: ExplainedFinding) -> str:
        return explained_findings.figure_in_words(
            explained.environment, explained.network, explained.asset, explained.figure
        )

    def save_model(self, request: HttpRequest, obj: ExplainedFinding, form: Any, change: bool) -> None:
        by = cast("User", request.user)
        try:
            proposal = explained_findings.propose_explaining(obj.finding, note=obj.note, until=obj.until, by=by)
        except DomainError as error:
            self.message_user(request, error.message, messages.ERROR)
            return
        waits = proposal.status == ProposalStatus.WAITING
        word = "another operator must agree" if waits else proposal.get_status_display()
        self.message_user(request, f"{proposal}: {word}.", messages.WARNING if waits else messages.SUCCESS)

    def response_add(self, request: HttpRequest, obj: ExplainedFinding, *args: Any, **options: Any) -> HttpResponse:
        return HttpResponseRedirect(reverse("admin:ledger_explainedfinding_changelist"))

    def has_change_permission(self, request: HttpRequest, obj: ExplainedFinding | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: ExplainedFinding | None = None) -> bool:
        return False

    @admin.action(description="Withdraw: the finding counts again", permissions=["withdraw"])
    @confirms(
        title="Let these findings count again?",
        consequence="The next run reacts to them: its exit code and, for an error, payouts are stopped.",
    )
    def withdraw(self, request: HttpRequest, chosen: QuerySet[ExplainedFinding]) -> None:
        for explained in chosen:
            if explained_findings.withdraw(explained, withdrawn_by=request.user.get_username()):
                self.log_change(request, explained, "Withdrawn.")
                self.message_user(request, f"{explained} counts again.", messages.SUCCESS)

    def has_withdraw_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("ledger.add_explainedfinding")
