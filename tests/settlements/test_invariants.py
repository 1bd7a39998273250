"""Damage is found, and nothing is found on what is sound."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from config import ids
from merchants.ledger.checking import Scope, registered
from merchants.models import Merchant
from payments.models import BalanceChange
from settlements.models import Settlement
from tests.factories import make_merchant
from tests.payments.scenes import findings
from tests.settlements.scenes import advance, earn, pay_out, settle_one, stock_treasury
from tests.worlds import populated_once

pytestmark = pytest.mark.django_db


@pytest.fixture
@populated_once
def merchant() -> Merchant:
    """One settlement completed, one handed over, one not yet, and some money unsettled."""
    merchant = make_merchant()
    stock_treasury("100")
    earn(merchant, "10", "DAI")
    earn(merchant, "20")
    pay_out(settle_one(merchant))
    earn(merchant, "30")
    advance(settle_one(merchant))
    earn(merchant, "40")
    settle_one(merchant)
    earn(merchant, "50")
    return merchant


def found(code: str) -> list[tuple[Any, Any, int | None]]:
    """What the check of this code finds."""
    [check] = [known.check for known in registered() if known.code == code]
    return [(each.expected, each.actual, each.delta) for each in check(Scope())]


def settlement(amount: int) -> Settlement:
    return Settlement.objects.get(amount=amount)


def test_nothing_is_found_on_what_is_sound(merchant: Merchant) -> None:
    assert findings() == {}
    for scope in (Scope(since=timezone.now() - timedelta(hours=1)), Scope(network="stellar"), Scope(environments=())):
        ours = [known for known in registered() if known.code.startswith("S")]
        assert [known.code for known in ours] == [f"S{number}" for number in range(1, 13)]
        assert [list(known.check(scope)) for known in ours] == [[]] * 12


def move_period(_: Merchant) -> None:
    Settlement.objects.filter(amount=40_000_000).update(period_key="2020-01-01")


def take_change_away(_: Merchant) -> None:
    BalanceChange.objects.filter(settlement=settlement(40_000_000).id).update(settlement=None)


def take_another_change(merchant: Merchant) -> None:
    BalanceChange.objects.filter(amount=50_000_000).update(settlement=settlement(40_000_000).id)


def invent_a_settlement(_: Merchant) -> None:
    BalanceChange.objects.filter(amount=50_000_000).update(settlement=ids.new_uuid())


def forge_coins(_: Merchant) -> None:
    forged = settlement(40_000_000)
    forged.coins[0] |= {"gross": "39000000", "net": "39000000"}
    forged.save()


def forge_amount(_: Merchant) -> None:
    Settlement.objects.filter(amount=30_000_000).update(amount=29_000_000, gross=29_000_000)


def forge_completion(_: Merchant) -> None:
    Settlement.objects.filter(amount=40_000_000).update(
        status="completed", ended_at=timezone.now(), completed_at=timezone.now(), next_step_at=None
    )


def forge_failure(_: Merchant) -> None:
    completed = Settlement.objects.filter(status="completed")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")  # no trigger fires
        completed.update(status="failed", failure_code="rejected", completed_at=None)
        cursor.execute("SET LOCAL session_replication_role = origin")


def forge_destination(_: Merchant) -> None:
    Settlement.objects.filter(amount=30_000_000).update(destination="0xSomebodyElse")


def lose_an_event(_: Merchant) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM webhooks_event WHERE object_id = %s", [settlement(40_000_000).id])


DAMAGES: list[tuple[Callable[[Merchant], None], str]] = [
    (move_period, "S1"),
    (take_change_away, "S2"),
    (take_another_change, "S2"),
    (invent_a_settlement, "S2"),
    (forge_coins, "S2"),
    (forge_amount, "S3"),
    (forge_completion, "S3"),
    (forge_failure, "S3"),
    (forge_destination, "S3"),
    (lose_an_event, "S4"),
]


def test_damage_is_found(merchant: Merchant) -> None:
    for damage, code in DAMAGES:
        with transaction.atomic():
            damage(merchant)
            assert found(code), damage
            transaction.set_rollback(True)


def test_what_is_missing_is_said_to_the_base_unit(merchant: Merchant) -> None:
    forge_coins(merchant)
    assert found("S2") == [(39_000_000, 40_000_000, 1_000_000)]
    assert found("S3") == [(39_000_000, 40_000_000, 1_000_000)]


def test_a_settlement_that_waits_for_an_hour_is_a_warning(merchant: Merchant) -> None:
    waiting = settlement(40_000_000)
    before = ids.new_uuid(int((timezone.now() - timedelta(minutes=61)).timestamp() * 1000))
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("UPDATE settlements_settlement SET id = %s WHERE id = %s", [before, waiting.id])
    assert len(found("S5")) == 1


def test_a_wrong_count_is_found(merchant: Merchant) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM merchants_recordcountdelta WHERE kind = 'settlement' AND status = 'completed'")
    assert found("S6") == [(1, 0, -1)]
