"""JSON in which every number is exact: those with a point are Decimals, both ways."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any


def loads(text: str | bytes) -> Any:
    return json.loads(text, parse_float=Decimal)


def dumps(value: Any) -> str:
    """Also takes Decimals, instants and dates. An instant without a time zone is refused: it could be any."""
    match value:
        case Decimal():
            if not value.is_finite():
                raise ValueError(f"{value} is no number that JSON has")
            return format(value, "f")
        case datetime() | date():
            return json.dumps(moment(value))
        case Mapping():
            return "{" + ",".join(f"{json.dumps(str(key))}:{dumps(inner)}" for key, inner in value.items()) + "}"
        case str():
            return json.dumps(value)
        case Sequence():
            return "[" + ",".join(dumps(inner) for inner in value) + "]"
    return json.dumps(value, allow_nan=False)


def number(value: Any) -> Any:
    """Text as a number of JSON, digit for digit; whatever else as it is."""
    if not isinstance(value, str):
        return value
    try:
        return Decimal(value)
    except InvalidOperation:
        raise ValueError(f"{value!r} is no number; write it as 25.50") from None


def named(value: Any) -> Any:
    """An object that is sent inside another, with the API's own names: `minimum_amount` is `minimumAmount`."""
    if isinstance(value, Mapping):
        return {camel(key): named(inner) for key, inner in value.items()}
    return [named(one) for one in value] if isinstance(value, list | tuple) else value


def camel(name: str) -> str:
    """The API's name of an argument; `from_` is `from`."""
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def moment(value: datetime | date | str) -> str:
    """As the API reads it: an instant in UTC, or a date."""
    if isinstance(value, str):
        return value
    if not isinstance(value, datetime):
        return value.isoformat()
    if value.tzinfo is None:
        raise ValueError(f"{value.isoformat()} has no time zone; give it one, as datetime.now(UTC) has")
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
