"""Whether background work is behind, asked from outside: worked out when asked, by the database's clock."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import connection, connections
from django.db.models import F
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django.plugin import DjangoDbBlocker

from config.celery import app
from config.periodic import beat, due_work, task_runs
from payments.monitoring.models import Alarm, Pulse
from payments.monitoring.states import AlarmKind
from payments.monitoring.tasks import raise_alarms
from payments.transfers.execution.executor import run_due
from payments.transfers.models import Payout
from tests.advisory_locks import end_beats
from tests.factories import make_user
from tests.patience import until
from tests.payments.scenes import POLYGON
from tests.stopping import halt
from tests.transfers.scenes import ask, stock
from webhooks.sending.dispatch import dispatch

pytestmark = pytest.mark.django_db(transaction=True)

# Of the schedule. What the dispatcher does, it does as `dispatch`, and not for five idle seconds.
LESS_OFTEN = {"operations.audit_wallets": 10_800, "invoices.issue_due": 10_800, "payments.record_rates": 900}
"""How long they may be late."""
TASKS = sorted(entry["task"] for entry in app.conf.beat_schedule.values())


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Iterator[beat.ElectedScheduler]:
    """An installation in which everything has just been done once."""
    scheduler = beat.ElectedScheduler(app, lazy=True)
    monkeypatch.setattr(task_runs, "NOTE_EVERY_SECONDS", 0.0)
    try:
        assert scheduler._is_elected()
        app.loader.import_default_modules()
        for task in TASKS:
            if task != "webhooks.deliver_due":
                app.tasks[task].apply(throw=True)
        dispatch(run_seconds=1, idle_seconds=0)
        yield scheduler
    finally:
        end_beats(scheduler)


def work(status: int, about: object = "") -> Any:
    reply = Client().get("/health/work")
    assert reply.status_code == status, (about, reply.text)
    assert "no-store" in reply.headers["Cache-Control"]
    return reply.json()


def let_pulse_age(kind: str, subject: str, seconds: float) -> None:
    """As if it had last been done so much earlier."""
    done = Pulse.objects.filter(kind=kind, subject=subject)
    assert done.update(at=F("at") - timedelta(seconds=seconds)) == 1


@pytest.mark.usefixtures("running")
class TestRunning:
    def test_each_has_its_age_and_its_limit(self) -> None:
        body = work(200)
        assert (body["status"], body["behind"]) == ("ok", [])
        limits = {(item["name"], item["of"]): item["limitSeconds"] for item in body["work"]}
        assert limits[("heartbeat", "")] == 15
        assert limits[("watcher", "sandbox polygon")] == 120
        assert limits[("dispatcher", "")] == 60
        assert limits[("wallets", "")] == 120
        assert limits[("task", "settlements.run_due")] == 180
        assert limits[("task", "payments.refresh_rates")] == 180
        assert limits[("task", "merchants.purge_idempotency")] == 10_800
        assert limits[("reconcile", "quick")] == 900
        assert all(0 <= item["ageSeconds"] < 60 for item in body["work"])

    def test_what_has_not_been_done_for_too_long_is_named(self) -> None:
        by_processes = {"payments.watch_networks", "webhooks.deliver_due", "transfers.drive"}
        limits = {
            ("watcher", "sandbox ethereum"): 120,
            ("watcher", "sandbox stellar"): 120,
            ("dispatcher", ""): 60,
            ("wallets", ""): 120,
            **{
                ("task", task): LESS_OFTEN.get(task, 10_800 if "purge" in task else 180)
                for task in TASKS
                if task not in by_processes
            },
        }
        for (kind, subject), allowed in limits.items():
            Pulse.objects.update(at=Now())
            let_pulse_age(kind, subject, allowed - 60)
            work(200, (kind, subject))
            let_pulse_age(kind, subject, 61)
            assert work(503, (kind, subject))["behind"] == [f"{kind} {subject}".strip()]

    def test_a_wallet_that_has_something_due_and_no_turn(self) -> None:
        stock(POLYGON, 10)
        ask(POLYGON, 5)
        work(200)
        Payout.objects.update(next_attempt_at=F("next_attempt_at") - timedelta(seconds=121))
        assert work(503)["behind"] == ["wallets sandbox polygon"]
        run_due()
        assert work(200)["behind"] == []

    def test_a_halted_network_waits_for_a_person_and_is_not_behind(self) -> None:
        let_pulse_age("watcher", "sandbox ethereum", 3600)
        halt("ethereum")
        work(200)

    def test_what_is_behind_is_an_alarm_until_it_is_done(self) -> None:
        let_pulse_age("task", "settlements.run_due", 1000)
        raise_alarms()
        alarm = Alarm.objects.open().get()
        assert (alarm.kind, alarm.environment, str(alarm)) == ("work_behind", "production", "Work is behind: task")
        assert re.match(r"task run due \(settlements\): last done 1\d min ago, at most 3 min is allowed", alarm.message)
        app.tasks["settlements.run_due"].apply(throw=True)
        raise_alarms()
        assert not Alarm.objects.open().exists()


def test_without_beat_it_is_behind_at_once(running: beat.ElectedScheduler) -> None:
    running.close()
    until(lambda: Client().get("/health/work").status_code == 503)
    assert work(503)["behind"] == ["heartbeat"]


def test_what_has_never_run_counts_from_when_the_installation_began(running: beat.ElectedScheduler) -> None:
    Pulse.objects.filter(kind="task").delete()
    Pulse.objects.update_or_create(kind="began", subject="", defaults={"at": timezone.now()})
    work(200)
    let_pulse_age("began", "", 181)
    behind = work(503)["behind"]
    assert "task settlements.run_due" in behind
    assert "task merchants.purge_idempotency" not in behind


def test_a_process_notes_the_same_work_every_few_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    with CaptureQueriesContext(connections["default"]) as queries:
        for subject in ("one", "one", "other"):
            task_runs.note(task_runs.TASK, subject)
        assert len(queries) == 2
        monkeypatch.setattr(task_runs, "NOTE_EVERY_SECONDS", 0.0)
        task_runs.note(task_runs.TASK, "one")
        assert len(queries) == 3


def test_an_installation_without_any_process_has_done_nothing() -> None:
    body = work(503)
    assert {"heartbeat", "dispatcher", "wallets", "watcher sandbox polygon"} <= set(body["behind"])
    assert all(item["ageSeconds"] is None for item in body["work"])


def test_without_its_database_nothing_is_known(client: Client, django_db_blocker: DjangoDbBlocker) -> None:
    usable = connections["default"]
    broken = usable.copy()
    broken.settings_dict["HOST"] = "/nowhere"
    connections["default"] = broken
    try:
        body = work(503)
    finally:
        connections["default"] = usable
    assert body == {"status": "unavailable", "database": "unavailable", "behind": []}


def test_the_admins_first_page_shows_it_though_nothing_runs(running: beat.ElectedScheduler) -> None:
    let_pulse_age("watcher", "sandbox ethereum", 600)
    user = make_user(is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename="view_alarm"))
    operator = Client()
    operator.force_login(user)
    shown = operator.get("/admin/").text
    assert re.search(r"watcher sandbox ethereum: last done 1\d min ago, at most 2 min is allowed", shown)
    assert not Alarm.objects.exists()


class TestClocks:
    @pytest.mark.parametrize(("ahead", "words"), [(300.0, "300 s ahead"), (-300.0, "300 s behind")])
    def test_a_clock_that_is_off_is_an_alarm_a_log_line_and_behind(
        self,
        running: beat.ElectedScheduler,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
        ahead: float,
        words: str,
    ) -> None:
        right = timezone.now
        monkeypatch.setattr(timezone, "now", lambda: right() + timedelta(seconds=ahead))  # the clock of this machine
        task_runs.note_clock("worker", at_once=True)
        monkeypatch.undo()

        assert [record.levelname for record in caplog.records if record.message == "clock_is_off"] == ["ERROR"]
        body = work(503)
        assert (body["behind"], body["clocks"]["mostSecondsOff"]) == (["clock"], pytest.approx(300, abs=1))
        raise_alarms()
        alarm = Alarm.objects.open().get()
        assert alarm.kind == AlarmKind.CLOCK_OFF
        assert alarm.message.endswith(f": {words} of the database's.")
        assert "worker" in alarm.subject

        task_runs.note_clock("worker", at_once=True)
        raise_alarms()
        assert not Alarm.objects.open().exists()
        work(200)

    def test_a_process_that_has_ended_is_not_asked_for(self, running: beat.ElectedScheduler) -> None:
        task_runs.note_clock("worker", at_once=True)
        Pulse.objects.filter(kind="clock").update(ahead_seconds=300, at=F("at") - timedelta(seconds=121))
        work(200)


def test_what_says_which_tasks_have_work_finds_deposits_and_transactions_by_indexes() -> None:
    """Where there are few rows PostgreSQL reads them all, so it is told not to as long as there is another way."""
    sql, parameters = due_work._build()
    with connection.cursor() as cursor:
        cursor.execute("SET enable_seqscan = off")
        cursor.execute(f"EXPLAIN {sql}", parameters)
        plan = [line for (line,) in cursor.fetchall()]
        cursor.execute("RESET enable_seqscan")
    tables = ("simulated_chain_simulatedtransaction", "payments_deposit", "payments_payment")
    assert [line for line in plan if any(f"Seq Scan on {table}" in line for table in tables)] == []
