"""What a request is and what becomes of it, without sending anything: both clients follow the same steps."""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import platform
import random
import re
import time
import uuid
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypedDict
from urllib.parse import quote

import httpx

from ballast._api_version import API_VERSION
from ballast._errors import ApiConnectionError, ApiStatusError, ApiTimeoutError, status_error
from ballast._json import dumps, moment
from ballast._version import __version__

logger = logging.getLogger("ballast")

TIMEOUT_SECONDS: Final = 30.0
MAX_RETRIES: Final = 3
FIRST_WAIT_SECONDS: Final = 0.5
LONGEST_WAIT_SECONDS: Final = 8.0
LONGEST_RETRY_AFTER_SECONDS: Final = 60.0


class NotGiven:
    """The default of parameters for which None means something: null, which empties a field."""

    def __repr__(self) -> str:
        return "NOT_GIVEN"


NOT_GIVEN: Final = NotGiven()


class RequestOptions(TypedDict, total=False):
    """Of each call, by name."""

    timeout: float
    """Seconds for which a try waits for the server to connect, or for more of its reply."""
    max_retries: int
    headers: Mapping[str, str]


class WriteOptions(RequestOptions, total=False):
    """Of each call that creates or does something."""

    idempotency_key: str
    """One of your own, for example your order's number: then two calls make one payment. Otherwise a random one."""


@dataclass(frozen=True)
class AppInfo:
    """Who uses this package, for the log of the server: a plugin's name, for example."""

    name: str
    version: str = ""
    url: str = ""

    def __str__(self) -> str:
        return self.name + (f"/{self.version}" if self.version else "") + (f" ({self.url})" if self.url else "")


@dataclass(frozen=True)
class Call:
    """One call of a method."""

    method: str
    path: str
    """Below /v1, with the ids in it."""
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


def segment(value: str) -> str:
    """An id as a part of a path. An empty one would be another address."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"an id is a text that is not empty, and this is {value!r}")
    return quote(value, safe="")


class Core:
    """Builds requests, and decides what is tried again."""

    def __init__(
        self,
        public_key: str | None,
        secret_key: str | None,
        *,
        base_url: str | None,
        timeout: float,
        max_retries: int,
        sign_requests: bool,
        app_info: AppInfo | None,
    ) -> None:
        self.public_key = _key("public_key", "pk_", public_key or os.environ.get("BALLAST_PUBLIC_KEY"))
        self._secret_key = _key("secret_key", "sk_", secret_key or os.environ.get("BALLAST_SECRET_KEY"))
        self.environment = "production" if self.public_key.startswith("pk_live_") else "sandbox"
        if (self._secret_key.startswith("sk_live_")) != (self.environment == "production"):
            raise ValueError("public_key and secret_key are of different environments; use both halves of one pair")
        self.base_url = installation_url(base_url or os.environ.get("BALLAST_URL"))
        self._prefix = "/v1" if self.environment == "production" else "/sandbox/v1"
        self._timeout = timeout
        self._max_retries = max_retries
        self._sign_requests = sign_requests
        agent = f"ballast-python/{__version__} python/{platform.python_version()}"
        self._user_agent = f"{agent} {app_info}" if app_info else agent

    def __repr__(self) -> str:
        return f"<Ballast {self.environment} at {self.base_url}>"

    def exchange(self, call: Call) -> Generator[httpx.Request | float, httpx.Response | None, httpx.Response]:
        """The steps of a call: requests to send, whose reply or RequestError comes back, and seconds to wait."""
        retries = max(0, call.options.get("max_retries", self._max_retries))
        body = b"" if call.body is None else dumps(_given(call.body)).encode()
        key = call.options.get("idempotency_key") or (str(uuid.uuid4()) if call.method == "POST" else None)
        for number in range(retries + 1):
            request = self._request(call, body, key)
            began = time.monotonic()
            failure: ApiConnectionError | ApiStatusError
            try:
                response = yield request
            except httpx.RequestError as error:
                kind = ApiTimeoutError if isinstance(error, httpx.TimeoutException) else ApiConnectionError
                failure = kind(f"{call.method} {request.url.path}: {str(error) or type(error).__name__}")
                failure.__cause__ = error
                failure.idempotency_key = key
                wait = _backoff(number)
                outcome = type(error).__name__
            else:
                assert response is not None
                outcome = f"{response.status_code} {response.headers.get('X-Request-Id', '')}"
                if "Deprecation" in response.headers:
                    logger.warning("%s %s is deprecated: %s", call.method, call.path, response.headers.get("Link", ""))
                if response.is_success:
                    _log(logging.DEBUG, call, request, outcome, number, began)
                    return response
                failure = status_error(response)
                again = _wait_of(failure, number)
                if again is None:
                    _log(logging.INFO, call, request, outcome, number, began)
                    raise failure
                wait = again
            _log(logging.INFO, call, request, outcome, number, began)
            if number == retries:
                raise failure
            yield wait
        raise AssertionError  # the last try has returned or raised

    def _request(self, call: Call, body: bytes, key: str | None) -> httpx.Request:
        headers = {
            "Accept": "application/json",
            "Authorization": f"Bearer {self.public_key}",
            "X-Api-Secret": self._secret_key,
            "Ballast-Version": API_VERSION,
            "User-Agent": self._user_agent,
        }
        if call.body is not None:
            headers["Content-Type"] = "application/json"
        if key is not None:
            headers["Idempotency-Key"] = key
        if self._sign_requests:
            headers |= signature_headers(self._secret_key, call.method, f"/v1{call.path}", body)
        sent = httpx.Headers(headers)  # so that a name of the caller's takes the place of ours, however it is written
        sent.update(call.options.get("headers", {}))
        query = dict(_query_pairs(call.query))
        return httpx.Request(
            call.method, f"{self.base_url}{self._prefix}{call.path}", params=query or None, headers=sent,
            content=body, extensions={"timeout": httpx.Timeout(call.options.get("timeout", self._timeout)).as_dict()},
        )  # fmt: skip


def signature_headers(secret_key: str, method: str, path: str, body: bytes, now: float | None = None) -> dict[str, str]:
    """The two headers of a signed request. A signature is taken once: each try has its own."""
    timestamp = str(int((time.time() if now is None else now) * 1000))
    text = f"{timestamp}.{method}.{path}.".encode() + body
    signature = hmac.new(secret_key.encode(), text, hashlib.sha256).hexdigest()
    return {"X-Service-Timestamp": timestamp, "X-Service-Signature": signature}


def _wait_of(error: ApiStatusError, number: int) -> float | None:
    """Seconds until the next try; None where another try cannot help."""
    busy = error.status == 409 and error.code == "idempotency_key_in_use"
    limited = error.status == 429 and error.code != "too_many_bad_keys"
    if not (busy or limited or error.status in (502, 503, 504)):
        return None
    text = error.response.headers.get("Retry-After", "")
    if not text.isdecimal():
        return _backoff(number)
    seconds = float(text)
    return seconds if seconds <= LONGEST_RETRY_AFTER_SECONDS else None


def _backoff(number: int) -> float:
    longest: float = min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2**number)
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - it only spreads tries


def _log(level: int, call: Call, request: httpx.Request, outcome: str, number: int, began: float) -> None:
    """Neither keys nor bodies: whoever reads a log may read neither."""
    milliseconds = round((time.monotonic() - began) * 1000)
    logger.log(
        level, "%s %s: %s in %d ms, try %d", call.method, request.url.path, outcome.strip(), milliseconds, number + 1
    )


def _given(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if not isinstance(value, NotGiven)}


def _query_pairs(query: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is given of a query: a mapping as `name[key]=value`."""
    for name, value in query.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}[{key}]", _query_value(each)) for key, each in value.items())
        elif value is not None:
            yield name, _query_value(value)


def _query_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else moment(value)


def _key(name: str, prefix: str, value: str | None) -> str:
    """The key, or a message that says what to do and never shows it."""
    variable = f"BALLAST_{name.upper()}"
    if not value:
        raise ValueError(f"{name} is missing: pass it, or set {variable}. The dashboard makes pairs under Developers.")
    value = value.strip()
    if not value.startswith(prefix):
        other = "the other half of the pair" if value.startswith(("pk_", "sk_")) else "something else"
        raise ValueError(f"{name} begins with {prefix}test_ or {prefix}live_; what was given is {other}")
    if not re.fullmatch(r"\w+", value, re.ASCII):
        raise ValueError(f"{name} has a character that no key has, as a line break; copy it again")
    return value


def installation_url(value: str | None) -> str:
    """The address of the installation, also where that of its API was given."""
    if not value:
        raise ValueError("base_url is missing: pass the address of the installation, or set BALLAST_URL")
    url = value.strip().rstrip("/").removesuffix("/v1").removesuffix("/sandbox")
    if not url.startswith(("https://", "http://")):
        raise ValueError(f"base_url begins with https:// or http://, and this is {value!r}")
    return url
