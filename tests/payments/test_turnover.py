"""What payments came to: the counters follow every change, and are what the payments themselves say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import transaction

from config.database.counters import correct
from config.money import fiat_share
from merchants.ledger.checking import Scope
from payments.chains.simulated import control
from payments.deposits.turnover import counting
from payments.deposits.turnover.models import Span, Turnover, TurnoverDelta
from payments.invariants import turnover_is_exact
from payments.models import Payment
from payments.states import PaymentStatus
from payments.suspense.acceptance import accept_discrepancy
from tests.payments.scenes import (
    ETHEREUM,
    POLYGON,
    SANDBOX,
    confirm,
    discrepancy,
    end_window,
    make_payment,
    mine_and_watch,
    now,
    pay,
    pay_and_confirm,
    pay_units,
    watch,
)

pytestmark = pytest.mark.django_db


def counted(span: Span = Span.DAY) -> tuple[int, int, int]:
    """Paid, unpaid and volume in the counters, once all deltas are folded; they must agree with the payments."""
    counting.fold_turnover()
    assert not TurnoverDelta.objects.exists()
    assert list(turnover_is_exact(Scope(environments=(SANDBOX,)))) == []
    rows = Turnover.objects.filter(span=span).values_list("paid", "unpaid", "volume")
    return tuple(map(sum, zip(*rows, strict=True))) or (0, 0, 0)  # type: ignore[return-value]


def test_a_payment_counts_when_it_is_completed_and_when_it_ends_unpaid() -> None:
    paid = make_payment(POLYGON, amount="12.50", currency="EUR")
    left = make_payment(POLYGON, merchant=paid.merchant, amount="99")
    assert counted() == (0, 0, 0)
    pay_and_confirm(paid)
    end_window(left)
    watch()
    assert counted() == counted(Span.HOUR) == (1, 1, 1250)
    row = Turnover.objects.get(span=Span.HOUR, currency="EUR")
    paid.refresh_from_db()
    assert paid.completed_at is not None
    assert row.starts_at == paid.created_at.replace(minute=0, second=0, microsecond=0)
    assert (row.network, row.cryptocurrency, row.merchant_id) == (POLYGON, "USDC", paid.merchant_id)
    assert row.seconds == int((paid.completed_at - paid.created_at).total_seconds())


def test_what_a_reorganisation_takes_back_is_taken_off_and_comes_again() -> None:
    payment = make_payment(ETHEREUM, amount="20", currency="EUR")
    pay(payment)
    mine_and_watch(ETHEREUM, payment.required_confirmations)
    assert counted() == (1, 0, 2000)
    control.reorg(ETHEREUM, payment.required_confirmations, "dropped")
    mine_and_watch(ETHEREUM, 1)
    payment.refresh_from_db()
    assert payment.completed_at is None
    assert counted() == (0, 0, 0)


def test_too_little_is_unpaid_until_the_rest_comes() -> None:
    payment = make_payment(POLYGON, amount="100")
    pay(payment, "40")
    confirm(payment)
    assert counted() == (0, 1, 0)
    pay(payment, "60")
    confirm(payment)
    assert counted() == (1, 0, 10_000)


@pytest.mark.parametrize("tolerance", [0, 100])
def test_what_was_not_paid_is_no_volume(tolerance: int) -> None:
    payment = make_payment(POLYGON, amount="31.00", currency="EUR")
    Payment.objects.filter(pk=payment.pk).update(tolerance_bps=tolerance)
    units = int(payment.due) // 2 if not tolerance else int(payment.due) * 995 // 1000
    pay_units(payment, units)
    confirm(payment)
    if not tolerance:
        end_window(payment)
        accept_discrepancy(discrepancy(now(payment)), resolved_by="a test")
    assert now(payment).status == PaymentStatus.COMPLETED
    worth = fiat_share(units, fiat_amount=3100, due=int(payment.due))
    assert worth < 3100
    assert counted() == (1, 0, worth)


def test_counters_that_are_wrong_are_found() -> None:
    payment = pay_and_confirm(make_payment(POLYGON, amount="10"))
    counting.fold_turnover()
    Turnover.objects.filter(span=Span.DAY).update(volume=999)
    Turnover.objects.filter(span=Span.HOUR).delete()
    day, hour = turnover_is_exact(Scope(environments=(SANDBOX,)))
    assert (day.expected, day.actual, hour.actual) == ("1 paid, 1000", "1 paid, 999", "0 paid, 0")
    assert str(payment.merchant_id) in day.subject
    assert correct(counting.TURNOVER) == 2
    assert counted() == counted(Span.HOUR) == (1, 0, 1000)


def test_folding_in_batches_adds_up() -> None:
    payment = make_payment(POLYGON)
    hour = datetime(2026, 3, 29, 23, tzinfo=UTC)
    share = {"network": POLYGON, "cryptocurrency": "USDC", "currency": "EUR", "unpaid": 0, "seconds": 1}
    of = {"merchant_id": payment.merchant_id, "environment": SANDBOX, **share}
    for number in range(5):
        TurnoverDelta.objects.create(hour=hour + timedelta(hours=number % 2), paid=1, volume=10, **of)
    assert [counting.fold_turnover(batch=2) for _ in range(4)] == [2, 2, 1, 0]
    days = Turnover.objects.filter(span=Span.DAY).order_by("starts_at").values_list("starts_at", "paid", "volume")
    assert list(days) == [(hour.replace(hour=0), 3, 30), (hour + timedelta(hours=1), 2, 20)]


def test_hours_that_no_page_shows_are_deleted_and_days_stay() -> None:
    pay_and_confirm(make_payment(POLYGON))
    counting.fold_turnover()
    hour = Turnover.objects.get(span=Span.HOUR).starts_at
    assert counting.purge_hours(now=hour + counting.HOURS_KEPT) == 0
    assert counting.purge_hours(now=hour + counting.HOURS_KEPT + timedelta(seconds=1)) == 1
    assert Turnover.objects.get().span == Span.DAY


def test_a_change_outside_of_a_database_transaction_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    payment = make_payment(POLYGON)
    monkeypatch.setattr(transaction.get_connection(), "in_atomic_block", False)
    with pytest.raises(RuntimeError):
        counting.share_changed(payment, counting.Share(paid=1))
