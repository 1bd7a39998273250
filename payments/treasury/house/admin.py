"""The house's own money as operators see it: what it has, what has left, and where it may go."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse

from config.admin.base import REASON, LongList, ReadOnly, confirms, unless, with_note
from config.admin.columns import RecordPage
from config.environments import Environment
from config.errors import DomainError
from merchants.four_eyes.admin import propose_by_form, show_outcome
from merchants.four_eyes.models import Proposal, ProposalKind, ProposalStatus
from merchants.ledger.chart import AccountKind
from merchants.ledger.models import Account
from merchants.models import User
from payments.chains.errors import ChainError
from payments.treasury.house.addresses import add_address, allow_address
from payments.treasury.house.cold_admin import ColdMoveAdmin, ColdWalletAdmin
from payments.treasury.house.forms import AllowedAddressForm, ByHandForm, WithdrawalForm
from payments.treasury.house.funding_admin import FundingAdmin
from payments.treasury.house.house_balance import HouseBalance, house_balances
from payments.treasury.house.manual_transfers import find_sent, propose_booking
from payments.treasury.house.models import AllowedAddress, Withdrawal
from payments.treasury.house.states import WithdrawalStatus
from payments.treasury.house.withdrawals import cancel_withdrawal, propose_withdrawal, remove_address

__all__ = ["AllowedAddressAdmin", "ColdMoveAdmin", "ColdWalletAdmin", "FundingAdmin", "WithdrawalAdmin"]

PROPOSALS = "admin:four_eyes_proposal_changelist"


@admin.register(Withdrawal)
class WithdrawalAdmin(ReadOnly, LongList, RecordPage[Withdrawal]):
    """House balances and withdrawals. "Add" creates a proposal."""

    list_display = (
        "public_id",
        "amount",
        "status",
        "held_for",
        "destination",
        "environment",
        "network",
        "proposed_by",
        "agreed_by",
        "created_at",
    )
    list_filter = ("environment", "network", "asset", "status")
    list_select_related = ("address", "payout", "proposed_by", "agreed_by")
    search_fields = ("recipient", "transaction_hash")
    search_help_text = "An address, or a transaction hash."
    fields = (
        "public_id",
        "created_at",
        "environment",
        "network",
        "amount",
        "of_stock",
        "own",
        "address",
        "recipient",
        "memo",
        "is_lost",
        "is_skim",
        "reason",
        "proposed_by",
        "agreed_by",
        "status",
        "held_for",
        "payout",
        "transaction_hash",
        "failure_message",
        "ended_at",
    )
    readonly_fields = fields
    actions = ("cancel",)
    refusals: ClassVar = {"cancel": unless(lambda row: row.status == WithdrawalStatus.PENDING, "it has ended: {}.")}
    change_list_template = "admin/house/withdrawals.html"
    add_label = "Withdraw"

    @admin.display(description="To")
    def destination(self, withdrawal: Withdrawal) -> str:
        if withdrawal.address is not None:
            return str(withdrawal.address)
        if withdrawal.is_skim:
            return f"to the cold wallet {withdrawal.recipient}"
        return f"by hand to {withdrawal.recipient}{', lost' if withdrawal.is_lost else ''}"

    @admin.display(description="Waits for")
    def held_for(self, withdrawal: Withdrawal) -> str:
        return withdrawal.payout.get_hold_reason_display()

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        return request.user.has_perm("house.add_withdrawal")

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        kinds = (ProposalKind.WITHDRAWAL, ProposalKind.BY_HAND, ProposalKind.FUNDING, ProposalKind.SKIM)
        waiting = Proposal.objects.filter(kind__in=kinds, status=ProposalStatus.WAITING)
        shown = {"balances": _balances(), "waiting": waiting.order_by("pk"), "proposals": reverse(PROPOSALS)}
        return super().changelist_view(request, {**(extra_context or {}), **shown})

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        def proposed(given: dict[str, Any]) -> Proposal:
            return propose_withdrawal(
                given["address"],
                code=given["coin"],
                amount=given["units"],
                reason=given["reason"],
                by=cast("User", request.user),
            )

        return propose_by_form(
            self,
            request,
            WithdrawalForm(request.POST or None),
            proposed,
            permission="house.add_withdrawal",
            title="Withdraw",
            template="admin/house/withdraw.html",
            shown=lambda: {"balances": _balances()},
        )

    def get_urls(self) -> list[URLPattern]:
        own = path("by-hand/", self.admin_site.admin_view(self.by_hand_view), name="house_withdrawal_by_hand")
        return [own, *super().get_urls()]

    def by_hand_view(self, request: HttpRequest) -> HttpResponse:
        """Propose what a transfer was that somebody sent from a hot wallet without Ballast."""

        def proposed(given: dict[str, Any]) -> Proposal:
            environment, _, network = given["place"].partition(":")
            return propose_booking(
                find_sent(environment, network, given["transaction_hash"], payout=given["payout"]),
                is_lost=given["what"] == "lost",
                reason=given["reason"],
                by=cast("User", request.user),
                owner=(given["owner"] or "nobody") if given["what"] == "owner" else "",
            )

        return propose_by_form(
            self,
            request,
            ByHandForm(request.POST or None),
            proposed,
            permission="house.add_withdrawal",
            title="Book what was sent by hand",
            template="admin/house/by_hand.html",
            unavailable=(ChainError,),
        )

    @admin.action(description="Cancel: payouts that are not signed yet are called back", permissions=["cancel"])
    @confirms(
        title="Cancel these withdrawals?",
        consequence="What is not signed yet does not leave, and is the house's again.",
        told="Operators alone: it is the house's own money.",
        note_label=REASON,
    )
    def cancel(self, request: HttpRequest, chosen: QuerySet[Withdrawal]) -> None:
        for withdrawal in chosen:
            try:
                ended = cancel_withdrawal(withdrawal, by=cast("User", request.user))
            except DomainError as error:
                self.message_user(request, f"{withdrawal}: {error.message}", messages.ERROR)
                continue
            self.log_change(request, withdrawal, with_note(request, "Cancelled."))
            self.message_user(request, f"{withdrawal}: {ended.get_status_display()}.", messages.SUCCESS)

    def has_cancel_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("house.add_withdrawal")


@admin.register(AllowedAddress)
class AllowedAddressAdmin(RecordPage[AllowedAddress]):
    """The allow list. Adding proposes, and another operator agrees; removing takes one."""

    list_display = ("label", "state", "address", "memo", "environment", "network", "added_by")
    add_label = "Add an address"
    list_filter = ("environment", "network", ("removed_at", admin.EmptyFieldListFilter))
    list_select_related = ("added_by",)
    search_fields = ("address", "label")
    list_per_page = 50
    proposal_kinds = (ProposalKind.ADDRESS,)
    actions = ("allow", "remove")
    refusals: ClassVar = {
        "allow": unless(lambda row: not row.is_allowed and row.removed_at is None, "it is allowed, or removed."),
        "remove": unless(lambda row: row.removed_at is None, "it is removed."),
    }

    @admin.display(description="On the allow list")
    def state(self, listed: AllowedAddress) -> str:
        if listed.removed_at is not None:
            return f"removed by {listed.removed_by}"
        return f"yes: {listed.allowed_by}" if listed.is_allowed else "another operator must agree"

    def has_change_permission(self, request: HttpRequest, obj: AllowedAddress | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: AllowedAddress | None = None) -> bool:
        return False

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        def proposed(given: dict[str, Any]) -> Proposal:
            listed, proposal = add_address(**given, by=cast("User", request.user))
            self.log_addition(request, listed, "Proposed.")
            return proposal

        return propose_by_form(
            self,
            request,
            AllowedAddressForm(request.POST or None),
            proposed,
            permission="house.add_allowedaddress",
            title="Add an address that the house may be paid at",
            template="admin/house/add_address.html",
            field_of={"destination": "address"},
        )

    @admin.action(description="Allow: propose it, or agree to it", permissions=["add"])
    @confirms(
        title="May the house be paid at these addresses?",
        consequence="Once as many operators have agreed as the environment asks for, withdrawals to them can be "
        "proposed. Compare each address with its owner by another way than a mail.",
        told="Operators alone: it is the house's own money.",
        note_label=REASON,
    )
    def allow(self, request: HttpRequest, chosen: QuerySet[AllowedAddress]) -> None:
        for listed in chosen:
            try:
                proposal = allow_address(listed, by=cast("User", request.user))
            except DomainError as error:
                self.message_user(request, f"{listed}: {error.message}", messages.ERROR)
                continue
            self.log_change(request, listed, with_note(request, f"{proposal.get_status_display()}."))
            show_outcome(self, request, proposal)

    @admin.action(description="Remove: nothing more is paid to it", permissions=["add"])
    @confirms(
        title="Remove these addresses?",
        consequence="At once. Withdrawals to them that are not signed yet are called back.",
        told="Operators alone: it is the house's own money.",
        note_label=REASON,
    )
    def remove(self, request: HttpRequest, chosen: QuerySet[AllowedAddress]) -> None:
        for listed in chosen:
            leaving = remove_address(listed, by=cast("User", request.user))
            self.log_change(request, listed, with_note(request, "Removed."))
            self.message_user(request, f"{listed} is removed.", messages.SUCCESS)
            for withdrawal in leaving:
                self.message_user(request, f"{withdrawal} is on its way already.", messages.WARNING)


def _balances() -> list[dict[str, Any]]:
    """House balances for the pages: each coin with its accounts, which lead to their entries in the ledger."""
    found = [balance for environment in Environment.values for balance in house_balances(environment)]
    accounts = Account.objects.filter(owner="", kind__in=[kind for each in found for kind in each.accounts])
    keys = {
        (environment, network, asset, kind): key
        for environment, network, asset, kind, key in accounts.values_list(
            "environment", "network", "asset", "kind", "pk"
        )
    }
    return [_row(balance, keys) for balance in found]


def _row(balance: HouseBalance, keys: dict[tuple[str, str, str, str], int]) -> dict[str, Any]:
    place = balance.environment, balance.network, balance.asset
    return {
        "balance": balance,
        "parts": [
            {
                "label": AccountKind(kind).label,
                "amount": balance.shown(amount),
                "url": reverse("admin:ledger_account_change", args=[keys[*place, kind]]),
            }
            for kind, amount in balance.accounts.items()
            if (*place, kind) in keys and amount
        ],
        "own": balance.shown(balance.own),
        "withdrawable": balance.shown(balance.withdrawable),
        "owed": balance.shown(balance.owed),
        "coins": balance.shown(balance.coins),
        "receivable": balance.shown(balance.receivable) if balance.receivable else "",
        "missing": balance.shown(balance.missing) if balance.missing else "",
    }
