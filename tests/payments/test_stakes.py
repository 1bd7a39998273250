"""A payment's money counts by what is at stake: by what arrived, by what is credited beside it, by stalled finality."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from threading import Barrier, BrokenBarrierError

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django.fixtures import Settings

from payments.chains.networks import NETWORKS
from payments.chains.profiles import CreditRule
from payments.deposits import confirmation_policy
from payments.deposits.models import ScanCursor
from payments.deposits.watching import watch_network
from payments.models import Deposit, Payment
from tests.networks import put
from tests.payments.scenes import (
    ETHEREUM,
    POLYGON,
    SANDBOX,
    assert_all_is_well,
    assert_events_tell_the_records,
    assess,
    books,
    confirm,
    events,
    make_merchant_who,
    make_payment,
    mine,
    mine_and_watch,
    now,
    pay,
)

CREDIT_BLOCKS = 3
"""On the simulated ethereum, for less than 1,000 dollars; final is what six blocks lie above."""


@pytest.fixture
def without_finality(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """From now on no further block of a network becomes final."""

    def stop(network: str) -> None:
        put(monkeypatch, network, simulation=replace(NETWORKS[network].simulation, finality_depth=10_000))

    return stop


def credited() -> list[str]:
    return sorted(Payment.objects.filter(received__gt=0).values_list("status", flat=True))


@pytest.mark.django_db
class TestOnePayment:
    def test_more_confirmations_that_are_required_are_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        rules = ((1_000, CreditRule(3)), (None, CreditRule(9)))
        put(monkeypatch, ETHEREUM, simulation=replace(NETWORKS[ETHEREUM].simulation, rules=rules))
        payment = make_payment(ETHEREUM, amount="100")
        pay(payment, "60")
        mine_and_watch(ETHEREUM)
        pay(payment, "2000")
        mine_and_watch(ETHEREUM)
        payment = now(payment)
        assert (payment.status, payment.required_confirmations) == ("pending", 9)
        assert events(payment) == ["payment.created", "payment.pending", "payment.updated"]
        assert_events_tell_the_records()

    def test_what_is_due_and_no_more_is_credited_below_finality(self) -> None:
        payment = make_payment(ETHEREUM, amount="100")
        pay(payment)
        mine_and_watch(ETHEREUM, CREDIT_BLOCKS)
        assert (now(payment).status, now(payment).require_finalized) == ("completed", False)

    @pytest.mark.parametrize("parts", [["1500"], ["600", "600"]])
    def test_money_that_is_more_than_was_due_waits_until_it_is_final(self, parts: list[str]) -> None:
        payment = make_payment(ETHEREUM, amount="100")
        for part in parts:
            pay(payment, part)
        mine_and_watch(ETHEREUM, CREDIT_BLOCKS)
        assert (now(payment).status, now(payment).received, books(payment)) == ("pending", 0, {})
        assert now(payment).require_finalized
        confirm(payment)
        assert now(payment).status == "completed"
        assert_all_is_well()

    def test_what_was_credited_stays_when_more_arrives(self) -> None:
        payment = make_payment(ETHEREUM, amount="100")
        pay(payment, "60")
        mine_and_watch(ETHEREUM, CREDIT_BLOCKS)
        pay(payment, "5000")
        mine_and_watch(ETHEREUM, CREDIT_BLOCKS)
        assert now(payment).received == 60 * 10**6
        confirm(payment)
        assert now(payment).received == 5060 * 10**6
        assert_all_is_well()

    def test_money_on_another_network_counts_by_the_rule_of_that_network(
        self, without_finality: Callable[[str], None]
    ) -> None:
        payment = make_payment(ETHEREUM, amount="100")
        without_finality(POLYGON)
        pay(payment, network=POLYGON)
        mine_and_watch(POLYGON, 20)
        assert list(Deposit.objects.values_list("status", flat=True)) == ["seen"]
        assert books(payment) == {}

    def test_nothing_is_credited_below_finality_while_finality_is_stalled(
        self, without_finality: Callable[[str], None]
    ) -> None:
        without_finality(ETHEREUM)
        first, second = make_payment(ETHEREUM, amount="100"), make_payment(ETHEREUM, amount="100")
        mine_and_watch(ETHEREUM)
        pay(first)
        mine_and_watch(ETHEREUM, CREDIT_BLOCKS)
        assert now(first).status == "completed", "the network is only slow"
        ScanCursor.objects.filter(network=ETHEREUM).update(finalized_since=timezone.now() - timedelta(minutes=21))
        pay(second)
        mine_and_watch(ETHEREUM, 10 * CREDIT_BLOCKS)
        assert (now(second).status, now(second).received) == ("pending", 0)


@pytest.mark.django_db
def test_no_more_is_credited_below_finality_than_the_operator_allows(settings: Settings) -> None:
    settings.BELOW_FINALITY_USD = 250
    merchant = make_merchant_who()
    payments = [make_payment(ETHEREUM, amount="100", merchant=merchant) for _ in range(3)]
    for payment in payments:
        pay(payment)
    mine_and_watch(ETHEREUM, CREDIT_BLOCKS)
    assert credited() == ["completed", "completed"]
    mine_and_watch(ETHEREUM, 7)
    assert credited() == ["completed"] * 3

    later = [make_payment(ETHEREUM, amount="100", merchant=merchant) for _ in range(2)]
    for payment in later:
        pay(payment)
    mine_and_watch(ETHEREUM, CREDIT_BLOCKS)
    assert credited() == ["completed"] * 5, "what has become final makes room"
    assert_all_is_well()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_guarded", [True, False])
def test_two_workers_at_once_credit_no_more_than_that(
    is_guarded: bool, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.BELOW_FINALITY_USD = 150
    payments = [make_payment(ETHEREUM, amount="100") for _ in range(2)]
    for payment in payments:
        pay(payment)
    mine(ETHEREUM, CREDIT_BLOCKS)
    watch_without_assessing()
    if not is_guarded:
        monkeypatch.setattr(confirmation_policy, "lock_until_commit", lambda *_: None)
    both_have_looked = Barrier(2)
    is_above_cap = confirmation_policy._is_above_cap

    def look(cursor: ScanCursor, more: int) -> bool:
        found = is_above_cap(cursor, more)
        with suppress(BrokenBarrierError):  # with its guard the second is not here before the first has committed
            both_have_looked.wait(timeout=1 if is_guarded else 30)
        return found

    monkeypatch.setattr(confirmation_policy, "_is_above_cap", look)

    def assess_and_close(payment: Payment) -> None:
        try:
            assess(payment)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(assess_and_close, payments))
    assert credited() == ["completed"] * (1 if is_guarded else 2)


def watch_without_assessing() -> None:
    while watch_network(SANDBOX, ETHEREUM):
        pass
    assert not credited()
