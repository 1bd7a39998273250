"""Whatever happens, in whatever order: past balances are what they were, and the ledger as a file balances."""

from __future__ import annotations

import random
import time
from collections import Counter
from datetime import UTC, datetime

import pytest
from beancount import loader
from django.db import transaction
from pytest_django.fixtures import Settings

from config import ids
from merchants.ledger.balances import merchant_balances
from merchants.ledger.chart import AccountKind, Group
from merchants.ledger.models import Account, Posting
from payments.models import BalanceChange
from payments.monitoring.accounting.files import beancount
from payments.monitoring.accounting.periods import Days
from payments.monitoring.accounting.totals import balances_at
from payments.suspense.balances import in_suspense
from settlements.models import Settlement
from settlements.monthly.months import months
from settlements.monthly.reading import accounts_of, entries_of
from settlements.plans.reading import statement_of
from settlements.plans.statements import LineType
from tests.accounting.clock import zone_far_from_midnight
from tests.accounts.history import History
from tests.accounts.world import NO_CAP, SANDBOX, fill_wallets

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

Held = dict[tuple[str, str, str], int]


def held_now() -> Held:
    """What the accounts of each kind and coin hold, by the balances that they store."""
    totals: Counter[tuple[str, str, str]] = Counter()
    for account in Account.objects.filter(environment=SANDBOX):
        totals[account.network, account.asset, account.kind] += account.natural_balance
    return {key: units for key, units in totals.items() if units}


def held_at(at: datetime) -> Held:
    return {
        (coin.network, coin.asset, kind.value): units
        for coin in balances_at(SANDBOX, at)
        for kind, units in coin.by_kind.items()
    }


def wait_for_another_millisecond() -> datetime:
    """The instant of the last posting; what is posted from now on has a later one."""
    last = Posting.objects.latest("id").id
    while time.time_ns() // 1_000_000 <= last.int >> 80:
        pass
    return ids.created_at_of(last)


def test_balances_statements_and_the_file_tell_the_same_history(settings: Settings) -> None:
    settings.SIMULATED_BLOCK_SECONDS, settings.BELOW_FINALITY_USD = 0, NO_CAP
    settings.SANDBOX_OPERATORS_TO_DECIDE = 1
    seen: list[tuple[datetime, Held]] = []
    with transaction.atomic():
        fill_wallets()
        history = History(random.Random(11))
        for _ in range(12):
            history.go(6)
            seen.append((wait_for_another_millisecond(), held_now()))
        history.finish()
        seen.append((wait_for_another_millisecond(), held_now()))
    assert len({str(held) for _, held in seen}) > 6
    for at, held in seen:
        assert held_at(at) == held
        for coin in balances_at(SANDBOX, None if at is seen[-1][0] else at):
            sums = [coin.of_group(group) for group in (Group.ASSET, Group.LIABILITY, Group.EQUITY)]
            assert sums[0] == sums[1] + sums[2]

    for row, _ in history.merchants:  # what statements account for, and what is in no statement yet
        accounted: Counter[tuple[str, str]] = Counter()
        for settlement in Settlement.objects.filter(merchant=row):
            for account in statement_of(settlement).accounts:
                for line in [*account.carried_over, *account.entries]:
                    if line.type != LineType.SETTLEMENT:
                        accounted[settlement.network, account.coin] += line.amount or 0
            if settlement.converted_at is not None:
                accounted[settlement.network, settlement.currency] -= int(settlement.amount)
            else:
                for part in settlement.coins:
                    accounted[settlement.network, part["coin"]] -= int(part["net"])
        for change in BalanceChange.objects.filter(merchant=row, settlement__isnull=True):
            accounted[change.network, change.asset] += int(change.amount)
        found: Counter[tuple[str, str]] = Counter()
        for coin in balances_at(SANDBOX, seen[-1][0], merchant=row):
            owed = coin.by_kind.get(AccountKind.MERCHANT_RECEIVABLE, 0)
            found[coin.network, coin.asset] = coin.by_kind.get(AccountKind.MERCHANT_AVAILABLE, 0) - owed
        assert {key: units for key, units in found.items() if units} == {
            key: units for key, units in accounted.items() if units
        }

    fees = 0
    for row, _ in history.merchants:
        [month, *_] = months(zone_far_from_midnight(), opened_at=row.created_at, now=seen[-1][0])
        told: Counter[tuple[str, str, str]] = Counter()
        for own in accounts_of(row, SANDBOX, month):
            entries = list(entries_of(own, month, at_a_time=7))
            assert [each.balance - each.amount for each in entries] == [
                own.opening,
                *(each.balance for each in entries[:-1]),
            ]
            told[own.name, own.network, own.coin] = entries[-1].balance if entries else own.opening
            fees -= sum(each.amount for each in entries if each.type == LineType.FEE and own.coin == "USDC")
        waiting = in_suspense(row, SANDBOX)
        now = {(each.network, each.asset): each.available - each.receivable for each in merchant_balances(row, SANDBOX)}
        assert {key: units for key, units in told.items() if units} == {
            **{("balance", *key): units for key, units in now.items() if units},
            **{("suspense", *key): units for key, units in waiting.items() if units},
        }
    assert fees == sum(
        units for (_, coin, kind), units in seen[-1][1].items() if (coin, kind) == ("USDC", "fee:service")
    )

    first = ids.created_at_of(Posting.objects.earliest("id").id).astimezone(UTC).date()
    text = "".join(beancount(SANDBOX, Days(first, seen[-1][0].date())))
    found_there, errors, _ = loader.load_string(text)
    assert errors == []
    assert sum(type(each).__name__ == "Transaction" for each in found_there) == Posting.objects.count()
