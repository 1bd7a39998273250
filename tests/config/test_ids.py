"""Public ids: they go both ways, sort by time and are never anything else."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config import ids

INSTANTS = st.integers(0, 250_000_000_000 * 1000).map(
    lambda milliseconds: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds, microseconds=7)
)


@given(st.uuids())
def test_an_id_goes_both_ways(key: uuid.UUID) -> None:
    shown = ids.PAYMENT.encode(key)
    assert shown.startswith("pay_")
    assert len(shown) == 30
    assert ids.PAYMENT.decode(shown) == key


@given(st.uuids(), st.uuids())
def test_ids_sort_as_their_keys(one: uuid.UUID, other: uuid.UUID) -> None:
    assert (ids.PAYMENT.encode(one) < ids.PAYMENT.encode(other)) == (one < other)


def test_the_body_is_crockford_base32() -> None:
    assert ids.PAYMENT.encode(uuid.UUID(int=0)) == "pay_" + "0" * 26
    assert ids.PAYMENT.encode(uuid.UUID(int=2**128 - 1)) == "pay_7" + "z" * 25
    assert ids.PAYMENT.encode(uuid.UUID(int=0x0123456789ABCDEF0123456789ABCDEF)) == "pay_014d2pf2dbsqqg28t5cy4tqkff"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "pay_",
        "pay",
        "ref_" + "0" * 26,
        "pay_" + "0" * 25,
        "pay_" + "0" * 27,
        "pay_8" + "0" * 25,
        "pay_" + "l" * 26,
        "pay_" + "０" * 26,
        "PAY_" + "0" * 26,
        "pay_" + "0" * 26 + "\n",
    ],
)
def test_what_is_no_id_of_this_kind_decodes_to_nothing(text: str) -> None:
    assert ids.PAYMENT.decode(text) is None


@given(INSTANTS)
def test_the_instant_of_a_key_is_its_millisecond(instant: datetime) -> None:
    first = ids.first_uuid_at(instant)
    assert timedelta(0) <= ids.created_at_of(first) - instant < timedelta(milliseconds=1)
    milliseconds = first.int >> 80
    assert first <= ids.new_uuid(milliseconds)
    assert milliseconds == 0 or ids.new_uuid(milliseconds - 1) < first


def test_keys_made_one_after_the_other_sort_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within one millisecond too: what happened first is told first, wherever keys say what came first."""
    instants = [1_800_000_000_000 * 1_000_000 + nanoseconds for nanoseconds in range(0, 2_000_000, 250)]
    keys = []
    for instant in instants:
        monkeypatch.setattr("time.time_ns", lambda instant=instant: instant)
        keys.append(ids.new_uuid())
    assert keys == sorted(keys)
    assert {key.int >> 80 for key in keys} == {1_800_000_000_000, 1_800_000_000_001}


def test_new_keys_are_version_7_and_differ() -> None:
    keys = {ids.new_uuid() for _ in range(1000)}
    assert len(keys) == 1000
    assert {key.version for key in keys} == {7}
    assert {key.variant for key in keys} == {uuid.RFC_4122}
