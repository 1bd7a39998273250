"""Permissions of a key are declared per action; an action that declares nothing is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from merchants.access.errors import PermissionRefused
from merchants.access.scopes import Scope, allows


class InsufficientScope(PermissionRefused):
    code = "insufficient_scope"


def require_scope(key: Any, needed: Scope) -> None:
    """Raise InsufficientScope for a key without it."""
    if not allows(key.scopes, needed):
        raise InsufficientScope(f"This key lacks the scope {needed.value}.")


class HasScope(BasePermission):
    """Compares the key's scopes with the scope that the view's `scopes` name for the action."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        actions: Mapping[str, str] = getattr(view, "action_map", {})
        action = actions.get((request.method or "").lower())
        if action is None:
            return True  # No such method: the view replies 405.
        declared: Mapping[str, Scope] = getattr(view, "scopes", {})
        needed = declared.get(action)
        if needed is None:
            raise InsufficientScope("No key may do this: the operation declares no scope.")
        require_scope(request.auth, needed)
        return True
