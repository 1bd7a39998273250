"""Replies of a real Horizon, recorded once without links and signatures; and one that replies as it is told to."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import orjson

from payments.chains.stellar.horizon.client import Horizon

_FILE = Path(__file__).with_name("recorded.json")


@cache
def _recorded() -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(_FILE.read_bytes())
    return found


def recorded(name: str) -> Any:
    """A copy: tests spoil them."""
    return deepcopy(_recorded()[name])


def payment_of(kind: str, **changed: Any) -> dict[str, Any]:
    """The first recorded operation of a kind, with fields changed; those of its transaction as `transaction__memo`."""
    found: dict[str, Any] = next(each for each in recorded("payments")["_embedded"]["records"] if each["type"] == kind)
    for name, value in changed.items():
        place, _, inner = name.partition("__")
        if inner:
            found[place][inner] = value
        else:
            found[name] = value
    return found


class ToldHorizon(httpx.BaseTransport):
    """Replies to every question as `reply` says."""

    def __init__(self, reply: Callable[[httpx.Request], httpx.Response]) -> None:
        self.reply = reply
        self.asked: list[httpx.Request] = []
        self.horizon = Horizon("https://one.example/path?key=secret", transport=self)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.asked.append(request)
        return self.reply(request)


def told(status: int, content: Any) -> ToldHorizon:
    return ToldHorizon(lambda request: httpx.Response(status, content=orjson.dumps(content)))
