"""Exact JSON out: decimals keep every digit, instants are UTC with milliseconds. No other format is offered."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import orjson
from django.http import HttpRequest
from django.utils.functional import Promise
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request


def format_instant(instant: datetime) -> str:
    """`2027-01-31T09:30:00.000Z`. A naive datetime is a bug and refused."""
    if instant.tzinfo is None:
        raise ValueError("an instant without a time zone")
    if instant.tzinfo is not UTC:
        instant = instant.astimezone(UTC)
    return instant.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def format_any_instant(instant: datetime | str | None) -> str | None:
    """As `format_instant`; None, and what the database has formatted already, stay as they are."""
    return format_instant(instant) if isinstance(instant, datetime) else instant


def render_json(value: Any, *, indented: bool = False) -> bytes:
    """JSON bytes of plain values, Decimal and datetime. Floats are written too, but money never is one."""
    option = orjson.OPT_PASSTHROUGH_DATETIME | (orjson.OPT_INDENT_2 if indented else 0)
    return orjson.dumps(value, default=_extra, option=option)


def read_json(text: str) -> Any:
    """Our own JSON text as plain values that `render_json` writes with the same digits."""
    return json.loads(text, parse_float=Decimal, parse_int=whole_number)


def whole_number(text: str) -> int | Decimal:
    """An int, or a Decimal beyond 64 bits, so that `render_json` can write it again."""
    number = int(text)
    return number if -(2**63) <= number < 2**64 else Decimal(number)


class ExactEncoder(json.JSONEncoder):
    """For a JSONField whose numbers keep every digit."""

    def encode(self, o: Any) -> str:
        return render_json(o).decode()


class ExactDecoder(json.JSONDecoder):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(parse_float=Decimal, parse_int=whole_number, **kwargs)


def _extra(value: Any) -> Any:
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise TypeError("JSON has no number that is not finite")
        return orjson.Fragment(format(value, "f"))  # exactly these digits: a float could change the last ones
    if isinstance(value, datetime):
        return format_instant(value)
    if isinstance(value, Promise):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


class JSONRenderer(BaseRenderer):
    """Renders a reply. Bytes pass through: a replayed reply is sent exactly as it was stored."""

    media_type = "application/json"
    format = "json"
    charset = None
    render_style = "binary"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        if isinstance(data, bytes):
            return data
        return b"" if data is None else render_json(data)


class JSONOnly(BaseContentNegotiation):
    """Every reply is JSON whatever `Accept` names; the Content-Type of a body must be JSON."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        http_request: HttpRequest = request._request
        if (http_request.content_params or {}).get("charset", "utf-8").lower() not in {"utf-8", "utf8"}:
            return None
        return next((parser for parser in parsers if parser.media_type == http_request.content_type), None)

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type
