"""Who may send what, when dispatchers die, stall or are told the same twice."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from config import ids
from tests.webhooks.delivering import until
from tests.webhooks.scenes import make_delivery, make_endpoint
from webhooks import claiming
from webhooks.attempts import Sent, record
from webhooks.claiming import Claim, claim
from webhooks.desk import Desk
from webhooks.leases import LEASE, hold_number, release_abandoned, release_own
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.preparing import Preparation
from webhooks.schedule import Reply
from webhooks.secrets import live_secrets
from webhooks.services import PREVIOUS_SECRET_LIVES, disable_endpoint, rotate_secret
from webhooks.states import DeliveryStatus, DisabledReason

pytestmark = pytest.mark.django_db(transaction=True)

OURS, THEIRS = 1001, 2002
SUCCESS, FAILURE = Reply(status_code=200), Reply(status_code=500)


class Session:
    """Another dispatcher's database session, in a thread of its own."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1)

    def do(self, work: Callable[[], Any]) -> Any:
        return self.start(work).result()

    def start(self, work: Callable[[], Any]) -> Future[Any]:
        return self._pool.submit(work)

    def die(self) -> None:
        """Answers when the server has noticed as well."""
        number = self.do(lambda: connection.connection.info.backend_pid)  # that thread's, not ours
        self.do(lambda: connection.close())
        self._pool.shutdown()
        until(lambda: not is_alive(number))


def is_alive(number: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_stat_activity WHERE pid = %s", [number])
        return bool(cursor.rowcount)


def take(dispatcher: int) -> list[Claim]:
    return claim(dispatcher, limit=100, probes=100, now=timezone.now())


def sent(one: Claim, reply: Reply, dispatcher: int = OURS, **fields: Any) -> Sent:
    values = {"id": ids.new_uuid(), "started_at": timezone.now(), "duration": timedelta(milliseconds=5), **fields}
    return Sent(claim=one, dispatcher=dispatcher, reply=reply, **values)


def note(*results: Sent, again: bool = False) -> None:
    record(results, chance=random.Random(1), again=again)


def the_delivery() -> Delivery:
    return Delivery.objects.get()


def test_what_a_killed_dispatcher_claimed_is_free_at_once() -> None:
    make_delivery(make_endpoint())
    other = Session()
    assert other.do(lambda: hold_number(THEIRS))
    assert len(other.do(lambda: take(THEIRS))) == 1

    assert release_abandoned(timezone.now()) == 0
    assert take(OURS) == []

    other.die()
    assert release_abandoned(timezone.now()) == 1
    assert len(take(OURS)) == 1


def test_what_a_dispatcher_that_stalls_claimed_is_free_when_its_lease_ends() -> None:
    make_delivery(make_endpoint())
    other = Session()
    other.do(lambda: hold_number(THEIRS))
    other.do(lambda: take(THEIRS))
    assert release_abandoned(timezone.now() + LEASE - timedelta(seconds=1)) == 0
    assert release_abandoned(timezone.now() + LEASE) == 1
    other.die()


def test_a_number_has_one_holder() -> None:
    other = Session()
    assert other.do(lambda: hold_number(OURS))
    assert not hold_number(OURS)
    other.die()
    assert hold_number(OURS)
    connection.close()


def test_claims_are_given_back_but_for_those_that_are_kept() -> None:
    endpoint = make_endpoint()
    make_delivery(endpoint)
    make_delivery(endpoint)
    kept, _ = take(OURS)
    assert release_own(OURS, keep=[kept.delivery_id]) == 1
    assert [row.pk for row in Delivery.objects.filter(dispatcher=OURS)] == [kept.delivery_id]
    assert release_own(OURS) == 1


def test_a_success_counts_although_the_lease_was_lost() -> None:
    make_delivery(make_endpoint())
    (ours,) = take(OURS)
    release_abandoned(timezone.now() + LEASE)
    (theirs,) = take(THEIRS)

    note(sent(ours, SUCCESS))
    delivery = the_delivery()
    assert (delivery.status, delivery.attempt_count, delivery.dispatcher) == (DeliveryStatus.DELIVERED, 1, THEIRS)

    note(sent(theirs, FAILURE, THEIRS))
    delivery = the_delivery()
    assert (delivery.status, delivery.attempt_count, delivery.dispatcher) == (DeliveryStatus.DELIVERED, 2, None)
    assert delivery.next_attempt_at is None
    assert [attempt.status_code for attempt in Attempt.objects.order_by("number")] == [200, 500]


def test_a_failure_after_the_lease_was_lost_is_kept_and_decides_nothing() -> None:
    make_delivery(make_endpoint())
    (ours,) = take(OURS)
    release_abandoned(timezone.now() + LEASE)
    take(THEIRS)
    before = the_delivery()

    note(sent(ours, FAILURE))

    delivery = the_delivery()
    assert (delivery.attempt_count, Attempt.objects.count()) == (1, 1)
    assert (delivery.status, delivery.attempts_left, delivery.next_attempt_at, delivery.dispatcher) == (
        DeliveryStatus.PENDING, before.attempts_left, before.next_attempt_at, THEIRS,
    )  # fmt: skip
    assert delivery.leased_until == before.leased_until


def test_what_may_have_been_recorded_before_is_not_recorded_twice() -> None:
    endpoint = make_endpoint()
    make_delivery(endpoint)
    make_delivery(endpoint)
    first, second = take(OURS)
    result = sent(first, FAILURE)
    note(result)
    note(result, sent(second, SUCCESS), again=True)
    assert Attempt.objects.count() == 2
    assert Delivery.objects.get(pk=first.delivery_id).attempts_left == 9
    assert Delivery.objects.get(pk=second.delivery_id).status == DeliveryStatus.DELIVERED


def test_a_result_that_cannot_be_stored_keeps_no_other_from_it() -> None:
    endpoint = make_endpoint()
    for _ in range(3):
        make_delivery(endpoint)
    first, bad, last = take(OURS)
    desk = Desk()
    results = [sent(first, SUCCESS), sent(bad, Reply(status_code=99_999)), sent(last, SUCCESS)]
    desk.exchange(results, room=0, probes=0, in_flight=[])
    connection.close()
    assert {attempt.delivery_id for attempt in Attempt.objects.all()} == {first.delivery_id, last.delivery_id}
    assert Delivery.objects.get(pk=bad.delivery_id).status == DeliveryStatus.PENDING


def test_a_dispatcher_that_comes_back_gives_back_what_it_does_not_remember() -> None:
    make_delivery(make_endpoint())
    desk = Desk()
    (taken,) = desk.exchange([], room=10, probes=10, in_flight=[])
    connection.close()
    assert desk.exchange([], room=10, probes=10, in_flight=[taken.claim.delivery_id]) == []
    connection.close()
    (again,) = desk.exchange([], room=10, probes=10, in_flight=[])
    assert again.claim.delivery_id == taken.claim.delivery_id
    desk.give_back()
    connection.close()
    assert the_delivery().dispatcher is None


# --- claims that are made at once --------------------------------------------------------------------


def claims_while_another_has_not_committed() -> tuple[bool, int]:
    """Whether ours stood in line behind theirs, and how many requests are in flight at the end, of ten that are due."""
    endpoint = make_endpoint()
    for _ in range(10):
        make_delivery(endpoint)
    other = Session()
    with transaction.atomic():
        assert len(take(OURS)) == 4
        theirs = other.start(lambda: take(THEIRS))
        done, _ = wait([theirs], timeout=0.3)
    theirs.result(timeout=5)
    other.die()
    return not done, Delivery.objects.filter(dispatcher__isnull=False).count()


def test_who_claims_waits_for_the_claim_before_so_that_no_more_than_four_are_in_flight() -> None:
    assert claims_while_another_has_not_committed() == (True, 4)


def test_without_a_turn_to_claim_there_would_be_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claiming, "_ONE_AT_A_TIME", "SELECT %(lock)s::bigint")
    assert claims_while_another_has_not_committed() == (False, 8)


def test_what_is_discarded_while_it_is_claimed_is_not_sent() -> None:
    endpoint = make_endpoint()
    make_delivery(endpoint)
    other = Session()
    with transaction.atomic():
        disable_endpoint(endpoint=endpoint, reason=DisabledReason.MERCHANT)
        assert other.do(lambda: take(THEIRS)) == []  # and does not wait
    assert other.do(lambda: take(THEIRS)) == []
    other.die()
    assert (the_delivery().status, the_delivery().dispatcher) == (DeliveryStatus.DISCARDED, None)


def test_an_endpoint_that_somebody_holds_keeps_no_claim_waiting() -> None:
    endpoint = make_endpoint()
    Endpoint.objects.filter(pk=endpoint.pk).update(failing_since=timezone.now())
    make_delivery(endpoint)
    other = Session()
    with transaction.atomic():
        Endpoint.objects.select_for_update().get(pk=endpoint.pk)
        assert len(other.do(lambda: take(THEIRS))) == 1
    other.die()


def test_what_an_endpoint_is_sent_with_is_what_it_has_now() -> None:
    """Addresses and secrets are remembered, and made anew when the endpoint has changed or a secret has ended."""
    endpoint = make_endpoint()
    [first] = live_secrets(endpoint, timezone.now())
    preparation = Preparation()

    def secrets_at(now: datetime) -> tuple[str, ...]:
        make_delivery(endpoint)
        (prepared,) = preparation.prepare(take(OURS)[-1:], now=now)
        return prepared.target.secrets

    now = timezone.now()
    assert secrets_at(now) == (first,)
    assert secrets_at(now) == (first,)
    _, second = rotate_secret(endpoint=endpoint)
    assert secrets_at(now) == (second, first)
    assert secrets_at(now + PREVIOUS_SECRET_LIVES + timedelta(seconds=1)) == (second,)
