"""What must be true of any assessment, whatever arrived."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime

from hypothesis import assume, given
from hypothesis import strategies as st

from payments.deposits.assessment import Assessment, AssessmentFacts, DepositFact, assess
from tests.payments.facts import (
    AFTER_GRACE,
    CANCELLED,
    COMPLETED,
    EXPIRES_AT,
    GRACE_ENDS,
    IN_TIME,
    LATE,
    deposit,
)

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
def facts_strategy(draw: st.DrawFn) -> AssessmentFacts:
    accepted = draw(st.booleans())
    return AssessmentFacts(
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
        ends_now=draw(st.booleans()),
    )


def as_booked(given: AssessmentFacts, assessment: Assessment) -> AssessmentFacts:
    """The facts at the next assessment, once this one has been written down."""
    return replace(
        given,
        closed=given.closed or assessment.close,
        deposits=tuple(
            replace(each, counted=each.id in assessment.counted, held=each.id in assessment.late)
            if each.confirmed
            else each
            for each in given.deposits
        ),
    )


@given(facts_strategy(), st.randoms(use_true_random=False))
def test_the_order_in_which_deposits_are_known_does_not_matter(given: AssessmentFacts, order: random.Random) -> None:
    shuffled = list(given.deposits)
    order.shuffle(shuffled)
    assert assess(replace(given, deposits=tuple(shuffled))) == assess(given)


@given(facts_strategy())
def test_every_deposit_either_counts_or_is_late(given: AssessmentFacts) -> None:
    assessment = assess(given)
    assert not assessment.counted & assessment.late
    assert assessment.counted | assessment.late == {each.id for each in given.deposits}


@given(facts_strategy())
def test_the_merchant_gets_at_most_what_is_due_and_nobody_more_than_arrived(given: AssessmentFacts) -> None:
    assessment = assess(given)
    confirmed = sum(each.amount for each in given.deposits if each.confirmed)
    assert 0 <= assessment.released <= given.due
    assert assessment.surplus >= 0
    assert assessment.released + assessment.surplus <= assessment.received <= confirmed
    assert assessment.released + assessment.surplus in (0, assessment.received)


@given(facts_strategy())
def test_a_payment_is_completed_exactly_when_something_is_released(given: AssessmentFacts) -> None:
    assume(not given.closed)
    assessment = assess(given)
    assert (assessment.status is COMPLETED) == (assessment.released > 0)


@given(facts_strategy())
def test_one_unit_too_little_never_completes_by_itself(given: AssessmentFacts) -> None:
    assume(not given.accepted)
    assessment = assess(given)
    assert (assessment.status is COMPLETED) == (not given.cancelled and assessment.received >= given.needed)


@given(facts_strategy(), AMOUNTS, INSTANTS)
def test_more_confirmed_money_never_undoes_a_completed_payment(
    given: AssessmentFacts, amount: int, sent_at: datetime
) -> None:
    given = replace(given, cancelled=False, closed=False, deposits=(*given.deposits, deposit(given.due)))
    first = assess(given)
    assert first.status is COMPLETED
    later = as_booked(given, first)
    more = assess(replace(later, deposits=(*later.deposits, deposit(amount, sent_at))))
    assert more.status is COMPLETED
    assert more.released >= first.released
    assert more.surplus >= first.surplus


@given(facts_strategy())
def test_assessing_again_changes_nothing(given: AssessmentFacts) -> None:
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
def test_a_cancelled_payment_counts_nothing_whatever_arrives(given: AssessmentFacts) -> None:
    assessment = assess(replace(given, cancelled=True))
    assert (assessment.status, assessment.received, assessment.released, assessment.close) == (CANCELLED, 0, 0, False)
    assert assessment.late == {each.id for each in given.deposits}
