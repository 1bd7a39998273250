"""Model fields for every app."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

from config.api.renderers import ExactDecoder, ExactEncoder, read_json, render_json


class UnitsField(models.DecimalField[Any, Any]):
    """An integer amount in base units, wide enough for a uint256: NUMERIC(78,0), an int in Python."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.update(max_digits=78, decimal_places=0)
        super().__init__(*args, **kwargs)

    def deconstruct(self) -> Any:
        name, path, args, kwargs = super().deconstruct()
        del kwargs["max_digits"], kwargs["decimal_places"]
        return name, path, args, kwargs

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> int | None:
        return None if value is None else int(value)

    def to_python(self, value: Any) -> int | None:
        """Refuses what is not a whole number: cutting off a fraction would lose money silently."""
        if value is None or type(value) is int:
            return value
        if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
            return int(value)
        if isinstance(value, str) and value.isascii() and value.removeprefix("-").isdigit():
            return int(value)
        raise ValidationError("“%(value)s” is not a whole number of base units.", params={"value": value})


class ExactJSONField(models.JSONField):
    """JSON whose numbers keep every digit. In Python they are int and Decimal; the column is that of a JSONField."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "encoder": ExactEncoder, "decoder": ExactDecoder})

    def deconstruct(self) -> Any:
        name, _, args, kwargs = super().deconstruct()
        del kwargs["encoder"], kwargs["decoder"]
        return name, "django.db.models.JSONField", args, kwargs


class RecordField(models.Field[Any, Any]):
    """A record as the API shows it, kept as its JSON text: the order of its fields and every digit stay as they were.

    In Python it is plain values; numbers with a fraction are Decimal. The text in the column may have spaces after it.
    """

    def get_internal_type(self) -> str:
        return "TextField"

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> Any:
        return None if value is None else read_json(value)

    def get_prep_value(self, value: Any) -> str | None:
        return None if value is None else render_json(value).decode()
