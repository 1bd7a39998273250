"""Operators are told of each alarm once when it is raised, and once when it is over."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core import mail
from django.utils import timezone
from pytest_django.fixtures import Settings

from merchants.people.models import Mail
from payments.monitoring import mailing
from payments.monitoring.alarm_rules import AlarmCondition
from payments.monitoring.models import Alarm
from payments.monitoring.states import AlarmKind
from payments.monitoring.tasks import raise_alarms
from tests.operations.scenes import let_alarms_age, there_is

pytestmark = pytest.mark.django_db

OPERATORS = ["ada@example.com", "grace@example.com"]
FROZEN = AlarmCondition(AlarmKind.WALLET_FROZEN, "looks odd", "0xabc")
LOW = AlarmCondition(AlarmKind.GAS_TANK_LOW, "The hot wallet holds 1 POL; it should hold 2 POL.")
FAILING = AlarmCondition(AlarmKind.PROVIDER_FAILING, "cannot be reached", "one.example")


@pytest.fixture(autouse=True)
def operators(settings: Settings) -> None:
    settings.OPERATOR_EMAILS = OPERATORS
    settings.PUBLIC_URL = "https://pay.example.com"
    settings.WEBHOOK_ENCRYPTION_KEY, settings.MAILBOX_IS_SHOWN = "", False


def mail_alarms() -> int:
    """As the worker that raises alarms does, which has not the key that other mails are sealed with."""
    told = mailing.mail_alarms()
    assert not Mail.objects.filter(is_sealed=True).exists()
    return told


def subjects() -> list[str]:
    """Of the mails to one of the operators; the other got the same."""
    first, second = ([str(each.subject) for each in mail.outbox if each.to == [to]] for to in OPERATORS)
    assert first == second
    return first


def test_an_alarm_is_told_once_and_its_end_once() -> None:
    there_is(LOW)
    assert (mail_alarms(), mail_alarms()) == (1, 0)
    there_is(LOW)
    assert mail_alarms() == 0
    there_is()
    assert (mail_alarms(), mail_alarms()) == (1, 0)
    assert subjects() == [
        "[Ballast] The gas balance runs low on polygon (production)",
        "[Ballast] Over: The gas balance runs low on polygon (production)",
    ]
    raised, _, over, _ = mail.outbox
    assert "The hot wallet holds 1 POL; it should hold 2 POL." in raised.body
    assert "Send native coins to the hot wallet." in raised.body
    assert "https://pay.example.com/docs/runbooks/gas_tank_low\n" in raised.body
    assert f"https://pay.example.com/admin/operations/alarm/{Alarm.objects.get().pk}/change/\n" in raised.body
    assert over.body.startswith("Over: The gas balance runs low on polygon (production)\nFrom 20")


def test_what_comes_back_is_told_again() -> None:
    for _ in range(2):
        there_is(LOW)
        mail_alarms()
        there_is()
        mail_alarms()
    assert len(subjects()) == 4


def test_what_happens_together_is_one_mail() -> None:
    there_is(LOW, FROZEN)
    there_is(LOW, network="ethereum")
    assert mail_alarms() == 3
    there_is(FROZEN)
    there_is(LOW, AlarmCondition(AlarmKind.NETWORK_HALTED, "changed"), network="ethereum")
    assert mail_alarms() == 2
    assert subjects() == ["[Ballast] Alarms: 3 raised", "[Ballast] Alarms: 1 raised, 1 over"]


def test_one_request_that_fails_wakes_up_nobody() -> None:
    there_is(FAILING)
    assert mail_alarms() == 0
    let_alarms_age(timedelta(minutes=3))
    there_is()
    assert Alarm.objects.get().cleared_at is not None
    assert mail_alarms() == 0
    assert mail.outbox == []


def test_a_provider_that_goes_on_failing_is_told_of_after_a_minute() -> None:
    there_is(FAILING)
    let_alarms_age(timedelta(minutes=1))
    assert mail_alarms() == 0
    there_is(FAILING)
    assert mail_alarms() == 1
    assert subjects() == ["[Ballast] Provider fails on polygon (production): one.example"]


def test_the_sandbox_wakes_up_nobody() -> None:
    there_is(LOW, environment="sandbox")
    assert mail_alarms() == 0


def test_without_addresses_nobody_is_told_until_there_are_some(settings: Settings) -> None:
    settings.OPERATOR_EMAILS = []
    there_is(LOW, FROZEN)
    there_is(LOW)
    assert mail_alarms() == 0
    settings.OPERATOR_EMAILS = OPERATORS
    assert mail_alarms() == 1
    assert subjects() == ["[Ballast] The gas balance runs low on polygon (production)"]


def test_a_mail_server_that_fails_leaves_it_due(settings: Settings) -> None:
    there_is(LOW)
    settings.EMAIL_BACKEND = "no.such.Backend"
    assert mail_alarms() == 1
    assert (mail.outbox, Mail.objects.count()) == ([], 2)
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    Mail.objects.update(next_attempt_at=timezone.now())
    assert mail_alarms() == 0
    assert (len(subjects()), Mail.objects.count()) == (1, 0)


def test_an_alarm_of_a_network_that_is_in_use_no_longer_ends_with_a_mail(settings: Settings) -> None:
    settings.PRODUCTION_NETWORKS = []
    there_is(LOW)
    mail_alarms()
    raise_alarms()
    assert subjects()[-1] == "[Ballast] Over: The gas balance runs low on polygon (production)"
