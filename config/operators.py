"""What admin pages of every app share: operators look everything up, and change things by services alone."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest


class ReadOnly:
    """No way to add, change or delete rows, whoever asks. Looking needs the permission to view."""

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, *args: Any) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, *args: Any) -> bool:
        return False
