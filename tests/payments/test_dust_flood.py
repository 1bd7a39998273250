"""Thousands of tiny deposits to one address: the work grows with their number, and records and events stay small."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.pages import qr
from payments.chains import registry
from payments.chains.simulated import control
from payments.checkout.payer import look_at
from payments.deposits import crediting, recording
from payments.deposits.assessment import assess
from payments.models import Payment
from payments.record_rows import TRANSFERS_SHOWN
from tests.factories import ApiClient, api_client, make_key, make_merchant
from tests.payments.facts import deposit, facts
from tests.payments.scenes import (
    ETHEREUM,
    SANDBOX,
    assert_all_is_well,
    confirm,
    events,
    make_payment,
    mine,
    mine_and_watch,
    now,
    pay,
    pay_and_confirm,
    read,
    units,
)
from tests.payments.scenes import assess as assess_payment
from webhooks.models import Event

pytestmark = pytest.mark.slow


class Tallied(int):
    """An amount that counts how often it is added or compared."""

    steps = 0

    def __add__(self, other: int) -> Tallied:
        Tallied.steps += 1
        return Tallied(int(self) + int(other))

    __radd__ = __add__

    def __lt__(self, other: int) -> bool:
        Tallied.steps += 1
        return int(self) < int(other)


def steps_of_assessing(count: int) -> int:
    found = facts(*(deposit(1) for _ in range(count)))
    found = replace(found, deposits=tuple(replace(each, amount=Tallied(1)) for each in found.deposits))
    Tallied.steps = 0
    assert assess(found).received == count
    return Tallied.steps


def test_assessing_a_payment_takes_work_by_the_number_of_its_deposits() -> None:
    few, many = steps_of_assessing(200), steps_of_assessing(2_000)
    assert few > 200
    assert many <= 10 * few + 10


def dust(payment: Payment, count: int) -> None:
    """So many transfers of one unit, in one on-chain transaction."""
    contract = registry.asset(SANDBOX, payment.network, payment.cryptocurrency).contract
    control.pay_together(payment.network, [control.Part(contract, 1, payment.deposit_address)] * count)


def queries_of(count: int) -> tuple[int, int]:
    """How many it takes to read so many deposits of one block, and to assess their payment."""
    payment = make_payment(ETHEREUM)
    dust(payment, count)
    mine(ETHEREUM, 10)
    with CaptureQueriesContext(
        connection,
    ) as reading:
        read(ETHEREUM)
    with CaptureQueriesContext(connection) as assessing:
        assess_payment(payment)
    assert (now(payment).received, now(payment).deposit_count) == (count, count)
    return len(reading), len(assessing)


@pytest.mark.django_db
def test_a_block_of_deposits_is_recorded_by_as_many_queries_as_a_single_one() -> None:
    queries_of(1)
    few, many = queries_of(5), queries_of(205)
    assert many[0] == few[0]
    assert many[1] - few[1] <= 200 + 2  # each is written once


@pytest.mark.django_db
def test_a_batch_of_deposits_is_told_by_one_event_that_shows_the_first_hundred() -> None:
    payment = make_payment(ETHEREUM)
    dust(payment, 150)
    confirm(payment)
    assert events(payment) == ["payment.created", "payment.underpaid"]
    told = Event.objects.about(payment.pk).order_by("-id")[0].payload
    assert (len(told["transfers"]), told["transferCount"]) == (TRANSFERS_SHOWN, 150) == (100, 150)


def client_of(payment: Payment) -> ApiClient:
    return api_client(make_key(payment.merchant))


def get(client: ApiClient, path: str) -> Any:
    reply = client.call("GET", path)
    assert reply.status_code == 200, reply.content
    return reply.json()


@pytest.mark.django_db
def test_the_record_shows_the_first_hundred_and_the_list_has_them_all() -> None:
    payment = make_payment(ETHEREUM)
    dust(payment, 230)
    confirm(payment)
    pay(payment, "1")
    mine_and_watch(ETHEREUM)  # one that waits, and is not among the first
    client, path = client_of(payment), f"/payments/{payment.public_id}"
    record = get(client, path)
    assert (len(record["transfers"]), record["transferCount"]) == (100, 231)
    assert (record["confirmations"], record["requiredConfirmations"]) == (1, 3)
    assert get(client, "/payments")["data"] == [record]

    listed: list[dict[str, Any]] = []
    page = get(client, f"{path}/transfers?limit=100")
    while True:
        assert (page["object"], page["totalCount"]) == ("list", 231)
        listed += page["data"]
        if not page["hasMore"]:
            break
        page = get(client, f"{path}/transfers?limit=100&starting_after={listed[-1]['id']}")
    assert len({transfer["id"] for transfer in listed}) == 231
    assert listed[0]["status"] == "seen"
    assert listed[::-1][:100] == record["transfers"]


@pytest.mark.django_db
def test_the_transfers_of_another_payment_are_no_cursor() -> None:
    merchant = make_merchant()
    payment, other = make_payment(ETHEREUM, merchant=merchant), make_payment(ETHEREUM, merchant=merchant)
    pay(other)
    confirm(other)
    client = client_of(payment)
    assert get(client, f"/payments/{payment.public_id}/transfers")["data"] == []
    [transfer] = get(client, f"/payments/{other.public_id}/transfers")["data"]
    reply = client.call("GET", f"/payments/{payment.public_id}/transfers?starting_after={transfer['id']}")
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, "starting_after")


@pytest.mark.django_db
def test_dust_in_every_block_is_told_now_and_then_and_what_matters_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    payment = make_payment(ETHEREUM)
    for _ in range(40):
        dust(payment, 1)
        mine(ETHEREUM)
        read(ETHEREUM)
        crediting.assess_due()
    flooded = now(payment)
    assert flooded.received >= 37
    assert flooded.version == recording.RECORDED_AT_ONCE
    assert flooded.untold == ["payment.underpaid"]
    assert flooded.assess_at is not None
    assert flooded.assess_at > timezone.now()

    monkeypatch.setattr(recording, "DEFERRED_FOR", timedelta())
    assess_payment(payment)
    told = Event.objects.about(payment.pk).order_by("-id")[0]
    assert (told.type, told.payload["amountReceived"]) == ("payment.underpaid", f"0.{flooded.received:06}")
    assert (now(payment).untold, now(payment).assess_at) == ([], None)

    monkeypatch.undo()
    payment = pay_and_confirm(payment)
    assert (payment.status, events(payment)[-2:]) == ("completed", ["payment.underpaid", "payment.completed"])
    assert_all_is_well()


@pytest.mark.django_db
def test_the_code_of_a_part_paid_payment_is_drawn_once_for_all_who_ask() -> None:
    payment = make_payment(ETHEREUM)
    pay(payment, "40")
    confirm(payment)
    qr.drawn.cache_clear()
    pages = [look_at(now(payment), timezone.now()).how_to_pay for _ in range(5)]
    assert len({page.qr for page in pages if page}) == 1
    assert qr.drawn.cache_info().misses == 1
    assert units(payment, "60") == units(payment, "100") - now(payment).received
