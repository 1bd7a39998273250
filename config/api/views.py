"""Replies Django itself gives: errors outside any view of ours, as JSON under the API and as a page elsewhere."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views import defaults

from config.api.exceptions import (
    FORBIDDEN,
    INTERNAL,
    INVALID_REQUEST,
    MISSING,
    Fault,
    error_body,
    error_headers,
    request_id_of,
)
from config.api.renderers import render_json

API_PREFIXES = ("/v1/", "/sandbox/v1/")


def is_api_path(path: str) -> bool:
    """Whether a reply under this path must be JSON; the bare prefix without its slash included."""
    return path.startswith(API_PREFIXES) or f"{path}/" in API_PREFIXES


def error_reply(request: HttpRequest, fault: Fault) -> HttpResponse:
    """The error as the API shows it, for code that runs outside REST framework."""
    return HttpResponse(
        render_json(error_body(fault, request_id_of(request))),
        status=fault.status,
        content_type="application/json",
        headers=error_headers(fault),
    )


def bad_request(request: HttpRequest, exception: Exception, *args: Any) -> HttpResponse:
    if is_api_path(request.path):
        return error_reply(request, INVALID_REQUEST)
    return defaults.bad_request(request, exception)


def forbidden(request: HttpRequest, exception: Exception, *args: Any) -> HttpResponse:
    if is_api_path(request.path):
        return error_reply(request, FORBIDDEN)
    return defaults.permission_denied(request, exception)


def not_found(request: HttpRequest, exception: Exception, *args: Any) -> HttpResponse:
    if is_api_path(request.path):
        return error_reply(request, MISSING)
    return defaults.page_not_found(request, exception)


def server_error(request: HttpRequest, *args: Any) -> HttpResponse:
    if is_api_path(request.path):
        return error_reply(request, INTERNAL)
    return defaults.server_error(request)
