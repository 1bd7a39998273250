"""Strict serializer fields: a value is taken as it is or refused with a message; nothing is converted silently."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Any, ClassVar, NoReturn, TypeVar
from urllib.parse import urlsplit

from django.db.models import Q
from django.http import QueryDict
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request

from config import ids
from config.api.hints import about_id, close_to
from config.api.parsers import shown
from config.api.renderers import render_json
from config.coins import COINS
from config.environments import Environment

Body = TypeVar("Body", bound="StrictSerializer")

MAX_URL_CHARACTERS = 2000
MAX_METADATA_BYTES = 16 * 1024
MAX_UNKNOWN_REPORTED = 10
MAX_SUGGESTED_CHARACTERS = 60

_WORDS_OF_PAGES = {"page", "pagenumber", "offset", "skip", "start", "cursor", "after", "before"}
_WORDS_OF_SIZES = {"perpage", "pagesize", "size", "count", "top", "first"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class StrictSerializer(serializers.Serializer[Any]):
    """A serializer that refuses fields it does not know, and names the one that was probably meant.

    An optional field may be `null`, which is as if it were left out.
    """

    def get_fields(self) -> dict[str, Any]:
        """Copies of the declared fields, of a query only those that it has or needs. REST framework makes each anew,
        which takes longer than to read a body."""
        declared = self._declared_fields.items()
        if not self.context.get("is_query"):
            return {name: _copy_of(field) for name, field in declared}
        needed = {name for name, field in declared if field.required or field.default is not serializers.empty}
        return {name: _copy_of(field) for name, field in declared if name in needed or name in self.initial_data}

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, Mapping):
            raise ValidationError({"non_field_errors": [ErrorDetail("Must be an object.", code="invalid")]})
        data = {name: value for name, value in data.items() if value is not None or not self._may_be_left_out(name)}
        known = {**self.fields, **self._declared_fields}
        writable = {name for name, field in known.items() if not field.read_only}
        unknown = [name for name in data if name not in writable]
        try:
            value = super().to_internal_value(data)
        except ValidationError as error:
            if not unknown or not isinstance(error.detail, dict):
                raise
            raise ValidationError({**error.detail, **_unknown_parameters(unknown, writable)}) from None
        if unknown:
            raise ValidationError(_unknown_parameters(unknown, writable))
        return value

    def _may_be_left_out(self, name: str) -> bool:
        """True if `null` means the same as leaving the field out: it is optional, and `null` is no value of its own."""
        field = self.fields.get(name)
        return field is not None and not field.required and not field.allow_null


def _copy_of(field: Any) -> Any:
    """A field that can get a parent of its own, and shares with the declared one what no request changes."""
    copied = object.__new__(type(field))
    copied.__dict__.update(field.__dict__)
    copied.__dict__.pop("fields", None)  # of a nested serializer; they have it as their parent
    if (child := copied.__dict__.get("child")) is not None:
        copied.child = _copy_of(child)
        copied.child.parent = copied
    return copied


def _unknown_parameters(names: list[str], known: set[str]) -> dict[str, list[ErrorDetail]]:
    by_plain_name = {_plain(name): name for name in known}
    errors = {}
    for name in names[:MAX_UNKNOWN_REPORTED]:
        message = f"Unknown parameter: {shown(name)}."
        if _plain(name) in _WORDS_OF_PAGES and "starting_after" in known:
            message += " Lists have no page numbers: send the id of the last record you have as starting_after."
        elif _plain(name) in _WORDS_OF_SIZES and "limit" in known:
            message += " Did you mean limit?"
        elif len(name) <= MAX_SUGGESTED_CHARACTERS:
            for match in difflib.get_close_matches(_plain(name), by_plain_name, n=1, cutoff=0.7):
                message += f" Did you mean {by_plain_name[match]}?"
        errors[name] = [ErrorDetail(message, code="unknown")]
    return errors


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


class EmptySerializer(StrictSerializer):
    """For a request that takes no parameters: an empty body or `{}`."""


class StrictField(serializers.Field[Any, Any, Any, Any]):
    """A field whose stored value is shown as it is, and that brings its own description for the reference."""

    @property
    def json_schema(self) -> dict[str, Any]:
        return {"type": "string"}

    def to_representation(self, value: Any) -> Any:
        return value


class StrictCharField(serializers.CharField):
    """Text exactly as sent: a number or a boolean is not text, spaces stay, control characters are refused."""

    default_error_messages: ClassVar[dict[str, Any]] = {
        "invalid": "Must be a string.",
        "control": "Must not contain control characters.",
        "blank": "Must not be empty.",
        "max_length": "Must have at most {max_length} characters.",
        "min_length": "Must have at least {min_length} characters.",
    }

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("trim_whitespace", False)
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        if _CONTROL.search(data):
            self.fail("control")
        return data


class StrictChoiceField(serializers.ChoiceField):
    """One of a few words, spelled exactly."""

    default_error_messages: ClassVar[dict[str, Any]] = {"invalid_choice": "Must be one of: {choices}.{hint}"}

    def words(self) -> Collection[str]:
        """Words that are taken. Fields of a table return what it holds now: a field is made once, at import."""
        return self.choice_strings_to_values

    def to_internal_value(self, data: Any) -> Any:
        words = self.words()
        if not isinstance(data, str) or data not in words:
            meant = close_to(data, words) if isinstance(data, str) else None
            hint = f" Did you mean {meant}?" if meant else ""
            self.fail("invalid_choice", choices=", ".join(words), hint=hint)
        return self.choice_strings_to_values.get(data, data)


class WordsField(StrictField):
    """One or several of a few words in a query, separated by commas. Its value is a list."""

    default_error_messages: ClassVar[dict[str, Any]] = {"invalid_choice": "Must be one of: {choices}.{hint}"}

    def __init__(self, *, choices: Sequence[str], **options: Any) -> None:
        self.one = StrictChoiceField(choices=choices)
        self.words = "|".join(choices)
        super().__init__(**options)

    @property
    def json_schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^({self.words})(,({self.words}))*$"}

    def to_internal_value(self, data: Any) -> list[str]:
        return list(dict.fromkeys(self.one.to_internal_value(word) for word in str(data).split(",")))


class CoinField(StrictChoiceField):
    """The code of a coin that Ballast takes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(choices=tuple(COINS), **options)

    def words(self) -> Collection[str]:
        return COINS


class AmountField(StrictField):
    """A positive JSON number, kept as the exact Decimal it was written as.

    How many fractional digits it may have depends on a currency this field does not know.
    """

    default_error_messages: ClassVar[dict[str, Any]] = {
        "text": "Must be a number, not a string: write 19.99 without quotation marks.",
        "invalid": "Must be a number.",
        "positive": "Must be greater than 0.",
        "maximum": "Must be at most {maximum}.",
    }

    def __init__(self, *, maximum: Decimal | None = None, may_be_negative: bool = False, **kwargs: Any) -> None:
        self.maximum, self.may_be_negative = maximum, may_be_negative
        super().__init__(**kwargs)

    @property
    def json_schema(self) -> dict[str, Any]:
        limits = {} if self.maximum is None else {"maximum": int(self.maximum)}
        least = {} if self.may_be_negative else {"exclusiveMinimum": 0}
        if self.may_be_negative and limits:
            least = {"minimum": -limits["maximum"]}
        return {"type": "number", **least, **limits}

    def to_internal_value(self, data: Any) -> Decimal:
        if isinstance(data, str):
            self.fail("text")
        if isinstance(data, bool) or not isinstance(data, int | Decimal):
            self.fail("invalid")
        amount = Decimal(data)
        if not amount.is_finite():
            self.fail("invalid")
        if amount <= 0 and not self.may_be_negative:
            self.fail("positive")
        if self.maximum is not None and abs(amount) > self.maximum:
            self.fail("maximum", maximum=f"{self.maximum:,f}")
        return amount


class StrictIntegerField(StrictField):
    """A whole JSON number. `30.0` is one, as JSON has a single kind of number; `"30"` and `1.5` are not."""

    default_error_messages: ClassVar[dict[str, Any]] = {
        "invalid": "Must be a whole number.",
        "text": "Must be a whole number, not a string: write {number} without quotation marks.",
        "range": "Must be between {minimum} and {maximum}.",
    }

    def __init__(self, *, minimum: int, maximum: int, **kwargs: Any) -> None:
        self.minimum = minimum
        self.maximum = maximum
        super().__init__(**kwargs)

    @property
    def json_schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.minimum, "maximum": self.maximum}

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, str) and re.fullmatch(r"[0-9]{1,18}", data):
            self.fail("text", number=data)
        if isinstance(data, bool) or not isinstance(data, int | Decimal) or data != int(data):
            self.fail("invalid")
        return self.within_range(int(data))

    def within_range(self, number: int) -> int:
        if not self.minimum <= number <= self.maximum:
            self.fail("range", minimum=self.minimum, maximum=self.maximum)
        return number


class QueryIntegerField(StrictIntegerField):
    """A whole number in a query string: ASCII digits and nothing else."""

    def to_internal_value(self, data: Any) -> int:
        if not isinstance(data, str) or not re.fullmatch(r"[0-9]{1,18}", data):
            self.fail("invalid")
        return self.within_range(int(data))


class PublicIdField(StrictField):
    """A filter by the id of a record, converted to its key. Somebody else's id, or an unknown one, matches nothing."""

    default_error_messages: ClassVar[dict[str, Any]] = {"invalid": "Must be an id such as {prefix}_….{hint}"}

    def __init__(self, kind: ids.PublicId, **kwargs: Any) -> None:
        self.kind = kind
        super().__init__(**kwargs)

    @property
    def json_schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": self.kind.pattern}

    def to_internal_value(self, data: Any) -> Any:
        key = self.kind.decode(data) if isinstance(data, str) else None
        if key is None:
            hint = about_id(self.kind, data) if isinstance(data, str) else ""
            self.fail("invalid", prefix=self.kind.prefix, hint=hint)
        return key


class MetadataField(StrictField):
    """An object of the caller's own with any JSON values, kept and returned with the digits it was written with."""

    default_error_messages: ClassVar[dict[str, Any]] = {
        "invalid": "Must be an object.",
        "size": f"Must have at most {MAX_METADATA_BYTES:,} bytes as JSON without blanks; this has {{size:,}}.",
    }

    @property
    def json_schema(self) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": True}

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            self.fail("invalid")
        if (size := len(render_json(data))) > MAX_METADATA_BYTES:
            self.fail("size", size=size)
        return data


class MetadataFilterField(StrictField):
    """Values that names of the metadata have, in a query as `metadata[order]=1007`. `read_query` puts them together.

    Its value is a condition on the column. A number, `true` and `false` are found as such and as text.
    """

    MOST_NAMES: ClassVar = 10
    default_error_messages: ClassVar[dict[str, Any]] = {
        "invalid": "Write it with a name, as in metadata[order]=1007.",
        "nested": "Only names of the first level can be looked for, as in metadata[order]=1007.",
        "many": f"Must have at most {MOST_NAMES} names.",
    }

    @property
    def json_schema(self) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": self.MOST_NAMES}

    def to_internal_value(self, data: Any) -> Q:
        if not isinstance(data, dict):
            self.fail("invalid")
        if any(not name or "[" in name or "]" in name for name in data):
            self.fail("nested")
        if len(data) > self.MOST_NAMES:
            self.fail("many")
        found = Q()
        for name, text in data.items():
            if _CONTROL.search(name + text):
                self.fail("invalid")
            found &= reduce(or_, (Q(metadata__contains={name: value}) for value in _possible_values(text)))
        return found


def _possible_values(text: str) -> list[Any]:
    if re.fullmatch(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?", text):
        return [text, Decimal(text)]
    return [text, text == "true"] if text in ("true", "false") else [text]


class QueryAmountField(AmountField):
    """An amount in a query string: plain decimal digits."""

    @property
    def json_schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": r"^[0-9]{1,13}(\.[0-9]{1,4})?$"}

    def to_internal_value(self, data: Any) -> Decimal:
        if not isinstance(data, str) or not re.fullmatch(r"[0-9]{1,13}(\.[0-9]{1,4})?", data):
            self.fail("invalid")
        return super().to_internal_value(Decimal(data))


class InstantFilterField(StrictField):
    """A date or a date with a time, in UTC unless it names an offset.

    With `end_of_day` a date means its last millisecond, without it the first, so that both ends of a filter include
    the whole day. Instants that no record can have are moved to the end of the calendar's range.
    """

    default_error_messages: ClassVar[dict[str, Any]] = {
        "invalid": "Must be a date such as 2027-01-31 or a time such as 2027-01-31T09:30:00Z.",
        "years": "Must not be before the year 1970.",
    }

    _FORM: ClassVar = re.compile(
        r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)"
        r"(?:[Tt ](?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?)?"
        # "+" in a query string means a space, so "+02:00" sent without escaping arrives as " 02:00".
        r"(?P<offset>[Zz]|(?P<sign>[+\- ])(?P<hours>\d\d):?(?P<minutes>[0-5]\d))?)?",
        re.ASCII,
    )
    _LATEST: ClassVar = datetime(9998, 12, 31, tzinfo=UTC)  # later ones would overflow when a day is added

    def __init__(self, *, end_of_day: bool = False, **kwargs: Any) -> None:
        self.end_of_day = end_of_day
        super().__init__(**kwargs)

    @property
    def json_schema(self) -> dict[str, Any]:
        since_1970 = {"type": "string", "pattern": "^(19[7-9][0-9]|[2-9][0-9]{3})-"}
        return {"anyOf": [{**since_1970, "format": "date-time"}, {**since_1970, "format": "date"}]}

    def to_internal_value(self, data: Any) -> datetime:
        found = self._FORM.fullmatch(data) if isinstance(data, str) else None
        if found is None:
            self.fail("invalid")
        if int(found["year"]) < 1970:
            self.fail("years")
        try:
            instant = self._instant(found)
        except (ValueError, OverflowError):  # no such day, no such hour, or an offset past the calendar's end
            self.fail("invalid")
        return min(instant, self._LATEST)

    def _instant(self, found: re.Match[str]) -> datetime:
        day = datetime(int(found["year"]), int(found["month"]), int(found["day"]), tzinfo=UTC)
        if found["hour"] is None:
            return day.replace(hour=23, minute=59, second=59, microsecond=999_000) if self.end_of_day else day
        instant = day.replace(
            hour=int(found["hour"]),
            minute=int(found["minute"]),
            second=int(found["second"] or 0),
            microsecond=int((found["fraction"] or "").ljust(6, "0")[:6]),
        )
        if found["sign"] is None:
            return instant
        offset = timedelta(hours=int(found["hours"]), minutes=int(found["minutes"]))
        return instant.replace(tzinfo=timezone(-offset if found["sign"] == "-" else offset)).astimezone(UTC)


def http_url_problem(text: str, *, https_only: bool) -> str | None:
    """The reason Ballast would not call this URL, or send a payer to it, as a sentence; None when it would."""
    if not text:
        return "Must not be empty."
    if len(text) > MAX_URL_CHARACTERS:
        return f"Must have at most {MAX_URL_CHARACTERS} characters."
    if not re.fullmatch(r"[!-~]+", text) or re.search(r'[\\"<>^`{|}]', text):
        return (
            "Must be an address of plain ASCII characters, others percent-encoded; an international host in punycode."
        )
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return "Must be a valid address such as https://example.com/path."
    if parts.scheme not in {"http", "https"}:
        return "Must begin with https:// or http://."
    if "@" in parts.netloc:
        return "Must not contain a user name or password."
    if not parts.hostname or port == 0 or parts.netloc.endswith(":") or not _is_host(parts.hostname):
        return "Must name a valid host, as in https://example.com/path."
    if https_only and parts.scheme != "https":
        return "Must begin with https:// in production."
    return None


def _is_host(host: str) -> bool:
    if ":" in host:  # an IPv6 address; urlsplit has checked its form
        return True
    labels = host.removesuffix(".").split(".")
    return len(host) <= 253 and all(re.fullmatch(r"(?!-)[a-z0-9_-]{1,63}(?<!-)", label) for label in labels)


class HttpUrlField(StrictField):
    """An http(s) URL; in production, which the serializer's context names, https only."""

    default_error_messages: ClassVar[dict[str, Any]] = {"invalid": "Must be a string.", "url": "{problem}"}

    @property
    def json_schema(self) -> dict[str, Any]:
        return {"type": "string", "format": "uri", "pattern": "^https?://", "maxLength": MAX_URL_CHARACTERS}

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        https_only = self.context.get("environment") == Environment.PRODUCTION
        if problem := http_url_problem(data, https_only=https_only):
            self.fail("url", problem=problem)
        return data


def read_body(serializer_class: type[Body], request: Request, **context: Any) -> Body:
    """The serializer of the request's body, validated. Some serializers need a context, such as `environment`."""
    serializer = serializer_class(data=request.data, context=context)
    serializer.is_valid(raise_exception=True)
    return serializer


def read_query(serializer_class: type[StrictSerializer], request: Request) -> dict[str, Any]:
    """The validated query parameters: an unknown or a repeated one is refused like an unknown field of a body."""
    query: QueryDict = request.query_params
    repeated = [name for name, values in query.lists() if len(values) > 1]
    if repeated:
        _refuse_repeated(repeated)
    serializer = serializer_class(data=_with_metadata(query), context={"is_query": True})
    serializer.is_valid(raise_exception=True)
    values: dict[str, Any] = serializer.validated_data
    return values


def _with_metadata(query: QueryDict) -> dict[str, Any]:
    """The parameters, with those of `metadata[…]` under one name."""
    data: dict[str, Any] = {}
    for name, value in query.items():
        if name.startswith("metadata[") and name.endswith("]") and isinstance(data.get("metadata", {}), dict):
            data.setdefault("metadata", {})[name[len("metadata[") : -1]] = value
        else:
            data[name] = value
    return data


def _refuse_repeated(names: list[str]) -> NoReturn:
    raise ValidationError(
        {
            name: [ErrorDetail(f"The parameter {shown(name)} is given more than once.", code="invalid")]
            for name in names[:MAX_UNKNOWN_REPORTED]
        }
    )
