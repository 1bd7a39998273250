"""Random rounds on stellar, many payouts an envelope and several channels: whatever happens, limits and coins hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, cast

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from merchants.ledger.chart import AccountKind
from merchants.ledger.posting import AccountRef, Line, post
from payments.chains.errors import RecipientProblem
from payments.chains.networks import NETWORKS
from payments.chains.simulated import control, networks
from payments.chains.simulated.sending import Sending
from payments.transfers import services
from payments.transfers.models import Payout, PayoutPolicy, Transfer, approval_count
from payments.transfers.payouts import approve_payout, policy_of
from payments.transfers.states import OPEN_TRANSFERS, HoldReason, PayoutStatus
from tests.factories import make_merchant, make_user
from tests.long_form import IS_LONG
from tests.networks import put, put_simulated
from tests.transfers.scenes import (
    SANDBOX,
    STELLAR,
    ask,
    drive,
    fresh,
    hot,
    on_chain,
    reserved,
    somebody,
    stock,
    treasury,
    wait_no_longer,
)
from tests.transfers.test_invariants import findings

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.long]

PEOPLE = 6
COIN_UNITS = 10**7
ELSEWHERE, DAILY, APPROVAL = 1_000, 30, 9
"""Whole coins: what the operator has beside the wallet, what may leave in a day unapproved, and the most that one
payout may be without approval."""

DEATHS: tuple[tuple[Any, str], ...] = (
    (services, "record_signed"),
    (services, "record_sent"),
    (services, "record_final"),
    (services, "record_failed"),
    (services, "record_replacement"),
    (Sending, "broadcast"),
    (Sending, "status"),
)
"""Where a worker dies, just before or just after."""

people = st.integers(0, PEOPLE - 1)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.lists(st.tuples(people, st.integers(1, 12)), min_size=1, max_size=5)),
        st.tuples(st.just("round"), st.just(0)),
        st.tuples(st.just("die"), st.tuples(st.integers(0, len(DEATHS) - 1), st.booleans())),
        st.tuples(st.just("mine"), st.just(0)),
        st.tuples(st.just("refuse"), st.tuples(people, st.sampled_from(["no_trustline", "destination_refused", ""]))),
        st.tuples(st.just("fees"), st.sampled_from([1, 3, 30, 2_000])),
        st.tuples(st.sampled_from(["lose", "time_out", "evict", "approve"]), st.just(0)),
    ),
    min_size=4,
    max_size=18,
)


class Killed(BaseException):
    """The worker's process has died: nothing of its own catches this."""


@contextmanager
def dying(place: int, *, is_after: bool) -> Iterator[None]:
    """A worker that dies once it comes to this place."""
    owner, name = DEATHS[place]
    real: Callable[..., Any] = getattr(owner, name)

    def die(*asked: Any, **named: Any) -> Any:
        if is_after:
            real(*asked, **named)
        raise Killed

    setattr(owner, name, die)
    try:
        with suppress(Killed):
            yield
    finally:
        setattr(owner, name, real)


class Shop:
    """A wallet with little money and strict limits, and people who are to be paid from it."""

    def __init__(self, coins: int) -> None:
        self.stocked = coins * COIN_UNITS
        stock(STELLAR, self.stocked)
        with transaction.atomic():  # as much again is the operator's, and not in the wallet
            elsewhere = AccountRef(STELLAR, "USDC", AccountKind.CHAIN_DEPOSIT)
            lines = [Line(elsewhere, ELSEWHERE * COIN_UNITS), Line(treasury(STELLAR), -ELSEWHERE * COIN_UNITS)]
            post(height=1, environment=SANDBOX, kind="treasury_in", reference="elsewhere", lines=lines)
        policy_of(SANDBOX)
        PayoutPolicy.objects.update(daily_limit=DAILY, approval_above=APPROVAL, merchant_daily_limit=None)
        self.merchant, self.operators = make_merchant(), [make_user(is_staff=True, is_superuser=True) for _ in range(2)]
        self.people = [somebody(STELLAR, f"person {number}") for number in range(PEOPLE)]
        self.asked: list[Payout] = []

    def act(self, step: str, argument: Any) -> None:
        if step == "ask":
            for person, amount in argument:
                self.asked.append(ask(STELLAR, amount * COIN_UNITS, to=self.people[person], merchant=self.merchant))
        elif step == "round":
            wait_no_longer()
            drive(STELLAR)
        elif step == "die":
            wait_no_longer()
            with dying(argument[0], is_after=argument[1]):
                drive(STELLAR)
        elif step == "mine":
            control.mine(STELLAR)
        elif step == "refuse":
            control.describe_account(STELLAR, self.people[argument[0]], refuses=cast(RecipientProblem, argument[1]))
        elif step == "fees":
            control.set_fee_level(STELLAR, argument)
        elif step == "lose":
            control.lose_broadcasts(STELLAR, 1)
        elif step == "time_out":
            control.time_out_broadcasts(STELLAR, 1)
        elif step == "evict":
            control.evict_waiting(STELLAR)
        elif step == "approve":
            held = Payout.objects.filter(status=PayoutStatus.HELD, hold_reason=HoldReason.APPROVAL)
            for payout in [each for each in held if not approval_count(each)][:1]:
                for operator in self.operators:
                    approve_payout(payout, by=operator)

    def settle(self) -> None:
        """All is well again: everything that may be paid is."""
        for person in self.people:
            control.describe_account(STELLAR, person)
        control.set_fee_level(STELLAR, 1)
        control.lose_broadcasts(STELLAR, 0)
        control.time_out_broadcasts(STELLAR, 0)
        for _ in range(8):
            wait_no_longer()
            drive(STELLAR)
            control.mine(STELLAR)
        wait_no_longer()
        drive(STELLAR)

    def check(self) -> None:
        """What holds at every moment, by the rows and on the chain."""
        open_now = Transfer.objects.filter(status__in=OPEN_TRANSFERS)
        by_channel = Counter(open_now.values_list("channel", flat=True))
        assert set(by_channel) <= set(networks.channels(STELLAR))
        assert set(by_channel.values()) <= {1}
        payouts = [fresh(payout) for payout in self.asked]
        gone = [payout for payout in payouts if payout.status in (PayoutStatus.SENDING, PayoutStatus.PAID)]
        assert sum(int(payout.amount) for payout in gone) <= self.stocked
        for payout in gone:
            assert int(payout.amount) <= APPROVAL * COIN_UNITS or approval_count(payout) == 2
        unapproved = sum(int(payout.amount) for payout in gone if not approval_count(payout))
        assert unapproved <= DAILY * COIN_UNITS
        assert findings() == {}

    def check_paid(self) -> None:
        """What holds once nothing is on its way: who is paid has the coins, once."""
        payouts = [fresh(payout) for payout in self.asked]
        assert {payout.status for payout in payouts} <= {PayoutStatus.PAID, PayoutStatus.HELD, PayoutStatus.FAILED}
        held = {payout.hold_reason for payout in payouts} - {""}
        assert held <= {HoldReason.APPROVAL, HoldReason.DAILY_LIMIT, HoldReason.LIQUIDITY}
        assert {payout.failure_code for payout in payouts} <= {"", "destination_refused"}
        wanted: Counter[str] = Counter()
        for payout in payouts:
            is_paid = payout.status == PayoutStatus.PAID
            wanted[payout.recipient] += int(payout.amount) * is_paid
            assert reserved(payout) == int(payout.amount) * (not is_paid)
        assert {person: on_chain(STELLAR, person) for person in self.people} == {
            person: wanted[person] for person in self.people
        }
        assert hot(STELLAR) == self.stocked - wanted.total()


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two channels, three payouts an envelope, and fees that are raised at once."""
    put_simulated(monkeypatch, STELLAR, payouts_per_transfer=3, replace_after_seconds=0)
    put(monkeypatch, STELLAR, simulation=replace(NETWORKS[STELLAR].simulation, channels=2))


@pytest.mark.usefixtures("narrow")
@settings(
    max_examples=14 if IS_LONG else 7,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=STEPS, coins=st.sampled_from([DAILY - 15, DAILY + 15]))
def test_limits_approvals_and_coins_hold_whatever_happens(steps: list[tuple[str, Any]], coins: int) -> None:
    with transaction.atomic():
        shop = Shop(coins)
        for step, argument in steps:
            shop.act(step, argument)
            shop.check()
        shop.settle()
        shop.check()
        shop.check_paid()
        transaction.set_rollback(True)
