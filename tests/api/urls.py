"""Views that fail in every way, for the tests of what the caller is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import DataError, OperationalError, connection
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path
from rest_framework import exceptions as rest
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from config.api.fields import StrictCharField, StrictIntegerField, StrictSerializer
from config.errors import DomainError, FieldError, NotFound


class Refused(DomainError):
    code = "payment_not_cancellable"
    message = "Money has been seen for this payment."


class Part(StrictSerializer):
    name = StrictCharField(max_length=5)


class Order(StrictSerializer):
    name = StrictCharField(max_length=5)
    count = StrictIntegerField(minimum=1, maximum=9)
    first = Part(required=False)
    parts = serializers.ListField(child=Part(), required=False)


class OrderView(APIView):
    permission_classes = ()

    def post(self, request: Request) -> Response:
        order = Order(data=request.data)
        order.is_valid(raise_exception=True)
        return Response(order.validated_data, status=201)

    def get(self, request: Request) -> Response:
        return Response({"accept": request.META.get("HTTP_ACCEPT"), "query": dict(request.query_params.items())})


class EchoView(APIView):
    """Reads the body twice: as the parser does, and as request signing does."""

    permission_classes = ()

    def post(self, request: Request) -> Response:
        return Response({"data": request.data, "bytes": len(request._request.body)})


def raising(make: Callable[[], BaseException]) -> Any:
    class FailingView(APIView):
        permission_classes = ()

        def get(self, request: Request) -> Response:
            raise make()

    return FailingView.as_view()


def _query(sql: str) -> Callable[[], BaseException]:
    def run() -> BaseException:
        with connection.cursor() as cursor:
            cursor.execute(sql)
        raise AssertionError("the statement should have failed")

    return run


def failing_page(request: HttpRequest) -> HttpResponse:
    raise ZeroDivisionError("secret text")


def suspicious_page(request: HttpRequest) -> HttpResponse:
    raise SuspiciousOperation("secret text")


def forbidden_page(request: HttpRequest) -> HttpResponse:
    raise PermissionDenied("secret text")


FAILURES: dict[str, Callable[[], BaseException]] = {
    "domain": Refused,
    "domain-param": lambda: Refused(param="status", retry_after_seconds=7),
    "domain-fields": lambda: Refused(
        errors=(FieldError("a", "invalid_parameter", "No."), FieldError("b.c", "invalid_parameter", "Nor this."))
    ),
    "domain-missing": NotFound,
    "http404": lambda: Http404("secret text"),
    "not-found": lambda: rest.NotFound("secret text"),
    "permission": lambda: PermissionDenied("secret text"),
    "rest-permission": rest.PermissionDenied,
    "rest-permission-named": lambda: rest.PermissionDenied("Needs payments:write.", code="scope_missing"),
    "not-authenticated": rest.NotAuthenticated,
    "authentication-named": lambda: rest.AuthenticationFailed("The key was deleted.", code="key_revoked"),
    "throttled": lambda: rest.Throttled(wait=2.2),
    "parse": lambda: rest.ParseError("Broken."),
    "suspicious": lambda: SuspiciousOperation("secret text"),
    "operational": lambda: OperationalError("secret text"),
    "data": lambda: DataError("secret text"),
    "statement-timeout": _query("SET LOCAL statement_timeout = '10ms'; SELECT pg_sleep(5)"),
    "integer-overflow": _query("SELECT 99999999999::int"),
    "bug": lambda: ZeroDivisionError("secret text"),
    "value": lambda: ValueError("secret text"),
    "rest-500": lambda: rest.APIException("secret text"),
}

api = [
    path("orders", OrderView.as_view()),
    path("echo", EchoView.as_view()),
    path("outside", failing_page),
    path("suspicious", suspicious_page),
    path("forbidden", forbidden_page),
    *[path(f"fail/{name}", raising(make)) for name, make in FAILURES.items()],
]

urlpatterns = [
    *[path(f"{prefix}{route.pattern}", route.callback) for prefix in ("v1/", "sandbox/v1/") for route in api],
    path("outside", failing_page),
]

handler400 = "config.api.views.bad_request"
handler403 = "config.api.views.forbidden"
handler404 = "config.api.views.not_found"
handler500 = "config.api.views.server_error"
