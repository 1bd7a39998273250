"""Errors to a Sentry-compatible server, and traces by OpenTelemetry: each only where its setting is set.

Both leave this installation, so only what is listed here goes along: never a message, an address, a header, a body or
the value of a variable. The log, which stays, has the rest by the id of the request.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import structlog
from django.conf import settings

from config.process.release import RELEASE

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

_API = "config.middleware.ApiMiddleware"
_OF_AN_EVENT = ("event_id", "timestamp", "level", "platform", "release", "environment", "server_name")
_OF_A_FRAME = ("filename", "function", "lineno", "module", "in_app")
_OF_A_SPAN = frozenset(
    {"http.method", "http.request.method", "http.route", "http.status_code", "http.response.status_code"}
    | {"celery.action", "celery.state", "messaging.destination"}
)


def begin() -> None:
    """Begin what the settings of this process ask for. Nothing of either is imported where they ask for nothing."""
    if settings.SENTRY_DSN:
        _report_errors()
    if settings.OTEL_EXPORTER_OTLP_ENDPOINT:
        _trace()


def _report_errors() -> None:
    import sentry_sdk

    sentry_sdk.init(
        dsn=settings.SENTRY_DSN,
        release=RELEASE,
        environment=settings.MODE,
        before_send=_error,  # type: ignore[arg-type]
        include_local_variables=False,
        include_source_context=False,
        max_request_body_size="never",
        max_breadcrumbs=0,
        trace_propagation_targets=[],  # else providers are sent headers with the DSN's key and the release
        send_client_reports=False,
        auto_session_tracking=False,
    )


def _error(event: dict[str, Any], hint: dict[str, Any]) -> dict[str, Any] | None:
    """The type and place of an exception; None for an event that is a message alone."""
    raised = event.get("exception", {}).get("values", [])
    if not raised:
        return None
    exceptions = [
        {
            "type": each.get("type"),
            "module": each.get("module"),
            "stacktrace": {
                "frames": [
                    {name: frame.get(name) for name in _OF_A_FRAME}
                    for frame in (each.get("stacktrace") or {}).get("frames", [])
                ]
            },
        }
        for each in raised
    ]
    request_id = structlog.contextvars.get_contextvars().get("request_id", "")
    tags = {"role": settings.BALLAST_ROLE, "request_id": request_id}
    return {name: event[name] for name in _OF_AN_EVENT if name in event} | {
        "exception": {"values": exceptions},
        "tags": tags,
    }


def _trace() -> None:
    """Trace requests and tasks. The exporter, its sampler and the rest are set by the variables of OpenTelemetry."""
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.instrumentation.celery import CeleryInstrumentor
    from opentelemetry.instrumentation.django import DjangoInstrumentor
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult

    class Exporter(OTLPSpanExporter):
        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            return super().export([_span(each) for each in spans])

    ours = Resource({"service.name": "ballast", "service.version": RELEASE, "ballast.role": settings.BALLAST_ROLE})
    provider = TracerProvider(resource=ours.merge(OTELResourceDetector().detect()))
    provider.add_span_processor(BatchSpanProcessor(Exporter()))
    trace.set_tracer_provider(provider)
    # Pages and the API have a handler each, and a trace has the route that one of them finds.
    os.environ["OTEL_PYTHON_DJANGO_MIDDLEWARE_POSITION"] = str(settings.MIDDLEWARE.index(_API) + 1)
    DjangoInstrumentor().instrument()
    settings.API_MIDDLEWARE.insert(0, settings.MIDDLEWARE[settings.MIDDLEWARE.index(_API) + 1])
    CeleryInstrumentor().instrument()  # type: ignore[no-untyped-call]


def _span(span: ReadableSpan) -> ReadableSpan:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import Status

    return ReadableSpan(
        name=span.name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes={name: value for name, value in (span.attributes or {}).items() if name in _OF_A_SPAN},
        kind=span.kind,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )
