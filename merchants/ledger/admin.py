"""The books as operators see them: everything can be looked up, nothing can be changed."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from config import ids
from config.operators import ReadOnly, ask_first
from merchants.ledger.breakers import close_breaker
from merchants.ledger.models import Account, Breaker, Entry, Posting, ReconcileRun

PUBLIC_IDS = (ids.PAYMENT, ids.REFUND, ids.SETTLEMENT, ids.MERCHANT)


def _as_stored(term: str) -> str:
    """What the books write for a public id (`pay_…`): the UUID behind it. Anything else is searched for as it is."""
    for kind in PUBLIC_IDS:
        if key := kind.decode(term.strip()):
            return str(key)
    return term


class LedgerAdmin(ReadOnly, admin.ModelAdmin[Any]):
    list_per_page = 50
    show_full_result_count = False  # counting every row takes longer than finding one

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        return super().get_search_results(request, queryset, _as_stored(search_term))


class EntryInline(ReadOnly, admin.TabularInline[Entry, Posting]):
    model = Entry
    fields = ("account", "debit", "credit")
    readonly_fields = fields
    extra = 0

    def get_queryset(self, request: HttpRequest) -> QuerySet[Entry]:
        return super().get_queryset(request).select_related("account").order_by("id")

    @admin.display(description="Debit (base units)")
    def debit(self, entry: Entry) -> str:
        return f"{entry.amount:,}" if entry.amount > 0 else ""

    @admin.display(description="Credit (base units)")
    def credit(self, entry: Entry) -> str:
        return f"{-entry.amount:,}" if entry.amount < 0 else ""


@admin.register(Account)
class AccountAdmin(LedgerAdmin):
    list_display = ("kind", "owner", "network", "asset", "environment", "holds")
    list_filter = ("environment", "network", "asset", "kind")
    search_fields = ("owner",)
    search_help_text = "The id of a merchant or payment, as pay_… or as UUID."
    fields = ("environment", "network", "asset", "kind", "owner", "holds", "latest_entries")
    readonly_fields = fields
    ordering = ("-id",)

    @admin.display(description="Holds (base units)")
    def holds(self, account: Account) -> str:
        return f"{account.natural_balance:,} {account.asset}"

    @admin.display(description="Latest entries")
    def latest_entries(self, account: Account) -> SafeString:
        entries = account.entries.select_related("posting").order_by("-posting")[:50]
        return format_html_join(
            "",
            '<div>{} <a href="../../../posting/{}/change/">{}</a>: {}</div>',
            (
                (
                    f"{entry.posting.created_at:%Y-%m-%d %H:%M:%S}",
                    entry.posting_id,
                    entry.posting,
                    f"{account.rules.natural(entry.amount):+,}",
                )
                for entry in entries
            ),
        )


@admin.register(Posting)
class PostingAdmin(LedgerAdmin):
    list_display = ("kind", "reference", "environment", "created")
    list_filter = ("environment", "kind")
    search_fields = ("reference__startswith", "=id")
    search_help_text = "The start of a reference: a transaction hash with its network, or the id of a payment."
    fields = ("id", "environment", "kind", "reference", "memo", "created")
    readonly_fields = fields
    inlines = (EntryInline,)
    ordering = ("-id",)

    @admin.display(description="Created", ordering="id")
    def created(self, posting: Posting) -> datetime:
        return posting.created_at


@admin.register(ReconcileRun)
class ReconcileRunAdmin(LedgerAdmin):
    list_display = ("started", "outcome", "error_count", "warning_count", "value_explained", "scope", "finished_at")
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
        asked = run.options
        parts = [" and ".join(asked.get("environments", [])), asked.get("network") or "all networks"]
        parts.append(f"touched since {asked['since']}" if asked.get("since") else "everything")
        if asked.get("atBlock") is not None:
            parts.append(f"wallets at block {asked['atBlock']}")
        if asked.get("noChain"):
            parts.append("no chain asked")
        return ", ".join(part for part in parts if part)

    @admin.display(description="Value explained")
    def value_explained(self, run: ReconcileRun) -> str:
        return f"{run.summary['valueExplained']} %" if run.summary else ""

    @admin.display(description="Unexplained (base units)")
    def unexplained(self, run: ReconcileRun) -> SafeString:
        pots = run.summary.get("unexplained", [])
        return format_html_join(
            "",
            "<div>{} {} {}: {}</div>",
            ((pot["environment"], pot["network"], pot["asset"], f"{int(pot['amount']):,}") for pot in pots),
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
        return _table(("Check", "What is true", "Errors", "Warnings", "Took", "Could not finish"), rows)

    @admin.display(description="First findings")
    def finding_list(self, run: ReconcileRun) -> SafeString:
        rows = format_html_join(
            "",
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>expected {}, found {}</td><td>{}</td><td>{}</td></tr>",
            (
                (
                    row["severity"],
                    row["check"],
                    row["subject"],
                    _grouped(row["expected"]),
                    _grouped(row["actual"]),
                    "" if row["delta"] is None else f"{int(row['delta']):+,}",
                    row["proposal"],
                )
                for row in run.findings
            ),
        )
        return _table(("", "Check", "Where", "What", "Difference", "What to do"), rows)


def _table(headings: tuple[str, ...], rows: SafeString) -> SafeString:
    if not rows:
        return format_html("{}", "None")
    heads = format_html_join("", "<th>{}</th>", ((heading,) for heading in headings))
    return format_html("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>", heads, rows)


def _grouped(text: str) -> str:
    """An amount with its thousands apart; anything else as it is."""
    return f"{int(text):,}" if text.removeprefix("-").isdecimal() else text


@admin.register(Breaker)
class BreakerAdmin(LedgerAdmin):
    list_display = ("network", "environment", "opened_at", "reason", "closed_at", "closed_by")
    list_filter = ("environment", "network", ("closed_at", admin.EmptyFieldListFilter))
    fields = ("environment", "network", "opened_at", "reason", "closed_at", "closed_by")
    readonly_fields = fields
    ordering = ("-id",)
    actions = ("close",)

    @admin.action(description="Close: payouts of the network go on", permissions=["close"])
    def close(self, request: HttpRequest, chosen: QuerySet[Breaker]) -> TemplateResponse | None:
        question = ask_first(
            self,
            request,
            chosen,
            action="close",
            title="Let payouts go on?",
            consequence="What waits on these networks is signed and sent at once. Your name is kept.",
        )
        if question is None:
            for breaker in chosen.filter(closed_at__isnull=True):
                by = request.user.get_username()
                if close_breaker(environment=breaker.environment, network=breaker.network, closed_by=by):
                    self.log_change(request, breaker, "Closed.")
                    self.message_user(request, f"Payouts of {breaker.network} go on.", messages.SUCCESS)
        return question

    def has_close_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("ledger.change_breaker")
