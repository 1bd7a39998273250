"""Merchants, people and keys for tests, made by the same services as real ones."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.test import Client

from config.environments import Environment
from merchants.members import add_member
from merchants.models import Member, Merchant, Plan, User
from merchants.people.oversight import suspend_merchant
from merchants.roles import Role
from merchants.services import IssuedKey, issue_api_key, open_merchant

PASSWORD = "correct horse battery staple"

_numbers = itertools.count(1)


def make_user(email: str | None = None, **fields: Any) -> User:
    return User.objects.create_user(email or f"person{next(_numbers)}@example.com", PASSWORD, **fields)


def make_merchant(name: str | None = None, *, plan: str = Plan.STARTER, owner: User | None = None) -> Merchant:
    number = next(_numbers)
    return open_merchant(
        name=name or f"Merchant {number}", email=f"merchant{number}@example.com", owner=owner, plan=plan
    )


def make_member(merchant: Merchant | None = None, *, role: str = Role.OWNER) -> Member:
    return add_member(merchant=merchant or make_merchant(), user=make_user(), role=role)


def suspend(merchant: Merchant) -> None:
    assert suspend_merchant(merchant=merchant, reason="A test.", by=make_user(is_staff=True))


def make_key(
    merchant: Merchant | None = None,
    environment: Environment = Environment.SANDBOX,
    *,
    name: str = "Test key",
    scopes: Sequence[str] = (),
    expires_at: datetime | None = None,
    allowed_networks: Sequence[str] = (),
    require_signature: bool = False,
) -> IssuedKey:
    return issue_api_key(
        merchant=merchant or make_merchant(),
        environment=environment,
        name=name,
        scopes=scopes,
        expires_at=expires_at,
        allowed_networks=allowed_networks,
        require_signature=require_signature,
    )


def key_headers(issued: IssuedKey) -> dict[str, str]:
    """The headers that a request with this key carries."""
    return {"Authorization": f"Bearer {issued.key.public_key}", "X-Api-Secret": issued.secret}


class ApiClient(Client):
    """Calls the API of the key's environment: paths are written as the specification does, `/payments`.

    A path that already begins with `/v1` or `/sandbox/v1` is left as it is. Bodies given as `json` are
    sent as JSON; `data` is sent as it stands.
    """

    def __init__(self, issued: IssuedKey | None = None, **defaults: Any) -> None:
        super().__init__(headers=key_headers(issued) if issued else None, raise_request_exception=True, **defaults)
        sandbox = issued is None or issued.key.environment == Environment.SANDBOX
        self.base = "/sandbox/v1" if sandbox else "/v1"

    def call(self, method: str, path: str, *, json_body: Any = None, data: bytes = b"", **extra: Any) -> Any:
        """Any method, with an optional JSON body; the response's `.json()` reads the answer."""
        if json_body is not None:
            data = json.dumps(json_body).encode()
        if not path.startswith(("/v1/", "/sandbox/v1/")):
            path = self.base + path
        return self.generic(method, path, data, content_type="application/json", **extra)


def api_client(issued: IssuedKey | None = None) -> ApiClient:
    """A client that sends the key's headers with every call; without a key, one that sends none."""
    return ApiClient(issued)
