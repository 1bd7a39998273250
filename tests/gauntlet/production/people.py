"""Those who use an installation from outside: the operator and the merchant in a browser, the shop over the API."""

from __future__ import annotations

import html
import re
import ssl
import time
from collections.abc import Callable
from typing import Any

import httpx
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from standardwebhooks.webhooks import Webhook

_INPUT = re.compile(r"<(?:input|textarea)\b[^>]*>")
_ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')

Record = dict[str, Any]


class Visitor:
    """Somebody with a browser's cookies and its manners about forms."""

    def __init__(self, base: str, trust: ssl.SSLContext) -> None:
        self._base = base
        self._client = httpx.Client(base_url=base, verify=trust, timeout=30)

    def read(self, path: str) -> str:
        reply = self._client.get(path, follow_redirects=True)
        reply.raise_for_status()
        return reply.text

    def send(self, path: str, *, page: str = "", **entered: str) -> str:
        """Fill in the form at the path, or the one on another page that posts there; the page that follows."""
        fields = {name: value for name, value in _fields(self.read(page or path)).items() if name not in entered}
        reply = self._client.post(
            path,
            data={**fields, **{name: value for name, value in entered.items() if value}},
            headers={"Referer": self._base + (page or path)},
            follow_redirects=False,
        )
        if reply.is_redirect:
            return self.read(reply.headers["Location"])
        reply.raise_for_status()
        return reply.text

    def submit(self, path: str, **entered: str) -> None:
        """As send, of a form that leads elsewhere once it is accepted; AssertionError with what it says otherwise."""
        before = self.read(path)
        reply = self._client.post(
            path,
            data={**_fields(before), **entered},
            headers={"Referer": self._base + path},
        )
        said = " ".join(re.findall(r"errorlist[^>]*>(.*?)</ul>", reply.text, re.DOTALL))
        assert reply.is_redirect, f"{path} answered {reply.status_code}: {said or reply.text[:300]}"

    def add_app(self) -> None:
        """A second factor, without which no operator gets into the admin."""
        page = self.read("/account/app")
        [secret] = re.findall(r'class="code breakable">(\w+)<', page)
        code = format_hotp_value(hotp_value(secret, int(time.time()) // 30))
        reply = self._client.post(
            "/account/app",
            data={**_fields(page), "code": code},
            headers={"Referer": f"{self._base}/account/app"},
        )
        assert reply.is_redirect, reply.text[:300]


def _fields(page: str) -> dict[str, str]:
    """What a browser would send of a page's forms if nobody touched them."""
    found = {}
    for tag in _INPUT.findall(page):
        attributes = dict(_ATTRIBUTE.findall(tag))
        kind = attributes.get("type", "text")
        if "name" not in attributes or kind in ("submit", "button", "file"):
            continue
        if kind in ("checkbox", "radio") and " checked" not in tag:
            continue
        found[attributes["name"]] = html.unescape(attributes.get("value", ""))
    return found


class Shop:
    """A merchant's server, with a key pair, and a place that takes webhooks."""

    def __init__(self, base: str, trust: ssl.SSLContext, *, public_key: str, secret: str) -> None:
        headers = {"Authorization": f"Bearer {public_key}", "X-Api-Secret": secret}
        self._client = httpx.Client(base_url=f"{base}/v1", verify=trust, timeout=30, headers=headers)

    def call(self, method: str, path: str, **body: Any) -> Record:
        reply = self._client.request(method, path, json=body or None)
        assert reply.is_success, f"{method} {path} answered {reply.status_code}: {reply.text[:500]}"
        found: Record = reply.json()
        return found

    def until(self, path: str, is_so: Callable[[Record], bool], *, seconds: float) -> Record:
        """The record once it is so, or as it is when the time is over."""
        deadline = time.monotonic() + seconds
        while not is_so(found := self.call("GET", path)) and time.monotonic() < deadline:
            time.sleep(0.5)
        return found


def verified(secret: str, headers: dict[str, str], body: bytes) -> Record:
    """The event in a delivery, as the public library reads it; an error of its own where the signature is wrong."""
    found: Record = Webhook(secret).verify(body.decode(), headers)
    return found
