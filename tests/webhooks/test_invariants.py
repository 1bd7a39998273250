"""Clean data gives no finding; each kind of damage is found by the invariant that is there for it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from config import ids
from merchants.ledger.checking import Scope, Severity, registered
from merchants.models import Merchant
from tests.factories import make_merchant
from tests.webhooks.scenes import answering, make_delivery, make_endpoint, make_event, send_due
from webhooks.invariants import OLDEST_WAIT_MAX, SETTLING
from webhooks.models import Delivery, Endpoint, Event
from webhooks.sending.fan_out import fan_out
from webhooks.services import delete_endpoint, disable_endpoint, enable_endpoint, send_test, update_endpoint
from webhooks.states import DisabledReason

pytestmark = pytest.mark.django_db

CODES = ["W1", "W2", "W3"]
DIRECT = "https://shop.example.com/one-payment"


def findings(scope: Scope | None = None) -> dict[str, list[str]]:
    """The subjects of what is found, by code."""
    known = {each.code: each for each in registered()}
    found = {code: [finding.subject for finding in known[code].check(scope or Scope())] for code in CODES}
    return {code: subjects for code, subjects in found.items() if subjects}


def long_listening(merchant: Merchant, **fields: Any) -> Endpoint:
    """An endpoint that has been listening for longer than a change takes to settle."""
    endpoint = make_endpoint(merchant, **fields)
    Endpoint.objects.filter(pk=endpoint.pk).update(subscribed_at=timezone.now() - 2 * SETTLING)
    return endpoint


def test_all_are_registered_and_only_a_missing_delivery_is_an_error() -> None:
    known = {each.code: each.severity for each in registered()}
    assert [known[code] for code in CODES] == [Severity.ERROR, Severity.WARNING, Severity.WARNING]


def test_nothing_is_found_where_all_is_well() -> None:
    merchant = make_merchant()
    endpoint = long_listening(merchant, events=["payment.completed"])
    deleted = long_listening(merchant)
    disabled = long_listening(merchant)
    make_event(merchant, direct_url=DIRECT)
    make_event(merchant, "payment.created")
    make_event(make_merchant())
    fan_out()
    Endpoint.objects.filter(is_direct=True).update(subscribed_at=timezone.now() - 2 * SETTLING)
    send_due(answering(500))
    send_test(endpoint=endpoint)
    delete_endpoint(endpoint=deleted)
    disable_endpoint(endpoint=disabled, reason=DisabledReason.MERCHANT)
    make_event(merchant)
    fan_out()
    assert findings() == {}


@pytest.mark.parametrize("events", [["*"], ["payment.completed"], ["payment.created", "payment.completed"]])
def test_a_missing_delivery_is_found(events: list[str]) -> None:
    merchant = make_merchant()
    endpoint = long_listening(merchant, events=events)
    delivery = make_delivery(endpoint)
    other = make_delivery(long_listening(make_merchant()))
    Delivery.objects.filter(pk=delivery.pk).delete()
    assert findings() == {"W1": [f"event {delivery.event_id} (payment.completed)"]}
    assert findings(Scope(environments=("production",))) == {}
    assert findings(Scope(since=timezone.now() + timedelta(minutes=1))) == {}
    assert findings(Scope(network="ethereum")) == {}
    assert Delivery.objects.filter(pk=other.pk).exists()


def test_a_missing_delivery_to_a_payment_s_own_address_is_found() -> None:
    merchant = make_merchant()
    make_event(merchant, direct_url=DIRECT)
    fan_out()
    Endpoint.objects.update(subscribed_at=timezone.now() - 2 * SETTLING)
    later = make_event(merchant, direct_url=DIRECT)
    elsewhere = make_event(merchant)
    fan_out()
    Delivery.objects.all().delete()
    assert sorted(findings()["W1"]) == sorted(
        f"event {event.pk} (payment.completed)" for event in Event.objects.exclude(pk=elsewhere.pk)
    )
    assert later.direct_url == DIRECT


def test_what_cannot_be_known_is_not_called_missing() -> None:
    merchant = make_merchant()
    endpoint = long_listening(merchant, events=["payment.created"])
    make_event(merchant)
    fan_out()
    update_endpoint(endpoint=endpoint, changes={"events": ["*"]})
    assert findings() == {}
    enable_endpoint(endpoint=disable_endpoint(endpoint=endpoint, reason=DisabledReason.MERCHANT))
    assert findings() == {}


def test_a_delivery_nobody_will_send_is_found() -> None:
    endpoint = make_endpoint()
    delivery = make_delivery(endpoint)
    disable_endpoint(endpoint=endpoint, reason=DisabledReason.MERCHANT)
    assert findings() == {}
    Delivery.objects.filter(pk=delivery.pk).update(status="pending", next_attempt_at=timezone.now())
    assert findings() == {"W2": [f"delivery {delivery.pk} to {endpoint.url}"]}


def test_what_waits_too_long_is_found() -> None:
    endpoint = make_endpoint()
    make_delivery(endpoint)
    late = timezone.now() - OLDEST_WAIT_MAX - timedelta(seconds=1)
    Delivery.objects.update(next_attempt_at=late)
    event = make_event(endpoint.merchant)
    assert findings() == {"W3": ["sandbox: 1 deliveries that are due"]}
    Event.objects.filter(pk=event.pk).update(id=ids.first_uuid_at(late))
    assert findings() == {"W3": ["sandbox: 1 events without deliveries", "sandbox: 1 deliveries that are due"]}
    Endpoint.objects.update(failing_since=late)
    assert findings() == {"W3": ["sandbox: 1 events without deliveries"]}
