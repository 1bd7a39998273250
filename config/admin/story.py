"""The page of a record: after its fields, what belongs to it, and a button for each action that it allows.

Every app adds sections about the records of a lower one: by functions that it registers, so that imports go down only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model

from config.admin.values import Shown, instant

MOST_DONE = 50
"""How many actions of operators the page of a record shows; its history has the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A table on a record's page, with a sentence in its place where it has no rows."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[Shown]]
    empty: str = ""
    """Without it a section without rows is not shown."""
    amounts: int = 0
    """How many of the last columns hold amounts, whose digits stand below each other."""


_SECTIONS: dict[str, list[Callable[[Any], Iterable[Section]]]] = {}


def add_to_story(label: str, sections: Callable[[Any], Iterable[Section]]) -> None:
    """Show these sections on the pages of a model, given as `app.Model`, after those added before."""
    _SECTIONS.setdefault(label, []).append(sections)


def story_of(row: Any) -> list[Section]:
    """The sections of a record's page that have something to show."""
    told = _SECTIONS.get(row._meta.label)
    if told is None:
        return []
    found = [section for sections in told for section in sections(row)]
    return [section for section in (*found, _done_by_operators(row)) if section.rows or section.empty]


def _done_by_operators(row: Model) -> Section:
    kept = LogEntry.objects.filter(content_type=ContentType.objects.get_for_model(row), object_id=str(row.pk))
    return Section(
        title="What operators did",
        headings=("When", "Who", "What"),
        rows=[
            (instant(each.action_time), str(each.user), each.get_change_message())
            for each in kept.select_related("user").order_by("-pk")[:MOST_DONE]
        ],
    )
