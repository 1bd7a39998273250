"""Cursor pages over a time-sortable key, newest first. Every page costs the same, however deep in the list."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db.models import Q, QuerySet
from rest_framework.pagination import BasePagination

from config import ids
from config.api.fields import InstantFilterField, QueryIntegerField, StrictCharField, StrictSerializer
from config.api.hints import about_id
from config.errors import InvalidParameter

DEFAULT_LIMIT = 10
MAX_LIMIT = 100

_ONE_MILLISECOND = 1 << 80  # of the integer behind a UUIDv7


@dataclass(frozen=True)
class KeyRange:
    """Keys from `first` up to but without `end`; None is no bound on that side.

    A record's key begins with the millisecond of its `created_at`, so a range of time is a range of keys.
    """

    first: uuid.UUID | None = None
    end: uuid.UUID | None = None

    @classmethod
    def between(cls, created_gte: datetime | None, created_lte: datetime | None) -> KeyRange:
        """The keys made between two instants, both included, to the millisecond."""
        first = end = None
        if created_gte is not None:
            first = ids.first_uuid_at(created_gte)
        if created_lte is not None:
            last_millisecond = created_lte.replace(microsecond=created_lte.microsecond // 1000 * 1000)
            end = uuid.UUID(int=ids.first_uuid_at(last_millisecond).int + _ONE_MILLISECOND)
        return cls(first, end)

    @classmethod
    def of_days(cls, start: date | None, end: date | None) -> KeyRange:
        """The keys made on whole days, UTC, both included."""
        return cls(
            ids.first_uuid_at(datetime.combine(start, time.min, tzinfo=UTC)) if start else None,
            ids.first_uuid_at(datetime.combine(end, time.min, tzinfo=UTC) + timedelta(days=1)) if end else None,
        )

    @property
    def is_empty(self) -> bool:
        return self.first is not None and self.end is not None and self.first >= self.end

    @property
    def condition(self) -> Q:
        condition = Q()
        if self.first is not None:
            condition &= Q(pk__gte=self.first)
        if self.end is not None:
            condition &= Q(pk__lt=self.end)
        return condition


class ListQuery(StrictSerializer):
    """The query parameters of every list. A list with filters of its own adds them in a subclass."""

    limit = QueryIntegerField(
        minimum=1, maximum=MAX_LIMIT, default=DEFAULT_LIMIT, help_text=f"How many records, 1 to {MAX_LIMIT}."
    )
    starting_after = StrictCharField(
        required=False, max_length=64, help_text="The `id` of the last record of the page before."
    )
    ending_before = StrictCharField(
        required=False,
        max_length=64,
        help_text="The `id` of the first record of the page after: the page before it, newest first as well.",
    )


class CreatedListQuery(ListQuery):
    """A list that can also be limited to a span of time."""

    created_gte = InstantFilterField(
        required=False, help_text="Created at or after this ISO 8601 time, UTC; a date means its beginning."
    )
    created_lte = InstantFilterField(
        required=False, end_of_day=True, help_text="Created at or before this ISO 8601 time, UTC; a date means its end."
    )


def page(
    own: QuerySet[Any, Any],
    query: Mapping[str, Any],
    *,
    public_id: ids.PublicId,
    render: Callable[[Any], Any],
    total: Callable[[KeyRange], int],
    narrow: Q | None = None,
    read: Callable[[QuerySet[Any, Any]], Sequence[Any]] = list,
    prepare: Callable[[Sequence[Any]], Sequence[Any]] | None = None,
) -> dict[str, Any]:
    """One page as the list envelope.

    `own` is every record the caller may see: a cursor must be one of them, whatever the filters leave over. `query` is
    a validated ListQuery, `narrow` the list's further filters, and `total` counts what matches them in a range of keys.
    `read` runs the query. `prepare` gets all rows of the page and returns what is rendered; it can read for all rows at
    once.
    """
    keys = KeyRange.between(query.get("created_gte"), query.get("created_lte"))
    matching = keys.condition if narrow is None else keys.condition & narrow
    rows = own.filter(matching) if matching else own
    after, before = query.get("starting_after"), query.get("ending_before")
    if after is not None and before is not None:
        raise InvalidParameter("Send starting_after or ending_before, not both.", param="ending_before")
    if after is not None:
        rows = rows.filter(pk__lt=_key_of(after, own, public_id, "starting_after"))
    if before is not None:
        rows = rows.filter(pk__gt=_key_of(before, own, public_id, "ending_before"))
    limit: int = query["limit"]
    found = [] if keys.is_empty else read(rows.order_by("-pk" if before is None else "pk")[: limit + 1])
    page_rows = found[:limit] if before is None else found[:limit][::-1]
    shown = page_rows if prepare is None else prepare(page_rows)
    return {
        "object": "list",
        "data": [render(row) for row in shown],
        "hasMore": len(found) > limit,
        "totalCount": 0 if keys.is_empty else total(keys),
    }


class Envelope(BasePagination):
    """The envelope of a list by `page`, for the reference. Each list's query serializer names its parameters."""

    total_meaning = "How many records match, exactly."

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "object",
            "required": ["object", "data", "hasMore", "totalCount"],
            "properties": {
                "object": {"type": "string", "const": "list"},
                "data": schema,
                "hasMore": {
                    "type": "boolean",
                    "description": "True when more records follow; with `ending_before`, when newer ones do.",
                },
                "totalCount": {"type": "integer", "description": self.total_meaning},
            },
        }

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        return []


def _key_of(cursor: str, own: QuerySet[Any, Any], public_id: ids.PublicId, param: str) -> uuid.UUID:
    """The key of the record a cursor names. Somebody else's record is refused like one that does not exist."""
    key = public_id.decode(cursor)
    if key is None or not own.filter(pk=key).exists():
        hint = about_id(public_id, cursor)
        raise InvalidParameter(f"Must be the id of a record in this list.{hint}", param=param)
    return key
