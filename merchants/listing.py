"""A page of a list on the dashboard: newest first, and as cheap deep in the list as at its head."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import Model, QuerySet
from django.http import QueryDict
from django.urls import reverse

from config.ids import PublicId

PAGE_SIZE = 25

Record = TypeVar("Record", bound=Model)


@dataclass(frozen=True)
class ListPage(Generic[Record]):
    """Some records, and the addresses of the pages around them; empty where there is none."""

    records: list[Record]
    first_url: str
    next_url: str


def list_page(query: QueryDict, matching: QuerySet[Record], *, public_id: PublicId, view: str) -> ListPage[Record]:
    """What follows the record that `before` in the query names, in the list that the view shows; else its head."""
    before = public_id.decode(query.get("before", ""))
    if before:
        matching = matching.filter(pk__lt=before)
    found = list(matching.order_by("-pk")[: PAGE_SIZE + 1])
    records = found[:PAGE_SIZE]

    def url(last: uuid.UUID | None) -> str:
        asked = query.copy()
        asked.pop("before", None)
        if last is not None:
            asked["before"] = public_id.encode(last)
        return f"{reverse(view)}?{asked.urlencode()}" if asked else reverse(view)

    return ListPage(
        records,
        first_url=url(None) if before else "",
        next_url=url(records[-1].pk) if len(found) > PAGE_SIZE else "",
    )
