"""What the templates of Python write for a type."""

from __future__ import annotations

import keyword
import textwrap
from collections.abc import Callable
from typing import Any

from sdk.generator.model import Field, Type
from sdk.generator.names import snake

SENT = {
    "string": "str", "integer": "int", "number": "Amount", "boolean": "bool", "datetime": "datetime",
    "moment": "Moment", "amount": "Amount", "any": "Any",
}  # fmt: skip
RECEIVED = {**SENT, "number": "Decimal", "moment": "datetime", "amount": "Decimal"}


def annotation(type_: Type) -> str:
    """The type of what comes in a reply. A text of an enumeration may be one that this version does not know."""
    return _nullable(_written(type_, RECEIVED, " | str"), type_)


def parameter(type_: Type) -> str:
    """The type of what is sent."""
    return _nullable(_written(type_, SENT, ""), type_)


def argument(field: Field) -> str:
    """The name of a field or of a parameter."""
    name = snake(field.name)
    return f"{name}_" if keyword.iskeyword(name) else name


def lines(text: str, indent: int = 8) -> str:
    """Prose for a docstring, wrapped, with what follows the first line indented."""
    paragraphs = [textwrap.fill(" ".join(part.split()), 118 - indent) for part in text.split("\n\n")]
    return textwrap.indent("\n\n".join(paragraphs), " " * indent).lstrip()


def _nullable(text: str, type_: Type) -> str:
    return f"{text} | None" if type_.nullable and text != "Any" else text


def _written(type_: Type, names: dict[str, str], unknown: str) -> str:
    match type_.kind:
        case "enum":
            return type_.name + unknown
        case "const":
            return type(type_.value).__name__
        case "record":
            return type_.name
        case "array":
            assert type_.item is not None
            inner = _nullable(_written(type_.item, names, unknown), type_.item)
            return f"Sequence[{inner}]" if names is SENT else f"list[{inner}]"
        case "map":
            assert type_.item is not None
            inner = _nullable(_written(type_.item, names, unknown), type_.item)
            return f"Mapping[str, {inner}]" if names is SENT else f"dict[str, {inner}]"
    return names[type_.kind]


FILTERS: dict[str, Callable[..., Any]] = {
    "annotation": annotation,
    "parameter": parameter,
    "argument": argument,
    "lines": lines,
}
