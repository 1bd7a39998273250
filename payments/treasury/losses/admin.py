"""Missing coins as operators see them: one proposes who bears the loss, another approves."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse

from config.admin_base import LongList, ReadOnly, ask_first
from config.errors import DomainError
from config.money import format_crypto
from merchants.models import User
from payments.treasury.losses.models import Bearer, MissingCoins
from payments.treasury.losses.services import approve_loss, propose_loss


@admin.register(MissingCoins)
class MissingCoinsAdmin(ReadOnly, LongList, admin.ModelAdmin[MissingCoins]):
    list_display = (
        "coins",
        "network",
        "environment",
        "address",
        "payment",
        "status",
        "bearer",
        "proposed_by",
        "approved_by",
        "found_at",
    )
    list_filter = ("environment", "network", "asset", "status", "bearer")
    list_select_related = ("payment",)
    search_fields = ("address__iexact",)
    search_help_text = "A deposit address."
    readonly_fields = ("coins", "shown_held")
    actions = ("let_merchant_bear", "let_house_bear", "approve")

    @admin.display(description="Held of the merchant's balance")
    def shown_held(self, missing: MissingCoins) -> str:
        return f"{format_crypto(missing.held, missing.decimals)} {missing.asset}"

    @admin.action(description="Propose: the merchant bears the loss", permissions=["decide"])
    def let_merchant_bear(self, request: HttpRequest, chosen: QuerySet[MissingCoins]) -> TemplateResponse | None:
        return self._propose(
            request,
            chosen,
            Bearer.MERCHANT,
            "let_merchant_bear",
            "Once another operator has approved it, it comes off the merchant's balance; what that lacks, they owe.",
        )

    @admin.action(description="Propose: the house bears the loss", permissions=["decide"])
    def let_house_bear(self, request: HttpRequest, chosen: QuerySet[MissingCoins]) -> TemplateResponse | None:
        return self._propose(
            request,
            chosen,
            Bearer.HOUSE,
            "let_house_bear",
            "Once another operator has approved it, what is held is the merchant's to settle, and you must put in as "
            "many coins of your own.",
        )

    @admin.action(description="Approve, as the second person", permissions=["decide"])
    def approve(self, request: HttpRequest, chosen: QuerySet[MissingCoins]) -> TemplateResponse | None:
        question = ask_first(
            self,
            request,
            chosen,
            action="approve",
            title="Book these losses?",
            consequence="They are booked at once, to whom the other operator named, and the merchants are told: "
            + "; ".join(f"{each.coins}: {each.get_bearer_display() or 'nobody was named'}" for each in chosen),
        )
        if question is None:
            self._decide(
                request,
                chosen,
                lambda each: approve_loss(each, operator=cast(User, request.user)),
                lambda each: f"Approved: {each.get_bearer_display()} bears {each.coins}.",
            )
        return question

    def _propose(
        self, request: HttpRequest, chosen: QuerySet[MissingCoins], bearer: Bearer, action: str, consequence: str
    ) -> TemplateResponse | None:
        question = ask_first(
            self,
            request,
            chosen,
            action=action,
            title=f"Propose: {bearer.label.lower()} bears the loss?",
            consequence=consequence,
            note_label="What happened to the coins, and why so?",
        )
        if question is None:
            self._decide(
                request,
                chosen,
                lambda each: propose_loss(
                    each, bearer=bearer, reason=request.POST["note"], operator=cast(User, request.user)
                ),
                lambda each: f"Proposed: {bearer.label.lower()} bears {each.coins}. {each.reason}",
            )
        return question

    def _decide(
        self,
        request: HttpRequest,
        chosen: QuerySet[MissingCoins],
        decide: Callable[[MissingCoins], MissingCoins],
        describe: Callable[[MissingCoins], str],
    ) -> None:
        for missing in chosen:
            try:
                decided = decide(missing)
            except DomainError as error:
                self.message_user(request, f"{missing}: {error.message}", messages.ERROR)
            else:
                self.log_change(request, decided, describe(decided))
                self.message_user(request, describe(decided), messages.SUCCESS)

    def has_decide_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("losses.change_missingcoins")
