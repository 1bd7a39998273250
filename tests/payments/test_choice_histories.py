"""Payers who choose again and again while money comes by any of their choices: it is found, held or counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from config.errors import DomainError
from payments import tasks
from payments.chains import registry
from payments.chains.simulated import control
from payments.models import Discrepancy, Payment
from payments.services import choose
from payments.states import DiscrepancyStatus
from payments.suspense.acceptance import accept_discrepancy
from tests.long_form import IS_LONG
from tests.payments.choosing import THREE, make_open
from tests.payments.scenes import (
    BLOCKS_UNTIL_FINAL,
    COINS,
    ETHEREUM,
    POLYGON,
    SANDBOX,
    STELLAR,
    assert_all_is_well,
    assert_events_tell_the_records,
    end_window,
    make_merchant_who,
    mine,
    now,
    place_of,
    watch,
)
from tests.transfers.scenes import drive

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.long]


@dataclass
class World:
    payments: list[Payment]
    quotes: list[Payment] = field(default_factory=list)
    """Every payment as it was after each choice: what its payer may have copied then."""

    def payment(self, number: int) -> Payment:
        return now(self.payments[number % len(self.payments)])


Step = Callable[[World], None]


def choosing(number: int, network: str, coin: str) -> Step:
    def step(world: World) -> None:
        before = world.payment(number)
        try:
            world.quotes.append(choose(before, network=network, coin=coin))
        except DomainError:
            assert now(before).version == before.version

    return step


def pay_by(number: int, percent: int) -> Step:
    """Somebody sends money by what a page has once shown."""

    def step(world: World) -> None:
        quote = world.quotes[number % len(world.quotes)]
        asset = registry.asset(SANDBOX, quote.network, quote.cryptocurrency)
        amount = max(1, int(quote.due) * percent // 100)
        control.pay_together(quote.network, [control.Part(asset.contract, amount, place_of(quote))])

    return step


def look(blocks: int) -> Step:
    def step(world: World) -> None:
        for network in THREE:
            mine(network, blocks)
        watch()
        tasks.expire_due()
        tasks.assess_due()
        assert_events_tell_the_records()

    return step


def reorganise(network: str, depth: int, outcome: str) -> Step:
    def step(world: World) -> None:
        if possible := min(depth, control.deepest_reorg(network)):
            control.reorg(network, possible, cast(Any, outcome))

    return step


def accept(number: int) -> Step:
    def step(world: World) -> None:
        waiting = Discrepancy.objects.filter(status=DiscrepancyStatus.OPEN).order_by("id")
        if waiting:
            accept_discrepancy(waiting[number % len(waiting)], resolved_by="Ada")

    return step


def expire(number: int) -> Step:
    def step(world: World) -> None:
        end_window(world.payment(number))

    return step


def sweep(world: World) -> None:
    tasks.sweep()
    for network in (ETHEREUM, POLYGON):
        drive(network, 2)
        mine(network, BLOCKS_UNTIL_FINAL[network])
    watch()
    for network in (ETHEREUM, POLYGON):
        drive(network)
    tasks.sweep()


NUMBERS = st.integers(0, 5)
CHOOSE = st.builds(choosing, NUMBERS, st.sampled_from(THREE), st.sampled_from(list(COINS)))
STEPS = st.one_of(
    CHOOSE,
    CHOOSE,
    CHOOSE,
    st.builds(pay_by, NUMBERS, st.sampled_from([100, 100, 60, 130])),
    st.builds(look, st.integers(1, 8)),
    st.builds(
        reorganise, st.sampled_from([ETHEREUM, POLYGON]), st.integers(1, 6), st.sampled_from(["moved", "dropped"])
    ),
    st.builds(accept, NUMBERS),
    st.builds(expire, NUMBERS),
    st.just(sweep),
)

# evm, stellar, evm: money sent by the first two choices, and the last one paid.
BACK_AND_FORTH = [
    choosing(0, ETHEREUM, "USDC"),
    choosing(0, STELLAR, "USDC"),
    pay_by(2, 100),
    choosing(0, POLYGON, "DAI"),
    look(8),
    pay_by(3, 60),
    pay_by(4, 100),
    look(8),
    accept(0),
    sweep,
]


@settings(
    max_examples=8 if IS_LONG else 4,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(steps=st.lists(STEPS, min_size=6, max_size=20))
@example(steps=BACK_AND_FORTH)
def test_whatever_is_chosen_all_money_is_accounted_for(steps: list[Step]) -> None:
    with transaction.atomic():
        for network in THREE:
            mine(network, 8)
        merchant = make_merchant_who(late_payments="accept")
        payments = [make_open(), make_open(merchant=merchant)]
        world = World(payments, [*payments])
        for step in steps:
            step(world)
        look(max(BLOCKS_UNTIL_FINAL.values()) + 1)(world)
        sweep(world)
        assert_all_is_well()
        transaction.set_rollback(True)
