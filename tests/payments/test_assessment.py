"""The assessment of a payment, by a table of what can have arrived."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from payments.deposits.assessment import AssessmentFacts, assess
from payments.states import PaymentStatus, StatusReason
from tests.payments.facts import (
    AFTER_GRACE,
    CANCELLED,
    COMPLETED,
    CREATED,
    DUE,
    EXPIRED,
    EXPIRES_AT,
    GRACE_ENDS,
    LATE,
    PARTLY,
    PENDING,
    REFUNDED,
    UNDERPAID,
    deposit,
    facts,
)


@dataclass(frozen=True)
class Case:
    """`expected` is (status, received, released, surplus, late deposits, close)."""

    title: str
    given: AssessmentFacts
    expected: tuple[PaymentStatus, int, int, int, int, bool]
    reasons: tuple[str, ...] = ()


CASES = [
    Case("nothing yet", facts(), (CREATED, 0, 0, 0, 0, False)),
    Case("nothing, network never read", facts(read_until=None), (CREATED, 0, 0, 0, 0, False)),
    Case("nothing, read up to the very end", facts(read_until=EXPIRES_AT), (CREATED, 0, 0, 0, 0, False)),
    Case("nothing, read past the end", facts(read_until=LATE), (EXPIRED, 0, 0, 0, 0, False)),
    # What is due, to the unit.
    Case("exact", facts(deposit(DUE)), (COMPLETED, DUE, DUE, 0, 0, False)),
    Case("one unit short", facts(deposit(DUE - 1)), (UNDERPAID, DUE - 1, 0, 0, 0, False), ("underpaid",)),
    Case("one unit more", facts(deposit(DUE + 1)), (COMPLETED, DUE + 1, DUE, 1, 0, False), ("overpaid",)),
    Case("in two parts", facts(deposit(400_000), deposit(600_000)), (COMPLETED, DUE, DUE, 0, 0, False)),
    Case(
        "sent in the window's last instant",
        facts(deposit(DUE, EXPIRES_AT), read_until=LATE),
        (COMPLETED, DUE, DUE, 0, 0, False),
    ),
    Case(
        "a part sent in the window's last instant",
        facts(deposit(400_000, EXPIRES_AT), read_until=LATE, closes_at=GRACE_ENDS),
        (UNDERPAID, 400_000, 0, 0, 0, False),
        ("underpaid",),
    ),
    # Tolerance, at its edges: half a per cent of a million is five thousand.
    Case(
        "as little as the tolerance allows",
        facts(deposit(995_000), tolerance_bps=50),
        (COMPLETED, 995_000, 995_000, 0, 0, False),
        ("underpaid",),
    ),
    Case(
        "one unit below the tolerance",
        facts(deposit(994_999), tolerance_bps=50),
        (UNDERPAID, 994_999, 0, 0, 0, False),
        ("underpaid",),
    ),
    Case(
        "a tolerance of less than a unit tolerates nothing",
        facts(deposit(198), due=199, tolerance_bps=50),
        (UNDERPAID, 198, 0, 0, 0, False),
        ("underpaid",),
    ),
    Case(
        "a tolerance lets nobody overpay",
        facts(deposit(DUE + 1), tolerance_bps=50),
        (COMPLETED, DUE + 1, DUE, 1, 0, False),
        ("overpaid",),
    ),
    # Waiting for confirmations.
    Case("exact, unconfirmed", facts(deposit(DUE, confirmed=False)), (PENDING, 0, 0, 0, 0, False)),
    Case("one unit, unconfirmed", facts(deposit(1, confirmed=False)), (PENDING, 0, 0, 0, 0, False)),
    Case(
        "a confirmed part and the unconfirmed rest",
        facts(deposit(400_000), deposit(600_000, confirmed=False)),
        (PENDING, 400_000, 0, 0, 0, False),
        ("underpaid",),
    ),
    Case(
        "a confirmed part and too little unconfirmed",
        facts(deposit(400_000), deposit(599_999, confirmed=False)),
        (UNDERPAID, 400_000, 0, 0, 0, False),
        ("underpaid",),
    ),
    Case(
        "complete, and more unconfirmed",
        facts(deposit(DUE), deposit(5, confirmed=False)),
        (COMPLETED, DUE, DUE, 0, 0, False),
    ),
    Case(
        "unconfirmed when the window ends: it does not expire while it confirms",
        facts(deposit(DUE, confirmed=False), read_until=LATE),
        (PENDING, 0, 0, 0, 0, False),
    ),
    # Short at the end of the window.
    Case(
        "short, and the window is over",
        facts(deposit(400_000), read_until=LATE),
        (UNDERPAID, 400_000, 0, 0, 0, True),
        ("underpaid",),
    ),
    Case(
        "short, over, but the network is read only up to the end",
        facts(deposit(400_000), read_until=EXPIRES_AT),
        (UNDERPAID, 400_000, 0, 0, 0, False),
        ("underpaid",),
    ),
    Case(
        "short, over, but something in time still confirms",
        facts(deposit(400_000), deposit(1, confirmed=False), read_until=LATE),
        (UNDERPAID, 400_000, 0, 0, 0, False),
        ("underpaid",),
    ),
    Case(
        "short, the window over, the grace not",
        facts(deposit(400_000), closes_at=GRACE_ENDS, read_until=LATE),
        (UNDERPAID, 400_000, 0, 0, 0, False),
        ("underpaid",),
    ),
    Case(
        "short, and the grace over as well",
        facts(deposit(400_000), closes_at=GRACE_ENDS, read_until=AFTER_GRACE),
        (UNDERPAID, 400_000, 0, 0, 0, True),
        ("underpaid",),
    ),
    Case(
        "short, and somebody ends the window before its time",
        replace(facts(deposit(400_000), closes_at=GRACE_ENDS), ends_now=True),
        (UNDERPAID, 400_000, 0, 0, 0, True),
        ("underpaid",),
    ),
    Case(
        "nor is it ended while something confirms",
        replace(facts(deposit(400_000), deposit(1, confirmed=False)), ends_now=True),
        (UNDERPAID, 400_000, 0, 0, 0, False),
        ("underpaid",),
    ),
    Case(
        "closed once is closed",
        facts(deposit(400_000, counted=True), closed=True, read_until=LATE),
        (UNDERPAID, 400_000, 0, 0, 0, False),
        ("underpaid",),
    ),
    Case(
        "closed, and the rest comes: it is late",
        facts(deposit(400_000, counted=True), deposit(600_000, LATE), closed=True, read_until=AFTER_GRACE),
        (UNDERPAID, 400_000, 0, 0, 1, False),
        ("underpaid", "late"),
    ),
    Case(
        "closed, and money sent in time shows up: a person decides about that as well",
        facts(deposit(400_000, counted=True), deposit(600_000), closed=True, read_until=LATE),
        (UNDERPAID, 400_000, 0, 0, 1, False),
        ("underpaid", "late"),
    ),
    # Late.
    Case(
        "late, no grace",
        facts(deposit(DUE, LATE), read_until=AFTER_GRACE),
        (EXPIRED, 0, 0, 0, 1, False),
        ("late",),
    ),
    Case(
        "late, unconfirmed, no grace",
        facts(deposit(DUE, LATE, confirmed=False), read_until=LATE),
        (EXPIRED, 0, 0, 0, 1, False),
        ("late",),
    ),
    Case(
        "late, within the grace, and whole by itself",
        facts(deposit(DUE, LATE), closes_at=GRACE_ENDS, read_until=LATE),
        (COMPLETED, DUE, DUE, 0, 0, False),
        ("late",),
    ),
    Case(
        "late, within the grace, whole, unconfirmed",
        facts(deposit(DUE, LATE, confirmed=False), closes_at=GRACE_ENDS, read_until=LATE),
        (PENDING, 0, 0, 0, 0, False),
    ),
    Case(
        "late, in the grace's last instant",
        facts(deposit(DUE, GRACE_ENDS), closes_at=GRACE_ENDS, read_until=GRACE_ENDS),
        (COMPLETED, DUE, DUE, 0, 0, False),
        ("late",),
    ),
    Case(
        "late, after the grace",
        facts(deposit(DUE, AFTER_GRACE), closes_at=GRACE_ENDS, read_until=AFTER_GRACE),
        (EXPIRED, 0, 0, 0, 1, False),
        ("late",),
    ),
    Case(
        "late, within the grace, one unit short",
        facts(deposit(DUE - 1, LATE), closes_at=GRACE_ENDS, read_until=LATE),
        (EXPIRED, 0, 0, 0, 1, False),
        ("late",),
    ),
    Case(
        "in time too little, late within the grace the rest",
        facts(deposit(400_000), deposit(600_000, LATE), closes_at=GRACE_ENDS, read_until=LATE),
        (COMPLETED, DUE, DUE, 0, 0, False),
        ("late",),
    ),
    Case(
        "in time too little, late within the grace more than the rest",
        facts(deposit(400_000), deposit(600_001, LATE), closes_at=GRACE_ENDS, read_until=LATE),
        (COMPLETED, DUE + 1, DUE, 1, 0, False),
        ("overpaid", "late"),
    ),
    Case(
        "in time too little, late within the grace still too little",
        facts(deposit(400_000), deposit(599_999, LATE), closes_at=GRACE_ENDS, read_until=LATE),
        (UNDERPAID, 400_000, 0, 0, 1, False),
        ("underpaid", "late"),
    ),
    Case(
        "two late parts are a person's matter, each too little by itself",
        facts(
            deposit(400_000, LATE),
            deposit(600_000, LATE + timedelta(minutes=1)),
            closes_at=GRACE_ENDS,
            read_until=AFTER_GRACE,
        ),
        (EXPIRED, 0, 0, 0, 2, False),
        ("late",),
    ),
    Case(
        "whole already, more comes late within the grace",
        facts(deposit(DUE), deposit(5, LATE), closes_at=GRACE_ENDS, read_until=LATE),
        (COMPLETED, DUE, DUE, 0, 1, False),
        ("late",),
    ),
    Case(
        "held before the merchant accepted late money: it stays held",
        facts(deposit(DUE, LATE, held=True), closes_at=GRACE_ENDS, read_until=LATE),
        (EXPIRED, 0, 0, 0, 1, False),
        ("late",),
    ),
    Case(
        "counted late money goes on counting",
        facts(deposit(DUE, AFTER_GRACE, counted=True), read_until=AFTER_GRACE),
        (COMPLETED, DUE, DUE, 0, 0, False),
        ("late",),
    ),
    # Cancelled.
    Case("cancelled", facts(cancelled=True, read_until=LATE), (CANCELLED, 0, 0, 0, 0, False)),
    Case(
        "cancelled, then paid in time",
        facts(deposit(DUE), cancelled=True),
        (CANCELLED, 0, 0, 0, 1, False),
        ("late",),
    ),
    Case(
        "cancelled, paid late within the grace",
        facts(deposit(DUE, LATE), cancelled=True, closes_at=GRACE_ENDS, read_until=AFTER_GRACE),
        (CANCELLED, 0, 0, 0, 1, False),
        ("late",),
    ),
    # Taken as enough by a person.
    Case(
        "short money accepted",
        facts(deposit(1, counted=True), accepted=True, read_until=LATE),
        (COMPLETED, 1, 1, 0, 0, False),
        ("underpaid",),
    ),
    Case("nothing to accept", facts(accepted=True), (CREATED, 0, 0, 0, 0, False)),
    Case(
        "accepted, and unconfirmed again",
        facts(deposit(1, counted=True, confirmed=False), accepted=True, read_until=LATE),
        (PENDING, 0, 0, 0, 0, False),
    ),
    # Given back.
    Case(
        "a part given back",
        facts(deposit(DUE, counted=True), returned=1),
        (PARTLY, DUE, DUE, 0, 0, False),
    ),
    Case("all given back", facts(deposit(DUE, counted=True), returned=DUE), (REFUNDED, DUE, DUE, 0, 0, False)),
    Case(
        "what was due given back, the surplus not",
        facts(deposit(DUE + 1, counted=True), returned=DUE),
        (REFUNDED, DUE + 1, DUE, 1, 0, False),
        ("overpaid",),
    ),
    Case(
        "given back, and late money accepted for it",
        facts(deposit(DUE, LATE, counted=True), returned=DUE, read_until=LATE),
        (REFUNDED, DUE, DUE, 0, 0, False),
        ("late",),
    ),
    Case(
        "too little, given back",
        facts(deposit(7, counted=True), closed=True, returned=7, read_until=LATE),
        (REFUNDED, 7, 0, 0, 0, False),
        ("underpaid",),
    ),
    Case(
        "too little, given back before a reorganisation left less of it",
        facts(deposit(4, counted=True), returned=7, read_until=LATE),
        (REFUNDED, 4, 0, 0, 0, True),
        ("underpaid",),
    ),
    Case(
        "too little that was given back, while more may come",
        facts(deposit(4, counted=True), returned=7),
        (UNDERPAID, 4, 0, 0, 0, False),
        ("underpaid",),
    ),
    Case("given back, then undone", facts(returned=DUE), (CREATED, 0, 0, 0, 0, False)),
    Case("given back, then undone, and over", facts(returned=DUE, read_until=LATE), (EXPIRED, 0, 0, 0, 0, False)),
    Case(
        "given back, and in another block that is not deep enough",
        facts(deposit(DUE, confirmed=False), returned=DUE),
        (PENDING, 0, 0, 0, 0, False),
    ),
    Case(
        "all that the tolerance asked for given back, then the rest came",
        facts(deposit(995_000, counted=True), deposit(5_000), tolerance_bps=50, returned=995_000),
        (PARTLY, DUE, DUE, 0, 0, False),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_what_arrived_becomes_exactly_this(case: Case) -> None:
    found = assess(case.given)
    expected = (found.status, found.received, found.released, found.surplus, len(found.late), found.close)
    assert expected == case.expected
    assert found.reasons == tuple(StatusReason(reason) for reason in case.reasons)
    assert len(found.counted) == len(case.given.deposits) - len(found.late)


def test_the_least_that_completes_a_payment_is_rounded_up() -> None:
    assert facts(due=DUE).needed == DUE
    assert facts(due=DUE, tolerance_bps=50).needed == 995_000
    assert facts(due=199, tolerance_bps=50).needed == 199
    assert facts(due=200, tolerance_bps=50).needed == 199


def test_counted_deposits_go_first_so_that_nothing_already_credited_turns_late() -> None:
    late = deposit(DUE, LATE, counted=True)
    early = deposit(DUE)
    found = assess(facts(early, late, closes_at=GRACE_ENDS, read_until=LATE))
    assert found.counted == {early.id, late.id}
    assert (found.released, found.surplus) == (DUE, DUE)
