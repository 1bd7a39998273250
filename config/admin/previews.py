"""Balances and states before and after an action: the action itself is run for each record, and rolled back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from copy import copy
from datetime import datetime
from typing import Any, NamedTuple

from django.contrib import admin, messages
from django.db import OperationalError, connection, models
from django.db.models import ForeignKey, Model, QuerySet
from django.http import HttpRequest
from django.utils.text import capfirst

from config.admin.columns import Column, RecordPage
from config.admin.story import Section
from config.admin.values import EMPTY, Shown, name_of
from config.database.previews import preview
from config.errors import DomainError
from config.fields import UnitsField
from config.hooks import Hook

MOST_PREVIEWED = 20
LOCK_WAIT = "900ms"
"""Shorter than the time after which PostgreSQL looks for deadlocks: a page never ends another's transaction."""

HEADINGS = ("What", "Before", "After")
NOTHING = "No balance and no state changes at once."
DONE = "the time of it"
BUSY = "Something else is changing this at the moment: load this page again."


class Change(NamedTuple):
    what: Shown
    before: Shown
    after: Shown


watch_balances: Hook[[], AbstractContextManager[Callable[[], Sequence[Change]]]] = Hook("watch_balances")
"""Notes the balances that are changed inside; what it yields returns their changes so far. The ledger provides it."""


def before_and_after(
    page: RecordPage[Any], request: HttpRequest, rows: QuerySet[Any], action: str, *, answer: str = ""
) -> list[Section]:
    """What an action would change of each of these records, as if it were the only one; of no more than
    MOST_PREVIEWED.

    Each is previewed by itself, so that locks are taken in the order of one record, and held for as long as that
    takes.
    """
    shown = list(rows[: MOST_PREVIEWED + 1])
    found = []
    for row in shown[:MOST_PREVIEWED]:
        changes, problems = _preview(page, request, rows.filter(pk=row.pk), action, answer)
        cells = [*changes, *(Change("Not now", EMPTY, problem) for problem in problems if changes)]
        title = "Before and after" if len(shown) == 1 else f"Before and after: {name_of(row)}"
        title += f", if the answer is “{answer}”" if answer else ""
        found.append(Section(title=title, headings=HEADINGS, rows=cells, empty=" ".join(problems) or NOTHING))
    if len(shown) > MOST_PREVIEWED:
        bound = f"Only the first {MOST_PREVIEWED} are shown."
        found.append(Section(title="Before and after: the others", headings=HEADINGS, rows=(), empty=bound))
    return found


class _Messages:
    """Takes the messages of an action in the place of the session's."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def add(self, level: int, message: object, extra_tags: str = "") -> None:
        if level >= messages.WARNING:
            self.problems.append(str(message))


def _preview(
    page: RecordPage[Any], request: HttpRequest, row: QuerySet[Any], action: str, answer: str
) -> tuple[list[Change], list[str]]:
    """The changes of one record's action, and what the action has refused or warned of."""
    heard = _Messages()
    asked = _confirmed(request, heard, answer)
    records = [each for record in row for each in _beside(page, record)]
    try:
        with preview(), watch_balances() as changes_of_balances:
            with connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_WAIT}'")
            before = [_states(asked, each) for each in records]
            getattr(page, action)(asked, row.all())
            after = [_states(asked, each) for each in records]
            changes = [*changes_of_balances(), *_differences(page, records, before, after)]
    except DomainError as refusal:
        return [], [*heard.problems, refusal.message]
    except OperationalError:  # a lock that others hold
        return [], [BUSY]
    return changes, heard.problems


def _confirmed(request: HttpRequest, heard: _Messages, answer: str) -> HttpRequest:
    """The request by which the action would be confirmed."""
    asked = copy(request)
    asked.method, asked.POST = "POST", request.POST.copy()  # type: ignore[assignment]  # the copy is for this request
    asked.POST.update({"confirmed": "yes", "note": "Preview", "answer": answer})
    asked._messages = heard  # type: ignore[attr-defined]
    return asked


def page_of_record(record: Model) -> RecordPage[Any] | None:
    found = admin.site._registry.get(type(record))
    return found if isinstance(found, RecordPage) else None


def _beside(page: RecordPage[Any], record: Any) -> Iterator[Model]:
    """The records of which a change is shown: those of the page's record, and what they name in their lists."""
    for each in page.previewed(record):
        yield each
        own = page_of_record(each)
        for name in own.list_display if own else ():
            field = next((found for found in each._meta.concrete_fields if found.name == name), None)
            other = getattr(each, str(name)) if isinstance(field, ForeignKey) else None
            if other is not None and page_of_record(other):
                yield other


_States = dict[Column, tuple[object, Shown]]
"""By column: the value, and the same in words."""


def _states(request: HttpRequest, record: Model) -> _States:
    page = page_of_record(record)
    fresh = page.get_queryset(request).filter(pk=record.pk).first() if page else None
    if page is None or fresh is None:
        return {}
    names = [each.name for each in fresh._meta.concrete_fields if _is_state(each, each.name in page.list_display)]
    listed = [each for each in page.get_list_display(request) if isinstance(each, Column) and each.field is None]
    columns = [*(page.column(name, is_page=False) for name in (*names, *page.states)), *listed]
    return {each: (each.value(fresh), each(fresh)) for each in columns}


def _is_state(field: models.Field[Any, Any], is_listed: bool) -> bool:
    """True for figures and for what has choices: not for names, reasons and the like."""
    if field.choices or isinstance(field, models.BooleanField | UnitsField) or field.name.endswith("_bps"):
        return True
    return is_listed and isinstance(field, models.DateTimeField | models.DecimalField | models.IntegerField)


def _differences(
    page: RecordPage[Any], records: Sequence[Model], before: Sequence[_States], after: Sequence[_States]
) -> Iterator[Change]:
    for record, was, becomes in zip(records, before, after, strict=True):
        whose = "" if type(record) is page.model else f"{record._meta.verbose_name}: "
        for column in [each for each in was if each in becomes]:
            (old, shown), (new, then) = was[column], becomes[column]
            if old == new or (column.field is None and then == EMPTY):
                continue  # a computed column that is empty afterwards says what was possible before: it is no state
            words = DONE if isinstance(new, datetime) else then
            yield Change(capfirst(f"{whose}{column.short_description}"), shown, words)
