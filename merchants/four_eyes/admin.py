"""What operators have proposed, for another to agree to."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from config.admin_base import LongList, ReadOnly, asks_first
from config.errors import DomainError
from merchants.four_eyes.models import Proposal, ProposalStatus
from merchants.four_eyes.services import agree, withdraw
from merchants.models import User


@admin.register(Proposal)
class ProposalAdmin(ReadOnly, LongList, admin.ModelAdmin[Proposal]):
    list_display = ("told", "kind", "status", "proposed_by", "proposed_at", "decided_by", "decided_at")
    list_filter = ("status", "kind", "environment")
    list_select_related = ("proposed_by", "decided_by")
    actions = ("agree", "withdraw")

    @admin.action(description="Agree: it is done at once", permissions=["decide"])
    @asks_first(title="Agree to this?", consequence="It is done at once. Your name is kept beside the proposer's.")
    def agree(self, request: HttpRequest, chosen: QuerySet[Proposal]) -> None:
        self._decide(request, chosen, lambda each: agree(each, by=cast("User", request.user)))

    @admin.action(description="Withdraw: nothing is done", permissions=["decide"])
    @asks_first(title="Withdraw this?", consequence="Nothing is done. It can be proposed again.")
    def withdraw(self, request: HttpRequest, chosen: QuerySet[Proposal]) -> None:
        self._decide(request, chosen, lambda each: withdraw(each, by=cast("User", request.user)))

    def _decide(self, request: HttpRequest, chosen: QuerySet[Proposal], decide: Callable[[Proposal], Proposal]) -> None:
        for proposal in chosen:
            try:
                ended = decide(proposal)
            except DomainError as error:
                self.message_user(request, f"{proposal}: {error.message}", messages.ERROR)
                continue
            self.log_change(request, proposal, f"{ended.get_status_display()}.")
            level = messages.WARNING if ended.status == ProposalStatus.FALLEN else messages.SUCCESS
            self.message_user(request, f"{proposal}: {ended.get_status_display()}.", level)

    def has_decide_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("four_eyes.view_proposal")
