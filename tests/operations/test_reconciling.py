"""Reconcile runs by itself: what is due when, never two at once, and what people hear of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any
from zlib import crc32

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from config.database.advisory_locks import LockClass
from merchants.ledger.models import ReconcileOutcome, ReconcileRun
from payments.monitoring import reconciling
from payments.monitoring.models import Alarm
from payments.monitoring.reconciling import EXTENTS, LastRun, is_full_due, is_quick_due, last_runs, reconcile_due
from payments.monitoring.tasks import raise_alarms
from tests.advisory_locks import beside_another
from tests.payments.scenes import STELLAR, confirm, make_payment, pay

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def ended(began: datetime, took: timedelta = timedelta(seconds=1)) -> LastRun:
    return LastRun("quick", ReconcileOutcome.CLEAN, began, began + took, 0, 0, 0.0)


@pytest.mark.parametrize(
    ("last", "is_due"),
    [
        (None, True),
        (ended(NOON - 4 * MINUTE), False),
        (ended(NOON - 5 * MINUTE), True),
        (ended(NOON - 10 * MINUTE, took=MINUTE), False),
        (ended(NOON - 11 * MINUTE, took=MINUTE), True),
    ],
)
def test_a_quick_run_is_due_every_five_minutes_and_takes_a_tenth_of_the_time_at_most(
    last: LastRun | None, is_due: bool
) -> None:
    assert is_quick_due(NOON, last) is is_due


@pytest.mark.parametrize(
    ("hour", "hours_since", "is_due"),
    [(12, 21, False), (3, 21, True), (3, 19, False), (12, 26, True), (1, 25, False)],
)
def test_a_full_run_is_due_at_night_or_when_a_night_was_missed(hour: int, hours_since: int, is_due: bool) -> None:
    now = NOON.replace(hour=hour)
    since = now - timedelta(hours=hours_since)
    assert is_full_due(now, ended(since), None) is is_due
    assert is_full_due(now, None, since) is is_due


@pytest.mark.django_db(transaction=True)
class TestRuns:
    def test_both_run_by_themselves_and_health_has_their_results(self) -> None:
        payment = make_payment(STELLAR)
        pay(payment)
        confirm(payment)
        began = timezone.now() - timedelta(hours=27)
        full = reconcile_due(timezone.now(), began_at=began)
        quick = reconcile_due(timezone.now() + 6 * MINUTE, began_at=began)
        assert full is not None
        assert quick is not None
        assert (full.options["since"], quick.options["schedule"]) == (None, "quick")
        assert (full.outcome, quick.outcome) == ("clean", "clean")
        assert reconcile_due(timezone.now(), began_at=began) is None
        said = work()["reconcile"]
        assert {extent: (each["outcome"], each["errors"]) for extent, each in said.items()} == {
            "quick": ("clean", 0),
            "full": ("clean", 0),
        }

    def test_a_full_run_by_hand_counts_and_a_part_of_one_does_not(self) -> None:
        call_command("reconcile", "--env", "sandbox", stdout=StringIO())
        assert last_runs().get("full") is None
        call_command("reconcile", stdout=StringIO())
        for extent in EXTENTS:
            found = last_runs().get(extent)
            assert found is not None
            assert found.is_clean

    def test_while_one_is_at_work_no_other_begins(self) -> None:
        lock = (LockClass.TASK, crc32(b"reconcile") & 0x7FFFFFFF)
        runs = beside_another(lambda: int(reconcile_due(timezone.now(), began_at=timezone.now()) is not None), lock)
        assert runs == (0, 1)

    def test_one_that_meets_a_run_by_hand_has_looked_at_nothing(self) -> None:
        clean = reconcile_due(timezone.now(), began_at=timezone.now())
        assert clean is not None
        later = timezone.now() + 6 * MINUTE
        ReconcileRun.objects.create(options={"schedule": "quick"}, outcome="unfinished", finished_at=later)
        found = last_runs().get("quick")
        assert found is not None
        assert found.is_clean

    def test_one_that_is_late_is_behind(self) -> None:
        run = reconcile_due(timezone.now(), began_at=timezone.now())
        assert run is not None
        ReconcileRun.objects.filter(pk=run.pk).update(finished_at=timezone.now() - timedelta(minutes=14))
        assert "reconcile quick" not in work()["behind"]
        ReconcileRun.objects.filter(pk=run.pk).update(finished_at=timezone.now() - timedelta(hours=4))
        assert "reconcile quick" in work()["behind"]
        raise_alarms()
        assert Alarm.objects.open().filter(kind="work_behind", subject="reconcile").exists()

    def test_one_that_is_not_clean_is_an_alarm_until_one_is(self) -> None:
        run = reconcile_due(timezone.now(), began_at=timezone.now())
        ReconcileRun.objects.update(outcome="discrepancy", error_count=2)
        raise_alarms()
        [alarm] = Alarm.objects.open().filter(kind="reconcile_not_clean")
        assert (alarm.subject, run is not None) == ("quick", True)
        assert alarm.message.endswith("ended as discrepancy: 2 errors and 0 warnings.")
        assert reconcile_due(timezone.now() + 6 * MINUTE, began_at=timezone.now()) is not None
        raise_alarms()
        assert not Alarm.objects.open().filter(kind="reconcile_not_clean").exists()

    def test_quick_runs_are_kept_for_a_week(self, monkeypatch: pytest.MonkeyPatch) -> None:
        first = reconcile_due(timezone.now(), began_at=timezone.now())
        assert first is not None
        monkeypatch.setattr(reconciling, "RUNS_KEPT", -MINUTE)
        reconcile_due(timezone.now() + 6 * MINUTE, began_at=timezone.now())
        assert not ReconcileRun.objects.filter(pk=first.pk).exists()


def work() -> Any:
    return Client().get("/health/work").json()
