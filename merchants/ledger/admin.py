"""The books as operators see them: everything can be looked up, nothing can be changed."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from config import ids
from config.operators import ReadOnly
from merchants.ledger.models import Account, Entry, Posting, ReconcileRun

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
    list_display = ("started", "outcome", "error_count", "warning_count", "finished_at")
    list_filter = ("outcome",)
    fields = (
        "started",
        "finished_at",
        "outcome",
        "error_count",
        "warning_count",
        "options",
        "check_list",
        "finding_list",
    )
    readonly_fields = fields
    ordering = ("-id",)

    @admin.display(description="Started", ordering="id")
    def started(self, run: ReconcileRun) -> datetime:
        return run.started_at

    @admin.display(description="Checks")
    def check_list(self, run: ReconcileRun) -> SafeString:
        return format_html_join(
            "",
            "<div>{} {}: {} errors, {} warnings, {} s {}</div>",
            (
                (row["check"], row["title"], row["errors"], row["warnings"], row["seconds"], row["crash"])
                for row in run.checks
            ),
        )

    @admin.display(description="First findings")
    def finding_list(self, run: ReconcileRun) -> SafeString:
        return format_html_join(
            "",
            "<div>{} {}, {}: expected {}, found {}. {}</div>",
            (
                (row["severity"], row["check"], row["subject"], row["expected"], row["actual"], row["proposal"])
                for row in run.findings
            ),
        )
