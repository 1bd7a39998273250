"""A row that is leased is nobody else's until its lease is over."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from config.database.leases import lease
from merchants.people.models import Mail


@pytest.mark.django_db(transaction=True)
def test_a_leased_row_is_left_alone_until_its_lease_is_over() -> None:
    keys = [Mail.objects.create(to="a@example.org", subject=f"{number}").pk for number in range(3)]
    now = timezone.now()

    def take(limit: int, minutes: int = 0) -> list[int]:
        due = Mail.objects.filter(next_attempt_at__lte=now + timedelta(minutes=minutes)).order_by("id")
        until = now + timedelta(minutes=minutes + 1)
        taken = lease(due, "next_attempt_at", until=until, limit=limit, takes="attempts")
        assert {each.next_attempt_at for each in taken} <= {until}
        return [each.pk for each in taken]

    def elsewhere() -> list[int]:
        try:
            return take(9)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as another:
        with transaction.atomic():
            assert take(1) == keys[:1]
            assert another.submit(elsewhere).result(timeout=30) == keys[1:]  # it does not wait for a lock
        assert take(9) == another.submit(elsewhere).result(timeout=30) == []
    assert take(2, minutes=1) == keys[:2]
    assert list(Mail.objects.order_by("id").values_list("attempts", flat=True)) == [2, 2, 1]
