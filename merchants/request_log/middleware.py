"""Logs each request to the API that carried a known key, for the merchant whose key it is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import structlog
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponse, HttpResponseBase

from config import ids
from config.process.logs import REQUEST_ID
from merchants.access.addresses import client_address
from merchants.access.authentication import KEY_OF_REQUEST
from merchants.models import ApiKey
from merchants.request_log.recording import RECORDER, Entry, beginning

logger = structlog.get_logger(__name__)

LIST_PATHS: Final = ("/v1/requests", "/sandbox/v1/requests")
"""Where the log itself is read."""


class RequestLogMiddleware:
    """Comes after the one that gives the request its id, and before everything that may refuse it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not settings.REQUESTS_KEPT_DAYS:
            return self.get_response(request)
        arrived, began = time.time_ns() // 1_000_000, time.perf_counter()
        response = self.get_response(request)
        key: ApiKey | None = request.META.get(KEY_OF_REQUEST)
        if key is not None and not _has_read_the_log(request, response):
            milliseconds = round((time.perf_counter() - began) * 1000)
            try:
                RECORDER.add(_entry(request, response, key, arrived, milliseconds))
                if settings.MODE != "test":
                    RECORDER.start()
            except Exception:  # a reply is never lost for its line in the log
                logger.exception("request_not_logged")
        return response


def _has_read_the_log(request: HttpRequest, response: HttpResponseBase) -> bool:
    """True for what a program does every second that follows the log: its own rows would hide all others."""
    return request.path in LIST_PATHS and request.method in {"GET", "HEAD"} and response.status_code < 400


def _entry(request: HttpRequest, response: HttpResponseBase, key: ApiKey, arrived: int, milliseconds: int) -> Entry:
    address = client_address(request)
    # A body that nobody has read stays unread: a refusal that did not look at it has no use for it.
    body, body_bytes = beginning(getattr(request, "_body", b""))
    reply, reply_bytes = beginning(response.content if isinstance(response, HttpResponse) else b"")
    return Entry(
        id=ids.new_uuid(arrived),
        merchant_id=key.merchant_id,
        environment=key.environment,
        public_key=key.public_key,
        request_id=request.META[REQUEST_ID],
        method=request.method or "",
        path=request.path,
        query=request.META.get("QUERY_STRING", ""),
        idempotency_key=request.META.get("HTTP_IDEMPOTENCY_KEY", ""),
        address=str(address) if address else None,
        status=response.status_code,
        duration_milliseconds=milliseconds,
        body=body,
        body_bytes=body_bytes,
        reply=reply,
        reply_bytes=reply_bytes,
    )
