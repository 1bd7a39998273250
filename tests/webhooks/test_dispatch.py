from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.factories import make_merchant
from tests.webhooks.delivering import deliver, endpoint_at, happen
from tests.webhooks.receivers import Shop
from webhooks.models import Attempt, Delivery
from webhooks.states import DeliveryStatus

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def shop() -> Iterator[Shop]:
    with Shop() as running:
        yield running


def test_an_event_arrives_and_its_attempt_is_kept(shop: Shop) -> None:
    merchant = make_merchant()
    endpoint_at(shop.url(), merchant)
    (event,) = happen(merchant)
    started = time.monotonic()

    assert deliver() == 1

    (arrival,) = shop.at()
    assert arrival.message_id == event.public_id
    assert arrival.at - started < 1
    delivery = Delivery.objects.get()
    assert delivery.status == DeliveryStatus.DELIVERED
    assert (delivery.attempt_count, delivery.next_attempt_at, delivery.dispatcher) == (1, None, None)
    attempt = Attempt.objects.get()
    assert (attempt.number, attempt.status_code, bytes(attempt.reply), attempt.error) == (1, 200, b"ok", "")
