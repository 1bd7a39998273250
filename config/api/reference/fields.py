"""The fields of a schema as the reference shows them: type, limits and meaning in words. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from config.api.refining import AMOUNT_PATTERN, NO_CONTROL_CHARACTERS

Schema = Mapping[str, Any]

_REFERENCE = "#/components/schemas/"
_PLURALS = {"object": "objects", "string": "strings"}
_FORMATS = {"date-time": "instant", "date": "date", "uri": "URL"}
_ID = re.compile(r"\^([a-z]+)_\[0-7]")
_EXPLAINED = (NO_CONTROL_CHARACTERS, AMOUNT_PATTERN)
"""Patterns that add nothing to the description for a reader."""

_MOST_LEVELS = 4


@dataclass(frozen=True)
class Field:
    """One field. `link` is the address of the record it holds, when that is described elsewhere."""

    name: str
    type: str
    is_required: bool
    description: SafeString
    limits: tuple[str, ...]
    values: tuple[str, ...]
    link: str
    children: tuple[Field, ...]


def name_of(schema: Schema) -> str:
    """The name of the component that a `$ref` leads to; empty when the schema is no `$ref`."""
    return str(schema.get("$ref", "")).removeprefix(_REFERENCE)


def words_of(name: str) -> str:
    """`PaymentLink` as words: `Payment link`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).capitalize()


def marked(text: str) -> SafeString:
    """The text for a page; what stands between backticks is code, and an empty line begins a paragraph."""
    parts = str(text).split("`")
    pieces = [
        format_html("<code>{}</code>", part) if at % 2 else conditional_escape(part) for at, part in enumerate(parts)
    ]
    return mark_safe("".join(pieces))  # noqa: S308 - every piece is escaped


class Fields:
    """Describes the fields of the document's schemas. `addresses` has the page of each record."""

    def __init__(self, schemas: Mapping[str, Schema], addresses: Mapping[str, str]) -> None:
        self._schemas = schemas
        self._addresses = addresses

    def of(self, name: str) -> tuple[Field, ...]:
        """The fields of a component; of one with variants those of the first, with the discriminator and all of its
        values."""
        schema = self._schemas[name]
        if "oneOf" in schema:
            variant = schema["discriminator"]
            first = self._schemas[name_of(schema["oneOf"][0])]
            kind = {"type": "string", "enum": list(variant["mapping"])}
            record = {"type": "object", "description": "`object` in it is the whole record as it was at this version."}
            schema = {
                **first,
                "properties": {**first["properties"], variant["propertyName"]: kind, "data": record},
            }
        return tuple(self._described(schema, levels=_MOST_LEVELS))

    def one(self, name: str, schema: Schema, *, is_required: bool) -> Field:
        """One field, such as a parameter."""
        return self._field(name, schema, is_required=is_required, levels=_MOST_LEVELS)

    def _described(self, schema: Schema, *, levels: int) -> Iterator[Field]:
        required = schema.get("required", ())
        for name, field in schema.get("properties", {}).items():
            yield self._field(name, field, is_required=name in required, levels=levels)

    def _field(self, name: str, schema: Schema, *, is_required: bool, levels: int) -> Field:
        options = [option for option in self._options(schema) if option.get("type") != "null"]
        description = schema.get("description") or next(
            (each["description"] for each in options if "description" in each), ""
        )
        inner = options[0] if len(options) == 1 else {}
        held = name_of(inner) or name_of(inner.get("items", {}))
        link = self._addresses.get(held, "")
        nested = self._schemas.get(held, inner.get("items", inner)) if not link and levels else {}
        return Field(
            name=name,
            type=self._type_of(schema),
            is_required=is_required,
            description=marked(description),
            limits=tuple(limit for option in options for limit in _limits(option)),
            values=tuple(str(value) for value in _values(inner)),
            link=link,
            children=tuple(self._described(nested, levels=levels - 1)),
        )

    def _options(self, schema: Schema) -> list[Schema]:
        """The schemas that the value may fit; several where it may be of several kinds, or null."""
        for word in ("anyOf", "oneOf"):
            if word in schema:
                return [option for inner in schema[word] for option in self._options(inner)]
        if len(schema.get("allOf", ())) == 1:
            return self._options(schema["allOf"][0])
        types = schema.get("type")
        if isinstance(types, list):
            return [{**schema, "type": type} for type in types]
        return [schema]

    def _type_of(self, schema: Schema) -> str:
        return " or ".join(dict.fromkeys(self._word_for(option) for option in self._options(schema)))

    def _word_for(self, option: Schema) -> str:
        if held := name_of(option):
            return words_of(held) if held in self._addresses else "object"
        type = str(option.get("type", "anything"))
        if type == "array":
            inner = self._type_of(option.get("items", {}))
            return f"list of {_PLURALS.get(inner, inner)}"
        return _FORMATS.get(option.get("format", ""), type)


def _values(schema: Schema) -> list[Any]:
    described = schema.get("items", schema)
    found = described.get("enum", [described["const"]] if "const" in described else [])
    return [value for value in found if value is not None]


def _limits(schema: Schema) -> Iterator[str]:
    """Limits of the value, each in a few words."""
    if "exclusiveMinimum" in schema:
        yield f"more than {schema['exclusiveMinimum']:,}"
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and most is not None:
        yield f"{least:,} to {most:,}"
    elif least is not None:
        yield f"at least {least:,}"
    elif most is not None:
        yield f"at most {most:,}"
    if "maxLength" in schema:
        shortest = schema.get("minLength", 0)
        yield (
            f"{shortest} to {schema['maxLength']:,} characters"
            if shortest
            else f"at most {schema['maxLength']:,} characters"
        )
    if "maxItems" in schema:
        yield f"at most {schema['maxItems']:,} of them"
    pattern = schema.get("pattern", "")
    if prefix := _ID.match(pattern):
        yield f"begins with {prefix[1]}_"
    elif pattern and pattern not in _EXPLAINED:
        yield f"matches {pattern}"
    if "default" in schema:
        yield f"{schema['default']} when it is left out"
