"""Many beats and workers at once, on real connections. One race also runs without its guards: it must go wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from threading import Barrier, BrokenBarrierError, Event, Lock
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from merchants.ledger.posting import InsufficientFunds
from merchants.models import MerchantSettings
from payments.models import BalanceChange
from payments.states import BalanceChangeKind
from payments.transfers.models import Payout
from settlements import due_runs, run_creation
from settlements.models import Settlement, SettlementRun
from settlements.services import run_now
from tests.factories import make_merchant
from tests.settlements.scenes import SANDBOX, assert_all_is_well, earn, owed

pytestmark = pytest.mark.django_db(transaction=True)

THREADS = 8
MERCHANTS, FEW = 20, 6


def at_once(work: Callable[[int], Any], threads: int = THREADS) -> list[Any]:
    """What `work(thread number)` answers in threads that all begin together."""
    start = Barrier(threads)

    def run(number: int) -> Any:
        try:
            connection.ensure_connection()
            start.wait()
            return work(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, range(threads)))


def test_twenty_due_merchants_are_run_once_each_by_eight_beats_at_once() -> None:
    merchants = [make_merchant() for _ in range(MERCHANTS)]
    for merchant in merchants:
        earn(merchant, "10")
        earn(merchant, "5", "DAI")
    now = timezone.now() + timedelta(days=1)
    done = at_once(lambda _: due_runs.run_due(now, environment=SANDBOX))
    assert sum(done) == SettlementRun.objects.count() == MERCHANTS
    assert Counter(Settlement.objects.values_list("merchant", flat=True)) == {each.pk: 1 for each in merchants}
    assert {int(each.amount) for each in Settlement.objects.all()} == {15_000_000}
    assert not BalanceChange.objects.filter(settlement__isnull=True).exists()
    assert_all_is_well()


@pytest.mark.slow
def test_without_its_guards_a_run_is_made_more_than_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the lock of the settings nor the row of the period: what is left is that money is spent once."""

    def unlocked(merchant_id: Any, environment: str, *, skip_locked: bool = False) -> MerchantSettings | None:
        return MerchantSettings.objects.select_related("merchant").get(merchant=merchant_id, environment=environment)

    settled: dict[Any, Event] = {}
    together, turn = Barrier(2), Lock()

    def insert(run: SettlementRun) -> bool:
        with suppress(BrokenBarrierError):  # so that two have looked before one of them writes
            together.wait(timeout=5)
        run.period_key = f"{run.id}"
        run.save(force_insert=True)
        with turn:
            is_first = run.merchant_id not in settled
            done = settled.setdefault(run.merchant_id, Event())
        if is_first:
            transaction.on_commit(done.set)
        else:
            done.wait(timeout=10)
        return True

    monkeypatch.setattr(run_creation, "_locked_settings", unlocked)
    monkeypatch.setattr(run_creation, "_insert", insert)
    merchants = [make_merchant() for _ in range(FEW)]
    for merchant in merchants:
        earn(merchant, "10")
    now = timezone.now() + timedelta(days=1)
    at_once(lambda _: due_runs.run_due(now, environment=SANDBOX))
    assert SettlementRun.objects.count() > FEW
    assert Settlement.objects.count() == FEW  # the changes and the ledger still let nothing be paid twice


def test_two_people_who_ask_at_once_share_what_there_is() -> None:
    merchant = make_merchant()
    for _ in range(4):
        earn(merchant, "10")
    made = at_once(lambda number: run_now(merchant=merchant, environment=SANDBOX, requested_by=f"person {number}"))
    assert len({run.pk for run in made}) == THREADS
    settlement = Settlement.objects.get()
    assert settlement.amount == 40_000_000
    assert owed(merchant) == 0


def test_money_that_moves_while_runs_are_made_is_neither_lost_nor_spent_twice() -> None:
    merchant = make_merchant()

    def work(number: int) -> None:
        for _ in range(5):
            if number % 2:
                run_now(merchant=merchant, environment=SANDBOX, requested_by="a test")
                continue
            earn(merchant, "10")
            with suppress(InsufficientFunds):  # what has been settled cannot be refunded any more
                earn(merchant, "-3", kind=BalanceChangeKind.REFUND)

    at_once(work)
    run_now(merchant=merchant, environment=SANDBOX, requested_by="a test")
    settled = sum(each.amount for each in Settlement.objects.all())
    assert owed(merchant) == 0
    assert not BalanceChange.objects.filter(settlement__isnull=True).exists()
    assert settled == sum(BalanceChange.objects.values_list("amount", flat=True))
    assert_all_is_well()


def test_eight_workers_hand_each_settlement_over_once() -> None:
    for _ in range(FEW):
        earn(merchant := make_merchant(), "10")
        run_now(merchant=merchant, environment=SANDBOX, requested_by="a test")
    handed_over = at_once(lambda _: due_runs.advance_due())
    assert sum(handed_over) == Payout.objects.count() == FEW
    assert not Settlement.objects.filter(payout__isnull=True).exists()
    assert_all_is_well()
