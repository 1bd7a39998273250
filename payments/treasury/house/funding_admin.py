"""Coins that the house puts in, as operators see them."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from config.admin.base import REASON, LongList, ReadOnly, confirms, unless, with_note
from config.admin.columns import RecordPage
from config.errors import DomainError
from merchants.four_eyes.admin import propose_by_form
from merchants.four_eyes.models import Proposal
from merchants.models import User
from payments.chains import registry
from payments.treasury.house.forms import FundingForm
from payments.treasury.house.fundings import cancel_funding, propose_funding
from payments.treasury.house.models import Funding
from payments.treasury.house.states import FundingStatus


@admin.register(Funding)
class FundingAdmin(ReadOnly, LongList, RecordPage[Funding]):
    """Fundings by the house, booked or expected; adding one proposes it."""

    list_display = (
        "amount",
        "environment",
        "network",
        "memo",
        "status",
        "reason",
        "proposed_by",
        "agreed_by",
        "created_at",
    )
    list_filter = ("environment", "network", "asset", "status")
    list_select_related = ("proposed_by", "agreed_by")
    readonly_fields = ("memo", "created_at")
    actions = ("cancel",)
    refusals: ClassVar = {"cancel": unless(lambda row: row.status == FundingStatus.EXPECTED, "it is not expected: {}.")}
    add_label = "Put coins in"

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        return request.user.has_perm("house.add_funding")

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        def proposed(given: dict[str, Any]) -> Proposal:
            return propose_funding(
                given["environment"],
                given["asset"],
                amount=given["units"],
                reason=given["reason"],
                by=cast("User", request.user),
            )

        wallets = [
            (f"{network} ({environment})", registry.chain(environment, network).payout_address())
            for environment, network in registry.places_in_use()
        ]
        return propose_by_form(
            self,
            request,
            FundingForm(request.POST or None),
            proposed,
            permission="house.add_funding",
            title="Put coins in",
            template="admin/house/fund.html",
            shown=lambda: {"wallets": wallets},
        )

    @admin.action(description="Cancel: these coins are no longer expected", permissions=["cancel"])
    @confirms(
        title="Wait for these coins no longer?",
        consequence="Nothing is booked for them. Should they come, reconcile says that the wallet holds too much.",
        told="Operators alone: it is the house's own money.",
        note_label=REASON,
    )
    def cancel(self, request: HttpRequest, chosen: QuerySet[Funding]) -> None:
        for funding in chosen:
            try:
                cancel_funding(funding, by=cast("User", request.user))
            except DomainError as error:
                self.message_user(request, f"{funding}: {error.message}", messages.ERROR)
                continue
            self.log_change(request, funding, with_note(request, "Cancelled."))
            self.message_user(request, f"{funding} is not waited for any more.", messages.SUCCESS)

    def has_cancel_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("house.add_funding")
