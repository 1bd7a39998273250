"""Many ask for the same money at once: with the payment's lock, and without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from threading import Barrier
from typing import Any

import pytest
from django.db import connection
from django.db.models import Sum
from django.test import override_settings

from payments.chains.simulated import control
from payments.models import Payment
from payments.suspense import refund_accounting
from refunds.models import Refund
from refunds.plans.planning import NewRefund
from refunds.services import create_refund
from tests.factories import make_merchant
from tests.payments.scenes import STELLAR, make_payment, mine_and_watch, now, part_of
from tests.refunds.scenes import wallet

SHARE = Decimal(60)
"""Per cent of the payment that each of them asks for: it is there once."""


@dataclass(frozen=True)
class Round:
    """What became of one payment."""

    granted: int
    refused: int
    errors: tuple[str, ...]
    reserved: int
    released: int

    @property
    def is_over_refunded(self) -> bool:
        return self.reserved > self.released


def race(runners: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run all at once, each in a thread and on a connection of its own; what each answered or raised, in order."""
    start = Barrier(len(runners))

    def run(runner: Callable[[], Any]) -> Any:
        try:
            start.wait()
            return runner()
        except Exception as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(runners)) as pool:
        return list(pool.map(run, runners))


@override_settings(SIMULATED_BLOCK_SECONDS=0)
def paid_payments(count: int) -> list[Payment]:
    """Payments of 100 dollars of one merchant, who has much more: the balance stops nobody."""
    merchant = make_merchant()
    payments = [make_payment(STELLAR, merchant=merchant) for _ in range(count)]
    rich = make_payment(STELLAR, amount="100000", merchant=merchant)
    parts = [part_of(payment, "100") for payment in payments]
    control.pay_together(STELLAR, [*parts, part_of(rich, "100000")], sender=wallet())
    mine_and_watch(STELLAR)
    return [now(payment) for payment in payments]


def ask_at_once(payment: Payment, threads: int) -> Round:
    request = NewRefund(amount=SHARE, destination=wallet())

    def ask() -> Refund:
        return create_refund(payment=payment, request=request, requested_by="race")

    outcomes = race([ask] * threads)
    refused = [outcome for outcome in outcomes if isinstance(outcome, refund_accounting.RefundExceedsPayment)]
    granted = [outcome for outcome in outcomes if isinstance(outcome, Refund)]
    errors = [repr(outcome) for outcome in outcomes if outcome not in refused and outcome not in granted]
    reserved = Refund.objects.filter(payment=payment).standing().aggregate(total=Sum("amount"))["total"]
    return Round(len(granted), len(refused), tuple(errors), int(reserved or 0), now(payment).released)


def rounds(count: int, threads: int) -> list[Round]:
    return [ask_at_once(payment, threads) for payment in paid_payments(count)]


@contextmanager
def without_the_payments_lock(*, with_events: bool = False) -> Iterator[None]:
    """Whoever asks for the payment gets it as it is, and so does everybody else.

    `with_events` leaves the second guard: the database takes one event for each version of a payment.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(refund_accounting, "lock_payment", lambda payment_id: Payment.objects.get(pk=payment_id))
        if not with_events:
            patch.setattr(refund_accounting, "record_payment_events", lambda *_: None)
        yield
