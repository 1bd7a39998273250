from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from tests.webhooks.scenes import make_delivery, make_endpoint, send_due
from webhooks.models import Attempt, Delivery, Event
from webhooks.purging import KEPT_FOR, purge_attempts
from webhooks.tasks import purge_attempts_task

pytestmark = pytest.mark.django_db


def attempts(number: int) -> list[Attempt]:
    endpoint = make_endpoint()
    for _ in range(number):
        make_delivery(endpoint)
    while send_due():
        pass
    return list(Attempt.objects.order_by("pk"))


def age(attempt: Attempt, by: timedelta) -> None:
    Attempt.objects.filter(pk=attempt.pk).update(started_at=timezone.now() - by)


def test_attempts_are_forgotten_after_sixty_days_and_nothing_else_is() -> None:
    old, young, new = attempts(3)
    age(old, timedelta(days=60, minutes=1))
    age(young, timedelta(days=59, hours=23))
    purge_attempts_task()
    assert list(Attempt.objects.order_by("pk")) == [young, new]
    assert (Delivery.objects.count(), Event.objects.count()) == (3, 3)


def test_many_are_forgotten_in_small_steps() -> None:
    for attempt in attempts(5):
        age(attempt, KEPT_FOR + timedelta(seconds=1))
    assert purge_attempts(batch=2) == 5
    assert purge_attempts(batch=2) == 0
    assert not Attempt.objects.exists()
