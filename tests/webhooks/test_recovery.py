"""Recovering: what an endpoint has not got is sent in order, and nothing twice."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from config.errors import InvalidParameter
from merchants.models import Merchant
from tests.factories import make_merchant
from tests.webhooks.scenes import answering, current, make_all_due, make_delivery, make_endpoint, make_event, send_due
from webhooks import resend_missed
from webhooks.models import Delivery, Endpoint
from webhooks.resend_missed import plan, recover
from webhooks.sending.due_deliveries import take_due
from webhooks.sending.fan_out import fan_out
from webhooks.services import disable_endpoint, send_test
from webhooks.states import DeliveryStatus, DisabledReason

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
PENDING, DELIVERED, FAILED, DISCARDED = (
    DeliveryStatus(each) for each in ("pending", "delivered", "failed", "discarded")
)


@pytest.fixture
def merchant() -> Merchant:
    return make_merchant()


@pytest.fixture
def endpoint(merchant: Merchant) -> Endpoint:
    return make_endpoint(merchant, events=["payment.completed", "payment.expired"])


def ended(endpoint: Endpoint, status: DeliveryStatus, type: str = "payment.completed") -> Delivery:
    """A delivery with this end."""
    delivery = make_delivery(endpoint, type)
    Delivery.objects.filter(pk=delivery.pk).update(status=status, next_attempt_at=None, attempts_left=0)
    return delivery


def statuses(endpoint: Endpoint) -> list[str]:
    """Of its deliveries, in the order in which their events happened."""
    return list(Delivery.objects.filter(endpoint=endpoint).order_by("event_id").values_list("status", flat=True))


def missed(endpoint: Endpoint, *, everything: bool = False) -> dict[str, tuple[int, int, int]]:
    found = plan(endpoint=endpoint, since=timezone.now() - HOUR, everything=everything)
    return {each.type: (each.failed, each.never, each.delivered) for each in found.missed}


def test_what_failed_or_was_never_sent_is_sent_and_nothing_else(endpoint: Endpoint) -> None:
    for status in (DELIVERED, FAILED, DISCARDED):
        ended(endpoint, status)
    waiting = make_delivery(endpoint)
    Delivery.objects.filter(pk=waiting.pk).update(next_attempt_at=timezone.now() + HOUR)
    send_test(endpoint=endpoint)
    disable_endpoint(endpoint=endpoint, reason=DisabledReason.FAILING)  # which discards what waits
    for type in ("payment.completed", "payment.expired", "payment.created"):
        make_event(endpoint.merchant, type)
    fan_out()
    assert missed(endpoint) == {"payment.completed": (3, 1, 0), "payment.expired": (0, 1, 0)}

    assert recover(endpoint=endpoint, since=timezone.now() - HOUR) == 5
    assert current(endpoint).status == "enabled"
    assert statuses(endpoint) == [DELIVERED, PENDING, PENDING, PENDING, DISCARDED, PENDING, PENDING]
    assert missed(endpoint) == {}
    assert recover(endpoint=endpoint, since=timezone.now() - HOUR) == 0


def test_what_waits_keeps_its_time_and_what_arrived_is_sent_again_only_when_asked_for(endpoint: Endpoint) -> None:
    arrived, waiting = ended(endpoint, DELIVERED), make_delivery(endpoint)
    later = timezone.now() + HOUR
    Delivery.objects.filter(pk=waiting.pk).update(next_attempt_at=later)
    since = timezone.now() - HOUR
    assert recover(endpoint=endpoint, since=since) == 0
    assert missed(endpoint, everything=True) == {"payment.completed": (0, 0, 1)}
    assert recover(endpoint=endpoint, since=since, everything=True) == 1
    assert Delivery.objects.get(pk=arrived.pk).status == PENDING
    assert Delivery.objects.get(pk=waiting.pk).next_attempt_at == later


def test_the_oldest_are_sent_first_and_so_many_at_once(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resend_missed, "RECOVERED_AT_ONCE", 4)
    disable_endpoint(endpoint=endpoint, reason=DisabledReason.MERCHANT)
    events = [make_event(endpoint.merchant).pk for _ in range(6)]
    fan_out()
    found = plan(endpoint=endpoint, since=timezone.now() - HOUR)
    assert (found.total, found.is_cut) == (4, True)
    for expected in (events[:4], events[4:]):
        recover(endpoint=endpoint, since=timezone.now() - HOUR)
        due = take_due(7, limit=10, probes=10, now=timezone.now())
        assert [each.event_id for each in due] == expected
        send_due()
    assert statuses(endpoint) == [DELIVERED] * 6


def test_nothing_before_the_moment_and_of_nobody_else_is_sent(endpoint: Endpoint) -> None:
    other = make_endpoint(make_merchant(), events=["payment.completed"])
    for each in (endpoint, other):
        ended(each, FAILED)
    assert recover(endpoint=endpoint, since=timezone.now()) == 0
    with pytest.raises(InvalidParameter):
        recover(endpoint=endpoint, since=timezone.now() + HOUR)
    assert recover(endpoint=endpoint, since=timezone.now() - HOUR) == 1
    assert statuses(other) == [FAILED]


def test_a_recovered_delivery_has_all_its_attempts_again(endpoint: Endpoint) -> None:
    delivery = ended(endpoint, FAILED)
    recover(endpoint=endpoint, since=timezone.now() - HOUR)
    send_due(answering(500))
    make_all_due()
    send_due()
    assert Delivery.objects.get(pk=delivery.pk).status == DELIVERED
