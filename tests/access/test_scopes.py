"""What each scope allows."""

from __future__ import annotations

import pytest

from merchants.access.scopes import DESCRIPTIONS, Scope, allows


def test_the_scopes_of_the_specification_exist() -> None:
    assert {"payments:read", "payments:write", "settlements:read", "refunds:write"} <= set(Scope)


def test_every_scope_is_described() -> None:
    assert set(DESCRIPTIONS) == set(Scope)


@pytest.mark.parametrize("needed", Scope)
def test_no_scopes_mean_full_access(needed: Scope) -> None:
    assert allows([], needed)


@pytest.mark.parametrize("needed", Scope)
@pytest.mark.parametrize("granted", Scope)
def test_a_scope_allows_itself_and_write_includes_read(granted: Scope, needed: Scope) -> None:
    subject, verb = granted.split(":")
    expected = granted == needed or (verb == "write" and needed == f"{subject}:read")
    assert allows([granted], needed) is expected


def test_scopes_add_up() -> None:
    granted = [Scope.PAYMENTS_READ, Scope.REFUNDS_WRITE]
    assert [scope.value for scope in Scope if allows(granted, scope)] == [
        "payments:read",
        "refunds:read",
        "refunds:write",
    ]
