"""What each scope allows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from itertools import product

import pytest

from config.environments import Environment
from merchants.access.scopes import DESCRIPTIONS, GROUPS, Scope, allows
from merchants.models import ApiKey, Merchant
from merchants.roles import Role
from merchants.rotation import keep_api_key, rotate_api_key
from merchants.services import MayNotGive, issue_api_key
from tests.factories import make_key, make_merchant


def test_the_scopes_of_the_specification_exist() -> None:
    assert {"payments:read", "payments:write", "settlements:read", "refunds:write"} <= set(Scope)


def test_every_scope_is_described_and_stands_in_one_group() -> None:
    assert set(DESCRIPTIONS) == set(Scope)
    assert [scope for _, scopes in GROUPS for scope in scopes] == list(DESCRIPTIONS)


GIVEN_BY = {
    Role.OWNER: set(Scope),
    Role.ADMIN: set(Scope),
    Role.DEVELOPER: set(Scope) - {Scope.DECISIONS_WRITE, Scope.MERCHANT_WRITE},
    Role.SUPPORT: set[Scope](),
    Role.VIEWER: set[Scope](),
}
"""Which scopes each role may give to a key: none that the role itself does not permit."""


@pytest.mark.django_db
@pytest.mark.parametrize("role", Role)
def test_nobody_gives_a_key_more_than_their_own_role_permits(role: Role) -> None:
    merchant = make_merchant()
    given = {scope for scope in Scope if is_made(partial(key_of, merchant, role, [scope]))}
    assert given == GIVEN_BY[role]
    gives_all = given == set(Scope)
    assert is_made(partial(key_of, merchant, role, [])) is gives_all
    assert is_made(partial(key_of, merchant, role, list(Scope))) is gives_all
    for scopes in ([], *([scope] for scope in Scope)):  # nor by replacing a pair that somebody else made
        key = make_key(merchant, scopes=scopes).key
        permitted = given.issuperset(scopes) if scopes else gives_all
        hour = timedelta(hours=1)
        assert is_made(partial(rotate_api_key, key=key, overlap=hour, role=role)) is permitted
        if not permitted:
            rotate_api_key(key=key, overlap=hour)
        assert is_made(partial(keep_api_key, key=key, role=role)) is permitted


def key_of(merchant: Merchant, role: Role, scopes: list[Scope]) -> object:
    return issue_api_key(merchant=merchant, environment=Environment.SANDBOX, name="Key", scopes=scopes, role=role)


def is_made(change: Callable[[], object]) -> bool:
    """Whether the change is made; a refusal changes nothing."""
    before = list(ApiKey.objects.order_by("pk").values())
    try:
        change()
    except MayNotGive:
        assert list(ApiKey.objects.order_by("pk").values()) == before
        return False
    return True


@pytest.mark.parametrize("needed", Scope)
def test_no_scopes_mean_full_access(needed: Scope) -> None:
    assert allows([], needed)


def test_a_scope_allows_itself_and_write_includes_read() -> None:
    for granted, needed in product(Scope, repeat=2):
        subject, verb = granted.split(":")
        expected = granted == needed or (verb == "write" and needed == f"{subject}:read")
        assert allows([granted], needed) is expected, (granted, needed)


def test_scopes_add_up() -> None:
    granted = [Scope.PAYMENTS_READ, Scope.REFUNDS_WRITE]
    assert [scope.value for scope in Scope if allows(granted, scope)] == [
        "payments:read",
        "refunds:read",
        "refunds:write",
    ]
