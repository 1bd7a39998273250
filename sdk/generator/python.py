"""What the templates of Python write for a type."""

from __future__ import annotations

import keyword
import re
import textwrap
from collections.abc import Callable
from typing import Any

from sdk.generator.model import Api, Field, Operation, Type
from sdk.generator.names import camel, snake
from sdk.generator.reading import ROOT

VERIFIER = "payments/receipts/verify.py"
"""The program that checks a receipt without the product: the command uses the same."""
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


def lines(text: str, indent: int = 8, before: int = 3) -> str:
    """Prose for a docstring, wrapped, with what follows the first line indented; `before` it stands something."""
    width, first = 117 - indent, " " * before
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n")]
    wrapped = [textwrap.fill(each, width, initial_indent=first).removeprefix(first) for each in paragraphs]
    return textwrap.indent("\n\n".join(wrapped), " " * indent).lstrip()


def optional_parameter(type_: Type) -> str:
    """The type of what may be left out; for some fields that is something else than null."""
    text = _written(type_, SENT, "")
    return f"{text} | NotGiven | None" if type_.nullable else f"{text} | NotGiven"


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


def nested_parameter(type_: Type) -> str:
    """The type of what is sent inside another object, where nothing converts text to a number."""
    return parameter(type_).replace("Amount", "Number") if type_.kind == "number" else parameter(type_)


def sent(field: Field) -> str:
    """The value of an argument as it goes into the body."""
    name = argument(field)
    inner = field.type.item if field.type.kind == "array" else field.type
    if inner is not None and inner.kind == "record":
        return f"named({name})"
    return f"number({name})" if field.type.kind == "number" else name


def options(field: Field) -> str:
    """What dataclasses.field() is told about a field, if anything."""
    found = []
    if camel(argument(field)) != field.name:
        found.append(f'metadata={{"name": "{field.name}"}}')
    if field.is_secret:
        found.append("repr=False")
    return ", ".join(found)


def path(operation: Operation) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: f"{{segment({snake(found[1])})}}", operation.path)


def context(api: Api) -> dict[str, Any]:
    nested = {
        inner.name
        for record in api.records
        if record.is_request
        for field in record.fields
        for inner in (field.type, field.type.item)
        if inner is not None and inner.kind == "record"
    }
    records = [record.name for record in api.records if not record.is_request or record.name in nested]
    enumerations = [one.name for one in api.enumerations]
    verifier = (ROOT / VERIFIER).read_text(encoding="utf-8").removeprefix("#!/usr/bin/env python3\n")
    return {
        "verifier_path": VERIFIER,
        "verifier": verifier,
        "nested": nested,
        "imported": ["Amount", "Moment", *enumerations, *records],
    }


FILTERS: dict[str, Callable[..., Any]] = {
    each.__name__: each
    for each in (annotation, parameter, optional_parameter, nested_parameter, argument, lines, options, path, sent)
}
