"""What a key may do. A key without scopes may do everything its merchant may."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import Final


class Scope(StrEnum):
    PAYMENTS_READ = "payments:read"
    PAYMENTS_WRITE = "payments:write"
    REFUNDS_READ = "refunds:read"
    REFUNDS_WRITE = "refunds:write"
    SETTLEMENTS_READ = "settlements:read"
    WEBHOOKS_READ = "webhooks:read"
    WEBHOOKS_WRITE = "webhooks:write"
    MERCHANT_READ = "merchant:read"
    MERCHANT_WRITE = "merchant:write"


DESCRIPTIONS: Final[dict[Scope, str]] = {
    Scope.PAYMENTS_READ: "View payments only",
    Scope.PAYMENTS_WRITE: "Create and manage payments",
    Scope.REFUNDS_READ: "View refunds only",
    Scope.REFUNDS_WRITE: "Process refunds",
    Scope.SETTLEMENTS_READ: "View settlements",
    Scope.WEBHOOKS_READ: "View webhooks, events and deliveries",
    Scope.WEBHOOKS_WRITE: "Create, change and delete webhooks",
    Scope.MERCHANT_READ: "View the merchant, its settings and its balance",
    Scope.MERCHANT_WRITE: "Change the merchant's settings",
}

_SATISFIED_BY: Final[dict[Scope, frozenset[str]]] = {
    scope: frozenset({scope.value, scope.value.replace(":read", ":write")}) for scope in Scope
}


def allows(granted: Collection[str], needed: Scope) -> bool:
    """Whether a key with these scopes may do what `needed` stands for; `x:write` includes `x:read`."""
    return not granted or not _SATISFIED_BY[needed].isdisjoint(granted)
