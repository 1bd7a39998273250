"""The open alarms of a network are what is true now: raised once, kept up, cleared, raised again."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone
from structlog.testing import capture_logs

from payments.chains.simulated import control
from payments.chains.simulated.adapter import SimulatedChain
from payments.chains.simulated.networks import simulated_profile
from payments.monitoring.alarm_rules import AlarmCondition
from payments.monitoring.models import Alarm
from payments.monitoring.services import acknowledge_alarm, clear_alarms_of_unused
from payments.monitoring.states import ADVICE, AlarmKind
from tests.operations.scenes import PRODUCTION, let_alarms_age, open_alarms, there_is

pytestmark = pytest.mark.django_db

FROZEN = AlarmCondition(AlarmKind.WALLET_FROZEN, "looks odd", "0xabc")
LOW = AlarmCondition(AlarmKind.GAS_TANK_LOW, "The hot wallet holds 1 POL; it should hold 2 POL.")
FAILING = AlarmCondition(AlarmKind.PROVIDER_FAILING, "cannot be reached", "one.example")


def test_an_alarm_of_a_later_version_is_shown_without_advice() -> None:
    assert (str(Alarm(kind="of_later")), Alarm(kind="of_later").advice) == ("of_later", "")


def test_what_goes_on_is_one_alarm() -> None:
    with capture_logs() as logs:
        for _ in range(3):
            there_is(FROZEN, LOW)
    assert open_alarms() == [("polygon", "gas_tank_low"), ("polygon", "wallet_frozen")]
    assert Alarm.objects.count() == 2
    assert [(line["event"], line["log_level"], line["kind"], line["subject"]) for line in logs] == [
        ("alarm raised", "error", "wallet_frozen", "0xabc"),
        ("alarm raised", "error", "gas_tank_low", ""),
    ]


def test_each_subject_has_an_alarm_of_its_own() -> None:
    there_is(FROZEN, AlarmCondition(AlarmKind.WALLET_FROZEN, "also", "0xdef"))
    there_is(FROZEN)
    assert list(Alarm.objects.open().values_list("subject", flat=True)) == ["0xabc"]


def test_what_is_over_is_cleared_and_raised_anew_when_it_comes_back() -> None:
    there_is(LOW)
    there_is()
    first = Alarm.objects.get()
    assert first.cleared_at is not None
    there_is(LOW)
    assert Alarm.objects.count() == 2
    assert open_alarms() == [("polygon", "gas_tank_low")]
    first.refresh_from_db()
    assert first.cleared_at is not None


def test_an_alarm_tells_the_latest_and_since_when() -> None:
    there_is(LOW)
    let_alarms_age(timedelta(minutes=10))
    raised_at = Alarm.objects.get().raised_at
    there_is(AlarmCondition(LOW.kind, "Less still."))
    alarm = Alarm.objects.get()
    assert (alarm.raised_at, alarm.message) == (raised_at, "Less still.")
    assert timezone.now() - alarm.last_seen_at < timedelta(minutes=1)


def test_a_worker_whose_clock_is_wrong_dates_neither_alarms_nor_simulated_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = timezone.now
    for ahead in (timedelta(minutes=10), timedelta(minutes=-10)):
        monkeypatch.setattr(timezone, "now", lambda ahead=ahead: right() + ahead)
        there_is(LOW)
        there_is()
        alarm = Alarm.objects.latest("pk")
        assert alarm.cleared_at is not None
        control.mine("polygon", 1)
        head = SimulatedChain(simulated_profile("polygon")).reading.head()
        for at in (alarm.raised_at, alarm.last_seen_at, alarm.cleared_at, head.closed_at):
            assert abs(at - right()) < timedelta(minutes=1)


def test_networks_and_environments_have_alarms_of_their_own() -> None:
    there_is(LOW)
    there_is(LOW, network="ethereum")
    there_is(LOW, environment="sandbox")
    there_is(network="ethereum")
    there_is(network="stellar")
    assert list(Alarm.objects.open().order_by("environment").values_list("environment", "network")) == [
        ("production", "polygon"),
        ("sandbox", "polygon"),
    ]


def test_a_provider_must_be_well_for_a_while_before_its_alarm_is_over() -> None:
    there_is(FAILING)
    there_is()
    assert open_alarms() == [("polygon", "provider_failing")]
    let_alarms_age(timedelta(minutes=2))
    there_is()
    assert open_alarms() == []


def test_two_alarms_of_the_same_cannot_be_open() -> None:
    there_is(LOW)
    with pytest.raises(IntegrityError), transaction.atomic():
        Alarm.objects.create(environment=PRODUCTION, network="polygon", kind=LOW.kind, message="again")


@pytest.mark.django_db(transaction=True)
def test_two_workers_raise_it_once() -> None:
    barrier = threading.Barrier(2)

    def raise_it() -> None:
        try:
            barrier.wait(timeout=60)
            there_is(LOW)
        finally:
            connection.close()

    threads = [threading.Thread(target=raise_it) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert Alarm.objects.count() == 1


def test_one_person_looks_after_it() -> None:
    there_is(LOW)
    alarm = Alarm.objects.get()
    assert acknowledge_alarm(alarm, acknowledged_by="Ada")
    assert not acknowledge_alarm(alarm, acknowledged_by="Grace")
    alarm.refresh_from_db()
    assert alarm.acknowledged_by == "Ada"
    assert alarm.acknowledged_at is not None
    assert open_alarms() == [("polygon", "gas_tank_low")]


def test_nobody_looks_after_what_is_over() -> None:
    there_is(LOW)
    there_is()
    assert not acknowledge_alarm(Alarm.objects.get(), acknowledged_by="Ada")


def test_alarms_of_networks_that_are_in_use_no_longer_are_over_at_once() -> None:
    there_is(LOW, FAILING)
    there_is(LOW, network="ethereum")
    clear_alarms_of_unused([(PRODUCTION, "ethereum")])
    assert open_alarms() == [("ethereum", "gas_tank_low")]


def test_every_kind_says_what_to_do() -> None:
    assert set(ADVICE) == set(AlarmKind)
