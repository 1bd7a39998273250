"""The error every layer raises when a rule of the domain refuses something. It uses no framework."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class FieldError:
    """One field at fault: `param` is its name as the caller wrote it, dotted when nested."""

    param: str
    code: str
    message: str


SHORTLY = " Try again shortly."
"""The end of a message when it is not known how long to wait."""


def wait_in_words(seconds: int) -> str:
    """`45 seconds`, or `15 minutes` rounded up."""
    number, unit = (seconds, "second") if seconds < 120 else (-(-seconds // 60), "minute")
    return f"{number} {unit}{'' if number == 1 else 's'}"


class DomainError(Exception):
    """A refusal with a stable `code`. The API turns it into the error body, pages into a sentence.

    Subclass it once per fact (`PaymentNotCancellable`), next to the rule that refuses, with `code`,
    `status` and a default `message`. `param` names the input at fault, when one input is.
    """

    type: ClassVar[str] = "invalid_request_error"
    code: ClassVar[str] = "invalid_request"
    status: ClassVar[int] = 400
    message: str = "The request was refused."

    def __init__(
        self,
        message: str | None = None,
        *,
        param: str | None = None,
        errors: tuple[FieldError, ...] = (),
        retry_after_seconds: int | None = None,
    ) -> None:
        self.message = message or type(self).message
        if retry_after_seconds is not None:
            exactly = wait_in_words(retry_after_seconds)
            self.message = f"{self.message.removesuffix(SHORTLY)} Try again in {exactly}."
        self.param = param
        self.errors = errors
        self.retry_after_seconds = retry_after_seconds
        super().__init__(self.message)


class NotFound(DomainError):
    """The record does not exist, or the caller may not see it: both have the same error."""

    type = "not_found_error"
    code = "resource_missing"
    status = 404
    message = "No such resource."


class InvalidParameter(DomainError):
    """A value that is well formed JSON but not acceptable; `param` names it."""

    code = "invalid_parameter"
    message = "A parameter is not valid."


class ServiceUnavailable(DomainError):
    """Something Ballast depends on is down; the caller may try again."""

    type = "api_error"
    code = "service_unavailable"
    status = 503
    message = "The service cannot do this right now. Try again shortly."
