"""Settlements as operators see them. Everything can be looked up; changes are made by services."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from config import ids
from config.admin.base import LongList, ReadOnly, confirmation_page, unless
from config.admin.columns import RecordPage, Table
from config.admin.values import money, place_of, table
from config.errors import DomainError
from config.pages import wording
from settlements.debts import admin as _debts  # noqa: F401 - registers its pages
from settlements.models import DebtOffset, Settlement, SettlementRun
from settlements.services import retry_failed
from settlements.states import SettlementStatus

PARTS = ("gross", "fee", "refund", "net")


class SettlementInline(ReadOnly, Table[Settlement, SettlementRun]):
    model = Settlement
    fields = ("status", "network", "destination", "amount", "failure_code", "transaction_hash")
    readonly_fields = fields
    extra = 0
    show_change_link = True


class OffsetAmounts:
    """The column of what an offset repaid, which is of another coin or network than what it took."""

    @admin.display(description="Repaid")
    def shown_repaid(self, offset: DebtOffset) -> str:
        return wording.coins(offset.repaid, offset.debt_decimals, offset.debt_asset)


class DebtOffsetInline(OffsetAmounts, ReadOnly, Table[DebtOffset, SettlementRun]):
    model = DebtOffset
    fields = ("amount", "network", "shown_repaid", "debt_network", "rate", "rate_source")
    readonly_fields = fields
    extra = 0
    show_change_link = True


@admin.register(DebtOffset)
class DebtOffsetAdmin(OffsetAmounts, ReadOnly, LongList, RecordPage[DebtOffset]):
    list_display = (
        "public_id",
        "merchant",
        "environment",
        "amount",
        "network",
        "shown_repaid",
        "debt_network",
        "rate",
        "created_at",
    )
    list_filter = ("environment", "network", "asset", "debt_network", "debt_asset")
    list_select_related = ("merchant",)
    search_fields = ("merchant__name",)


@admin.register(SettlementRun)
class SettlementRunAdmin(ReadOnly, LongList, RecordPage[SettlementRun]):
    list_display = ("merchant", "environment", "period_key", "trigger", "requested_by", "period_end", "created_at")
    list_filter = ("environment", "trigger")
    list_select_related = ("merchant",)
    search_fields = ("period_key", "merchant__name")
    inlines = (SettlementInline, DebtOffsetInline)


@admin.register(Settlement)
class SettlementAdmin(ReadOnly, LongList, RecordPage[Settlement]):
    list_display = (
        "public_id",
        "merchant",
        "environment",
        "status",
        "failure_code",
        "network",
        "amount",
        "destination",
        "period_key",
        "created_at",
    )
    list_filter = ("environment", "status", "failure_code", "network", "currency")
    list_select_related = ("merchant",)
    search_fields = ("destination", "transaction_hash", "period_key")
    search_help_text = "A settlement id, a wallet, a transaction hash or a period."
    exclude = ("coins",)
    readonly_fields = ("by_coin",)
    actions = ("retry",)
    refusals: ClassVar = {"retry": unless(lambda row: row.status == SettlementStatus.FAILED, "it has not failed: {}.")}

    @admin.display(description="Of these coins")
    def by_coin(self, settlement: Settlement) -> SafeString:
        rows = (
            (*(money(int(part.get(name) or 0), place_of(settlement), part["coin"]) for name in PARTS), part.get("rate"))
            for part in settlement.coins
        )
        cells = format_html_join("", "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>", rows)
        return table((*(name.capitalize() for name in PARTS), "Rate"), cells)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Settlement], search_term: str
    ) -> tuple[QuerySet[Settlement], bool]:
        key = ids.SETTLEMENT.decode(search_term.strip())
        if key is not None:
            return queryset.filter(pk=key), False
        return super().get_search_results(request, queryset, search_term)

    @admin.action(description="Retry: the next run pays these wallets again", permissions=["retry"])
    def retry(self, request: HttpRequest, chosen: QuerySet[Settlement]) -> TemplateResponse | None:
        question = confirmation_page(
            self,
            request,
            chosen.select_related("merchant"),
            action="retry",
            title="Pay these wallets again?",
            consequence="What went back to the merchant's balance is settled to the same wallets by the next run.",
            told="The merchant, by the events of the settlement that the next run makes.",
            note_label="Why? What has changed since it failed.",
            describe=_what_retrying_does,
        )
        if question is None:
            for settlement in chosen:
                self._retry(request, settlement, request.POST["note"].strip())
        return question

    def _retry(self, request: HttpRequest, settlement: Settlement, reason: str) -> None:
        try:
            retry_failed(settlement, requested_by=str(request.user))
        except DomainError as error:
            self.message_user(request, f"{settlement}: {error.message}", messages.ERROR)
        else:
            self.log_change(request, settlement, f"To be paid again: {reason}")
            self.message_user(request, f"{settlement} will be paid with the next run.", messages.SUCCESS)

    def has_retry_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("settlements.change_settlement")


def _what_retrying_does(settlement: Settlement) -> str:
    amount = wording.coins(settlement.amount, settlement.decimals, settlement.currency)
    return (
        f"{settlement.merchant.name}: {amount} on {settlement.network} to {settlement.destination}, "
        f"which failed as {settlement.failure_code or settlement.status} ({settlement.public_id})."
    )
