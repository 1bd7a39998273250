"""Sanctions lists and what they name, as operators see them: `manage.py sanctions` imports them."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from config.admin.base import LongList, ReadOnly, confirms, unless
from config.admin.columns import RecordPage
from merchants.four_eyes.admin import ShowsProposals
from merchants.models import User
from payments.screening.matching import MAY_RELEASE, is_released, propose_release
from payments.screening.models import ListedAddress, SanctionsList


class ReleasesFromReview(ShowsProposals):
    """The action by which operators release deposits or payouts that a sanctions list names."""

    refusals: ClassVar[Any] = {"release": unless(lambda row: bool(row.evidence), "no list names its address.")}
    states: ClassVar[tuple[str, ...]] = ("review",)

    @admin.display(description="Review")
    def review(self, row: Any) -> str:
        return "released" if is_released(row) else "to be decided" if row.evidence else "no list names it"

    @admin.action(description="Release from review: two operators must agree", permissions=["release"])
    @confirms(
        title="Release these from review?",
        consequence="Once as many people as are needed have agreed, each is treated as if no list named its address, "
        "whatever lists come next. Nobody can call a payout back then.",
        told="The merchant, without your reason, by the events of what goes on.",
        note_label="Why? It is saved.",
        describe=lambda row: f"{row}: {row.evidence or 'no list names it'}",
    )
    def release(self, request: HttpRequest, chosen: QuerySet[Any]) -> None:
        note = request.POST["note"]
        for row in chosen:
            self.propose(request, row, partial(_propose, row, note))

    def has_release_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(MAY_RELEASE)


def _propose(row: Any, note: str, *, by: User) -> Any:
    return propose_release(row, note, by)


@admin.register(SanctionsList)
class SanctionsListAdmin(ReadOnly, LongList, RecordPage[SanctionsList]):
    list_display = (
        "source",
        "file_name",
        "published_on",
        "imported_at",
        "replaced_at",
        "entry_count",
        "address_count",
        "foreign_count",
    )
    list_filter = ("source",)


@admin.register(ListedAddress)
class ListedAddressAdmin(ReadOnly, LongList, RecordPage[ListedAddress]):
    list_display = ("address", "name", "programme", "entry", "source")
    list_filter = ("source__source",)
    list_select_related = ("source",)
    search_fields = ("address", "name")
