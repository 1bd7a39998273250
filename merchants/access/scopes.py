"""Scopes of a key. A key without scopes may do everything its merchant may."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from merchants.roles import PERMISSIONS, Permission, Role


class Scope(StrEnum):
    PAYMENTS_READ = "payments:read"
    PAYMENTS_WRITE = "payments:write"
    DECISIONS_WRITE = "decisions:write"
    REFUNDS_READ = "refunds:read"
    REFUNDS_WRITE = "refunds:write"
    SETTLEMENTS_READ = "settlements:read"
    WEBHOOKS_READ = "webhooks:read"
    WEBHOOKS_WRITE = "webhooks:write"
    MERCHANT_READ = "merchant:read"
    MERCHANT_WRITE = "merchant:write"
    REQUESTS_READ = "requests:read"


DESCRIPTIONS: Final[dict[Scope, Promise]] = {
    Scope.PAYMENTS_READ: _("See payments and payment links"),
    Scope.PAYMENTS_WRITE: _("Create, change and cancel payments and payment links"),
    Scope.DECISIONS_WRITE: _("Accept money that was late, too little or too much"),
    Scope.REFUNDS_READ: _("See refunds"),
    Scope.REFUNDS_WRITE: _("Refund payers"),
    Scope.SETTLEMENTS_READ: _("See settlements and their statements"),
    Scope.WEBHOOKS_READ: _("See webhooks, events and deliveries"),
    Scope.WEBHOOKS_WRITE: _("Add, change and delete webhooks, and send events again"),
    Scope.MERCHANT_READ: _("See the account, its settings and its balance"),
    Scope.MERCHANT_WRITE: _("Change the settings: settlements, wallets and tolerance"),
    Scope.REQUESTS_READ: _("See the log of API requests"),
}
"""Description of each scope, in the words of a page."""

GROUPS: Final[Sequence[tuple[Promise, Sequence[Scope]]]] = (
    (_("Payments"), (Scope.PAYMENTS_READ, Scope.PAYMENTS_WRITE, Scope.DECISIONS_WRITE)),
    (_("Refunds"), (Scope.REFUNDS_READ, Scope.REFUNDS_WRITE)),
    (_("Settlements"), (Scope.SETTLEMENTS_READ,)),
    (_("Webhooks"), (Scope.WEBHOOKS_READ, Scope.WEBHOOKS_WRITE)),
    (_("Account"), (Scope.MERCHANT_READ, Scope.MERCHANT_WRITE, Scope.REQUESTS_READ)),
)
"""Every scope once, by what it is about."""

NEEDS: Final[Mapping[Scope, Permission]] = MappingProxyType(
    {
        Scope.PAYMENTS_READ: Permission.SEE,
        Scope.PAYMENTS_WRITE: Permission.TAKE_PAYMENTS,
        Scope.DECISIONS_WRITE: Permission.DECIDE,
        Scope.REFUNDS_READ: Permission.SEE,
        Scope.REFUNDS_WRITE: Permission.REFUND,
        Scope.SETTLEMENTS_READ: Permission.SEE,
        Scope.WEBHOOKS_READ: Permission.SEE,
        Scope.WEBHOOKS_WRITE: Permission.MANAGE_WEBHOOKS,
        Scope.MERCHANT_READ: Permission.SEE,
        Scope.MERCHANT_WRITE: Permission.MANAGE_SETTINGS,
        Scope.REQUESTS_READ: Permission.SEE_REQUEST_LOG,
    }
)
"""Permission a person needs to give a key the scope. docs/roles.md shows the same table."""

_SATISFIED_BY: Final[dict[Scope, frozenset[str]]] = {
    scope: frozenset({scope.value, scope.value.replace(":read", ":write")}) for scope in Scope
}


def allows(granted: Collection[str], needed: Scope) -> bool:
    """True if a key with these scopes may do what `needed` stands for; `x:write` includes `x:read`."""
    return not granted or not _SATISFIED_BY[needed].isdisjoint(granted)


def may_give(role: str, scopes: Collection[str]) -> bool:
    """True if a person of this role may make or replace a key with these scopes; none of them is full access.

    Nobody gives a key what their own role does not permit.
    """
    permitted = PERMISSIONS[Role(role)]
    needs = {scope.value: permission for scope, permission in NEEDS.items()}
    # Nobody gives a scope that is not in the table any more.
    return Permission.MANAGE_KEYS in permitted and all(needs.get(scope) in permitted for scope in scopes or needs)
