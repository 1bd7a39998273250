"""A field takes a value as it is or refuses it with a sentence; it never converts on the quiet."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from config.api.fields import (
    AmountField,
    EmptySerializer,
    HttpUrlField,
    InstantFilterField,
    MetadataField,
    QueryIntegerField,
    StrictCharField,
    StrictChoiceField,
    StrictIntegerField,
    StrictSerializer,
    http_url_problem,
    read_query,
)
from config.environments import Environment

REFUSED = object()


def taken(field: Any, value: Any) -> Any:
    """What the field makes of the value, or REFUSED; every refusal has words."""
    try:
        return field.run_validation(value)
    except ValidationError as error:
        refusal = error.detail
    assert isinstance(refusal, list)
    assert str(refusal[0]).endswith((".", "?"))
    return REFUSED


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, Decimal(1)),
        (Decimal("19.99"), Decimal("19.99")),
        (Decimal("100.00"), Decimal("100.00")),
        (Decimal("1000000.0"), Decimal("1000000.0")),
        (Decimal("1000000.01"), REFUSED),
        (0, REFUSED),
        (Decimal("-0.0"), REFUSED),
        (-1, REFUSED),
        (True, REFUSED),
        ("19.99", REFUSED),
        (None, REFUSED),
        ([1], REFUSED),
        (19.99, REFUSED),
        (Decimal("NaN"), REFUSED),
        (Decimal("Infinity"), REFUSED),
    ],
)
def test_an_amount_is_a_positive_exact_number(value: Any, expected: Any) -> None:
    result = taken(AmountField(maximum=Decimal(1_000_000)), value)
    assert result == expected
    assert str(result) == str(expected)


def test_an_amount_in_quotation_marks_is_refused_with_the_remedy() -> None:
    with pytest.raises(ValidationError, match="without quotation marks"):
        AmountField().run_validation("19.99")


@pytest.mark.parametrize(
    ("value", "expected"),
    [("a", "a"), (" a ", " a "), ("é😀", "é😀"), ("", REFUSED), (5, REFUSED), (True, REFUSED), (None, REFUSED)]
    + [("a" + character, REFUSED) for character in "\x00\x01\t\n\r\x1f\x7f\x80\x9f\u2028\u2029"]
    + [(["a"], REFUSED), ({}, REFUSED), ("x" * 11, REFUSED)],
)
def test_text_is_taken_as_it_is(value: Any, expected: Any) -> None:
    assert taken(StrictCharField(max_length=10), value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (30, 30),
        (Decimal("30.0"), 30),
        (Decimal("3e1"), 30),
        (9, REFUSED),
        (101, REFUSED),
        (Decimal("30.5"), REFUSED),
        ("30", REFUSED),
        (True, REFUSED),
        (None, REFUSED),
        (10**39, REFUSED),
        (-30, REFUSED),
        (30.0, REFUSED),
    ],
)
def test_a_whole_number_is_a_whole_number(value: Any, expected: Any) -> None:
    result = taken(StrictIntegerField(minimum=10, maximum=100), value)
    assert result == expected
    assert result is REFUSED or type(result) is int


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("10", 10),
        ("100", 100),
        ("010", 10),
        ("9", REFUSED),
        ("+10", REFUSED),
        (" 10", REFUSED),
        ("1_0", REFUSED),
        ("١٠", REFUSED),
        ("10.0", REFUSED),
        ("1e1", REFUSED),
        ("", REFUSED),
        ("9" * 19, REFUSED),
        ("10\n", REFUSED),
    ],
)
def test_a_whole_number_in_a_query_is_ascii_digits(value: str, expected: Any) -> None:
    assert taken(QueryIntegerField(minimum=10, maximum=100), value) == expected


@pytest.mark.parametrize("value", ["STELLAR", "stellar ", "", "bitcoin", 1, True, None, ["stellar"], {"a": 1}])
def test_a_choice_is_spelled_exactly(value: Any) -> None:
    field = StrictChoiceField(choices=["stellar", "polygon"])
    assert taken(field, value) is REFUSED
    assert taken(field, "polygon") == "polygon"


def test_a_choice_refused_names_the_choices() -> None:
    with pytest.raises(ValidationError, match="Must be one of: stellar, polygon"):
        StrictChoiceField(choices=["stellar", "polygon"]).run_validation("bitcoin")


@pytest.mark.parametrize("value", ["text", [], 7, True, {"k": "v" * 16 * 1024}, {"k": "é" * 8 * 1024}])
def test_metadata_is_an_object_of_16_kib(value: Any) -> None:
    assert taken(MetadataField(), value) is REFUSED


def test_metadata_at_its_limit_is_kept_untouched() -> None:
    value = {"": [1, None, {"deep": Decimal("1.10")}], "k" * 8000: "é" * 4000}
    assert taken(MetadataField(), value) == value
    assert taken(MetadataField(), {"note": "two\nlines", "empty": ""}) == {"note": "two\nlines", "empty": ""}


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc, arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2027-01-31", utc(2027, 1, 31)),
        ("2027-01-31T09:30:00Z", utc(2027, 1, 31, 9, 30)),
        ("2027-01-31T09:30Z", utc(2027, 1, 31, 9, 30)),
        ("2027-01-31t09:30:00z", utc(2027, 1, 31, 9, 30)),
        ("2027-01-31T09:30:00", utc(2027, 1, 31, 9, 30)),
        ("2027-01-31 09:30:00", utc(2027, 1, 31, 9, 30)),
        ("2027-01-31T09:30:00.123456789Z", utc(2027, 1, 31, 9, 30, 0, 123_456)),
        ("2027-01-31T09:30:00.5Z", utc(2027, 1, 31, 9, 30, 0, 500_000)),
        ("2027-01-31T09:30:00+02:00", utc(2027, 1, 31, 7, 30)),
        ("2027-01-31T09:30:00 02:00", utc(2027, 1, 31, 7, 30)),
        ("2027-01-31T09:30:00-0530", utc(2027, 1, 31, 15, 0)),
        ("2027-01-01T00:00:00+14:00", utc(2026, 12, 31, 10, 0)),
        ("1970-01-01", utc(1970, 1, 1)),
        ("9999-12-31", utc(9998, 12, 31)),
        ("9999-12-31T23:59:59-01:00", REFUSED),
        ("2028-02-29", utc(2028, 2, 29)),
        ("2027-02-29", REFUSED),
        ("2027-1-31", REFUSED),
        ("20270131", REFUSED),
        ("2027-W05", REFUSED),
        ("2027-01-31T24:00:00Z", REFUSED),
        ("2027-01-31T23:59:60Z", REFUSED),
        ("2027-01-31T09:30:00+24:00", REFUSED),
        ("2027-01-31T09:30:00+02:60", REFUSED),
        ("2027-01-31T09", REFUSED),
        ("2027-01-31Z", REFUSED),
        (" 2027-01-31", REFUSED),
        ("2027-01-31\n", REFUSED),
        ("２０２７-01-31", REFUSED),
        ("1969-12-31T23:59:59Z", REFUSED),
        ("1800000000", REFUSED),
        ("now", REFUSED),
        ("", REFUSED),
    ],
)
def test_an_instant_is_iso_8601_in_utc(text: str, expected: Any) -> None:
    assert taken(InstantFilterField(), text) == expected


def test_a_date_at_the_end_of_a_span_includes_the_whole_day() -> None:
    field = InstantFilterField(end_of_day=True)
    assert taken(field, "2027-01-31") == utc(2027, 1, 31, 23, 59, 59, 999_000)
    assert taken(field, "2027-01-31T00:00:00Z") == utc(2027, 1, 31)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com",
        "https://example.com/path?query=1&other=%20#fragment",
        "http://example.com:8080/",
        "HTTPS://EXAMPLE.COM/",
        "https://xn--bcher-kva.example/",
        "https://192.0.2.1/",
        "https://[2001:db8::1]:8443/hook",
        "http://localhost:3000/",
        "https://my_shop.example.com./",
    ],
)
def test_an_address_is_taken(url: str) -> None:
    assert taken(HttpUrlField(), url) == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com",
        "/path",
        "//example.com",
        "ftp://example.com/",
        "javascript:alert(1)",
        "javascript://example.com/%0aalert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "https:example.com",
        "https:/example.com",
        "https:///path",
        "https://",
        "https://?x",
        "https://user@example.com/",
        "https://user:password@example.com/",
        "https://@example.com/",
        "https://:@example.com/",
        "https://example.com@evil.example/",
        "https://example.com\\@evil.example/",
        "https://example.com/\\evil",
        "https://example.com/\n",
        "\nhttps://example.com/",
        "https://exam\tple.com/",
        "https://example.com/a b",
        "https://example.com/\x00",
        "https://example.com/\x7f",
        "https://example.com/é",
        "https://bücher.example/",
        "https://ｅxample.com/",
        "https://example.com:port/",
        "https://example.com:65536/",
        "https://example.com:-1/",
        "https://example.com:0/",
        "https://example.com:/",
        "https://[::1/",
        "https://[nonsense]/",
        "https://example..com/",
        "https://.example.com/",
        "https://-example.com/",
        "https://exa$mple.com/",
        "https://" + "a" * 64 + ".com/",
        "https://example.com/" + "x" * 1981,
        'https://example.com/"onclick="x',
        "https://example.com/<script>",
        "https://example.com/`x`",
    ],
)
def test_an_address_is_refused(url: str) -> None:
    assert taken(HttpUrlField(), url) is REFUSED


@pytest.mark.parametrize("value", [5, True, None, ["https://example.com"], {"url": "https://example.com"}])
def test_an_address_is_text(value: Any) -> None:
    assert taken(HttpUrlField(), value) is REFUSED


def test_no_address_at_all_is_called_empty() -> None:
    assert http_url_problem("", https_only=False) == "Must not be empty."


def test_an_address_may_be_two_thousand_characters_long() -> None:
    url = "https://example.com/" + "x" * 1980
    assert http_url_problem(url, https_only=False) is None
    assert http_url_problem(url + "x", https_only=False) == "Must have at most 2000 characters."


class Callback(StrictSerializer):
    url = HttpUrlField()


@pytest.mark.parametrize(("environment", "valid"), [(Environment.SANDBOX, True), (Environment.PRODUCTION, False)])
def test_production_takes_https_alone(environment: Environment, valid: bool) -> None:
    plain = Callback(data={"url": "http://example.com/"}, context={"environment": environment})
    assert plain.is_valid() is valid
    secure = Callback(data={"url": "https://example.com/"}, context={"environment": environment})
    assert secure.is_valid()


class Body(StrictSerializer):
    merchantWallet = StrictCharField()  # noqa: N815 - a name of the API
    amount = AmountField(required=False)
    id = StrictCharField(read_only=True)


def errors_of(data: Any) -> Any:
    body = Body(data=data)
    assert not body.is_valid()
    return body.errors


@pytest.mark.parametrize(
    ("written", "meant"),
    [("merchant_wallet", "merchantWallet"), ("MERCHANTWALLET", "merchantWallet"), ("ammount", "amount")],
)
def test_an_unknown_field_is_refused_and_the_likely_one_named(written: str, meant: str) -> None:
    (detail,) = errors_of({"merchantWallet": "x", written: "y"})[written]
    assert isinstance(detail, ErrorDetail)
    assert detail.code == "unknown"
    assert str(detail) == f'Unknown parameter: "{written}". Did you mean {meant}?'


def test_a_field_that_is_only_given_out_is_unknown_on_the_way_in() -> None:
    (detail,) = errors_of({"merchantWallet": "x", "id": "y"})["id"]
    assert detail.code == "unknown"


def test_an_unlike_name_gets_no_suggestion() -> None:
    (detail,) = errors_of({"merchantWallet": "x", "zebra": "y"})["zebra"]
    assert str(detail) == 'Unknown parameter: "zebra".'


@pytest.mark.parametrize("data", [None, [], "text", 5])
def test_only_an_object_is_a_body(data: Any) -> None:
    assert not Body(data=data).is_valid()


def test_an_empty_body_takes_nothing() -> None:
    assert EmptySerializer(data={}).is_valid()
    assert not EmptySerializer(data={"reason": "x"}).is_valid()


class Query(StrictSerializer):
    limit = QueryIntegerField(minimum=1, maximum=100, default=10)
    status = StrictCharField(required=False)


def query(text: str) -> dict[str, Any]:
    return read_query(Query, Request(APIRequestFactory().get(f"/payments?{text}")))


def test_a_query_is_validated_like_a_body() -> None:
    assert query("") == {"limit": 10}
    assert query("limit=5&status=created") == {"limit": 5, "status": "created"}


@pytest.mark.parametrize(
    ("text", "param", "code"),
    [("limit=5&limit=6", "limit", "invalid"), ("stauts=a", "stauts", "unknown"), ("status=%00", "status", "control")],
)
def test_a_query_is_refused_like_a_body(text: str, param: str, code: str) -> None:
    with pytest.raises(ValidationError) as refused:
        query(text)
    assert isinstance(refused.value.detail, dict)
    assert refused.value.get_codes() == {param: [code]}


def test_copies_of_nested_fields_know_their_own_request() -> None:
    """In production addresses must be https. What is declared once is read in both environments in turn."""

    class Part(StrictSerializer):
        url = HttpUrlField()

    class Order(StrictSerializer):
        parts = serializers.ListField(child=Part())
        urls = serializers.ListField(child=HttpUrlField())

    body = {"parts": [{"url": "http://a.example"}], "urls": ["http://a.example"]}
    for environment, is_valid in [("sandbox", True), ("production", False), ("sandbox", True)]:
        order = Order(data=body, context={"environment": environment})
        assert order.is_valid() is is_valid
        assert set(order.errors) == (set() if is_valid else {"parts", "urls"})
        part: Any = order.fields["parts"]
        assert part.child.fields["url"].root is order
