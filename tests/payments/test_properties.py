"""Whatever happens, in whatever order: every unit on the chain is in exactly one account of the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from config.errors import DomainError
from merchants.ledger.chart import Group, kinds_where
from merchants.ledger.checking import Scope, registered
from merchants.ledger.models import Account
from merchants.models import Merchant
from payments import tasks
from payments.chains import registry
from payments.chains.simulated import control
from payments.deposits.assessment import crumb_limit
from payments.models import Discrepancy, Payment
from payments.services import PaymentNotClosable, cancel_payment, close_payment
from payments.states import DiscrepancyStatus
from payments.suspense.acceptance import accept_discrepancy
from tests.factories import make_merchant
from tests.long_form import IS_LONG
from tests.networks import look_alike
from tests.payments.scenes import (
    BLOCKS_UNTIL_FINAL,
    COINS,
    ETHEREUM,
    NETWORKS,
    POLYGON,
    SANDBOX,
    STELLAR,
    assert_all_is_well,
    assert_events_tell_the_records,
    end_window,
    make_merchant_who,
    make_payment,
    mine,
    now,
    watch,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.long]

SIBLING = {ETHEREUM: POLYGON, POLYGON: ETHEREUM}
AT_ANY_MOMENT = ("I1", "I2", "I3", "I4", "I5", "I7", "I9", "I14")
"""The invariants that hold even while something waits to be read or assessed."""


@dataclass
class World:
    merchants: list[Merchant]
    payments: list[Payment] = field(default_factory=list)

    def one(self, number: int) -> Payment | None:
        return now(self.payments[number % len(self.payments)]) if self.payments else None


Step = Callable[[World], None]


def create(network: str, coin: str, cents: int, who: int) -> Step:
    def step(world: World) -> None:
        amount = f"{cents // 100}.{cents % 100:02}"
        world.payments.append(make_payment(network, coin, amount, merchant=world.merchants[who]))

    return step


def pay(number: int, percent: int, extra: int, kind: str) -> Step:
    """A payer sends a share of what is due and a few units more or less, rightly or wrongly."""

    def step(world: World) -> None:
        if payment := world.one(number):
            network, contract = payment.network, ""
            coin, memo = payment.cryptocurrency, payment.memo or None
            if kind == "wrong token":
                coin = [*COINS][([*COINS].index(coin) + 1) % len(COINS)]
            elif kind == "wrong network":
                network = SIBLING.get(network, network)
            elif kind == "no memo":
                memo = None
            elif kind == "look-alike":
                contract = look_alike(network)
            contract = contract or registry.asset(SANDBOX, network, coin).contract
            amount = max(1, int(payment.due) * percent // 100 + extra)
            parts = [control.Part(contract, amount, payment.deposit_address, memo)]
            control.pay_together(network, parts * (2 if kind == "twice" else 1))

    return step


def add_blocks(network: str, count: int) -> Step:
    return lambda world: mine(network, count)


def look() -> Step:
    def step(world: World) -> None:
        watch()
        tasks.expire_due()
        tasks.keep_surplus()
        assert_all_is_well()

    return step


def reorganise(network: str, depth: int, outcome: str) -> Step:
    def step(world: World) -> None:
        depth_possible = min(depth, control.deepest_reorg(network))
        if depth_possible:
            control.reorg(network, depth_possible, cast(Any, outcome))

    return step


def cancel(number: int) -> Step:
    def step(world: World) -> None:
        if payment := world.one(number):
            try:
                cancel_payment(payment)
            except DomainError:
                assert payment.status != "created" or payment.deposit_count

    return step


def expire(number: int) -> Step:
    def step(world: World) -> None:
        if payment := world.one(number):
            end_window(payment)

    return step


def close(number: int) -> Step:
    """The merchant ends the time of a payment early, whether or not more is on its way."""

    def step(world: World) -> None:
        if payment := world.one(number):
            try:
                assert close_payment(payment).closed_at
            except PaymentNotClosable:
                assert not (payment.status == "underpaid" and payment.closed_at)

    return step


def accept(number: int) -> Step:
    def step(world: World) -> None:
        waiting = Discrepancy.objects.filter(status=DiscrepancyStatus.OPEN, payment__isnull=False).order_by("id")
        if waiting:
            accept_discrepancy(waiting[number % len(waiting)], resolved_by="Ada")

    return step


NUMBERS = st.integers(0, 7)
KINDS = ["right"] * 5 + ["twice", "wrong token", "wrong network", "no memo", "look-alike"]
CREATE = st.builds(
    create, st.sampled_from(list(NETWORKS)), st.sampled_from([*COINS]), st.integers(1, 200_000), st.integers(0, 1)
)
PAY = st.builds(
    pay, NUMBERS, st.sampled_from([100, 100, 100, 50, 30, 130]), st.sampled_from([0, 0, -1, 1]), st.sampled_from(KINDS)
)
STEPS = st.one_of(
    CREATE,
    PAY,
    PAY,
    PAY,
    st.builds(add_blocks, st.sampled_from(list(NETWORKS)), st.integers(1, 8)),
    st.builds(look),
    st.builds(look),
    st.builds(
        reorganise,
        st.sampled_from([ETHEREUM, ETHEREUM, POLYGON, STELLAR]),
        st.integers(1, 6),
        st.sampled_from(["moved", "kept", "dropped", "replaced"]),
    ),
    st.builds(cancel, NUMBERS),
    st.builds(expire, NUMBERS),
    st.builds(close, NUMBERS),
    st.builds(accept, NUMBERS),
)


@settings(
    max_examples=20 if IS_LONG else 10,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(first=st.lists(CREATE, min_size=2, max_size=3), steps=st.lists(STEPS, min_size=6, max_size=20))
def test_every_unit_on_the_chain_is_in_exactly_one_account(first: list[Step], steps: list[Step]) -> None:
    with transaction.atomic():
        lenient = make_merchant_who(
            late_payments="accept", payment_tolerance_bps=50, surplus="keep", surplus_kept_bps=100
        )
        world = World([make_merchant(), lenient])
        for network in NETWORKS:
            mine(network, 8)
        for step in [*first, *steps]:
            step(world)
            assert_the_books_hold()
        settle()
        assert_all_is_well()
        assert_everything_is_accounted_for(world)
        transaction.set_rollback(True)


def assert_the_books_hold() -> None:
    known = {each.code: each for each in registered()}
    assert {code: found for code in AT_ANY_MOMENT if (found := list(known[code].check(Scope())))} == {}
    assert_events_tell_the_records()


def settle() -> None:
    """Let everything become final, be read and be assessed."""
    for network in NETWORKS:
        mine(network, BLOCKS_UNTIL_FINAL[network] + 1)
    watch()
    tasks.expire_due()
    watch()


def assert_everything_is_accounted_for(world: World) -> None:
    held = Counter(
        {
            (account.network, account.asset): account.natural_balance
            for account in Account.objects.filter(kind__in=["chain:deposit", "chain:hot"]).exclude(balance=0)
        }
    )
    owed: Counter[tuple[str, str]] = Counter()
    for account in Account.objects.filter(kind__in=kinds_where(group=Group.LIABILITY)).exclude(balance=0):
        owed[account.network, account.asset] += account.natural_balance
    assert held == owed == coins_at_our_addresses(world)
    for payment in world.payments:
        assessed = now(payment)
        assert assessed.status != "pending"
        assert (assessed.released > 0) == (assessed.status == "completed")
        assert assessed.released < assessed.due + crumb_limit(assessed.decimals)


def coins_at_our_addresses(world: World) -> Counter[tuple[str, str]]:
    """What the chain itself says: the balances of every address a payer was ever given."""
    found: Counter[tuple[str, str]] = Counter()
    for network in NETWORKS:
        chain = registry.chain(SANDBOX, network)
        reachable = {network, SIBLING.get(network, network)}
        addresses = {payment.deposit_address for payment in world.payments if payment.network in reachable}
        for asset in chain.profile.assets.values():
            for address in addresses:
                found[network, asset.code] += chain.reading.balance(address, asset)
    return +found
