"""What a scope lets a key do, and that nothing is allowed by having been forgotten."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from merchants.access.scopes import Scope
from merchants.access.viewsets import MerchantViewSet
from tests.access.probe import effects
from tests.factories import api_client, make_key


@pytest.mark.django_db
@pytest.mark.urls("tests.access.probe")
class TestScopes:
    @pytest.mark.parametrize(
        ("scopes", "reads", "writes"),
        [
            ([], 200, 201),
            (["payments:read"], 200, 403),
            (["payments:write"], 200, 201),
            (["refunds:write"], 403, 403),
            (["payments:read", "refunds:write"], 200, 403),
        ],
    )
    def test_a_key_may_do_what_its_scopes_say(self, scopes: list[str], reads: int, writes: int) -> None:
        client = api_client(make_key(scopes=scopes))
        assert client.call("GET", "/probe").status_code == reads
        assert client.call("HEAD", "/probe").status_code == reads
        assert client.call("POST", "/probe", json_body={"name": "Made"}).status_code == writes
        assert effects("Made") == (1 if writes == 201 else 0)

    def test_the_refusal_names_the_scope(self) -> None:
        reply = api_client(make_key(scopes=["payments:read"])).call("POST", "/probe", json_body={"name": "Made"})
        error = reply.json()["error"]
        assert (error["type"], error["code"]) == ("permission_error", "insufficient_scope")
        assert error["message"] == "This key lacks the scope payments:write."

    @pytest.mark.parametrize("scopes", [[], list(Scope)])
    def test_an_action_without_a_scope_refuses_every_key(self, scopes: list[str]) -> None:
        reply = api_client(make_key(scopes=scopes)).call("GET", "/probe/undeclared")
        assert (reply.status_code, reply.json()["error"]["code"]) == (403, "insufficient_scope")


def api_actions() -> list[tuple[str, str, Any]]:
    """Path, action and class of everything under /v1 and /sandbox/v1, as the route table has it."""
    found: list[tuple[str, str, Any]] = []

    def walk(patterns: list[URLPattern | URLResolver], prefix: str) -> None:
        for pattern in patterns:
            path = prefix + str(pattern.pattern)
            if isinstance(pattern, URLResolver):
                walk(pattern.url_patterns, path)
            elif path.startswith(("v1/", "sandbox/v1/")) and hasattr(pattern.callback, "actions"):
                callback: Any = pattern.callback
                found.extend((path, action, callback.cls) for action in callback.actions.values())

    walk(get_resolver().url_patterns, "")
    return found


def test_every_action_of_the_api_declares_a_scope_on_the_common_base() -> None:
    actions = api_actions()
    assert len(actions) >= 2 * 9
    for path, action, view in actions:
        assert issubclass(view, MerchantViewSet), path
        assert isinstance(view.scopes.get(action), Scope), f"{path}: {action}"
        assert hasattr(view, action), f"{path}: {action}"


def test_no_view_declares_a_scope_for_an_action_it_does_not_have() -> None:
    routed = {(view, action) for _, action, view in api_actions()}
    declared = {(view, action) for view, _ in routed for action in view.scopes}
    assert declared == routed
