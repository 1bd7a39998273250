"""A link's stock of uses under payers who come at once. Without the lock of the link it is oversold."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Barrier
from typing import Any

import pytest
from django.db.models import QuerySet

from payments.links import services, uses
from payments.links.models import PaymentLink
from payments.links.services import LinkNotActive
from payments.links.uses import holding_a_use
from payments.models import Payment
from tests.payments.linking import begin, make_link
from tests.payments.test_races import race

pytestmark = pytest.mark.django_db(transaction=True)

PAYERS, STOCK = 6, 2


@contextmanager
def without_the_lock() -> Iterator[None]:
    real = QuerySet.select_for_update

    def lock_nothing(self: QuerySet[Any], **options: Any) -> QuerySet[Any]:
        return self.all() if self.model is PaymentLink else real(self, **options)

    QuerySet.select_for_update = lock_nothing  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        QuerySet.select_for_update = real  # type: ignore[method-assign]


def counting_then(wait: Callable[[], object]) -> Callable[[PaymentLink], int]:
    """`holding_a_use`, after which a payer waits before the payment is made."""

    def count(link: PaymentLink) -> int:
        taken = uses.holding_a_use(link)
        wait()
        return taken

    return count


def sold(link: PaymentLink, monkeypatch: pytest.MonkeyPatch, wait: Callable[[], object]) -> list[Any]:
    monkeypatch.setattr(services, "holding_a_use", counting_then(wait))
    return race(*[partial(begin, link) for _ in range(PAYERS)])


def test_a_stock_is_never_oversold(monkeypatch: pytest.MonkeyPatch) -> None:
    link = make_link(max_uses=STOCK)
    outcomes = sold(link, monkeypatch, partial(time.sleep, 0.02))
    assert (
        sorted(type(each).__name__ for each in outcomes) == ["LinkNotActive"] * (PAYERS - STOCK) + ["Payment"] * STOCK
    )
    assert holding_a_use(link) == STOCK


@pytest.mark.slow
def test_without_the_lock_it_would_be(monkeypatch: pytest.MonkeyPatch) -> None:
    link = make_link(max_uses=STOCK)
    with without_the_lock():
        # All have counted before the first has made its payment.
        outcomes = sold(link, monkeypatch, partial(Barrier(PAYERS).wait, 60))
    assert [type(each) for each in outcomes] == [Payment] * PAYERS
    assert holding_a_use(link) == PAYERS > STOCK


def test_one_form_that_is_sent_many_times_at_once_makes_one_payment() -> None:
    link = make_link()
    outcomes = race(*[partial(begin, link, form_id="a form") for _ in range(PAYERS)])
    assert len(set(outcomes)) == 1
    assert list(Payment.objects.all()) == outcomes[:1]


def test_two_tabs_that_choose_at_once_make_one_payment_of_a_link_for_one() -> None:
    link = make_link(max_uses=1)
    outcomes = race(partial(begin, link), partial(begin, link, "polygon"))
    assert sorted(type(each).__name__ for each in outcomes) == [LinkNotActive.__name__, Payment.__name__]
    assert Payment.objects.count() == 1
