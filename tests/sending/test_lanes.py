"""Whose turn it is, how many at once, and what is let go."""

from __future__ import annotations

import uuid
from collections import Counter
from datetime import UTC, datetime

import pytest

from webhooks.sending.due_deliveries import DueDelivery
from webhooks.sending.lanes import AHEAD_MAX, Lanes
from webhooks.sending.preparing import Message, Prepared, Target

A, B, C = (uuid.UUID(int=number) for number in (1, 2, 3))


def taken(endpoint_id: uuid.UUID, number: int = 1, *, is_probe: bool = False) -> list[Prepared]:
    target = Target("https://shop.example/hook", (), False, "", "1", datetime.max.replace(tzinfo=UTC))
    return [
        Prepared(DueDelivery(uuid.uuid4(), endpoint_id, uuid.uuid4(), is_probe, "1"), target, Message("evt_1", b"{}"))
        for _ in range(number)
    ]


def sendable(lanes: Lanes) -> list[Prepared]:
    """All that may be sent before anything is answered."""
    return list(iter(lanes.next, None))


def endpoints(sent: list[Prepared]) -> list[uuid.UUID]:
    return [prepared.due.endpoint_id for prepared in sent]


@pytest.fixture
def lanes() -> Lanes:
    return Lanes()


def test_endpoints_take_turns(lanes: Lanes) -> None:
    lanes.add([*taken(A, 3), *taken(B, 2), *taken(C)])
    assert endpoints(sendable(lanes)) == [A, B, C, A, B, A]
    assert lanes.in_flight == 6


def test_at_most_four_of_an_endpoint_are_in_flight_and_the_next_goes_when_one_is_answered(lanes: Lanes) -> None:
    lanes.add(taken(A, 6))
    sent = sendable(lanes)
    assert len(sent) == 4
    lanes.end(sent[1], is_success=True)
    assert len(sendable(lanes)) == 1
    assert lanes.in_flight == 4


def test_after_a_failure_nothing_more_is_sent_until_the_database_has_been_told(lanes: Lanes) -> None:
    lanes.add([*taken(A, 6), *taken(B, 6)])
    sent = sendable(lanes)
    lanes.end(next(each for each in sent if each.due.endpoint_id == A), is_success=False)
    lanes.add(taken(A, 2))
    assert sendable(lanes) == []

    lanes.take_stock({A: 1})
    lanes.add(taken(A))
    assert endpoints(sendable(lanes)) == [A]


def test_as_much_is_taken_ahead_as_was_answered_lately(lanes: Lanes) -> None:
    lanes.add([*taken(A, 4), *taken(B, 4)])
    sent = sendable(lanes)
    for each in sent[:3]:
        lanes.end(each, is_success=True)
    answered = Counter(endpoints(sent[:3]))
    assert answered == {A: 2, B: 1}

    def ahead(answered: dict[uuid.UUID, int]) -> dict[uuid.UUID, int]:
        return {holding.endpoint_id: holding.ahead for holding in lanes.take_stock(answered)}

    assert ahead(answered) == {A: 2, B: 1}
    assert ahead({A: 1}) == {A: 3, B: 1}, "also the time before counts"
    assert ahead({A: 100}) == {A: AHEAD_MAX, B: 0}


def test_what_is_held_is_what_is_in_flight_and_what_waits(lanes: Lanes) -> None:
    six = taken(A, 6)
    lanes.add(six)
    sent = sendable(lanes)
    lanes.end(sent[0], is_success=True)
    [holding] = lanes.take_stock({A: 1})
    assert set(holding.delivery_ids) == {each.due.delivery_id for each in six[1:]}


def test_what_waits_for_an_endpoint_that_does_not_answer_is_let_go(lanes: Lanes) -> None:
    lanes.add(taken(A, 4))
    sent = sendable(lanes)
    lanes.end(sent[0], is_success=True)
    lanes.take_stock({A: 1})
    lanes.add(taken(A, 3))
    assert len(sendable(lanes)) == 1

    [holding] = lanes.take_stock({})
    assert len(holding.delivery_ids) == 6, "it has one more round to answer"
    [holding] = lanes.take_stock({})
    assert len(holding.delivery_ids) == 4


def test_an_endpoint_of_which_nothing_is_left_is_forgotten(lanes: Lanes) -> None:
    lanes.add(taken(A))
    [sent] = sendable(lanes)
    assert lanes
    lanes.end(sent, is_success=True)
    assert not lanes
    [holding] = lanes.take_stock({A: 1})
    assert (holding.delivery_ids, holding.ahead) == ([], 1), "more of it may well be due"
    assert len(lanes.take_stock({})) == 1
    assert lanes.take_stock({}) == []


def test_what_waits_is_forgotten_when_nothing_more_may_be_sent(lanes: Lanes) -> None:
    lanes.add(taken(A, 6))
    sent = sendable(lanes)
    lanes.forget_waiting()
    lanes.end(sent[0], is_success=True)
    assert sendable(lanes) == []
    assert len(lanes.take_stock({A: 1})[0].delivery_ids) == 3


def test_probes_are_counted(lanes: Lanes) -> None:
    lanes.add([*taken(A), *taken(B, is_probe=True), *taken(C, is_probe=True)])
    sent = sendable(lanes)
    assert lanes.probes == 2
    lanes.end(sent[1], is_success=False)
    assert lanes.probes == 1
