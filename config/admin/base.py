"""Base of the admin pages of every app: operators can look at everything, and change things only through services."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any

from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse

from config.admin.columns import RecordPage
from config.admin.previews import before_and_after


class ReadOnly:
    """Nobody can add, change or delete rows here; looking needs the permission to view."""

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, *args: Any) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, *args: Any) -> bool:
        return False


class LongList:
    """A page whose rows go on growing: the newest first, 50 at a time, and never all of them counted."""

    list_per_page = 50
    ordering: Any = ("-id",)
    show_full_result_count = False


def confirmation_page(
    page: RecordPage[Any],
    request: HttpRequest,
    rows: QuerySet[Any],
    *,
    action: str,
    title: str,
    consequence: str,
    told: str = "",
    note_label: str = "",
    answer_label: str = "",
    answers: Sequence[tuple[str, str]] = (),
    previewed_answer: str = "",
    not_previewed: str = "",
    describe: Callable[[Any], str] = str,
) -> TemplateResponse | None:
    """The page that has an operator confirm an action on these rows; None once it is confirmed.

    `told` says who hears of it: such a page shows balances and states before and after, by running the action and
    rolling it back, unless it is `not_previewed` for a reason. `note_label` adds a note, which is then in
    `request.POST["note"]`; `answer_label` a short answer, in `request.POST["answer"]`; `answers` are offered for it,
    each with words, and `previewed_answer` is the one of the preview. `describe` returns the effect on a row in words.
    """
    required = [name for name, label in (("note", note_label), ("answer", answer_label)) if label]
    if request.POST.get("confirmed") == "yes" and all(request.POST.get(name, "").strip() for name in required):
        return None
    effects = []
    if told and not not_previewed:
        effects = before_and_after(page, request, rows, action, answer=previewed_answer)
    context = {
        **page.admin_site.each_context(request),
        "opts": page.model._meta,
        "title": title,
        "consequence": consequence,
        "told": told,
        "effects": effects,
        "not_previewed": not_previewed,
        "rows": [(row.pk, describe(row)) for row in rows],
        "action": action,
        "note_label": note_label,
        "answer_label": answer_label,
        "answers": answers,
        "checkbox_name": ACTION_CHECKBOX_NAME,
    }
    return TemplateResponse(request, "admin/confirm_action.html", context)


def unless(is_possible: Callable[[Any], bool], reason: str) -> Callable[[Any], str]:
    """The function that refuses a record unless `is_possible`, with this reason; `{}` in it is the record's status."""

    def refusal(row: Any) -> str:
        if is_possible(row):
            return ""
        return reason.format(row.get_status_display()) if "{}" in reason else reason

    return refusal


REASON = "Why? It is kept with your name."
"""The label of a reason that operators alone read."""

Action = Callable[[Any, HttpRequest, QuerySet[Any]], None]
ConfirmedAction = Callable[[Any, HttpRequest, QuerySet[Any]], TemplateResponse | None]


def confirms(
    *, title: str, consequence: str, told: str = "", note_label: str = "", describe: Callable[[Any], str] = str
) -> Callable[[Action], ConfirmedAction]:
    """Decorator of an action that runs only once an operator has confirmed it on `confirmation_page`."""
    page_of = partial(
        confirmation_page, title=title, consequence=consequence, told=told, note_label=note_label, describe=describe
    )

    def decorate(action: Action) -> ConfirmedAction:
        @wraps(action)
        def confirmed(page: Any, request: HttpRequest, rows: QuerySet[Any]) -> TemplateResponse | None:
            question = page_of(page, request, rows, action=action.__name__)
            if question is None:
                action(page, request, rows)
            return question

        return confirmed

    return decorate


def with_note(request: HttpRequest, words: str) -> str:
    """The words of an audit row, with the reason that was entered."""
    return " ".join(filter(None, [words, request.POST.get("note", "").strip()]))
