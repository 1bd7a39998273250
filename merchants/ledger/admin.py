"""The ledger as operators see it: everything can be looked up, nothing can be changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, ClassVar, cast
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.core.validators import MaxValueValidator
from django.db import connection, transaction
from django.db.models import F, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from config import ids
from config.admin.base import ReadOnly, confirms, unless
from config.admin.columns import Readable, RecordPage, ValuesInWords
from config.admin.story import Section
from config.admin.values import Shown, instant, link, may, money, page_of, place_of, table
from config.environments import Environment
from config.errors import DomainError
from config.pages import wording
from merchants.four_eyes.models import ProposalKind, ProposalStatus
from merchants.ledger import explained_findings, stops
from merchants.ledger.balances import StatementLine, balance_at, statement
from merchants.ledger.models import Account, ExplainedFinding, Posting, ReconcileRun, Stop, StopKind
from merchants.ledger.owners import linked_owner, name_owners
from merchants.models import User

ENTRIES_SHOWN = 50
PUBLIC_IDS = (ids.PAYMENT, ids.REFUND, ids.SETTLEMENT, ids.MERCHANT)


def _as_stored(term: str) -> str:
    """The stored key of a public id (`pay_…`): its UUID. Anything else is searched for as it is."""
    for kind in PUBLIC_IDS:
        if key := kind.decode(term.strip()):
            return str(key)
    return term


class LedgerAdmin(ReadOnly, RecordPage[Any]):
    list_per_page = 50
    show_full_result_count = False  # counting every row takes longer than finding one

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        return super().get_search_results(request, queryset, _as_stored(search_term))


class ShowsOwners(Readable):
    """Names of the owners of accounts, which the rows of a page are given together."""

    def owner_of(self, account: Account) -> Shown:
        return linked_owner(vars(account).get("owner_name") or name_owners([account])[account.pk])


def with_owners(accounts: Iterable[Account]) -> None:
    found = list(accounts)
    names = name_owners(found)
    for account in found:
        vars(account)["owner_name"] = names[account.pk]


def in_coins(account: Account, signed: int) -> str:
    return money(signed, place_of(account), account.asset)


class AccountList(ChangeList):
    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = list(self.result_list)
        with_owners(self.result_list)


@admin.register(Account)
class AccountAdmin(ShowsOwners, LedgerAdmin):
    list_display = ("kind", "whose", "holds", "network", "environment")
    list_filter = ("environment", "network", "asset", "kind")
    change_form_template = "admin/account.html"
    search_fields = ("owner",)
    search_help_text = "The id of a merchant or payment."
    fields = ("kind", "whose", "holds", "network", "environment")
    readonly_fields = fields
    ordering = ("-id",)

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[ChangeList]:
        return AccountList

    @admin.display(description="Whose")
    def whose(self, account: Account) -> Shown:
        return self.owner_of(account)

    @admin.display(description="Holds")
    def holds(self, account: Account) -> str:
        return in_coins(account, account.natural_balance)

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **options: Any) -> HttpResponse:
        if (account := context.get("original")) is not None:
            context |= _statement_of(account, request.GET)
        return super().render_change_form(request, context, *args, **options)


class StatementForm(forms.Form):
    """Form of an account's page: the instant of its balance, and the days of its entries."""

    at = forms.DateTimeField(
        label="Balance at (UTC)",
        required=False,
        help_text="With every posting made until then. Empty: now.",
        validators=[
            MaxValueValidator(datetime(3000, 1, 1, tzinfo=UTC), "This is too far ahead: choose an earlier one.")
        ],
        widget=forms.DateTimeInput(format="%Y-%m-%dT%H:%M:%S", attrs={"type": "datetime-local", "step": "1"}),
    )
    first = forms.DateField(
        label="Entries from (UTC)", required=False, widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"})
    )
    last = forms.DateField(
        label="To (UTC)",
        required=False,
        help_text="The last day, included.",
        validators=[MaxValueValidator(date(2999, 12, 31), "This day is too far ahead: choose an earlier one.")],
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
    )

    def clean(self) -> dict[str, Any]:
        entered = super().clean() or self.cleaned_data
        first, last = entered.get("first"), entered.get("last")
        if first and last and last < first:
            raise forms.ValidationError({"last": "The last day is before the first one: choose a later day."})
        return entered


def _statement_of(account: Account, asked: QueryDict) -> dict[str, Any]:
    """What the page of an account shows of its entries: the form, the balance asked for, and a page of entries."""
    form = StatementForm(asked)
    if not form.is_valid():
        return {"statement_form": form}
    first, last, at = (form.cleaned_data[name] for name in ("first", "last", "at"))
    try:
        before = UUID(asked.get("before", ""))
    except ValueError:
        before = None
    found = statement(
        account,
        start=first and datetime.combine(first, time.min, tzinfo=UTC),
        end=last and datetime.combine(last + timedelta(days=1), time.min, tzinfo=UTC),
        before=before,
        number=ENTRIES_SHOWN + 1,
    )
    shown = found[:ENTRIES_SHOWN]
    query = asked.copy()
    query.pop("before", None)
    newest = query.urlencode()
    if len(found) > len(shown):
        query["before"] = str(shown[-1].entry.posting_id)
    return {
        "statement_form": form,
        "asked_at": at,
        "held_then": in_coins(account, balance_at(account, at)) if at else "",
        "newest": newest if before else None,
        "older": query.urlencode() if len(found) > len(shown) else "",
        "story": [
            Section(
                title="Entries",
                headings=("When", "What", "Change", "Balance after it"),
                amounts=2,
                rows=[_row(account, line) for line in shown],
                empty="No entry is older." if before else "No entry is of this time.",
            )
        ],
    }


def _row(account: Account, line: StatementLine) -> tuple[Shown, ...]:
    posting, change = line.entry.posting, in_coins(account, line.change)
    return (
        instant(posting.created_at),
        link(page_of(Posting, posting.pk), str(posting)),
        change if line.change < 0 else f"+{change}",
        in_coins(account, line.balance),
    )


class KindsOfPostings(ValuesInWords):
    """Filter by the kinds that occur. Each is found by the index, so that not every posting is read."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        with connection.cursor() as cursor:
            cursor.execute(_KINDS_OF_POSTINGS, [Environment.values])
            self.lookup_choices = [kind for (kind,) in cursor.fetchall()]  # type: ignore[assignment]


_KINDS_OF_POSTINGS = f"""
    WITH RECURSIVE step AS (
        SELECT environment, (
            SELECT min(kind) FROM {Posting._meta.db_table} AS own WHERE own.environment = each.environment
        ) AS kind
        FROM unnest(%s::varchar[]) AS each (environment)
        UNION ALL
        SELECT environment, (
            SELECT min(own.kind) FROM {Posting._meta.db_table} AS own
            WHERE own.environment = step.environment AND own.kind > step.kind
        ) FROM step WHERE kind IS NOT NULL
    )
    SELECT DISTINCT kind FROM step WHERE kind IS NOT NULL ORDER BY kind
"""  # noqa: S608 - the name of our own table


@admin.register(Posting)
class PostingAdmin(LedgerAdmin):
    list_display = ("kind", "reference", "environment", "created")
    list_filter = ("environment", ("kind", KindsOfPostings))
    search_fields = ("reference__startswith", "=id")
    search_help_text = "The start of a reference: a transaction hash with its network, or the id of a payment."
    fields = ("kind", "reference", "environment", "memo", "created")
    readonly_fields = fields
    ordering = ("-id",)

    @admin.display(description="Created", ordering="id")
    def created(self, posting: Posting) -> datetime:
        return posting.created_at


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
