"""Payouts while Horizon lags, forgets answers and asks for more, and a history that is gone before it was read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from payments import tasks as payment_tasks
from payments.deposits.models import ScanCursor
from payments.models import Payment
from payments.transfers import services
from payments.transfers.models import Envelope, Payout, Transfer
from payments.transfers.states import PayoutStatus
from refunds.plans.planning import NewRefund
from refunds.services import create_refund
from tests.factories import make_merchant
from tests.networks import put_profile
from tests.stellar.network.horizon import LocalHorizon
from tests.stellar.network.keys import HOT_WALLET
from tests.stellar.shops import COIN, Shop, address_of, local_profile, reconcile, settings_for

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

PAYOUTS = 6


@pytest.fixture
def shop(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    put_profile(monkeypatch, replace(local_profile(), replace_after_seconds=0))
    with LocalHorizon() as horizon:
        for name, value in settings_for([horizon.url]).items():
            setattr(settings, name, value)
        yield Shop(horizon, stock={})


@pytest.fixture
def paid(shop: Shop) -> Payment:
    shop.move_in("payer", "merchant", *(f"recipient {number}" for number in range(PAYOUTS)))
    shop.stock_people("USDC", "payer")
    payment = shop.open(make_merchant(plan="enterprise"), address_of("merchant"), Decimal(1000))
    shop.send("payer", ([shop.paying(payment)], int(payment.memo)))
    shop.let_ledgers_close()
    payment.refresh_from_db()
    return payment


def give_back(payment: Payment, numbers: range) -> None:
    for number in numbers:
        request = NewRefund(amount=Decimal(1 + number), destination=address_of(f"recipient {number}"))
        create_refund(payment=payment, request=request, requested_by="a test")


def left(shop: Shop) -> Counter[tuple[str, str]]:
    """What ever left the hot wallet: to whom and how much, as the network tells it."""
    asked = {"limit": "200", "order": "asc"}
    page = shop.horizon.another().questions.answer(f"/accounts/{HOT_WALLET}/payments", asked)
    return Counter(
        (each["to"], each["amount"])
        for each in page["_embedded"]["records"]
        if each.get("from") == HOT_WALLET and each["type"] == "payment"
    )


def asked_for() -> Counter[tuple[str, str]]:
    return Counter((each.recipient, f"{Decimal(each.amount) / COIN:.7f}") for each in Payout.objects.all())


def rounds_of(shop: Shop, count: int, seconds: float = 1) -> None:
    """The worker goes round, and ledgers close, whether or not Horizon reads them."""
    for _ in range(count):
        Payout.objects.filter(status=PayoutStatus.READY).update(next_attempt_at=timezone.now())
        shop.drive()
        shop.horizon.close_ledger(seconds)


def test_nothing_is_paid_twice_while_horizon_lags_drops_answers_and_fees_surge(shop: Shop, paid: Payment) -> None:
    give_back(paid, range(2))
    shop.horizon.pause_ingestion()
    shop.horizon.drop_after_accept(1)
    rounds_of(shop, 6)  # sent, in a ledger, and sent again: 404 and tx_bad_seq
    give_back(paid, range(2, 4))
    rounds_of(shop, 3)
    assert sum(left(shop).values()) <= 4
    assert not Payout.objects.filter(status=PayoutStatus.PAID).exists()
    shop.horizon.resume_ingestion()
    shop.horizon.surge(5_000)
    shop.horizon.try_again_later(1)
    give_back(paid, range(4, PAYOUTS))
    rounds_of(shop, 12)
    shop.horizon.surge()
    rounds_of(shop, 6)
    assert left(shop) == asked_for()
    assert Envelope.objects.count() > Transfer.objects.count()  # fee bumps
    assert set(Payout.objects.values_list("status", flat=True)) == {PayoutStatus.PAID}
    shop.let_ledgers_close()
    shop.assert_ledger_is_the_chain()
    assert reconcile() == 0


def test_whoever_takes_an_unknown_sequence_for_failure_pays_twice(
    shop: Shop, paid: Payment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: tx_bad_seq and 404 mean here that nothing was paid, and that it is signed anew."""
    record_sent = services.record_sent

    def give_up(transfer: Transfer, *, next_step_at: datetime, error: str = "") -> None:
        record_sent(transfer, next_step_at=next_step_at, error=error)
        if error:
            services.record_dead(transfer)

    monkeypatch.setattr(services, "record_sent", give_up)
    give_back(paid, range(2))
    shop.horizon.pause_ingestion()
    rounds_of(shop, 3)
    shop.horizon.resume_ingestion()
    rounds_of(shop, 3)
    assert (left(shop) - asked_for()).total() > 0


def test_a_history_that_is_gone_before_it_was_read_stops_the_network(shop: Shop, paid: Payment) -> None:
    before = ScanCursor.objects.get(network="stellar")
    merchant = make_merchant(plan="enterprise")
    missed = [shop.open(merchant, address_of("merchant"), Decimal(10)) for _ in range(3)]
    shop.send("payer", *(([shop.paying(each)], int(each.memo)) for each in missed))
    for _ in range(12):
        shop.horizon.close_ledger(1)
    shop.horizon.reap_history(shop.horizon.network.state.ledger - 1)
    payment_tasks.watch_networks()
    cursor = ScanCursor.objects.get(network="stellar")
    assert cursor.cursor == before.cursor
    assert "has been read up to ledger" in cursor.fault
    shop.horizon.reap_history(1)  # a Horizon that has them
    payment_tasks.watch_networks()
    payment_tasks.assess_due()
    found = Payment.objects.filter(pk__in=[each.pk for each in missed])
    assert set(found.values_list("status", flat=True)) == {"completed"}
