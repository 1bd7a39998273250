"""The parser refuses what is not plain JSON, and keeps numbers exact."""

from __future__ import annotations

import json
import time
import tracemalloc
from contextlib import suppress
from decimal import Decimal

import pytest
from django.conf import settings
from hypothesis import given
from hypothesis import strategies as st

from config.api.parsers import MAX_BODY_BYTES, BodyTooLarge, InvalidJSON, parse_object
from tests.api import hostile


@pytest.mark.parametrize("case", hostile.PARSER, ids=lambda case: case.name)
def test_a_hostile_body_is_refused(case: hostile.HostileBody) -> None:
    with pytest.raises((InvalidJSON, BodyTooLarge)) as refused:
        parse_object(case.body)
    assert refused.value.code == case.code
    assert refused.value.status == 400


@pytest.mark.parametrize("case", hostile.FIELDS, ids=lambda case: case.name)
def test_a_body_for_the_fields_to_refuse_passes(case: hostile.HostileBody) -> None:
    if case.content_type == "application/json" and case.body:
        assert isinstance(parse_object(case.body), dict)


@pytest.mark.parametrize("case", hostile.PARSER, ids=lambda case: case.name)
def test_a_refusal_costs_little_time_and_memory(case: hostile.HostileBody) -> None:
    tracemalloc.start()
    started = time.thread_time()
    with pytest.raises((InvalidJSON, BodyTooLarge)):
        parse_object(case.body)
    took = time.thread_time() - started
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert took < 1
    assert peak < 16 * 1024 * 1024


def test_there_are_at_least_sixty_cases() -> None:
    assert len(hostile.PARSER) + len(hostile.FIELDS) + len(hostile.QUERIES) >= 60
    names = [case.name for case in [*hostile.PARSER, *hostile.FIELDS]]
    assert len(names) == len(set(names))


def test_django_and_the_parser_agree_on_how_large_a_body_may_be() -> None:
    assert settings.DATA_UPLOAD_MAX_MEMORY_SIZE == MAX_BODY_BYTES


def test_a_body_of_exactly_the_limit_is_read() -> None:
    body = b'{"a":"' + b"x" * (MAX_BODY_BYTES - 8) + b'"}'
    assert len(body) == MAX_BODY_BYTES
    assert len(parse_object(body)["a"]) == MAX_BODY_BYTES - 8


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("19.99", Decimal("19.99")),
        ("100", 100),
        ("100.00", Decimal("100.00")),
        ("9007199254740993.01", Decimal("9007199254740993.01")),
        ("1e2", Decimal("1e2")),
        ("18446744073709551615", 18446744073709551615),
        ("18446744073709551617", Decimal(18446744073709551617)),
        ("-1.5", Decimal("-1.5")),
        ("0.1", Decimal("0.1")),
    ],
)
def test_a_number_is_exactly_what_was_written(text: str, expected: object) -> None:
    value = parse_object(b'{"amount":' + text.encode() + b"}")["amount"]
    assert value == expected
    assert type(value) is type(expected)
    assert str(value) == str(expected)


def test_thirty_two_levels_are_read() -> None:
    assert parse_object(b'{"a":' * 31 + b"[]" + b"}" * 31)


def test_brackets_inside_strings_are_not_levels() -> None:
    text = "[{" * 100 + '"' + "[" * 100
    assert parse_object(json.dumps({"a": text}).encode()) == {"a": text}


def test_the_same_key_in_two_objects_is_no_duplicate() -> None:
    assert parse_object(b'{"a": {"b": 1}, "c": [{"b": 2}, {"b": 3}]}') == {"a": {"b": 1}, "c": [{"b": 2}, {"b": 3}]}


def test_a_pair_of_surrogates_is_the_character_it_means() -> None:
    assert parse_object(b'{"a": "\\ud83d\\ude00"}') == {"a": "\U0001f600"}


def test_an_escaped_backslash_before_u0000_is_only_text() -> None:
    assert parse_object(b'{"a": "\\\\u0000"}') == {"a": "\\u0000"}


def test_the_message_says_where() -> None:
    with pytest.raises(InvalidJSON, match=r"expecting ',' delimiter at line 2, column 7"):
        parse_object(b'{"a": 1\n      "b": 2}')


def test_the_message_shows_no_more_of_a_key_than_fits() -> None:
    key = "k" * 100_000
    with pytest.raises(InvalidJSON) as refused:
        parse_object(f'{{"{key}": 1, "{key}": 2}}'.encode())
    assert len(refused.value.message) < 200


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.text(st.characters(exclude_characters="\x00", codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_characters="\x00", codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(
    st.dictionaries(st.text(st.characters(exclude_characters="\x00", codec="utf-8")), _JSON, max_size=5), st.booleans()
)
def test_any_plain_object_is_read_back(value: dict[str, object], ascii_only: bool) -> None:
    assert parse_object(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@given(st.binary(max_size=200))
def test_any_bytes_are_an_object_or_refused(body: bytes) -> None:
    with suppress(InvalidJSON):
        assert isinstance(parse_object(body), dict)
