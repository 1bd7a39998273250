"""Who may send what, when dispatchers die, stall or are told the same twice."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from config import ids
from tests.patience import until
from tests.sending.delivering import the_delivery
from tests.webhooks.scenes import make_delivery, make_endpoint
from webhooks.endpoints.secrets import live_secrets
from webhooks.models import Attempt, Delivery, Endpoint, EndpointLease
from webhooks.schedule import Reply
from webhooks.sending import due_deliveries
from webhooks.sending.attempts import Sent, record
from webhooks.sending.due_deliveries import DueDelivery, Holding, take_due
from webhooks.sending.leases import LEASE, RENEW_AFTER, hold_number, release_abandoned, release_own
from webhooks.sending.preparing import Preparation
from webhooks.sending.store import DeliveryStore
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


def take(dispatcher: int, *, limit: int = 100, holdings: Sequence[Holding] = ()) -> list[DueDelivery]:
    return take_due(dispatcher, limit=limit, probes=100, now=timezone.now(), holdings=holdings)


def holding(*due: DueDelivery, ahead: int = 0) -> Holding:
    return Holding(due[0].endpoint_id, [one.delivery_id for one in due], ahead)


def lessees() -> set[int]:
    return set(EndpointLease.objects.values_list("dispatcher", flat=True))


def sent(one: DueDelivery, reply: Reply, dispatcher: int = OURS, **fields: Any) -> Sent:
    values = {"id": ids.new_uuid(), "started_at": timezone.now(), "duration": timedelta(milliseconds=5), **fields}
    return Sent(due=one, dispatcher=dispatcher, reply=reply, **values)


def note(*results: Sent, again: bool = False) -> None:
    record(results, chance=random.Random(1), again=again)


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


def test_endpoints_are_given_back_but_for_those_that_are_kept() -> None:
    kept, other = make_endpoint(), make_endpoint()
    make_delivery(kept)
    make_delivery(other)
    take(OURS)
    assert release_own(OURS, keep=[kept.pk]) == 1
    assert EndpointLease.objects.get().endpoint == kept
    assert release_own(OURS) == 1


def test_an_endpoint_is_one_dispatchers_until_nothing_is_left_to_do_there() -> None:
    endpoint = make_endpoint()
    for _ in range(3):
        make_delivery(endpoint)
    first, *_ = ours = take(OURS)
    assert len(ours) == 3
    make_delivery(endpoint)
    assert take(THEIRS) == []

    assert len(take(OURS, holdings=[holding(*ours)])) == 1
    note(*(sent(one, SUCCESS) for one in ours))
    assert take(OURS, limit=0, holdings=[holding(first)]) == []
    assert take(THEIRS) == []

    take(OURS, limit=0)
    assert lessees() == set()
    assert len(take(THEIRS)) == 1


def test_a_lease_is_renewed_as_long_as_something_is_in_flight() -> None:
    make_delivery(make_endpoint())
    ours = take(OURS)
    until = EndpointLease.objects.get().until
    take(OURS, limit=0, holdings=[holding(*ours)])
    assert EndpointLease.objects.get().until == until, "not at every look"

    later = timezone.now() + RENEW_AFTER
    assert take_due(OURS, limit=0, probes=0, now=later, holdings=[holding(*ours)]) == []
    assert EndpointLease.objects.get().until == later + LEASE


def test_what_is_held_is_not_taken_again_and_counts_as_in_flight() -> None:
    endpoint = make_endpoint()
    for _ in range(10):
        make_delivery(endpoint)
    first = take(OURS)
    assert len(first) == 4
    assert take(OURS, holdings=[holding(*first)]) == []

    second = take(OURS, holdings=[holding(*first[:3])])
    assert [one.delivery_id for one in second] == [first[3].delivery_id]

    ahead = take(OURS, holdings=[holding(*first, ahead=5)])
    assert len(ahead) == 5
    assert not {one.delivery_id for one in ahead} & {one.delivery_id for one in first}


def test_no_more_endpoints_are_leased_than_there_is_work_for() -> None:
    for _ in range(5):
        endpoint = make_endpoint()
        for _ in range(4):
            make_delivery(endpoint)
    assert len({one.endpoint_id for one in take(OURS, limit=8)}) == 2
    assert len({one.endpoint_id for one in take(THEIRS)}) == 3


def test_a_success_counts_although_the_lease_was_lost() -> None:
    make_delivery(make_endpoint())
    (ours,) = take(OURS)
    release_abandoned(timezone.now() + LEASE)
    (theirs,) = take(THEIRS)

    note(sent(ours, SUCCESS))
    delivery = the_delivery()
    assert (delivery.status, delivery.attempt_count) == (DeliveryStatus.DELIVERED, 1)

    note(sent(theirs, FAILURE, THEIRS))
    delivery = the_delivery()
    assert (delivery.status, delivery.attempt_count) == (DeliveryStatus.DELIVERED, 2)
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
    assert (delivery.status, delivery.attempts_left, delivery.next_attempt_at) == (
        DeliveryStatus.PENDING, before.attempts_left, before.next_attempt_at,
    )  # fmt: skip
    assert lessees() == {THEIRS}


def test_what_may_have_been_recorded_before_is_not_recorded_twice() -> None:
    for _ in range(2):
        make_delivery(make_endpoint())
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
    store = DeliveryStore()
    results = [sent(first, SUCCESS), sent(bad, Reply(status_code=99_999)), sent(last, SUCCESS)]
    assert store.exchange(results, room=10, probes=10, holdings=[]) == [], "the bad one waits for a minute"
    connection.close()
    assert {attempt.delivery_id for attempt in Attempt.objects.all()} == {first.delivery_id, last.delivery_id}
    assert Delivery.objects.get(pk=bad.delivery_id).status == DeliveryStatus.PENDING


def test_a_dispatcher_that_comes_back_gives_back_what_it_does_not_remember() -> None:
    make_delivery(make_endpoint())
    store = DeliveryStore()
    (taken,) = store.exchange([], room=10, probes=10, holdings=[])
    connection.close()
    assert store.exchange([], room=10, probes=10, holdings=[holding(taken.due)]) == []
    assert lessees() == {store.number}
    connection.close()
    (again,) = store.exchange([], room=10, probes=10, holdings=[])
    assert again.due.delivery_id == taken.due.delivery_id
    store.give_back()
    connection.close()
    assert lessees() == set()


# --- taken by two at once --------------------------------------------------------------------


def claims_while_another_has_not_committed() -> tuple[bool, int]:
    """Whether theirs stood in line behind ours, and how much they got, of ten deliveries that are due."""
    endpoint = make_endpoint()
    for _ in range(10):
        make_delivery(endpoint)
    other = Session()
    with transaction.atomic():
        assert len(take(OURS)) == 4
        theirs = other.start(lambda: take(THEIRS))
        done, _ = wait([theirs], timeout=0.3)
    due = theirs.result(timeout=60)
    other.die()
    return not done, len(due)


def test_who_claims_waits_for_the_lease_before_so_that_no_more_than_four_are_in_flight() -> None:
    assert claims_while_another_has_not_committed() == (True, 0)


@pytest.mark.slow
def test_without_leases_there_would_be_more(monkeypatch: pytest.MonkeyPatch) -> None:
    everybody = due_deliveries._TAKE_DUE.replace(
        "lease.dispatcher = %(dispatcher)s", "%(dispatcher)s::bigint IS NOT NULL"
    )
    assert everybody != due_deliveries._TAKE_DUE
    monkeypatch.setattr(due_deliveries, "_TAKE_DUE", everybody)
    assert claims_while_another_has_not_committed() == (True, 4)


def test_what_one_has_sent_before_it_gave_the_endpoint_back_is_not_taken_by_the_next() -> None:
    """Whoever waits for the lease sees what was delivered until it was given back."""
    endpoint = make_endpoint()
    make_delivery(endpoint)
    (ours,) = take(OURS)
    other = Session()
    with transaction.atomic():
        note(sent(ours, SUCCESS))
        take(OURS, limit=0)
        make_delivery(endpoint)
        theirs = other.start(lambda: take(THEIRS))
        wait([theirs], timeout=0.3)
    assert ours.delivery_id not in {one.delivery_id for one in theirs.result(timeout=60)}
    other.die()


def test_what_is_discarded_while_it_is_claimed_is_not_sent() -> None:
    endpoint = make_endpoint()
    make_delivery(endpoint)
    other = Session()
    with transaction.atomic():
        disable_endpoint(endpoint=endpoint, reason=DisabledReason.MERCHANT)
        assert other.do(lambda: take(THEIRS)) == []  # and does not wait
    assert other.do(lambda: take(THEIRS)) == []
    other.die()
    assert (the_delivery().status, lessees()) == (DeliveryStatus.DISCARDED, set())


def test_an_endpoint_that_somebody_holds_keeps_no_claim_waiting() -> None:
    endpoint = make_endpoint()
    Endpoint.objects.filter(pk=endpoint.pk).update(failing_since=timezone.now())
    make_delivery(endpoint)
    other = Session()
    with transaction.atomic():
        Endpoint.objects.select_for_update(no_key=True).get(pk=endpoint.pk)
        assert len(other.do(lambda: take(THEIRS))) == 1
    other.die()


def test_what_an_endpoint_is_sent_with_is_what_it_has_now() -> None:
    """Addresses and secrets are remembered, and made anew when the endpoint has changed or a secret has ended."""
    endpoint = make_endpoint()
    [first] = live_secrets(endpoint, timezone.now())
    preparation = Preparation()

    def secrets_at(now: datetime) -> tuple[str, ...]:
        make_delivery(endpoint)
        (prepared,) = preparation.prepare(take(OURS, limit=1), now=now)
        return prepared.target.secrets

    now = timezone.now()
    assert secrets_at(now) == (first,)
    assert secrets_at(now) == (first,)
    _, second = rotate_secret(endpoint=endpoint)
    assert secrets_at(now) == (second, first)
    assert secrets_at(timezone.now() + PREVIOUS_SECRET_LIVES) == (second,)
