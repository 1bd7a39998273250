"""Debts of merchants, for operators: one is written off, or was collected outside, when operators agree."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any, ClassVar, cast

from django.contrib import admin, messages
from django.db.models import CharField, OuterRef, Q, QuerySet, Subquery, UUIDField
from django.db.models.functions import Cast
from django.http import HttpRequest
from django.template.response import TemplateResponse

from config.admin.base import REASON, LongList, ReadOnly, confirmation_page, unless
from config.admin.columns import RecordPage
from config.environments import Environment
from config.errors import DomainError, InvalidParameter
from config.money import AmountNotExact, to_units
from merchants.four_eyes.models import Proposal, ProposalStatus
from merchants.ledger.chart import AccountKind
from merchants.ledger.models import OF_RECORDS
from merchants.models import Merchant, User
from payments.chains import registry
from settlements.debts.ending import propose_end, propose_taking_back
from settlements.models import Debt, DebtDecision, DebtEnding


@admin.register(Debt)
class DebtAdmin(ReadOnly, LongList, RecordPage[Debt]):
    """Every coin in which a merchant owes something now."""

    list_display = ("merchant_name", "coins", "network", "environment")
    list_filter = ("environment", "network", "asset")
    fields = ("merchant_name", "coins", "network", "environment")
    readonly_fields = fields
    actions = ("write_off", "collected")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Debt]:
        by_index = Q(OF_RECORDS, environment__in=Environment.values)
        owed = super().get_queryset(request).filter(by_index, kind=AccountKind.MERCHANT_RECEIVABLE, balance__gt=0)
        owner = Merchant.objects.filter(pk=Cast(OuterRef("owner"), UUIDField()))
        return owed.annotate(merchant_name=Subquery(owner.values("name"), output_field=CharField()))

    @admin.display(description="Merchant")
    def merchant_name(self, debt: Any) -> str:
        return str(debt.merchant_name)

    @admin.display(description="Owes")
    def coins(self, debt: Debt) -> str:
        return debt.coins

    @admin.action(description="Write off: the house bears it", permissions=["end"])
    def write_off(self, request: HttpRequest, chosen: QuerySet[Debt]) -> TemplateResponse | None:
        return self._end(
            request,
            chosen,
            "write_off",
            "The merchant need not repay it, and the house bears it. When the deposit whose loss left the debt comes "
            "back, the merchant has it as well: take the decision back then.",
        )

    @admin.action(description="Collected outside: the merchant has paid it elsewhere", permissions=["end"])
    def collected(self, request: HttpRequest, chosen: QuerySet[Debt]) -> TemplateResponse | None:
        return self._end(
            request,
            chosen,
            "collected",
            "The merchant has paid it to you elsewhere. Put in as many coins yourself: manage.py book_treasury.",
        )

    def _end(
        self, request: HttpRequest, chosen: QuerySet[Debt], action: str, consequence: str
    ) -> TemplateResponse | None:
        if chosen.count() != 1:
            self.message_user(request, "Choose one debt at a time.", messages.ERROR)
            return None
        question = confirmation_page(
            self,
            request,
            chosen,
            action=action,
            title="Write this debt off?" if action == "write_off" else "Was this debt paid to you elsewhere?",
            consequence=f"{consequence} It is booked once as many operators agree as the environment asks for.",
            answer_label="How much of it, in coins (“all” for all of it)",
            previewed_answer="all",
            told="The merchant, among the changes of their balance.",
            note_label=REASON,
            describe=lambda debt: f"{debt.merchant_name} owes {debt}",
        )
        if question is None:
            debt = chosen.get()
            ending = DebtEnding.WRITTEN_OFF if action == "write_off" else DebtEnding.COLLECTED
            _propose(
                self,
                request,
                debt,
                lambda by: propose_end(
                    debt,
                    amount=_entered(debt, request.POST["answer"]),
                    ending=ending,
                    reason=request.POST["note"],
                    by=by,
                ),
            )
        return question

    def has_end_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("settlements.add_debtdecision")


@admin.register(DebtDecision)
class DebtDecisionAdmin(ReadOnly, LongList, RecordPage[DebtDecision]):
    """Debts that operators have ended, and who decided it."""

    list_display = (
        "public_id",
        "merchant",
        "environment",
        "amount",
        "network",
        "ending",
        "decided_by",
        "created_at",
        "taken_back_at",
    )
    list_filter = ("environment", "ending", "network", "asset", ("taken_back_at", admin.EmptyFieldListFilter))
    list_select_related = ("merchant",)
    search_fields = ("merchant__name",)
    search_help_text = "The name of a merchant."
    actions = ("take_back",)
    refusals: ClassVar = {"take_back": unless(lambda row: row.taken_back_at is None, "it is taken back.")}

    @admin.action(description="Take back: the merchant owes it again", permissions=["take_back"])
    def take_back(self, request: HttpRequest, chosen: QuerySet[DebtDecision]) -> TemplateResponse | None:
        question = confirmation_page(
            self,
            request,
            chosen.select_related("merchant"),
            action="take_back",
            title="Does the merchant owe this again?",
            consequence="It comes off what the merchant has available in that coin; what that lacks, the merchant "
            "owes. It is booked once as many operators agree as the environment asks for.",
            told="The merchant, among the changes of their balance.",
            note_label=REASON,
            describe=lambda each: f"{each.merchant.name}: {each}",
        )
        if question is None:
            for each in chosen.select_related("merchant"):
                _propose(self, request, each, partial(propose_taking_back, each, reason=request.POST["note"]))
        return question

    def has_take_back_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("settlements.add_debtdecision")


def _propose(
    page: admin.ModelAdmin[Any], request: HttpRequest, row: Debt | DebtDecision, propose: Callable[..., Proposal]
) -> None:
    try:
        proposal = propose(by=cast("User", request.user))
    except DomainError as error:
        page.message_user(request, f"{row}: {error.message}", messages.ERROR)
        return
    page.log_change(request, row, f"{proposal.get_status_display()}: {proposal}")
    if proposal.status == ProposalStatus.DONE:
        page.message_user(request, f"Booked: {proposal}", messages.SUCCESS)
    elif proposal.status == ProposalStatus.FALLEN:
        page.message_user(request, f"Not booked, as it has changed since: {proposal}", messages.WARNING)
    else:
        page.message_user(request, f"Another operator must agree, at Proposals: {proposal}", messages.WARNING)


def _entered(debt: Debt, text: str) -> int:
    """Base units for the amount an operator entered. InvalidParameter if it is no amount of the coin."""
    if text.strip().lower() == "all":
        return debt.natural_balance
    try:
        return to_units(Decimal(text.strip()), registry.decimals(debt.environment, debt.network, debt.asset))
    except (InvalidOperation, AmountNotExact):
        raise InvalidParameter(f"“{text.strip()}” is no amount of {debt.asset}: write it like 12.50.") from None
