"""Strict JSON in: a body that two parsers could read differently is refused before any other code sees it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import IO, Any, NoReturn

from rest_framework.parsers import BaseParser

from config.api.renderers import whole_number
from config.errors import DomainError

MAX_BODY_BYTES = 256 * 1024
MAX_DEPTH = 32
MAX_NUMBER_CHARACTERS = 64
MAX_NUMBER_MAGNITUDE = 40
"""Largest power of ten, up or down: beyond it a few characters could make a number that fills the memory."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_UNPRINTABLE = re.compile("[\x00\ud800-\udfff]")


class InvalidJSON(DomainError):
    """The body is not JSON as Ballast reads it; the message has the position or the reason."""

    code = "invalid_json"
    message = "The request body is not valid JSON."


class BodyTooLarge(DomainError):
    code = "body_too_large"
    message = f"The request body is larger than {MAX_BODY_BYTES // 1024} KiB."


class UnsupportedContentType(DomainError):
    code = "unsupported_content_type"
    message = "Send the request body as JSON, with the header Content-Type: application/json."


class StrictJSONParser(BaseParser):
    """Reads `HttpRequest.body`, which keeps the bytes: signatures and idempotency keys need them."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        request = (parser_context or {}).get("request")
        body: bytes = stream.read(MAX_BODY_BYTES + 1) if request is None else request._request.body
        return parse_object(body)


def parse_object(body: bytes) -> dict[str, Any]:
    """The JSON object in `body`: integers of 64 bits as int, other numbers as exact Decimal.

    Raises InvalidJSON or BodyTooLarge otherwise.
    """
    if len(body) > MAX_BODY_BYTES:
        raise BodyTooLarge
    if body.startswith(_BYTE_ORDER_MARK):
        raise InvalidJSON("The request body begins with a byte order mark. Send plain UTF-8.")
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH:
        _refuse_depth(body)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidJSON(f"The request body is not valid UTF-8 at byte {error.start}.") from None
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        what = error.msg.lower().removesuffix(" at")
        raise InvalidJSON(
            f"The request body is not valid JSON: {what} at line {error.lineno}, column {error.colno}."
        ) from None
    if not isinstance(value, dict):
        raise InvalidJSON("The request body must be a JSON object.")
    # Only an escape can bring in a lone surrogate or a NUL: UTF-8 has no form for the first, and raw control
    # characters inside strings were refused above.
    if b"\\u" in body:
        _refuse_unprintable(value)
    return value


def _refuse_depth(body: bytes) -> None:
    """Count brackets outside strings, so that the parser below never recurses deeper than it may."""
    depth = 0
    for byte in _STRING.sub(b"", body):
        if byte in b"[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise InvalidJSON(f"The request body is nested deeper than {MAX_DEPTH} levels.")
        elif byte in b"]}":
            depth -= 1


def _refuse_unprintable(value: Any) -> None:
    if isinstance(value, str):
        if found := _UNPRINTABLE.search(value):
            what = "the character U+0000" if found.group() == "\x00" else "half of a surrogate pair"
            raise InvalidJSON(f"A string in the request body contains {what}.")
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_unprintable(key)
            _refuse_unprintable(item)
    elif isinstance(value, list):
        for item in value:
            _refuse_unprintable(item)


def _object_without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise InvalidJSON(f"The key {shown(key)} appears twice in one object of the request body.")
            seen.add(key)
    return found


def shown(text: str) -> str:
    """A caller's own text, made safe and short enough to repeat in a message."""
    return json.dumps(text if len(text) <= 60 else text[:60] + "…", ensure_ascii=True)


def _integer(text: str) -> int | Decimal:
    if len(text) > MAX_NUMBER_MAGNITUDE:
        raise InvalidJSON("A number in the request body is too large.")
    return whole_number(text)


def _decimal(text: str) -> Decimal:
    if len(text) > MAX_NUMBER_CHARACTERS:
        raise InvalidJSON("A number in the request body has too many digits.")
    try:
        number = Decimal(text)
    except InvalidOperation:  # an exponent that no decimal can hold
        raise InvalidJSON("A number in the request body is too large or too small.") from None
    if abs(number.adjusted()) > MAX_NUMBER_MAGNITUDE or not number.is_finite():
        raise InvalidJSON("A number in the request body is too large or too small.")
    return number


def _constant(name: str) -> NoReturn:
    raise InvalidJSON(f"{name} is not a JSON number.")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object_without_duplicates,
    parse_int=_integer,
    parse_float=_decimal,
    parse_constant=_constant,
    strict=True,
)
