"""Middleware of every request, to the API and to pages: the id, the body and the headers.

Both have a handler of their own. What is for pages alone, as sessions, messages, tokens of forms, languages and files,
costs a request to the API nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import structlog
from csp.utils import build_policy
from django.conf import settings
from django.core.handlers.base import BaseHandler
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.utils.module_loading import import_string

from config import ids
from config.api.exceptions import INVALID_REQUEST, Fault, fault_of
from config.api.hints import is_program, sends_keys
from config.api.parsers import MAX_BODY_BYTES, BodyTooLarge
from config.api.views import error_reply, is_api_path, nothing_here
from config.process.logs import REQUEST_ID
from config.process.release import RELEASE

NextHandler = Callable[[HttpRequest], HttpResponseBase]

_GIVEN_REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")

PERMISSIONS_POLICY = ", ".join(
    f"{feature}=()" for feature in ("camera", "display-capture", "geolocation", "microphone", "payment", "usb")
)


class ApiMiddleware:
    """Hands requests to the API over to their own handler. It comes first."""

    def __init__(self, get_response: NextHandler) -> None:
        self._pages = get_response
        self._api = ApiHandler().answer

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self._api(request) if is_api_path(request.path_info) else self._pages(request)


class ApiHandler(BaseHandler):
    """Django's handler with the middleware of API_MIDDLEWARE, of which it knows two hooks: views and exceptions."""

    def __init__(self) -> None:
        self._view_middleware: list[Any] = []
        self._exception_middleware: list[Any] = []
        self._template_response_middleware: list[Any] = []
        chain: Any = convert_exception_to_response(super()._get_response)  # type: ignore[misc]  # django-stubs lacks it
        for path in reversed(settings.API_MIDDLEWARE):
            middleware = import_string(path)(chain)
            if hasattr(middleware, "process_view"):
                self._view_middleware.insert(0, middleware.process_view)
            if hasattr(middleware, "process_exception"):
                self._exception_middleware.append(middleware.process_exception)
            chain = convert_exception_to_response(middleware)
        self.answer: NextHandler = chain


class RequestIdMiddleware:
    """Gives the request an id, for the logs, the reply and error bodies. It comes first, so that nothing lacks one.

    A caller may bring an id of its own, to follow one piece of work through several services.
    """

    def __init__(self, get_response: NextHandler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        request_id = request.META.get("HTTP_X_REQUEST_ID", "")
        if not _GIVEN_REQUEST_ID.fullmatch(request_id):
            request_id = ids.REQUEST.encode(ids.new_uuid())
        request.META[REQUEST_ID] = request_id
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            response = self.get_response(request)
        response.headers["X-Request-Id"] = request_id
        return response


class PageCompressionMiddleware(GZipMiddleware):
    """Compresses pages, and their style sheets, scripts and pictures where those are not compressed already.

    Files, streams of events and replies of the API are sent as they are. A page's length reveals nothing of its
    content: Django adds random bytes, and masks the token of a form anew each time.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        kind = response.headers.get("Content-Type", "").partition(";")[0]
        if response.status_code in _NOT_WHOLE or kind not in _COMPRESSED:
            return response
        response = super().process_response(request, response)
        if response.streaming and response.has_header("Content-Encoding"):
            del response.headers["ETag"]  # WhiteNoise would not know it again, weakened; it knows Last-Modified
        return response


_NOT_WHOLE = {HTTPStatus.PARTIAL_CONTENT, HTTPStatus.NOT_MODIFIED}
_COMPRESSED = {"text/html", "text/css", "text/javascript", "image/svg+xml"}


class ResponseHeadersMiddleware:
    """Headers that neither Django's SecurityMiddleware nor django-csp sets."""

    def __init__(self, get_response: NextHandler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        headers = response.headers
        headers["Permissions-Policy"] = PERMISSIONS_POLICY
        headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        return response


class ApiHeadersMiddleware:
    """The guards that replies of the API have in common with pages, and that they are never cached.

    They name the release to callers with a valid key alone: a stranger could look for one with a known weakness.
    """

    def __init__(self, get_response: NextHandler) -> None:
        self.get_response = get_response
        self._guards = {
            "Content-Security-Policy": build_policy(),
            "Cross-Origin-Resource-Policy": "same-origin",
            "Permissions-Policy": PERMISSIONS_POLICY,
            "X-Frame-Options": settings.X_FRAME_OPTIONS,
        }

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        headers = response.headers
        for name, value in self._guards.items():
            headers[name] = value
        headers.setdefault("Cache-Control", "no-store")
        if getattr(request, "auth", None) is not None:  # as merchants.access.authentication leaves it
            headers["Ballast-Release"] = RELEASE
        return response


class ApiClientMiddleware:
    """Replies with JSON to a program that forgot the prefix or the version of the API, and names the right URL.

    A client that sends keys is such a program, even where the page would only redirect it.
    """

    def __init__(self, get_response: NextHandler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if response.headers.get("Content-Type") == "application/json":
            return response
        is_lost = response.status_code in {403, 404, 405} and is_program(request)
        is_sent_on = 300 <= response.status_code < 400 and sends_keys(request)
        return error_reply(request, nothing_here(request)) if is_lost or is_sent_on else response


class RequestBodyMiddleware:
    """Makes a body sent in chunks readable, and never lets a header choose how text is decoded.

    Django reads as many bytes as Content-Length has, so without that header a body would be ignored.
    """

    def __init__(self, get_response: NextHandler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.encoding is not None:
            # A charset of the caller's choice would also decode the query string, by codecs that fail or expand.
            request.encoding = "utf-8"
        if "HTTP_TRANSFER_ENCODING" in request.META and not request.META.get("CONTENT_LENGTH"):
            fault = _read_unsized_body(request)
            if fault is not None:
                return error_reply(request, fault)
        return self.get_response(request)


def _read_unsized_body(request: HttpRequest) -> Fault | None:
    if not request.META.get("wsgi.input_terminated"):  # reading would wait for bytes that never come
        return INVALID_REQUEST
    body = request.META["wsgi.input"].read(MAX_BODY_BYTES + 1)
    if len(body) > MAX_BODY_BYTES:
        return fault_of(BodyTooLarge())
    request._body = body
    request.META["CONTENT_LENGTH"] = str(len(body))
    return None
