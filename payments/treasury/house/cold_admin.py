"""The cold wallets in the admin: what hot and cold hold, a skim, a refill, and what left that nobody knows."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse

from config.admin.base import LongList, ReadOnly
from config.admin.columns import RecordPage
from merchants.four_eyes.admin import propose_by_form
from merchants.four_eyes.models import Proposal, ProposalKind, ProposalStatus
from merchants.models import User
from payments.chains.errors import ChainError
from payments.treasury.house.cold.moves import propose_explanation
from payments.treasury.house.cold.refills import transfer_of
from payments.treasury.house.cold.skims import propose_skim
from payments.treasury.house.cold.wallet_target import WalletTarget, in_use
from payments.treasury.house.forms import ColdMoveForm, SkimForm
from payments.treasury.models import ColdMove, ColdWallet


@admin.register(ColdWallet)
class ColdWalletAdmin(ReadOnly, RecordPage[ColdWallet]):
    """Balances of hot and cold wallets beside their targets; adding proposes a skim."""

    list_display = ("address", "environment", "network", "first_height", "read_to")
    list_filter = ("environment", "network")
    change_list_template = "admin/house/cold_wallets.html"
    add_label = "Skim to the cold wallet"

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        return request.user.has_perm("house.add_withdrawal")

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        waiting = Proposal.objects.filter(
            kind__in=(ProposalKind.SKIM, ProposalKind.COLD_MOVE), status=ProposalStatus.WAITING
        )
        shown = {
            "floats": _rows(),
            "waiting": waiting.order_by("pk"),
            "proposals": reverse("admin:four_eyes_proposal_changelist"),
            "unknown": ColdMove.objects.filter(kind=ColdMove.Kind.UNKNOWN).count(),
        }
        return super().changelist_view(request, {**(extra_context or {}), **shown})

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        def proposed(given: dict[str, Any]) -> Proposal:
            return propose_skim(
                given["environment"],
                given["asset"],
                amount=given["units"],
                reason=given["reason"],
                by=cast("User", request.user),
            )

        return propose_by_form(
            self,
            request,
            SkimForm(request.POST or None),
            proposed,
            permission="house.add_withdrawal",
            title="Skim to the cold wallet",
            template="admin/house/skim.html",
            shown=lambda: {"floats": _rows()},
            unavailable=(ChainError,),
        )


@admin.register(ColdMove)
class ColdMoveAdmin(ReadOnly, LongList, RecordPage[ColdMove]):
    """Outgoing transfers of cold wallets."""

    list_display = ("amount", "kind", "wallet", "recipient", "transaction_hash", "height", "seen_at", "note")
    list_filter = ("wallet__environment", "wallet__network", "asset", "kind")
    list_select_related = ("wallet",)
    proposal_kinds = (ProposalKind.COLD_MOVE,)
    search_fields = ("recipient", "transaction_hash")
    search_help_text = "An address, or a transaction hash."
    fields = ("amount", "kind", "note", "wallet", "recipient", "transaction_hash", "height", "posting", "seen_at")
    readonly_fields = fields
    change_list_template = "admin/house/cold_moves.html"

    def get_urls(self) -> list[URLPattern]:
        own = path("explain/", self.admin_site.admin_view(self.explain_view), name="payments_coldmove_explain")
        return [own, *super().get_urls()]

    def explain_view(self, request: HttpRequest) -> HttpResponse:
        """Propose what coins were that left a cold wallet for somewhere."""

        def proposed(given: dict[str, Any]) -> Proposal:
            is_lost, by = given["what"] == "lost", cast("User", request.user)
            return propose_explanation(given["move"], is_lost=is_lost, reason=given["reason"], by=by)

        return propose_by_form(
            self,
            request,
            ColdMoveForm(request.POST or None),
            proposed,
            permission="house.add_withdrawal",
            title="Say what left the cold wallet",
            template="admin/house/cold_explain.html",
            unavailable=(ChainError,),
        )


def _rows() -> list[dict[str, Any]]:
    """Each coin of each network with a cold wallet, and the transfer that refills its hot wallet."""
    return [_row(each) for each in in_use()]


def _row(each: WalletTarget) -> dict[str, Any]:
    return {
        "float": each,
        "hot": each.shown(each.hot),
        "moving": each.shown(each.moving) if each.moving else "",
        "free": each.shown(each.free),
        "cold": each.shown(each.cold),
        "wanted": each.shown(each.wanted) if each.wanted else "",
        "to_skim": each.shown(each.to_skim) if each.to_skim else "",
        "refill": transfer_of(each, each.to_refill).items() if each.to_refill else (),
    }
