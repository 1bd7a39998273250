"""Pages of the API beside its resources: its description, and errors that arise outside any view."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views import defaults
from django.views.decorators.csrf import csrf_exempt
from drf_spectacular.generators import SchemaGenerator

from config.api.exceptions import (
    DATABASE_AWAY,
    FORBIDDEN,
    INTERNAL,
    INVALID_REQUEST,
    MISSING,
    Fault,
    error_body,
    error_headers,
    is_database_away,
    method_not_allowed,
    request_id_of,
)
from config.api.hints import instead_of, right_addresses
from config.api.parsers import shown
from config.api.renderers import render_json

# All of /sandbox: a client that forgets the version is a program, too.
API_PREFIXES = ("/v1/", "/sandbox/")


def is_api_path(path: str) -> bool:
    """True if a reply under this path must be JSON; also for a bare prefix without its slash."""
    return path.startswith(API_PREFIXES) or f"{path}/" in API_PREFIXES


def error_reply(request: HttpRequest, fault: Fault) -> HttpResponse:
    """The error as the API shows it, for code that runs outside REST framework."""
    return HttpResponse(
        render_json(error_body(fault, request_id_of(request))),
        status=fault.status,
        content_type="application/json",
        headers={**error_headers(fault), "Cache-Control": "no-store"},
    )


def nothing_here(request: HttpRequest) -> Fault:
    """The error for a URL that does not exist, with the one that was probably meant."""
    message = f"There is nothing at {shown(request.path)}."
    is_sandbox = _is_sandbox_key(request)
    if instead := instead_of(request.method, request.path, is_sandbox=is_sandbox):
        message += instead
    elif found := right_addresses(request.path, is_sandbox=is_sandbox):
        message += f" Did you mean {' or '.join(found)}?"
        if request.path.endswith("/"):
            message += " Addresses have no slash at their end."
    elif is_api_path(request.path):
        message += " The reference is at /docs/api."
    else:
        message += " The API is at /v1, and at /sandbox/v1 with test keys."
    return replace(MISSING, message=message)


def _is_sandbox_key(request: HttpRequest) -> bool | None:
    given = request.META.get("HTTP_AUTHORIZATION", "") + request.META.get("HTTP_X_API_SECRET", "")
    return True if "k_test_" in given else False if "k_live_" in given else None


@cache
def openapi_document() -> bytes:
    """The OpenAPI document: the same for everyone, made once in a process."""
    generator = SchemaGenerator()  # type: ignore[no-untyped-call]  # drf-spectacular has no types here
    return render_json(generator.get_schema(request=None, public=True))  # type: ignore[no-untyped-call]  # nor here


@csrf_exempt
def show_openapi(request: HttpRequest, environment: str) -> HttpResponse:
    """Serves one document for both environments, whose servers differ."""
    if request.method not in {"GET", "HEAD"}:
        refusal = error_reply(request, method_not_allowed(request, ["GET"]))
        refusal.headers["Allow"] = "GET, HEAD"
        return refusal
    return HttpResponse(
        openapi_document(), content_type="application/json", headers={"Cache-Control": "public, max-age=300"}
    )


def bad_request(request: HttpRequest, exception: Exception, *args: Any) -> HttpResponse:
    if is_database_away(exception):
        return unavailable(request)
    if is_api_path(request.path):
        return error_reply(request, INVALID_REQUEST)
    return defaults.bad_request(request, exception)


def forbidden(request: HttpRequest, exception: Exception, *args: Any) -> HttpResponse:
    if is_api_path(request.path):
        return error_reply(request, FORBIDDEN)
    return defaults.permission_denied(request, exception)


def not_found(request: HttpRequest, exception: Exception, *args: Any) -> HttpResponse:
    if is_api_path(request.path):
        return error_reply(request, nothing_here(request))
    return defaults.page_not_found(request, exception)


def server_error(request: HttpRequest, *args: Any) -> HttpResponse:
    """The handler that Django calls for an exception outside views: of a middleware, or of a commit."""
    _, error, _ = sys.exc_info()
    if is_database_away(error):
        return unavailable(request)
    if is_api_path(request.path):
        return error_reply(request, INTERNAL)
    return defaults.server_error(request)


def unavailable(request: HttpRequest) -> HttpResponse:
    """Replies 503 with the time for the next try. It uses no database itself."""
    if is_api_path(request.path):
        return error_reply(request, DATABASE_AWAY)
    headers = {**error_headers(DATABASE_AWAY), "Cache-Control": "no-store"}
    return HttpResponse(render_to_string("503.html"), status=DATABASE_AWAY.status, headers=headers)
