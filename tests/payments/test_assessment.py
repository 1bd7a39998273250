"""The judge, by a table of what can have arrived and by what must be true of any judgement."""

from __future__ import annotations

import random
import uuid
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from payments.assessment import Assessment, DepositFact, Facts, assess
from payments.states import PaymentStatus, StatusReason

EXPIRES_AT = datetime(2027, 5, 1, 12, 0, tzinfo=UTC)
IN_TIME = EXPIRES_AT - timedelta(minutes=10)
LATE = EXPIRES_AT + timedelta(minutes=10)
GRACE_ENDS = EXPIRES_AT + timedelta(hours=1)
AFTER_GRACE = GRACE_ENDS + timedelta(minutes=10)
DUE = 1_000_000

CREATED, PENDING, UNDERPAID, COMPLETED, PARTLY, REFUNDED, EXPIRED, CANCELLED = PaymentStatus


def deposit(
    amount: int,
    sent_at: datetime = IN_TIME,
    *,
    confirmed: bool = True,
    counted: bool = False,
    held: bool = False,
) -> DepositFact:
    return DepositFact(uuid.uuid4(), amount, sent_at, confirmed, counted=counted, held=held)


def facts(
    *deposits: DepositFact,
    due: int = DUE,
    tolerance_bps: int = 0,
    closes_at: datetime = EXPIRES_AT,
    cancelled: bool = False,
    closed: bool = False,
    accepted: bool = False,
    returned: int = 0,
    read_until: datetime | None = IN_TIME,
) -> Facts:
    return Facts(
        due=due,
        tolerance_bps=tolerance_bps,
        expires_at=EXPIRES_AT,
        closes_at=closes_at,
        cancelled=cancelled,
        closed=closed,
        accepted=accepted,
        returned=returned,
        read_until=read_until,
        deposits=deposits,
    )


@dataclass(frozen=True)
class Case:
    """`expected` is (status, received, released, surplus, late deposits, close)."""

    title: str
    given: Facts
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
    judged = assess(case.given)
    expected = (judged.status, judged.received, judged.released, judged.surplus, len(judged.late), judged.close)
    assert expected == case.expected
    assert judged.reasons == tuple(StatusReason(reason) for reason in case.reasons)
    assert len(judged.counted) == len(case.given.deposits) - len(judged.late)


def test_the_least_that_completes_a_payment_is_rounded_up() -> None:
    assert facts(due=DUE).needed == DUE
    assert facts(due=DUE, tolerance_bps=50).needed == 995_000
    assert facts(due=199, tolerance_bps=50).needed == 199
    assert facts(due=200, tolerance_bps=50).needed == 199


def test_counted_deposits_go_first_so_that_nothing_already_credited_turns_late() -> None:
    late = deposit(DUE, LATE, counted=True)
    early = deposit(DUE)
    judged = assess(facts(early, late, closes_at=GRACE_ENDS, read_until=LATE))
    assert judged.counted == {early.id, late.id}
    assert (judged.released, judged.surplus) == (DUE, DUE)


# What must be true of any judgement.

INSTANTS = st.sampled_from([IN_TIME, EXPIRES_AT, LATE, GRACE_ENDS, AFTER_GRACE])
AMOUNTS = st.one_of(st.integers(1, 40), st.integers(1, 10**30))


@st.composite
def deposits_strategy(draw: st.DrawFn) -> DepositFact:
    counted = draw(st.booleans())
    return DepositFact(
        id=draw(st.uuids()),
        amount=draw(AMOUNTS),
        sent_at=draw(INSTANTS),
        confirmed=draw(st.booleans()),
        counted=counted,
        held=not counted and draw(st.booleans()),
    )


@st.composite
def facts_strategy(draw: st.DrawFn) -> Facts:
    accepted = draw(st.booleans())
    return Facts(
        due=draw(AMOUNTS),
        tolerance_bps=draw(st.integers(0, 50)),
        expires_at=EXPIRES_AT,
        closes_at=draw(st.sampled_from([EXPIRES_AT, GRACE_ENDS])),
        cancelled=draw(st.booleans()),
        closed=not accepted and draw(st.booleans()),
        accepted=accepted,
        returned=0,
        read_until=draw(st.none() | INSTANTS),
        deposits=tuple(draw(st.lists(deposits_strategy(), max_size=5, unique_by=lambda each: each.id))),
    )


def as_booked(given: Facts, judged: Assessment) -> Facts:
    """The facts at the next judgement, once this one has been written down."""
    return replace(
        given,
        closed=given.closed or judged.close,
        deposits=tuple(
            replace(each, counted=each.id in judged.counted, held=each.id in judged.late) if each.confirmed else each
            for each in given.deposits
        ),
    )


@given(facts_strategy(), st.randoms(use_true_random=False))
def test_the_order_in_which_deposits_are_known_does_not_matter(given: Facts, order: random.Random) -> None:
    shuffled = list(given.deposits)
    order.shuffle(shuffled)
    assert assess(replace(given, deposits=tuple(shuffled))) == assess(given)


@given(facts_strategy())
def test_every_deposit_either_counts_or_is_late(given: Facts) -> None:
    judged = assess(given)
    assert not judged.counted & judged.late
    assert judged.counted | judged.late == {each.id for each in given.deposits}


@given(facts_strategy())
def test_the_merchant_gets_at_most_what_is_due_and_nobody_more_than_arrived(given: Facts) -> None:
    judged = assess(given)
    confirmed = sum(each.amount for each in given.deposits if each.confirmed)
    assert 0 <= judged.released <= given.due
    assert judged.surplus >= 0
    assert judged.released + judged.surplus <= judged.received <= confirmed
    assert judged.released + judged.surplus in (0, judged.received)


@given(facts_strategy())
def test_a_payment_is_completed_exactly_when_something_is_released(given: Facts) -> None:
    assume(not given.closed)
    judged = assess(given)
    assert (judged.status is COMPLETED) == (judged.released > 0)


@given(facts_strategy())
def test_one_unit_too_little_never_completes_by_itself(given: Facts) -> None:
    assume(not given.accepted)
    judged = assess(given)
    assert (judged.status is COMPLETED) == (not given.cancelled and judged.received >= given.needed)


@given(facts_strategy(), AMOUNTS, INSTANTS)
def test_more_confirmed_money_never_undoes_a_completed_payment(given: Facts, amount: int, sent_at: datetime) -> None:
    given = replace(given, cancelled=False, closed=False, deposits=(*given.deposits, deposit(given.due)))
    first = assess(given)
    assert first.status is COMPLETED
    later = as_booked(given, first)
    more = assess(replace(later, deposits=(*later.deposits, deposit(amount, sent_at))))
    assert more.status is COMPLETED
    assert more.released >= first.released
    assert more.surplus >= first.surplus


@given(facts_strategy())
def test_judging_again_changes_nothing(given: Facts) -> None:
    first = assess(given)
    again = assess(as_booked(given, first))
    assert (again.status, again.received, again.released, again.surplus) == (
        first.status,
        first.received,
        first.released,
        first.surplus,
    )
    assert again.counted >= {each.id for each in given.deposits if each.confirmed and each.id in first.counted}
    assert not again.close or not first.close


@given(facts_strategy())
def test_a_cancelled_payment_counts_nothing_whatever_arrives(given: Facts) -> None:
    judged = assess(replace(given, cancelled=True))
    assert (judged.status, judged.received, judged.released, judged.close) == (CANCELLED, 0, 0, False)
    assert judged.late == {each.id for each in given.deposits}
