"""What is known of backups, and when operators are told that they cannot rely on them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from config.doctor.registry import Asked
from config.installation.backups.doctor import check_backups
from config.installation.backups.keys import fingerprints
from config.installation.backups.records import current, note
from config.installation.models import BackupRun
from payments.monitoring.alarm_rules import of_installation
from payments.monitoring.states import AlarmKind
from payments.monitoring.tasks import raise_alarms

pytestmark = pytest.mark.django_db

MADE, DRILLED = BackupRun.Kind.MADE, BackupRun.Kind.DRILLED


def made(hours: float) -> None:
    note(MADE, name="a.tar", taken_at=timezone.now() - timedelta(hours=hours), keys=fingerprints())


def made_under_another_key(settings: Settings) -> None:
    made(1)
    settings.SECRET_KEY = "another"


def rotated_with_a_fallback(settings: Settings) -> None:
    made(1)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another", [settings.SECRET_KEY]


def then_another(fault: str, kind: BackupRun.Kind) -> Callable[[Settings], None]:
    def plant(settings: Settings) -> None:
        made(1)
        note(DRILLED, name="a.tar")
        note(kind, fault=fault)

    return plant


# What there is, BACKUP_MAX_HOURS, and of each fault its subject and words.
CASES: dict[str, tuple[Callable[[Settings], object], int | None, dict[str, str]]] = {
    "none is made or asked for": (lambda _: None, None, {}),
    "one is asked for": (lambda _: None, 24, {"age": "No backup has been made"}),
    "of last night": (lambda _: made(25), None, {}),
    "of the night before": (lambda _: made(27), None, {"age": "27 h old, and should be 26 h at most"}),
    "older than was said": (lambda _: made(3), 2, {"age": "3 h old, and should be 2 h at most"}),
    "another program makes them": (lambda _: made(999), 0, {}),
    "the last failed": (then_another("The disk is full.", MADE), None, {"last run": "made none: The disk is full."}),
    "a drill failed": (then_another("It was cut.", DRILLED), None, {"drill": "failed: It was cut."}),
    "the key is another": (made_under_another_key, None, {"keys": "than those of today: SECRET_KEY."}),
    "the key is a fallback": (rotated_with_a_fallback, None, {}),
}


@pytest.mark.parametrize("case", CASES)
def test_operators_are_told_when_backups_cannot_be_relied_on(case: str, settings: Settings) -> None:
    plant, hours, expected = CASES[case]
    settings.BACKUP_MAX_HOURS = hours
    plant(settings)
    found = dict(current().faults(timezone.now()))
    assert found.keys() == expected.keys()
    for subject, words in expected.items():
        assert words in found[subject]
    raised = {each.subject: each.message for each in of_installation() if each.kind == AlarmKind.BACKUP_UNRELIABLE}
    assert raised == found
    raise_alarms()
    levels = {str(each.level) for each in check_backups(Asked())}
    assert levels == {"fail"} | levels if expected else levels <= {"ok", "warn"}


def test_a_process_says_nothing_of_keys_that_its_role_is_not_given(settings: Settings) -> None:
    made_under_another_key(settings)
    settings.BALLAST_ROLE = "reports"
    assert not list(current().faults(timezone.now()))


def test_doctor_is_content_once_a_drill_went_well() -> None:
    made(1)
    assert [str(each.level) for each in check_backups(Asked())] == ["warn"]
    note(DRILLED, name="a.tar")
    assert [str(each.level) for each in check_backups(Asked())] == ["ok"]
