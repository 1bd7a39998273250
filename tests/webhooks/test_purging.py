from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django.fixtures import Settings

from config import ids
from tests.webhooks.scenes import make_delivery, make_endpoint, send_due
from webhooks.models import Attempt, Delivery, Event
from webhooks.purging import purge_events

pytestmark = pytest.mark.django_db


def attempts(number: int) -> list[Attempt]:
    endpoint = make_endpoint()
    for _ in range(number):
        make_delivery(endpoint)
    while send_due():
        pass
    return list(Attempt.objects.order_by("pk"))


class TestEvents:
    def ages(self, event: Event, days: int) -> None:
        """As if it had happened so long ago, with its deliveries."""
        key = ids.first_uuid_at(timezone.now() - timedelta(days=days))
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL DEFERRED")
            cursor.execute("UPDATE webhooks_event SET id = %s WHERE id = %s", [key, event.pk])
            cursor.execute("UPDATE webhooks_delivery SET event_id = %s WHERE event_id = %s", [key, event.pk])

    def test_one_that_everybody_was_told_of_goes_with_its_deliveries_and_attempts(self) -> None:
        attempts(2)
        old, kept = Event.objects.order_by("pk")
        self.ages(old, 366)
        self.ages(kept, 364)
        assert purge_events() == 1
        assert Event.objects.count() == Delivery.objects.count() == Attempt.objects.count() == 1
        assert purge_events() == 0

    def test_one_that_somebody_is_still_to_be_told_of_stays(self) -> None:
        delivery = make_delivery(make_endpoint())
        self.ages(delivery.event, 4000)
        assert purge_events() == 0
        assert Delivery.objects.get().status == "pending"

    def test_one_that_nobody_has_looked_for_listeners_of_stays(self) -> None:
        delivery = make_delivery(make_endpoint())
        Delivery.objects.all().delete()
        Event.objects.update(is_fanned_out=False)
        self.ages(delivery.event, 4000)
        assert purge_events() == 0

    def test_zero_days_are_for_ever(self, settings: Settings) -> None:
        settings.EVENTS_KEPT_DAYS = 0
        attempts(1)
        self.ages(Event.objects.get(), 4000)
        assert purge_events() == 0

    def test_many_go_in_small_steps(self) -> None:
        attempts(5)
        for number, event in enumerate(Event.objects.all()):
            self.ages(event, 400 + number)
        assert purge_events(batch=2) == 5
        assert not Event.objects.exists()
