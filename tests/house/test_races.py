"""Two at once want the same coins. Each race also runs with its guard off, and must then go wrong."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection

from config.errors import DomainError
from config.money import Asset
from merchants.four_eyes.services import agree
from merchants.ledger.chart import AccountKind
from merchants.ledger.posting import AccountRef
from merchants.services import update_settings
from payments.treasury.house import withdrawals
from payments.treasury.house.house_balance import HouseBalance, house_balance, house_balances
from payments.treasury.house.models import Withdrawal
from settlements import due_runs
from settlements.models import Settlement
from tests.factories import make_merchant
from tests.house.scenes import COIN, FEE, People, earn_fee, held_in, house, its_address, leave, propose, reconcile
from tests.settlements.scenes import earn, settle_one
from tests.transfers.scenes import ETHEREUM, SANDBOX, on_chain, stock

pytestmark = pytest.mark.django_db(transaction=True)

TOGETHER_SECONDS = 120


def at_once(*works: Callable[[], object]) -> list[str]:
    """Run all at once, each on a connection of its own; returns what each was refused with, or "done"."""
    start = Barrier(len(works))

    def run(work: Callable[[], object]) -> str:
        try:
            start.wait(TOGETHER_SECONDS)
            work()
        except DomainError as error:
            return error.code
        finally:
            connection.close()
        return "done"

    with ThreadPoolExecutor(len(works)) as pool:
        return sorted(pool.map(run, works))


@pytest.mark.parametrize("guard", ["as it is", "without the lock"])
def test_two_withdrawals_of_the_same_coins(guard: str, people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    earn_fee()
    ada, bob = people
    proposals = [propose(its_address(people, name=name), FEE, by=ada) for name in ("one", "other")]
    if guard == "without the lock":
        both = Barrier(2)

        def not_locked(environment: str, asset: Asset, *others: AccountRef) -> HouseBalance:
            found = house_balance(environment, asset)
            both.wait(TOGETHER_SECONDS)
            return found

        monkeypatch.setattr(withdrawals, "lock_house", not_locked)
    ends = at_once(*[lambda each=each: agree(each, by=bob) for each in proposals])
    if guard == "as it is":
        assert ends == ["done", "more_than_own"]
        assert (held_in(AccountKind.WITHDRAWN), house().own) == (FEE * COIN, 0)
        leave()
        assert on_chain(ETHEREUM, Withdrawal.objects.get().recipient) == FEE * COIN
        assert reconcile() == 0
    else:
        assert ends == ["done", "done"]
        assert house().own == -FEE * COIN, "twice what the house had"


def test_a_withdrawal_and_a_settlement_that_wants_the_same_stock(people: People) -> None:
    """A merchant who was paid in USDT is settled in USDC, of which the house has a hundred."""
    stock(ETHEREUM, 100 * COIN)
    merchant = make_merchant()
    update_settings(merchant=merchant, environment=SANDBOX, changes={"settlement_currency": "USDC"})
    earn(merchant, "100", "USDT")
    settlement = settle_one(merchant)
    Settlement.objects.filter(pk=settlement.pk).update(next_step_at=settlement.created_at)
    proposal = propose(its_address(people), 60, by=people[0])
    at_once(lambda: agree(proposal, by=people[1]), due_runs.advance_due)
    settlement.refresh_from_db()
    is_withdrawn = Withdrawal.objects.exists()
    assert is_withdrawn != (settlement.payout is not None), "one has the coins, the other waits for more"
    left = [each.own for each in house_balances(SANDBOX) if each.asset == "USDC"]  # none where nothing is left
    assert sum(left) == (40 if is_withdrawn else 0) * COIN
