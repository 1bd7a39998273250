"""Structured logs: one JSON object a line, with the id of the request, and never a secret."""

from __future__ import annotations

import html
import re
from collections.abc import Collection, ItemsView, Mapping
from types import FrameType
from typing import Any

import structlog
from django.http import HttpRequest
from django.views.debug import ExceptionReporter, SafeExceptionReporterFilter
from structlog.typing import EventDict, Processor, WrappedLogger

REQUEST_ID = "ballast.request_id"
"""The key of `HttpRequest.META` under which the middleware leaves the id of the request."""

REDACTED = "[redacted]"

SECRET_NAME = re.compile(
    r"authori[sz]ation|secret|passw|pepper|cookie|csrf|session|token(?!_?fee)|signature|api_?key(?!_id)|private|credential",
    re.IGNORECASE,
)
"""Names under which a value is never written."""

_SECRET_TEXT: tuple[tuple[re.Pattern[str], str], ...] = (
    # Keys and secrets that Ballast makes, anywhere in a text.
    (re.compile(r"\b((?:sk_live|sk_test|whsec)_)[A-Za-z0-9+/=_-]+"), rf"\1{REDACTED}"),
    # Links that let in whoever has them.
    (
        re.compile(r"(/(?:refund|return|invitation|signup/confirm)/|/password/[0-9A-Za-z]+-)[\w.:=%~-]+"),
        rf"\1{REDACTED}",
    ),
    # A cookie header runs to the end of its line; other headers and fields to the end of their value.
    (re.compile(r"(?i)\b((?:set-)?cookie['\"]?\s*[:=]\s*)[^\r\n]+"), rf"\1{REDACTED}"),
    (
        re.compile(
            r"(?i)\b((?:authorization|x-api-secret|x-service-signature|password|secret_key|api_key_pepper(?:_fallbacks)?"
            r"|csrf\w*|session\w*|\w*token)['\"]?\s*[:=]\s*['\"]?)(?:(?:bearer|basic)\s+)?[^\s'\",;&}]+"
        ),
        rf"\1{REDACTED}",
    ),
    # The password of an address: postgres://user:password@host
    (re.compile(r"(://[^/\s:@]*:)[^/\s@]+@"), rf"\1{REDACTED}@"),
)

_DEEPEST = 8

_concealed: re.Pattern[str] | None = None


def conceal(values: Collection[str]) -> None:
    """Redact these values from now on, wherever they appear and under whatever name: the secrets of the settings."""
    global _concealed
    spellings = {spelling for value in values for spelling in (value, html.escape(value), repr(value)[1:-1])}
    longest_first = sorted(spellings, key=len, reverse=True)
    _concealed = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None


def redact(value: Any, depth: int = 0) -> Any:
    """The value with every secret in it replaced; secrets are recognised by their name or their form."""
    if isinstance(value, str):
        if _concealed is not None:
            value = _concealed.sub(REDACTED, value)
        for pattern, replacement in _SECRET_TEXT:
            value = pattern.sub(replacement, value)
        return value
    if isinstance(value, bytes):
        return redact(value.decode(errors="replace"), depth)
    if isinstance(value, (Mapping, list, tuple, set, frozenset)):
        if depth == _DEEPEST:
            return "…"
        if isinstance(value, Mapping):
            return {key: REDACTED if _is_secret(key) else redact(item, depth + 1) for key, item in value.items()}
        return [redact(item, depth + 1) for item in value]
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return redact(str(value), depth)


def name_request(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Take the id from the request for what Django logs after the middleware that binds it has ended."""
    request = event.get("request")
    if isinstance(request, HttpRequest) and REQUEST_ID in request.META:
        event.setdefault("request_id", request.META[REQUEST_ID])
    return event


def redact_event(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    return {key: REDACTED if _is_secret(key) else redact(value) for key, value in event.items()}


def configuration(*, level: str, as_json: bool) -> dict[str, Any]:
    """Django's LOGGING: one redacting formatter for all logs, ours and those of libraries."""
    renderer: Processor = (
        structlog.processors.JSONRenderer(ensure_ascii=False)
        if as_json
        else structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    )
    # Celery logs every message at this level: with a task each second nothing else could be found.
    quieter = {"level": "WARNING" if level == "INFO" else level}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "structured": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": _SHARED,
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    structlog.processors.format_exc_info,
                    redact_event,
                    renderer,
                ],
            }
        },
        "handlers": {"standard_error": {"class": "logging.StreamHandler", "formatter": "structured"}},
        "root": {"handlers": ["standard_error"], "level": level},
        "loggers": {
            "django": {"handlers": [], "propagate": True},
            "django.server": {"handlers": [], "propagate": True},
            "celery": quieter,
            "httpx": quieter,
            "httpcore": quieter,
        },
    }


_SHARED: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.ExtraAdder(),
    name_request,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.StackInfoRenderer(),
]

structlog.configure(
    processors=[
        structlog.stdlib.filter_by_level,
        *_SHARED,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
    ],
    logger_factory=structlog.stdlib.LoggerFactory(),
    wrapper_class=structlog.stdlib.BoundLogger,
    cache_logger_on_first_use=True,
)


class SecretFilter(SafeExceptionReporterFilter):
    """Decides what Django's error pages and mails may show. Unlike Django's own filter it also works with DEBUG on."""

    hidden_settings = re.compile(
        f"{SECRET_NAME.pattern}|{SafeExceptionReporterFilter.hidden_settings.pattern}|keystore",
        re.IGNORECASE,
    )
    cleansed_substitute = REDACTED

    def is_active(self, request: HttpRequest | None) -> bool:
        return True

    def cleanse_setting(self, key: str | int, value: Any) -> Any:
        if isinstance(key, str) and _is_address(key):
            return self.cleansed_substitute
        cleansed = super().cleanse_setting(key, value)
        return redact(cleansed) if isinstance(cleansed, (str, bytes)) else cleansed

    def get_post_parameters(self, request: HttpRequest | None) -> dict[str, Any]:
        if request is None:
            return {}
        return {name: REDACTED if _is_secret(name) else redact(value) for name, value in request.POST.items()}

    def get_traceback_frame_variables(self, request: HttpRequest | None, tb_frame: FrameType) -> ItemsView[str, Any]:
        shown = super().get_traceback_frame_variables(request, tb_frame)
        return {name: REDACTED if _is_secret(name) else _shown(value) for name, value in shown}.items()


class SecretReporter(ExceptionReporter):
    """Django's error page, with secrets redacted in the text of the exception, too."""

    def get_traceback_data(self) -> dict[str, Any]:
        data: dict[str, Any] = super().get_traceback_data()
        for name in ("exception_value", "exception_notes", "request_insecure_uri"):
            if name in data:
                data[name] = redact(str(data[name]))
        if "request_GET_items" in data:
            data["request_GET_items"] = redact(dict(data["request_GET_items"])).items()
        for frame in data["frames"]:
            if frame["exc_cause"] is not None:
                frame["exc_cause"] = redact(str(frame["exc_cause"]))
        return data


def _is_secret(name: object) -> bool:
    return isinstance(name, str) and SECRET_NAME.search(name) is not None


def _is_address(name: str) -> bool:
    """True if the name is that of a server's URL, which may hold a password that no pattern finds."""
    return name in {
        "DATABASES",
        "DATABASE_URL",
        "DATABASE_DIRECT",
        "DATABASE_DIRECT_URL",
        "REDIS_URL",
        "CACHES",
        "CELERY_BROKER_URL",
        "EMAIL_URL",
    }


class _Shown:
    """Stands for a value on an error page, which prints it by its repr."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _shown(value: object) -> object:
    try:
        return _Shown(redact(repr(value)))
    except Exception as error:  # a repr that fails must not break the error page
        return _Shown(f"<{type(error).__name__} while showing a {type(value).__name__}>")
