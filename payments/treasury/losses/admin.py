"""Missing coins as operators see them: one proposes who bears the loss, another agrees."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse

from config.admin.base import LongList, ReadOnly, confirmation_page, unless
from config.admin.columns import RecordPage
from merchants.four_eyes.admin import ShowsProposals
from merchants.four_eyes.models import ProposalKind
from payments.treasury.losses.models import Bearer, MissingCoins, MissingStatus
from payments.treasury.losses.services import propose_loss


@admin.register(MissingCoins)
class MissingCoinsAdmin(ShowsProposals, ReadOnly, LongList, RecordPage[MissingCoins]):
    list_display = (
        "amount",
        "network",
        "environment",
        "address",
        "payment",
        "status",
        "bearer",
        "approved_by",
        "found_at",
    )
    list_filter = ("environment", "network", "asset", "status", "bearer")
    list_select_related = ("payment",)
    search_fields = ("address__iexact",)
    search_help_text = "A deposit address."
    proposal_kinds = (ProposalKind.LOSS,)
    actions = ("let_merchant_bear", "let_house_bear")
    refusals: ClassVar = dict.fromkeys(
        actions, unless(lambda row: row.status == MissingStatus.OPEN, "it is decided: {}.")
    )

    @admin.action(description="Propose: the merchant bears the loss", permissions=["decide"])
    def let_merchant_bear(self, request: HttpRequest, chosen: QuerySet[MissingCoins]) -> TemplateResponse | None:
        return self._propose(
            request,
            chosen,
            Bearer.MERCHANT,
            "let_merchant_bear",
            "Once another operator has agreed, it comes off the merchant's balance; what that lacks, they owe.",
        )

    @admin.action(description="Propose: the house bears the loss", permissions=["decide"])
    def let_house_bear(self, request: HttpRequest, chosen: QuerySet[MissingCoins]) -> TemplateResponse | None:
        return self._propose(
            request,
            chosen,
            Bearer.HOUSE,
            "let_house_bear",
            "Once another operator has agreed, what is held is the merchant's to settle, and you must put in as "
            "many coins of your own.",
        )

    def _propose(
        self, request: HttpRequest, chosen: QuerySet[MissingCoins], bearer: Bearer, action: str, consequence: str
    ) -> TemplateResponse | None:
        question = confirmation_page(
            self,
            request,
            chosen,
            action=action,
            title=f"Propose: {bearer.label.lower()} bears the loss?",
            consequence=consequence,
            told="The merchant, by an event of the payment.",
            note_label="What happened to the coins, and why so?",
        )
        if question is None:
            for row in chosen:
                self.propose(request, row, partial(propose_loss, row, bearer=bearer, reason=request.POST["note"]))
        return question

    def has_decide_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("losses.change_missingcoins")
