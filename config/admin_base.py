"""What admin pages of every app share: operators look everything up, and change things by services alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse


class ReadOnly:
    """No way to add, change or delete rows, whoever asks. Looking needs the permission to view."""

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, *args: Any) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, *args: Any) -> bool:
        return False


def ask_first(
    page: admin.ModelAdmin[Any],
    request: HttpRequest,
    rows: QuerySet[Any],
    *,
    action: str,
    title: str,
    consequence: str,
    note_label: str = "",
    describe: Callable[[Any], str] = str,
) -> TemplateResponse | None:
    """The page that asks an operator whether to do this to these rows; None once they have said yes.

    With `note_label` it asks for a note as well, which is then in `request.POST["note"]`. `describe` says what will
    happen to a row.
    """
    if request.POST.get("confirmed") == "yes" and (not note_label or request.POST.get("note", "").strip()):
        return None
    context = {
        **page.admin_site.each_context(request),
        "opts": page.model._meta,
        "title": title,
        "consequence": consequence,
        "rows": [(row.pk, describe(row)) for row in rows],
        "action": action,
        "note_label": note_label,
        "checkbox_name": ACTION_CHECKBOX_NAME,
    }
    return TemplateResponse(request, "admin/confirm_action.html", context)
