"""The one form of an error reply, whatever raised it: {"error": {type, code, message, param?, requestId, errors?}}."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.sessions.backends.base import UpdateError
from django.contrib.sessions.exceptions import SessionInterrupted
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import (
    DatabaseError,
    DataError,
    InterfaceError,
    OperationalError,
    connection,
)
from django.db.transaction import TransactionManagementError
from django.http import Http404, HttpRequest, UnreadablePostError
from psycopg.errors import ReadOnlySqlTransaction
from rest_framework import exceptions as rest
from rest_framework.response import Response
from rest_framework.views import set_rollback

from config import ids
from config.api.hints import instead_of
from config.api.parsers import BodyTooLarge, UnsupportedContentType, shown
from config.errors import DomainError, FieldError, NotFound, ServiceUnavailable, wait_in_words
from config.process.logs import REQUEST_ID

logger = logging.getLogger(__name__)

MAX_FIELD_ERRORS = 20
MAX_PARAM_CHARACTERS = 100
READ_ONLY = ReadOnlySqlTransaction.sqlstate

_CODES_OF_FIELDS = {"required": "missing_parameter", "unknown": "unknown_parameter"}


@dataclass(frozen=True)
class Fault:
    """An error on its way to the caller: the content of the body and the headers."""

    status: int
    type: str
    code: str
    message: str
    param: str | None = None
    errors: tuple[FieldError, ...] = ()
    retry_after_seconds: int | None = None


INVALID_REQUEST = Fault(400, "invalid_request_error", "invalid_request", "The request cannot be understood.")
UNAUTHENTICATED = Fault(401, "authentication_error", "authentication_failed", "The API key is missing or not valid.")
FORBIDDEN = Fault(403, "permission_error", "permission_denied", "This key does not have permission for this.")
MISSING = Fault(404, NotFound.type, NotFound.code, NotFound.message)
METHOD_NOT_ALLOWED = Fault(405, "invalid_request_error", "method_not_allowed", "This address has no such method.")
RATE_LIMITED = Fault(429, "rate_limit_error", "rate_limit_exceeded", "Too many requests.")
INTERNAL = Fault(
    500,
    "api_error",
    "internal_error",
    "Something went wrong on our side. Send us the requestId, so that we can find the cause.",
)

DATABASE_AWAY = Fault(
    ServiceUnavailable.status,
    ServiceUnavailable.type,
    ServiceUnavailable.code,
    ServiceUnavailable.message,
    retry_after_seconds=2,
)


def handle(exception: Exception, context: Mapping[str, Any]) -> Response:
    """REST framework's exception handler. It makes a reply of every exception, so that no detail of a fault leaks.

    Code that opened a database transaction around the view sees by `response.exception` that it must not commit.
    """
    request: HttpRequest = context["request"]._request
    fault = fault_of(exception)
    if isinstance(exception, rest.MethodNotAllowed):
        fault = method_not_allowed(request, context["view"].allowed_methods)
    if fault.status >= 500:
        logger.error("%s %s answers %s", request.method, request.path, fault.code, exc_info=exception)
    elif isinstance(exception, DataError):
        logger.warning("%s %s let a value through to the database", request.method, request.path, exc_info=exception)
    set_rollback()
    return Response(error_body(fault, request_id_of(request)), status=fault.status, headers=error_headers(fault))


def method_not_allowed(request: HttpRequest, allowed: Iterable[str]) -> Fault:
    """The refusal of a method, with the methods that the URL has."""
    *others, last = sorted({*allowed} - {"HEAD", "OPTIONS"}) or ["no method"]
    named = f"{', '.join(others)} and {last}" if others else last
    message = f"{request.method} is not possible at {shown(request.path)}, which takes {named}."
    return replace(METHOD_NOT_ALLOWED, message=message + instead_of(request.method, request.path))


def error_body(fault: Fault, request_id: str) -> dict[str, Any]:
    error: dict[str, Any] = {"type": fault.type, "code": fault.code, "message": fault.message}
    if fault.param is not None:
        error["param"] = fault.param[:MAX_PARAM_CHARACTERS]
    error["requestId"] = request_id
    if len(fault.errors) > 1:
        error["errors"] = [
            {"param": each.param[:MAX_PARAM_CHARACTERS], "code": each.code, "message": each.message}
            for each in fault.errors[:MAX_FIELD_ERRORS]
        ]
    return {"error": error}


def error_headers(fault: Fault) -> dict[str, str]:
    headers = {}
    if fault.status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="api"'
    if fault.retry_after_seconds is not None:
        headers["Retry-After"] = str(fault.retry_after_seconds)
    return headers


def request_id_of(request: HttpRequest) -> str:
    """The id the middleware gave this request, or a new one for a request that never passed it."""
    request_id: str = request.META.get(REQUEST_ID) or ids.REQUEST.encode(ids.new_uuid())
    request.META[REQUEST_ID] = request_id
    return request_id


def fault_of(exception: Exception) -> Fault:
    """The error that the caller gets for any exception."""
    match exception:
        case DomainError():
            return _of_domain_error(exception)
        case rest.APIException():
            return _of_rest_framework(exception)
        case Http404():
            return MISSING
        case PermissionDenied():
            return FORBIDDEN
        case RequestDataTooBig():
            return _of_domain_error(BodyTooLarge())
        case SuspiciousOperation() | UnreadablePostError():
            return INVALID_REQUEST
        case DataError():  # validation let a value pass that the database cannot hold
            return replace(INVALID_REQUEST, code="invalid_parameter", message="A value is out of range.")
        case _ if is_database_away(exception):
            return DATABASE_AWAY
        case _:
            return INTERNAL


def is_database_away(exception: BaseException | None) -> bool:
    """True if the database failed in a way that may be over soon, so that the request can be repeated.

    It is down, restarting, out of connections or a read-only standby, or a lock or a statement took too long.
    """
    match exception:
        case OperationalError() | InterfaceError():
            return True
        case TransactionManagementError():  # the code went on after its connection was lost
            return connection.connection is None or connection.connection.closed
        case SessionInterrupted() | UpdateError():  # raised by Django when it could not save a session
            return is_database_away(exception.__context__)
        case DatabaseError():
            return getattr(exception.__cause__, "sqlstate", None) == READ_ONLY
        case _:
            return False


def _of_domain_error(error: DomainError) -> Fault:
    return Fault(
        status=error.status,
        type=error.type,
        code=error.code,
        message=error.message,
        param=error.param if error.param is not None or not error.errors else error.errors[0].param,
        errors=error.errors,
        retry_after_seconds=error.retry_after_seconds,
    )


def _of_rest_framework(error: rest.APIException) -> Fault:
    """REST framework's own exceptions; a code that is not one of its defaults is kept."""
    match error:
        case rest.ValidationError():
            return _of_fields(tuple(_flatten(error.detail)))
        case rest.NotAuthenticated() | rest.AuthenticationFailed():
            return _named(UNAUTHENTICATED, error)
        case rest.PermissionDenied():
            return _named(FORBIDDEN, error)
        case rest.NotFound():
            return MISSING
        case rest.MethodNotAllowed():
            return METHOD_NOT_ALLOWED
        case rest.Throttled():
            wait: float | None = getattr(error, "wait", None)
            if wait is None:
                return RATE_LIMITED
            seconds = max(1, math.ceil(wait))
            message = f"{RATE_LIMITED.message} Try again in {wait_in_words(seconds)}."
            return replace(RATE_LIMITED, message=message, retry_after_seconds=seconds)
        case rest.UnsupportedMediaType():
            return _of_domain_error(UnsupportedContentType())
        case _ if error.status_code >= 500:
            return INTERNAL
        case _:
            return _named(INVALID_REQUEST, error)


def _named(fault: Fault, error: rest.APIException) -> Fault:
    detail = error.detail
    if not isinstance(detail, rest.ErrorDetail) or detail.code in {None, error.default_code}:
        return fault
    return replace(fault, code=str(detail.code), message=str(detail))


def _of_fields(errors: tuple[FieldError, ...]) -> Fault:
    first = errors[0]
    return replace(INVALID_REQUEST, code=first.code, message=first.message, param=first.param or None, errors=errors)


def _flatten(detail: Any, path: tuple[str, ...] = ()) -> Iterator[FieldError]:
    """Nested serializer errors as one list, each under the dotted name the caller would write."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            yield from _flatten(inner, path if name == "non_field_errors" else (*path, str(name)))
    elif isinstance(detail, list):
        for index, inner in enumerate(detail):
            if isinstance(inner, Mapping):  # an entry of a list: its index is part of its name
                yield from _flatten(inner, (*path, str(index)))
            else:
                yield from _flatten(inner, path)
    else:
        yield _field_error(".".join(path), detail)


def _field_error(param: str, detail: rest.ErrorDetail) -> FieldError:
    code = str(detail.code)
    if code == "required":
        message = f"Missing required parameter: {param}."
    else:
        # The message of REST framework is "This field may not be null."; without its field, that names nothing.
        message = str(detail)
        if param and message.startswith("This field"):
            message = param + message.removeprefix("This field")
    return FieldError(param, _CODES_OF_FIELDS.get(code, "invalid_parameter"), message)
