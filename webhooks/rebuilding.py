"""What a record shows and an event does not store, because it stays the same for ever where it is kept.

The app of the record says which field that is and where it is read. An event stores null in its place, so that what is
sent again has the same bytes as the first time. Events from before this hold the value itself.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from webhooks.models import Event


class Kept(NamedTuple):
    """A field that is kept elsewhere: its values by the keys of the records."""

    field: str
    read: Callable[[Collection[uuid.UUID]], Mapping[uuid.UUID, Any]]


_kept: dict[str, Kept] = {}


def keep_out(noun: str, kept: Kept) -> None:
    """Of records whose `object` is this noun, have events store everything but this field."""
    _kept[noun] = kept


def to_store(payload: dict[str, Any]) -> dict[str, Any]:
    """The record as an event stores it."""
    kept = _kept.get(str(payload.get("object")))
    return payload if kept is None or kept.field not in payload else {**payload, kept.field: None}


def complete(events: Sequence[Event]) -> Sequence[Event]:
    """Puts back, into all of these at once, what was not stored; returns the same events."""
    for noun, kept in _kept.items():
        lacking = [event for event in events if _lacks(event, noun, kept.field)]
        values = kept.read({event.object_id for event in lacking}) if lacking else {}
        for event in lacking:
            event.payload[kept.field] = values.get(event.object_id)
    return events


def _lacks(event: Event, noun: str, field: str) -> bool:
    payload = event.payload
    return bool(payload.get("object") == noun and field in payload and payload[field] is None)
