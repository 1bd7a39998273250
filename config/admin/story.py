"""The page of a record: after its fields, what belongs to it, and a button for each action that it allows.

Every app adds sections about the records of a lower one: by functions that it registers, so that imports go down only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from config.admin.values import Shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A table on a record's page, with a sentence in its place where it has no rows."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[Shown]]
    empty: str = ""
    """Without it a section without rows is not shown."""


_SECTIONS: dict[str, list[Callable[[Any], Iterable[Section]]]] = {}


def add_to_story(label: str, sections: Callable[[Any], Iterable[Section]]) -> None:
    """Show these sections on the pages of a model, given as `app.Model`, after those added before."""
    _SECTIONS.setdefault(label, []).append(sections)


def story_of(row: Any) -> list[Section]:
    """The sections of a record's page that have something to show."""
    found = (section for sections in _SECTIONS.get(row._meta.label, ()) for section in sections(row))
    return [section for section in found if section.rows or section.empty]
