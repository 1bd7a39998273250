"""Replies are exact JSON: decimals keep their digits, instants are UTC with milliseconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils.translation import gettext_lazy

from config.api.renderers import JSONRenderer, format_instant, render_json


@pytest.mark.parametrize(
    ("amount", "written"),
    [
        ("19.99", "19.99"),
        ("0.1", "0.1"),
        ("100.00", "100.00"),
        ("100", "100"),
        ("1E+3", "1000"),
        ("1E-7", "0.0000001"),
        ("9007199254740993.01", "9007199254740993.01"),
        ("-0.5", "-0.5"),
    ],
)
def test_a_decimal_is_a_number_with_its_own_digits(amount: str, written: str) -> None:
    assert render_json({"amount": Decimal(amount)}) == f'{{"amount":{written}}}'.encode()


@pytest.mark.parametrize("amount", ["NaN", "Infinity", "-Infinity"])
def test_what_json_cannot_write_is_refused(amount: str) -> None:
    with pytest.raises(TypeError):
        render_json(Decimal(amount))


@pytest.mark.parametrize(
    ("instant", "written"),
    [
        (datetime(2027, 1, 31, 9, 30, tzinfo=UTC), "2027-01-31T09:30:00.000Z"),
        (datetime(2027, 1, 31, 9, 30, 1, 234_999, tzinfo=UTC), "2027-01-31T09:30:01.234Z"),
        (datetime(2027, 1, 31, 1, 0, tzinfo=timezone(timedelta(hours=2))), "2027-01-30T23:00:00.000Z"),
    ],
)
def test_an_instant_is_utc_with_milliseconds(instant: datetime, written: str) -> None:
    assert format_instant(instant) == written
    assert render_json([instant]) == f'["{written}"]'.encode()


def test_an_instant_without_a_time_zone_is_a_bug() -> None:
    with pytest.raises(ValueError, match="time zone"):
        format_instant(datetime(2027, 1, 31))  # noqa: DTZ001 - the point of the test


def test_translated_text_is_text() -> None:
    assert render_json(gettext_lazy("Yes")) == b'"Yes"'


def test_anything_else_is_refused_rather_than_guessed() -> None:
    with pytest.raises(TypeError):
        render_json({"value": object()})


def test_bytes_pass_through_and_nothing_is_empty() -> None:
    renderer = JSONRenderer()
    assert renderer.render(b'{"stored": true}') == b'{"stored": true}'
    assert renderer.render(None) == b""
    assert renderer.render({"a": 1}) == b'{"a":1}'


@pytest.mark.urls("tests.api.urls")
@pytest.mark.parametrize("accept", ["text/html", "application/xml", "*/*", "nonsense", "image/png;q=0.1", "x" * 9000])
def test_every_accept_header_gets_json(accept: str) -> None:
    response = Client().get("/v1/orders?format=xml", headers={"Accept": accept})
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/json"


@pytest.mark.urls("tests.api.urls")
@pytest.mark.parametrize(
    "content_type",
    ["application/json", "application/json; charset=utf-8", "application/json;charset=UTF-8", "APPLICATION/JSON"],
)
def test_every_spelling_of_the_content_type_is_understood(content_type: str) -> None:
    response: Any = Client().post("/v1/echo", '{"name": "\u00e9"}'.encode(), content_type=content_type)
    assert response.json() == {"data": {"name": "\u00e9"}, "bytes": 14}
