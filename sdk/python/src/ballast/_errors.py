"""What can go wrong, by type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from ballast._json import loads


class BallastError(Exception):
    """Whatever this package raises, but for a call that is wrong in itself (ValueError, TypeError)."""


class ApiConnectionError(BallastError):
    """No reply came: no connection, or it ended too early. What was asked for may have been done all the same: send it
    again with `idempotency_key`, which the failed call had, and it is done once."""

    idempotency_key: str | None = None


class ApiTimeoutError(ApiConnectionError):
    """No reply came in time."""


class WebhookVerificationError(BallastError):
    """The signature or the time of a webhook is wrong: answer 400, and do nothing else."""


@dataclass(frozen=True)
class ParameterError:
    """One of several parameters at fault."""

    param: str
    code: str
    message: str


class ApiStatusError(BallastError):
    """The API refused the request. Let programs use `code`; `message` is for people and may change."""

    def __init__(self, response: httpx.Response, error: Mapping[str, Any]) -> None:
        """Takes the reply, and the `error` of its body."""
        self.response = response
        self.status: int = response.status_code
        self.type: str = _text(error.get("type"))
        self.code: str = _text(error.get("code"))
        self.message: str = _text(error.get("message")) or f"HTTP {response.status_code} {response.reason_phrase}"
        self.param: str | None = error.get("param")
        self.request_id: str | None = error.get("requestId") or response.headers.get("X-Request-Id")
        self.errors: list[ParameterError] = [
            ParameterError(_text(one.get("param")), _text(one.get("code")), _text(one.get("message")))
            for one in error.get("errors") or []
        ]
        super().__init__(self.message)

    def __reduce__(self) -> tuple[Any, ...]:
        """Without the request, whose headers have the keys: a queue of tasks keeps what it is given."""
        as_sent = ("content-encoding", "content-length", "transfer-encoding")  # of content that was not decoded yet
        headers = [pair for pair in self.response.headers.multi_items() if pair[0] not in as_sent]
        reply = httpx.Response(self.response.status_code, headers=headers, content=self.response.content)
        return status_error, (reply,)

    def __str__(self) -> str:
        about = ", ".join(part for part in (self.code, self.param, self.request_id) if part)
        return f"{self.message} ({about})" if about else self.message


class InvalidRequestError(ApiStatusError):
    """A parameter is wrong, or the record's state does not allow it."""


class AuthenticationError(ApiStatusError):
    """The keys or the signature are wrong."""


class PermissionDeniedError(ApiStatusError):
    """The key may not do this."""


class NotFoundError(ApiStatusError):
    """There is no such record for these keys; those of the other environment cannot see it."""


class IdempotencyError(ApiStatusError):
    """The idempotency key was used for another request, or its request still runs."""


class RateLimitError(ApiStatusError):
    """Too many requests: `response.headers["Retry-After"]` says how long to wait."""


class ServerError(ApiStatusError):
    """The service failed, or is not available now."""


ERRORS: dict[str, type[ApiStatusError]] = {
    "invalid_request_error": InvalidRequestError,
    "authentication_error": AuthenticationError,
    "permission_error": PermissionDeniedError,
    "not_found_error": NotFoundError,
    "idempotency_error": IdempotencyError,
    "rate_limit_error": RateLimitError,
    "api_error": ServerError,
}


def status_error(response: httpx.Response) -> ApiStatusError:
    error = _error_of(response)
    return ERRORS.get(_text(error.get("type")), ApiStatusError)(response, error)


def _error_of(response: httpx.Response) -> dict[str, Any]:
    """The `error` of the body, or nothing where a proxy replied with something else."""
    try:
        error = loads(response.content)["error"]
    except (ValueError, TypeError, KeyError):
        return {}
    return error if isinstance(error, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
