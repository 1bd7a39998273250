"""A local Horizon behind a wire that changes what it replies."""

from __future__ import annotations

import re
import ssl
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
import orjson

from tests.stellar.network.horizon import LocalHorizon

Change = Callable[[Any], Any]

NO_AUTHORITIES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Nothing here is https, and to read the certificates of all authorities takes each transport 25 ms."""


@dataclass(slots=True)
class _Spoiled:
    path: re.Pattern[str]
    change: Change
    times: int


class Front(httpx.BaseTransport):
    """Asks this Horizon, whatever the host is called."""

    def __init__(self, local: LocalHorizon) -> None:
        self._inner = httpx.HTTPTransport(verify=NO_AUTHORITIES)
        self._url = httpx.URL(local.url)
        self._spoiled: list[_Spoiled] = []
        self.asked = Counter[str]()
        self.received = 0
        """Bytes of its replies."""
        self.headers: dict[str, str] = {}
        """What its replies say of themselves."""

    def spoil(self, path: str, change: Change, *, times: int = 10**6) -> None:
        """From now on change so many replies to paths like this."""
        self._spoiled.append(_Spoiled(re.compile(path), change, times))

    def heal(self) -> None:
        self._spoiled.clear()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.asked[request.url.path] += 1
        request.url = request.url.copy_with(host=self._url.host, port=self._url.port)
        found = self._inner.handle_request(request)
        content = found.read()
        self.received += len(content)
        for each in self._spoiled:
            if each.times > 0 and each.path.search(request.url.path):
                each.times -= 1
                content = orjson.dumps(each.change(orjson.loads(content)))
        return httpx.Response(found.status_code, content=content, headers=self.headers)


def records(change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> Change:
    """Changes the records of a page."""
    return lambda page: {"_embedded": {"records": change(page["_embedded"]["records"])}}
