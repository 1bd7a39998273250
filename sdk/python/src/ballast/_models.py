"""What records have in common: they are made from the API's JSON, and keep what this version does not know."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from decimal import Decimal
from typing import Any, Self, Union, get_args, get_origin, get_type_hints

from ballast._json import camel

Decoder = Callable[[Any], Any]


@dataclass(frozen=True, kw_only=True)
class Model:
    """A record of the API. A field that an older server does not send is None, whatever its type says."""

    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The JSON it was made from, with the API's own names: also fields that are newer than this package."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        values = {name: decode(data.get(key)) for name, key, decode in _plan(cls)}
        return cls(raw=data, **values)


def decode(type_: Any, value: Any) -> Any:
    """The value as its type says."""
    return _decoder(type_)(value)


@functools.cache
def _plan(model: Any) -> tuple[tuple[str, str, Decoder], ...]:
    """Name, the API's name and decoder of each field."""
    hints = get_type_hints(model)
    return tuple(
        (one.name, one.metadata.get("name") or camel(one.name), _decoder(hints[one.name]))
        for one in fields(model)
        if one.name != "raw"
    )


@functools.cache
def _decoder(type_: Any) -> Decoder:
    origin, arguments = get_origin(type_), [argument for argument in get_args(type_) if argument is not type(None)]
    if origin in (Union, types.UnionType) and len(arguments) == 1:
        return _decoder(arguments[0])
    if origin is list:
        inner = _decoder(arguments[0])
        return _where(list, lambda value: [inner(one) for one in value])
    if origin is dict:
        inner = _decoder(arguments[1])
        return _where(dict, lambda value: {key: inner(one) for key, one in value.items()})
    if type_ is datetime:
        return _where(str, datetime.fromisoformat)
    if type_ is Decimal:
        return _where((int, str, Decimal), Decimal)
    if isinstance(type_, type) and issubclass(type_, Model):
        return _where(dict, type_.from_json)
    return lambda value: value


def _where(kinds: type | tuple[type, ...], convert: Decoder) -> Decoder:
    """Converts values of these kinds, and leaves others as they came: null, and what a newer API may send."""
    return lambda value: convert(value) if isinstance(value, kinds) else value
