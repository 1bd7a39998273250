"""Payments as operators see them. Everything can be looked up; changes are made by services."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, cast

from django import forms
from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse

from config import ids
from config.admin.base import REASON, LongList, ReadOnly, confirmation_page, confirms, unless, with_note
from config.admin.columns import RecordPage, Table
from config.database.database_time import database_now
from config.database.previews import preview
from config.errors import DomainError
from merchants.four_eyes.admin import ShowsProposals
from merchants.four_eyes.models import ProposalKind
from merchants.ledger.chart import AccountKind
from merchants.models import User
from payments.deposits.models import PayerReturn, ReadingRequest, ScanCursor
from payments.deposits.watching import request_range
from payments.links.models import PaymentLink
from payments.models import (
    BalanceChange,
    Deposit,
    Discrepancy,
    NamedTransaction,
    Payment,
)
from payments.screening.admin import ReleasesFromReview
from payments.states import DiscrepancyKind, DiscrepancyStatus, ReturnStatus
from payments.suspense.acceptance import propose_acceptance, what_accepting_does
from payments.suspense.attribution import propose_attribution
from payments.suspense.payer_proofs import is_returnable, return_link
from payments.suspense.sender_returns import call_back, propose_return
from payments.suspense.suggestions import describe, suggestions
from payments.transfers.admin import ShowsWhoSaidSo
from payments.treasury.models import NativeCoin, Sweep
from payments.treasury.native_deposits import ask_for

BOOKED_TO = {"booked_to": {kind.value: kind.label for kind in AccountKind}}


class DepositInline(ReadOnly, ShowsWhoSaidSo, Table[Deposit, Payment]):
    model = Deposit
    value_words = BOOKED_TO
    fields = (
        "network",
        "amount",
        "status",
        "booked_to",
        "height",
        "transaction_hash",
        "shown_said_by",
        "seen_at",
    )
    readonly_fields = fields
    extra = 0
    show_change_link = True


class DiscrepancyInline(ReadOnly, Table[Discrepancy, Payment]):
    model = Discrepancy
    fields = ("kind", "status", "network", "amount", "resolved_by", "resolved_at")
    readonly_fields = fields
    extra = 0
    show_change_link = True


@admin.register(Payment)
class PaymentAdmin(ReadOnly, LongList, RecordPage[Payment]):
    list_display = (
        "public_id",
        "merchant",
        "status",
        "fiat_amount",
        "due",
        "received",
        "network",
        "environment",
        "created_at",
    )
    list_filter = ("environment", "status", "network", "cryptocurrency")
    list_select_related = ("merchant",)
    search_fields = ("deposit_address", "memo", "offered_addresses__address", "deposits__transaction_hash")
    search_help_text = "A payment id, a deposit address, a memo or a transaction hash."
    exclude = ("qr_png",)
    inlines = (DepositInline, DiscrepancyInline)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Payment], search_term: str
    ) -> tuple[QuerySet[Payment], bool]:
        if (key := ids.PAYMENT.decode(search_term.strip())) is not None:
            return queryset.filter(pk=key), False
        return super().get_search_results(request, queryset, search_term)


@admin.register(PaymentLink)
class PaymentLinkAdmin(ReadOnly, LongList, RecordPage[PaymentLink]):
    list_display = ("public_id", "merchant", "environment", "description", "enabled", "max_uses", "expires_at")
    list_filter = ("environment", "enabled")
    list_select_related = ("merchant",)
    search_fields = ("code", "description")
    search_help_text = "The code in its address, or what it is for."


class MemoConflictFilter(admin.SimpleListFilter):
    """Deposits whose memo and muxed id named different payments: the muxed id counted."""

    title = "memo and muxed id"
    parameter_name = "memo_conflict"

    def lookups(self, request: HttpRequest, page: admin.ModelAdmin[Any]) -> list[tuple[str, str]]:
        return [("yes", "disagree")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Deposit]) -> QuerySet[Deposit]:
        return queryset.exclude(conflicting_memo="") if self.value() else queryset


@admin.register(Deposit)
class DepositAdmin(ReleasesFromReview, ReadOnly, ShowsWhoSaidSo, LongList, RecordPage[Deposit]):
    list_display = ("transaction_hash", "amount", "network", "status", "booked_to", "payment", "seen_at")
    value_words = BOOKED_TO
    list_filter = ("environment", "network", "status", "booked_to", MemoConflictFilter)
    search_fields = ("transaction_hash", "inner_hash", "sender", "recipient", "memo", "conflicting_memo")
    exclude = ("said_by",)
    readonly_fields = ("shown_said_by", "proposals")
    proposal_kinds = (ProposalKind.SCREENING,)
    actions = ("release",)


class NamedTransactionInline(ReadOnly, Table[NamedTransaction, Discrepancy]):
    model = NamedTransaction
    verbose_name_plural = "payments for which merchants have named its transaction"
    fields = ("payment", "named_by", "named_at")
    readonly_fields = fields
    extra = 0


_OPEN = unless(lambda row: row.status == DiscrepancyStatus.OPEN, "it is decided: {}.")
_NOT_IN_REVIEW = unless(lambda row: row.kind != DiscrepancyKind.REVIEW, "it is in review: release its deposit.")
_NAMES_NO_PAYMENT = unless(lambda row: row.payment_id is not None, "it is of no payment.")
_NAMES_PAYMENT = unless(lambda row: row.payment_id is None, "it was sent for a payment.")


def _resolved(row: Discrepancy) -> str:
    return _OPEN(row) or _NOT_IN_REVIEW(row)


@admin.register(Discrepancy)
class DiscrepancyAdmin(ShowsProposals, ReadOnly, LongList, RecordPage[Discrepancy]):
    list_display = (
        "public_id",
        "amount",
        "kind",
        "status",
        "merchant",
        "payment",
        "network",
        "created_at",
    )
    list_filter = ("environment", "status", "kind", "network", ("payment", admin.EmptyFieldListFilter))
    list_select_related = ("merchant", "payment")
    inlines = (NamedTransactionInline,)
    readonly_fields = ("suggested", "link_for_sender", "proposals")
    proposal_kinds = (ProposalKind.ACCEPT, ProposalKind.ATTRIBUTE)

    @admin.display(description="Page where the sender can ask for it back")
    def link_for_sender(self, discrepancy: Discrepancy) -> str:
        deposit = discrepancy.deposit
        return return_link(deposit) if deposit and not deposit.payment_id and is_returnable(deposit) else ""

    @admin.display(description="What arrived, and who it may be for")
    def suggested(self, discrepancy: Discrepancy) -> str:
        return describe(discrepancy) if discrepancy.payment_id is None else ""

    actions = ("accept", "attribute")
    refusals: ClassVar = {
        "accept": lambda row: _resolved(row) or _NAMES_NO_PAYMENT(row),
        "attribute": lambda row: _resolved(row) or _NAMES_PAYMENT(row),
    }

    @admin.action(description="Attribute: it was sent for a payment", permissions=["accept"])
    def attribute(self, request: HttpRequest, chosen: QuerySet[Discrepancy]) -> TemplateResponse | None:
        if chosen.count() != 1:
            self.message_user(request, "Choose one sum of money at a time.", messages.ERROR)
            return None
        question = confirmation_page(
            self,
            request,
            chosen.select_related("deposit"),
            action="attribute",
            title="Which payment was this money sent for?",
            consequence="Two different operators must name the same payment. It then counts as if it had been sent to "
            "that payment's own address, and its merchant is told. A suggestion proves nothing: amounts repeat, and an "
            "exchange sends the money of many people.",
            told="The merchant, by the events of the payment.",
            answer_label="The payment’s id",
            not_previewed="It depends on the payment. Whoever agrees sees it under Proposals.",
            answers=[(each.payment.public_id, ", ".join(each.reasons)) for each in suggestions(chosen.get())],
            note_label="How do you know? It is kept with your name.",
            describe=describe,
        )
        if question is None:
            row, payment_id, reason = chosen.get(), request.POST["answer"], request.POST["note"]
            propose = partial(propose_attribution, row, payment_id=payment_id, reason=reason)
            self.propose(request, row, propose)
        return question

    @admin.action(description="Accept: the merchant gets the money", permissions=["accept"])
    def accept(self, request: HttpRequest, chosen: QuerySet[Discrepancy]) -> TemplateResponse | None:
        question = confirmation_page(
            self,
            request,
            chosen.select_related("payment__merchant"),
            action="accept",
            title="Give this money to the merchant?",
            consequence="It leaves suspense and cannot be taken back here. Refund the payment to send it to its payer.",
            told="The merchant, by the events of the payment, with your reason as its note.",
            note_label="Why? It is kept with your name, and the merchant is shown it.",
            describe=what_accepting_does,
        )
        if question is None:
            for row in chosen:
                self.propose(request, row, partial(propose_acceptance, row, reason=request.POST["note"]))
        return question

    def has_accept_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("payments.change_discrepancy")


@admin.register(PayerReturn)
class PayerReturnAdmin(ShowsProposals, ReadOnly, LongList, RecordPage[PayerReturn]):
    """Returns of money of no payment, requested by their senders."""

    list_display = ("public_id", "status", "network", "amount", "recipient", "created_at")
    list_filter = ("environment", "status", "network")
    proposal_kinds = (ProposalKind.RETURN,)
    actions = ("give_back", "call_back")
    refusals: ClassVar = {
        "give_back": unless(lambda row: row.status == ReturnStatus.PROVEN, "it is decided: {}."),
        "call_back": unless(lambda row: row.status == ReturnStatus.PENDING, "it is not on its way: {}."),
    }

    @admin.action(description="Give back: its sender gets the money", permissions=["decide"])
    def give_back(self, request: HttpRequest, chosen: QuerySet[PayerReturn]) -> TemplateResponse | None:
        question = confirmation_page(
            self,
            request,
            chosen.select_related("deposit"),
            action="give_back",
            title="Give this money back?",
            consequence="The key of the address that has sent it asks for it at the address shown. Once two different "
            "operators have agreed, it is paid there and cannot be taken back.",
            told="Its sender, on the page where they asked for it.",
            note_label="Why is it no payment’s? It is kept with your name.",
            describe=lambda each: f"{each}, sent from {each.deposit.sender} in {each.deposit.transaction_hash}",
        )
        if question is None:
            for row in chosen:
                self.propose(request, row, partial(propose_return, row, reason=request.POST["note"]))
        return question

    @admin.action(description="Call back: it is not signed yet", permissions=["decide"])
    @confirms(
        title="Call this back?",
        consequence="The money waits for a decision again. What is signed goes on.",
        told="Its sender, on the page where they asked for it.",
        note_label=REASON,
    )
    def call_back(self, request: HttpRequest, chosen: QuerySet[PayerReturn]) -> None:
        for returned in chosen:
            try:
                ended = call_back(returned, by=cast("User", request.user))
            except DomainError as error:
                self.message_user(request, f"{returned.public_id}: {error.message}", messages.ERROR)
                continue
            self.log_change(request, ended, with_note(request, "Called back."))
            self.message_user(request, f"{ended.public_id}: {ended.get_status_display()}.", messages.SUCCESS)

    def has_decide_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("payments.change_discrepancy")


@admin.register(BalanceChange)
class BalanceChangeAdmin(ReadOnly, LongList, RecordPage[BalanceChange]):
    list_display = ("reference", "kind", "merchant", "network", "amount", "settlement", "created_at")
    list_filter = ("environment", "kind", "network", "asset", ("settlement", admin.EmptyFieldListFilter))
    list_select_related = ("merchant",)
    search_fields = ("reference__exact", "settlement__exact")
    search_help_text = "The public id of what it was for, or the UUID of a settlement."


@admin.register(Sweep)
class SweepAdmin(ReadOnly, LongList, RecordPage[Sweep]):
    list_display = ("transfer", "asset", "expected", "moved", "booked_at")
    list_filter = ("transfer__environment", "transfer__network", "asset")
    list_select_related = ("transfer",)


@admin.register(NativeCoin)
class NativeCoinAdmin(LongList, RecordPage[NativeCoin]):
    """Native coins at deposit addresses. An operator can note what became of them."""

    native_amounts = ("held", "brought")
    list_display = ("payment", "network", "environment", "held", "brought", "asked_at", "found_at", "note")
    list_filter = ("environment", "network")
    list_select_related = ("payment",)
    search_fields = ("payment__deposit_address", "payment__offered_addresses__address")
    search_help_text = "A deposit address."
    fields = (
        "payment",
        "network",
        "held",
        "height",
        "found_at",
        "asked_at",
        "asked_by",
        "sweep",
        "brought",
        "note",
    )
    readonly_fields = fields[:-1]
    actions = ("bring_in",)
    refusals: ClassVar = {"bring_in": unless(lambda row: row.held > 0, "nothing is there any more.")}

    @admin.action(description="Bring to the hot wallet", permissions=["bring_in"])
    @confirms(
        title="Bring it to the hot wallet?",
        consequence="It then belongs to the treasury and pays fees. manage.py sweep_native says what it costs.",
        told="Nobody: no merchant's balance changes.",
        note_label=REASON,
    )
    def bring_in(self, request: HttpRequest, queryset: QuerySet[NativeCoin]) -> None:
        try:
            ask_for(list(queryset), asked_by=str(request.user))
        except DomainError as error:
            self.message_user(request, error.message, messages.ERROR)
        else:
            for coin in queryset:
                self.log_change(request, coin, with_note(request, "Asked for."))
            self.message_user(request, "Asked for. Sweeps shows it on its way.", messages.SUCCESS)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: NativeCoin | None = None) -> bool:
        return False

    def has_bring_in_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("payments.change_nativecoin")


class RangeForm(forms.ModelForm[ReadingRequest]):
    first_height = forms.IntegerField(min_value=1, label="First block")
    last_height = forms.IntegerField(min_value=1, label="Last block", help_text="A final one.")

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        if not self.errors:
            try:
                with preview():
                    request_range(**_range_of(given))
            except DomainError as error:
                raise forms.ValidationError(error.message) from error
        return given


def _range_of(given: dict[str, Any]) -> dict[str, Any]:
    return {
        "environment": given["environment"],
        "network": given["network"],
        "first": given["first_height"],
        "last": given["last_height"],
    }


@admin.register(ReadingRequest)
class ReadingRequestAdmin(ReadOnly, RecordPage[ReadingRequest]):
    """Transactions and blocks that are read again; adding one requests a range of blocks."""

    form = RangeForm
    list_display = ("__str__", "environment", "asked_at", "due_at", "problem")
    list_filter = ("environment", "network")
    actions = ("read_again",)
    add_label = "Read blocks again"

    def get_fields(self, request: HttpRequest, obj: ReadingRequest | None = None) -> tuple[str, ...]:
        fields = ("environment", "network", "first_height", "last_height")
        return fields if obj is None else (*fields, "transaction_hash", "asked_at", "due_at", "problem", "content")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.has_read_again_permission(request)

    def save_model(self, request: HttpRequest, obj: ReadingRequest, form: Any, change: bool) -> None:
        obj.pk = request_range(**_range_of(form.cleaned_data)).pk

    @admin.action(description="Read again", permissions=["read_again"])
    def read_again(self, request: HttpRequest, chosen: QuerySet[ReadingRequest]) -> None:
        chosen.update(due_at=database_now())
        self.message_user(request, "They are read after the next scan of their network.", messages.SUCCESS)

    def has_read_again_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return request.user.has_perm("payments.change_scancursor")


@admin.register(ScanCursor)
class ScanCursorAdmin(ReadOnly, RecordPage[ScanCursor]):
    list_display = (
        "network",
        "environment",
        "head_height",
        "read_until",
        "polled_at",
        "failing_since",
        "fault",
    )
    list_filter = ("environment", "network")
