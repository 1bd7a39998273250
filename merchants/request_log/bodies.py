"""Bodies of requests and replies as the log keeps them: their beginning, without secrets. Pure."""

from __future__ import annotations

import re
from typing import Any, Final

from config.api.renderers import read_json, render_json
from config.process.logs import REDACTED, SECRET_NAME, redact

MOST_BYTES: Final = 8_192
"""So much of a body is kept."""

_IMAGE: Final = re.compile(rb"data:image/[a-z+]{1,10};base64,[A-Za-z0-9+/=]+")

# Where a body is cut or broken, a secret is known by the name before it; what is nested below such a name goes as well.
_NAMED: Final = re.compile(
    rf"""((?:{SECRET_NAME.pattern})[\w. -]{{0,60}}["']?\s{{0,20}}[:=]\s{{0,20}})"""
    r"""("(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[\[{].*|(?:(?:bearer|basic)\s+)?[^\s,}&\]]+)""",
    re.IGNORECASE | re.DOTALL,
)

_MARKS: Final = (
    *("authori", "secret", "passw", "pepper", "cookie", "csrf", "session", "token", "signature", "apikey", "api_key"),
    *("private", "credential", "bearer", "sk_live_", "sk_test_", "whsec_", "/refund/", "\\u"),
)
"""Without any of these a text holds no secret that is known by its name or form. Most bodies hold none, and are spared
the search, which would take a good part of a request's time."""

_PASSWORD: Final = re.compile(r"://[^/\s:@]*:[^/\s@]+@")
"""Of an address, as in https://somebody:password@shop.example."""


def beginning_of(body: bytes) -> bytes:
    """The part of a body worth keeping, before secrets are taken out: at most MOST_BYTES and one more, if it is cut."""
    if len(body) > MOST_BYTES:
        # Nearly always enough remains of a part, also where its last picture is cut.
        part = _IMAGE.sub(b"data:image", body[: 4 * MOST_BYTES])
        body = part if len(part) > MOST_BYTES + len(b"data:image/") else _IMAGE.sub(b"data:image", body)
    return body[: MOST_BYTES + 1]


def kept_text(beginning: bytes) -> str:
    """The text that is kept of such a beginning. Names and forms of secrets are those of the logs.

    A body without secrets stays as it was sent, to the byte: only so is it the same request once more.
    """
    beginning = _IMAGE.sub(b"data:image", beginning)
    text = beginning[:MOST_BYTES].decode(errors="replace")
    if not _may_hold_secrets(text):
        return text.replace("\0", "\ufffd")
    safe = without_secrets(text)
    if len(beginning) > MOST_BYTES:
        return safe
    try:
        value = read_json(text)
        concealed = _concealed(value)
        return text if safe == text and concealed == value else render_json(concealed).decode()
    except (ValueError, TypeError, RecursionError, ArithmeticError):  # no JSON that could be written again
        return safe


def _may_hold_secrets(text: str) -> bool:
    lower = text.lower()
    for mark in _MARKS:  # any() takes twice as long
        if mark in lower:
            return True
    return _PASSWORD.search(text) is not None


def _concealed(value: Any) -> Any:
    """The value without secrets. Numbers keep their digits, so that a request can be sent again."""
    if isinstance(value, dict):
        return {redact(name): REDACTED if SECRET_NAME.search(name) else _concealed(it) for name, it in value.items()}
    if isinstance(value, list):
        return [_concealed(each) for each in value]
    return redact(value) if isinstance(value, str) else value


def without_secrets(text: str) -> str:
    """Any text: a path, a query, the beginning of a body. PostgreSQL holds no NUL."""
    if not _may_hold_secrets(text):
        return text.replace("\0", "\ufffd")
    redacted: str = redact(_NAMED.sub(rf'\1"{REDACTED}"', text))
    return redacted.replace("\0", "\ufffd")
