"""Clocks that are set back, and clocks that differ from what a network says."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from config.periodic import task_runs
from payments import tasks
from payments.chains.simulated import control
from payments.deposits.models import ScanCursor
from payments.deposits.watching import watch_network
from payments.models import Deposit, Payment
from payments.monitoring.models import Alarm, Pulse
from tests.operations.scenes import look, open_alarms
from tests.payments.scenes import (
    ETHEREUM,
    SANDBOX,
    STELLAR,
    assert_all_is_well,
    cursor_of,
    discrepancies,
    make_payment,
    mine,
    mine_and_watch,
    now,
    pay,
    watch,
)

pytestmark = pytest.mark.django_db

AN_HOUR = timedelta(hours=1)


def test_a_lease_that_a_clock_set_back_has_left_far_ahead_is_not_waited_for() -> None:
    payment = make_payment(STELLAR)
    watch()
    pay(payment)
    mine(STELLAR)
    ScanCursor.objects.filter(network=STELLAR).update(leased_until=timezone.now() + AN_HOUR)
    watch_network(SANDBOX, STELLAR)
    assert Deposit.objects.count() == 1
    assert cursor_of(STELLAR).leased_until <= timezone.now() + timedelta(minutes=1)


def test_an_assessment_that_was_asked_for_before_the_clock_was_set_back_is_made() -> None:
    payment = make_payment(STELLAR)
    watch()
    pay(payment)
    mine(STELLAR, 2)
    tasks.read_new(SANDBOX, STELLAR)
    Payment.objects.update(assess_at=timezone.now() + AN_HOUR)
    tasks.assess_due()
    assert now(payment).status == "completed"
    assert_all_is_well()


def test_work_is_noted_again_once_the_clock_has_been_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_runs, "NOTE_EVERY_SECONDS", 0.0)
    task_runs.note(task_runs.WATCHER, "sandbox stellar")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE operations_pulse SET at = clock_timestamp() + interval '1 hour'")
    task_runs.note(task_runs.WATCHER, "sandbox stellar")
    assert Pulse.objects.get(subject="sandbox stellar").at <= timezone.now() + timedelta(seconds=30)


def test_money_paid_at_once_is_in_time_although_the_clock_is_behind_the_network() -> None:
    watch()
    control.mine(ETHEREUM, 1, at=timezone.now() + AN_HOUR)
    watch()
    payment = make_payment(ETHEREUM)
    block_time = cursor_of(ETHEREUM).read_until
    assert block_time is not None
    assert payment.created_at >= block_time - timedelta(milliseconds=1)
    assert payment.expires_at == payment.created_at + timedelta(seconds=payment.expires_in)
    pay(payment)
    mine_and_watch(ETHEREUM, 10)
    payment = now(payment)
    assert (payment.status, payment.status_reasons, discrepancies(payment)) == ("completed", [], [])


@pytest.mark.parametrize(("ahead", "is_alarmed"), [(AN_HOUR, True), (timedelta(seconds=30), False)])
def test_a_clock_behind_the_network_is_an_alarm(ahead: timedelta, is_alarmed: bool) -> None:
    mine_and_watch(ETHEREUM)
    control.mine(ETHEREUM, 1, at=timezone.now() + ahead)
    watch()
    look()
    assert open_alarms() == ([(ETHEREUM, "clock_and_chain_differ")] if is_alarmed else [])
    if is_alarmed:
        assert "s behind block 2, as it was first seen." in Alarm.objects.open().get().message


def test_a_clock_ahead_of_the_network_is_an_alarm() -> None:
    mine_and_watch(ETHEREUM)
    ScanCursor.objects.filter(network=ETHEREUM).update(clock_ahead_seconds=75.2)
    look()
    assert open_alarms() == [(ETHEREUM, "clock_and_chain_differ")]
    assert Alarm.objects.open().get().message == "The database's clock is 75 s ahead of block 1, as it was first seen."
    mine_and_watch(ETHEREUM)
    look()
    assert open_alarms() == []


def test_blocks_that_were_made_while_nobody_looked_say_nothing_of_the_clock() -> None:
    mine_and_watch(ETHEREUM)
    ScanCursor.objects.filter(network=ETHEREUM).update(
        polled_at=timezone.now() - timedelta(minutes=2), clock_ahead_seconds=None
    )
    mine_and_watch(ETHEREUM)
    assert cursor_of(ETHEREUM).clock_ahead_seconds is None
