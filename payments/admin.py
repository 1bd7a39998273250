"""Payments as operators see them. Everything can be looked up; what changes something calls a service."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse

from config import ids
from config.errors import DomainError
from config.money import FIAT_DIGITS, format_crypto, from_units
from config.operators import ReadOnly, ask_first
from merchants.models import User
from payments.acceptance import accept_as_operator, what_accepting_does
from payments.chains.networks import NATIVE_COINS
from payments.halting import clear_halt
from payments.models import (
    BalanceChange,
    Deposit,
    Discrepancy,
    DiscrepancyApproval,
    NativeCoin,
    Payment,
    ScanCursor,
    Sweep,
)
from payments.native import ask_for


def _by_public_id(queryset: QuerySet[Any], term: str, kind: ids.PublicId) -> QuerySet[Any] | None:
    key = kind.decode(term.strip())
    return None if key is None else queryset.filter(pk=key)


class DepositInline(ReadOnly, admin.TabularInline[Deposit, Payment]):
    model = Deposit
    fields = ("network", "asset", "shown_amount", "status", "booked_to", "height", "transaction_hash", "seen_at")
    readonly_fields = fields
    extra = 0
    show_change_link = True

    @admin.display(description="Amount")
    def shown_amount(self, deposit: Deposit) -> str:
        return format_crypto(deposit.amount, deposit.decimals)


class DiscrepancyInline(ReadOnly, admin.TabularInline[Discrepancy, Payment]):
    model = Discrepancy
    fields = ("kind", "status", "network", "asset", "shown_amount", "resolved_by", "resolved_at")
    readonly_fields = fields
    extra = 0
    show_change_link = True

    @admin.display(description="Amount")
    def shown_amount(self, discrepancy: Discrepancy) -> str:
        return format_crypto(discrepancy.amount, discrepancy.decimals)


@admin.register(Payment)
class PaymentAdmin(ReadOnly, admin.ModelAdmin[Payment]):
    list_display = ("public_id", "merchant", "environment", "status", "price", "coin", "created_at")
    list_filter = ("environment", "status", "network", "cryptocurrency")
    list_select_related = ("merchant",)
    list_per_page = 50
    ordering: ClassVar = ["-id"]
    search_fields = ("deposit_address", "memo", "deposits__transaction_hash")
    search_help_text = "A payment id, a deposit address, a memo or a transaction hash."
    show_full_result_count = False
    exclude = ("qr_png",)
    inlines = (DepositInline, DiscrepancyInline)

    @admin.display(description="Price")
    def price(self, payment: Payment) -> str:
        return f"{from_units(payment.fiat_amount, FIAT_DIGITS[payment.currency])} {payment.currency}"

    @admin.display(description="Asked for")
    def coin(self, payment: Payment) -> str:
        return f"{format_crypto(payment.due, payment.decimals)} {payment.cryptocurrency} on {payment.network}"

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Payment], search_term: str
    ) -> tuple[QuerySet[Payment], bool]:
        found = _by_public_id(queryset, search_term, ids.PAYMENT)
        return (found, False) if found is not None else super().get_search_results(request, queryset, search_term)


@admin.register(Deposit)
class DepositAdmin(ReadOnly, admin.ModelAdmin[Deposit]):
    list_display = ("transaction_hash", "ordinal", "network", "asset", "shown_amount", "status", "booked_to", "seen_at")
    list_filter = ("environment", "network", "status", "booked_to")
    list_per_page = 50
    ordering: ClassVar = ["-id"]
    search_fields = ("transaction_hash", "sender", "recipient", "memo")
    show_full_result_count = False

    @admin.display(description="Amount")
    def shown_amount(self, deposit: Deposit) -> str:
        return format_crypto(deposit.amount, deposit.decimals)


class ApprovalInline(ReadOnly, admin.TabularInline[DiscrepancyApproval, Discrepancy]):
    model = DiscrepancyApproval
    fields = ("operator", "reason", "approved_at")
    readonly_fields = fields
    extra = 0


@admin.register(Discrepancy)
class DiscrepancyAdmin(ReadOnly, admin.ModelAdmin[Discrepancy]):
    list_display = (
        "public_id",
        "kind",
        "status",
        "merchant",
        "payment",
        "network",
        "asset",
        "shown_amount",
        "created_at",
    )
    list_filter = ("environment", "status", "kind", "network")
    list_select_related = ("merchant", "payment")
    list_per_page = 50
    ordering: ClassVar = ["-id"]
    show_full_result_count = False
    inlines = (ApprovalInline,)
    actions = ("accept",)

    @admin.display(description="Amount")
    def shown_amount(self, discrepancy: Discrepancy) -> str:
        return format_crypto(discrepancy.amount, discrepancy.decimals)

    @admin.action(description="Accept: the merchant gets the money", permissions=["accept"])
    def accept(self, request: HttpRequest, chosen: QuerySet[Discrepancy]) -> TemplateResponse | None:
        question = ask_first(
            self,
            request,
            chosen.select_related("payment__merchant"),
            action="accept",
            title="Give this money to the merchant?",
            consequence="It leaves suspense and cannot be taken back here. Refund the payment to send it to its payer.",
            note_label="Why? It is kept with your name, and the merchant is shown it.",
            describe=what_accepting_does,
        )
        if question is None:
            for discrepancy in chosen:
                self._accept(request, discrepancy, request.POST["note"].strip())
        return question

    def _accept(self, request: HttpRequest, discrepancy: Discrepancy, reason: str) -> None:
        try:
            is_accepted = accept_as_operator(discrepancy, operator=cast("User", request.user), reason=reason)
        except DomainError as error:
            self.message_user(request, f"{discrepancy}: {error.message}", messages.ERROR)
            return
        told = "Accepted" if is_accepted else "Approved, as the first of two"
        self.log_change(request, discrepancy, f"{told}: {reason}")
        words = "accepted." if is_accepted else "approved by you. Somebody else must accept it too."
        self.message_user(request, f"{discrepancy} {words}", messages.SUCCESS)

    def has_accept_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("payments.change_discrepancy")


@admin.register(BalanceChange)
class BalanceChangeAdmin(ReadOnly, admin.ModelAdmin[BalanceChange]):
    list_display = ("reference", "kind", "merchant", "network", "asset", "shown_amount", "settlement", "created_at")
    list_filter = ("environment", "kind", "network", "asset", ("settlement", admin.EmptyFieldListFilter))
    list_select_related = ("merchant",)
    list_per_page = 50
    ordering: ClassVar = ["-id"]
    search_fields = ("reference__exact", "settlement__exact")
    search_help_text = "The public id of what it was for, or the UUID of a settlement."
    show_full_result_count = False

    @admin.display(description="Amount")
    def shown_amount(self, change: BalanceChange) -> str:
        return format_crypto(change.amount, change.decimals)


@admin.register(Sweep)
class SweepAdmin(ReadOnly, admin.ModelAdmin[Sweep]):
    list_display = ("transfer", "asset", "expected", "moved", "booked_at")
    list_filter = ("transfer__environment", "transfer__network", "asset")
    list_select_related = ("transfer",)
    list_per_page = 50
    ordering: ClassVar = ["-id"]
    show_full_result_count = False


@admin.register(NativeCoin)
class NativeCoinAdmin(admin.ModelAdmin[NativeCoin]):
    """The network's own coin at deposit addresses. What became of it can be noted; all else is looked up."""

    list_display = ("payment", "network", "environment", "shown_held", "shown_brought", "asked_at", "found_at", "note")
    list_filter = ("environment", "network")
    list_select_related = ("payment",)
    list_per_page = 50
    ordering: ClassVar = ["-id"]
    search_fields = ("payment__deposit_address",)
    search_help_text = "A deposit address."
    show_full_result_count = False
    fields = (
        "payment",
        "network",
        "shown_held",
        "height",
        "found_at",
        "asked_at",
        "asked_by",
        "sweep",
        "shown_brought",
        "note",
    )
    readonly_fields = fields[:-1]
    actions = ("bring_in",)

    @admin.display(description="Held")
    def shown_held(self, coin: NativeCoin) -> str:
        return _shown_native(coin.network, coin.held)

    @admin.display(description="Brought in")
    def shown_brought(self, coin: NativeCoin) -> str:
        return _shown_native(coin.network, coin.brought)

    @admin.action(description="Bring to the hot wallet", permissions=["bring_in"])
    def bring_in(self, request: HttpRequest, queryset: QuerySet[NativeCoin]) -> TemplateResponse | None:
        asked = ask_first(
            self,
            request,
            queryset,
            action="bring_in",
            title="Bring it to the hot wallet?",
            consequence="It then belongs to the treasury and pays fees. manage.py sweep_native says what it costs.",
        )
        if asked:
            return asked
        try:
            ask_for(list(queryset), asked_by=str(request.user))
        except DomainError as error:
            self.message_user(request, error.message, messages.ERROR)
        else:
            self.message_user(request, "Asked for. Sweeps shows it on its way.", messages.SUCCESS)
        return None

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: NativeCoin | None = None) -> bool:
        return False

    def has_bring_in_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("payments.change_nativecoin")


def _shown_native(network: str, units: int) -> str:
    native = NATIVE_COINS[network]
    return f"{from_units(units, native.decimals):f} {native.code}"


@admin.register(ScanCursor)
class ScanCursorAdmin(ReadOnly, admin.ModelAdmin[ScanCursor]):
    list_display = (
        "network",
        "environment",
        "head_height",
        "read_until",
        "polled_at",
        "failing_since",
        "halted_at",
        "fault",
    )
    list_filter = ("environment", "network")
    actions = ("let_go_on",)

    @admin.action(description="Clear the halt: crediting and paying go on", permissions=["clear_halt"])
    def let_go_on(self, request: HttpRequest, chosen: QuerySet[ScanCursor]) -> TemplateResponse | None:
        question = ask_first(
            self,
            request,
            chosen,
            action="let_go_on",
            title="Let these networks go on?",
            consequence="Payments are credited and payouts sent again at once, from what the network says now.",
            note_label="Why? What was found out about the halt.",
        )
        if question is None:
            for cursor in chosen:
                self._let_go_on(request, cursor, request.POST["note"].strip())
        return question

    def _let_go_on(self, request: HttpRequest, cursor: ScanCursor, reason: str) -> None:
        try:
            clear_halt(environment=cursor.environment, network=cursor.network, cleared_by=str(request.user))
        except DomainError as error:
            self.message_user(request, f"{cursor}: {error.message}", messages.ERROR)
        else:
            self.log_change(request, cursor, f"Halt cleared: {reason}")
            self.message_user(request, f"{cursor} goes on.", messages.SUCCESS)

    def has_clear_halt_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return request.user.has_perm("payments.change_scancursor")
