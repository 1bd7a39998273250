"""The schedule names tasks that exist, a wake is only ever a favour, and one beat of several schedules."""

from __future__ import annotations

import gc
import inspect
import logging
import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from celery.beat import Scheduler
from celery.contrib.testing.worker import start_worker
from celery.schedules import schedule
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.backends.utils import CursorWrapper
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from kombu.exceptions import OperationalError

from config.celery import QUEUES, app, wake
from config.periodic import due_work
from config.periodic.beat import STANDBY_SECONDS, ElectedScheduler
from config.periodic.task_runs import BEGAN, TASK
from merchants.models import RecordCountDelta
from merchants.people.models import Mail
from payments.monitoring.models import Pulse
from tests.advisory_locks import end_beats
from tests.patience import until

QUERIES_OF_AN_IDLE_SECOND = 30
"""Of its tasks, at most."""


@pytest.fixture(autouse=True)
def reachable_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker of this run, in memory or Redis, empty, and as the background process sees it."""
    monkeypatch.setenv("BALLAST_PROCESS", "background")
    messages()


def messages() -> list[str]:
    """Takes every waiting message out of the broker: the names of the tasks, queue by queue.

    Every event that is recorded anywhere asks for deliveries: that is nothing that these tests do.
    """
    found = []
    with app.connection_for_read() as broker:
        for name in QUEUES:
            queue = broker.SimpleQueue(name)
            with suppress(queue.Empty):
                while True:
                    message = queue.get_nowait()
                    message.ack()
                    if message.headers["task"] != "webhooks.deliver_due":
                        found.append(f"{name} {message.headers['task']}")
            queue.close()
    return found


def test_what_a_worker_of_the_tests_counts_and_queues_no_other_finds(db: None) -> None:
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw-1").removeprefix("gw")) + 1  # 0 without workers
    assert os.environ.get("REDIS_URL", "") == settings.REDIS_URL
    assert not settings.REDIS_URL or settings.REDIS_URL.endswith(f"/{number}")


def test_every_scheduled_task_exists_and_has_a_queue_of_its_own() -> None:
    app.loader.import_default_modules()
    for entry in app.conf.beat_schedule.values():
        assert entry["task"] in app.tasks
        assert app.amqp.router.route({}, entry["task"])["queue"].name in QUEUES
        assert "expires" not in entry.get("options", {}), "a worker would compare that with a clock of its own"


@pytest.mark.django_db(transaction=True)
def test_a_wake_is_sent_when_the_database_transaction_commits() -> None:
    with transaction.atomic():
        wake("payments.assess_due")
        assert messages() == []
    assert messages() == ["chain payments.assess_due"]


@pytest.mark.django_db(transaction=True)
def test_while_one_waits_no_other_message_of_the_task_is_sent() -> None:
    for task in ("payments.assess_due", "transfers.drive", "payments.assess_due", "payments.assess_due"):
        wake(task)
    assert messages() == ["chain payments.assess_due", "money transfers.drive"]
    wake("payments.assess_due")
    assert messages() == ["chain payments.assess_due"]


@pytest.mark.django_db(transaction=True)
def test_no_message_has_an_end_that_a_wrong_clock_could_pass() -> None:
    wake("payments.assess_due")
    with app.connection_for_read() as broker:
        queue = broker.SimpleQueue("chain")
        message = queue.get_nowait()
        message.ack()
        queue.close()
    assert message.headers["expires"] is None


def run_worker_until(condition: Callable[[], bool]) -> None:
    with start_worker(app, pool="solo", perform_ping_check=False, queues=list(QUEUES), shutdown_timeout=120):
        until(condition)


def test_no_task_takes_arguments_so_that_messages_of_other_versions_fit() -> None:
    app.loader.import_default_modules()
    own = {name: task for name, task in app.tasks.items() if not task.__module__.startswith(("celery.", "tests."))}
    assert len(own) > 30
    assert [name for name, task in own.items() if inspect.signature(task.run).parameters] == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("task", "options", "reason"),
    [
        ("merchants.fold_counts", {"expires": 5}, "its end has passed by the clock"),
        ("merchants.forgotten", {"queue": "reports"}, "this version of Ballast has no such task"),
    ],
)
def test_what_a_worker_discards_is_in_its_log(
    monkeypatch: pytest.MonkeyPatch, task: str, options: dict[str, Any], reason: str
) -> None:
    said: list[Any] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record)

    listener = Listener()
    logger = logging.getLogger("config.celery")
    logger.addHandler(listener)
    app.loader.import_default_modules()
    try:
        with monkeypatch.context() as sender:  # whose clock is years behind that of the worker
            sender.setattr(app, "now", lambda: datetime(2020, 1, 1, tzinfo=UTC))
            app.send_task(task, **options)
        run_worker_until(lambda: bool(said))
    finally:
        logger.removeHandler(listener)
    assert [(record.levelname, record.msg, record.task) for record in said] == [("ERROR", "task_discarded", task)]
    assert reason in said[0].reason


@pytest.mark.django_db(transaction=True)
def test_a_wake_of_work_that_is_rolled_back_is_never_sent() -> None:
    with transaction.atomic():
        wake("payments.assess_due")
        transaction.set_rollback(True)
    assert messages() == []


@pytest.mark.django_db(transaction=True)
def test_a_broker_that_is_down_fails_no_request_and_is_not_asked_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = []

    def refuse(*arguments: Any, **options: Any) -> None:
        attempts.append(arguments)
        raise OperationalError("the broker is down")

    monkeypatch.setattr(app, "send_task", refuse)
    for _ in range(3):
        with transaction.atomic():
            wake("payments.assess_due")
    assert len(attempts) == 1


@pytest.mark.django_db(transaction=True)
def test_without_a_shared_broker_a_wake_elsewhere_is_left_to_beat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "CELERY_BROKER_URL", settings.IN_PROCESS_BROKER)
    monkeypatch.delenv("BALLAST_PROCESS")
    wake("payments.assess_due")
    assert messages() == []


@pytest.fixture
def schedulers(django_db_setup: None, django_db_blocker: Any) -> Iterator[list[ElectedScheduler]]:
    """Two beats of the same installation, with one entry that is due at once."""
    with django_db_blocker.unblock():
        pair = []
        for _ in range(2):
            scheduler = ElectedScheduler(app, lazy=True)
            entry = {"task": "merchants.purge_requests", "schedule": 0.0}
            scheduler.data = {"fold": scheduler._maybe_entry("fold", entry)}
            scheduler.schedule = scheduler.data
            pair.append(scheduler)
        yield pair
        end_beats(*pair)


def test_one_beat_of_two_schedules(schedulers: list[ElectedScheduler]) -> None:
    first, second = schedulers
    assert first.tick() == 0  # one task sent, ask again at once
    assert second.tick() == STANDBY_SECONDS
    assert messages() == ["reports merchants.purge_requests"]


def test_while_workers_are_away_each_task_waits_once(schedulers: list[ElectedScheduler]) -> None:
    first, _ = schedulers
    for _ in range(50):
        first.tick()
    assert messages() == ["reports merchants.purge_requests"]


def tick_until_elected(beat: ElectedScheduler) -> None:
    """PostgreSQL has yet to see the other's connection end."""
    until(lambda: beat.tick() == 0)


def test_the_other_beat_takes_over_when_the_first_dies(schedulers: list[ElectedScheduler]) -> None:
    first, second = schedulers
    first.tick()
    first.close()
    messages()
    tick_until_elected(second)
    assert messages() == ["reports merchants.purge_requests"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", [TASK, BEGAN])
@pytest.mark.parametrize(("minutes_ago", "sent"), [(59, []), (61, ["reports merchants.purge_requests"])])
def test_a_beat_that_starts_goes_on_from_the_last_run_of_each_task_or_the_first_start(
    schedulers: list[ElectedScheduler], kind: str, minutes_ago: int, sent: list[str]
) -> None:
    """Counted from its own start, a task of each hour would never run where beat starts anew every half an hour."""
    first, _ = schedulers
    first.data["fold"].schedule = schedule(3600)
    last = timezone.now() - timedelta(minutes=minutes_ago)
    Pulse.objects.filter(kind=BEGAN).delete()
    Pulse.objects.create(kind=kind, subject="merchants.purge_requests" if kind == TASK else "", at=last)
    first.tick()
    assert messages() == sent


def test_a_beat_that_loses_its_connection_stops_scheduling(schedulers: list[ElectedScheduler]) -> None:
    first, second = schedulers
    first.tick()
    messages()
    assert first._connection is not None
    [process_id] = first._connection.cursor().execute("select pg_backend_pid()").fetchone()
    with connection.cursor() as cursor:
        cursor.execute("select pg_terminate_backend(%s)", [process_id])
    tick_until_elected(second)
    assert first.tick() == STANDBY_SECONDS  # it notices
    assert first.tick() == STANDBY_SECONDS  # and finds another one elected
    assert messages() == ["reports merchants.purge_requests"]


def test_a_beat_that_cannot_take_up_the_schedule_leaves_the_lock_to_the_other(
    schedulers: list[ElectedScheduler], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a fail-over: its own session is new, and the connection that it reads the last runs by was lost."""
    first, second = schedulers

    def lost() -> None:
        raise DatabaseError("the connection was lost")

    monkeypatch.setattr(first, "_take_up_schedule", lost)
    gc.disable()
    try:
        assert first.tick() == STANDBY_SECONDS
        tick_until_elected(second)
    finally:
        gc.enable()
    assert messages() == ["reports merchants.purge_requests"]


def test_a_database_that_is_down_stops_beat_for_a_moment_only(
    schedulers: list[ElectedScheduler], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = schedulers

    def fail() -> bool:
        raise DatabaseError("the database is down")

    monkeypatch.setattr(first, "_is_elected", fail)
    assert first.tick() == STANDBY_SECONDS
    monkeypatch.undo()
    assert first.tick() == 0


def test_beat_asks_the_database_when_something_is_due_and_not_in_a_loop_before(
    schedulers: list[ElectedScheduler],
) -> None:
    """Until then it sleeps: what Celery wakes for 10 ms early is a loop of some hundred queries a second."""
    first, _ = schedulers
    entries = {f"{n}": {"task": "merchants.purge_requests", "schedule": 0.2} for n in range(5)}
    first.schedule = {name: first._maybe_entry(name, entry) for name, entry in entries.items()}
    first._is_elected()
    assert first._connection is not None
    with CaptureQueriesContext(first._connection) as queries:
        over = time.monotonic() + 1.0
        while time.monotonic() < over:
            time.sleep(max(first.tick(), 0.0))
    assert 4 <= len(queries) <= 30


def test_a_task_without_rows_rests_and_one_with_rows_is_sent_at_its_interval(
    schedulers: list[ElectedScheduler], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = schedulers
    first.data["fold"].task = "merchants.fold_counts"
    monkeypatch.setattr("config.periodic.beat.LOOK_SECONDS", 0.0)
    assert first.tick() == 0, "sent once after the start, whatever there is"
    assert messages() == ["reports merchants.fold_counts"]
    first.tick()
    assert messages() == [], "nothing to fold"
    delta = RecordCountDelta.objects.create(
        merchant_id=uuid.uuid4(),
        environment="sandbox",
        kind="payment",
        status="created",
        day=date(2026, 1, 1),
        change=1,
    )
    first.tick()
    assert messages() == ["reports merchants.fold_counts"]
    delta.delete()
    monkeypatch.setattr(due_work, "REST_SECONDS", 0.0)
    first.tick()
    assert messages() == ["reports merchants.fold_counts"], "it is sent now and then all the same"


@pytest.fixture
def quiet(schedulers: list[ElectedScheduler], monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Lets so many seconds pass without certain work: what beat sends in them, by a clock that the test moves."""
    first, _ = schedulers
    clock, sent = [1000.0], []
    app.loader.import_default_modules()
    monkeypatch.setattr(settings, "REDIS_SERVERS", None)
    monkeypatch.setattr("config.periodic.beat.time.monotonic", lambda: clock[0])
    monkeypatch.setattr("config.periodic.beat.is_waiting", lambda *_: False)
    monkeypatch.setattr(Scheduler, "apply_async", lambda _, entry, *__, **___: sent.append(entry.task))
    first._busy_at = clock[0]

    def pass_seconds(seconds: int) -> list[str]:
        sent.clear()
        for _ in range(seconds):
            clock[0] += 1
            for name, entry in app.conf.beat_schedule.items():
                if clock[0] % entry["schedule"] == 0:
                    first.apply_async(first._maybe_entry(name, entry))
        return list(sent)

    return pass_seconds


@pytest.mark.django_db(transaction=True)
def test_at_rest_few_tasks_are_sent_and_any_row_ends_it_at_once(
    quiet: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    work = {"with": set[str]()}
    monkeypatch.setattr(due_work, "with_work", lambda: work["with"])
    begun = quiet(60)
    assert begun.count("payments.watch_networks") >= 4
    quiet(60)
    at_rest = quiet(120)
    assert at_rest.count("installation.keep_pulse") == 120
    assert len(at_rest) <= 240
    for task in ("payments.watch_networks", "webhooks.deliver_due", "operations.watch_dangers"):
        assert at_rest.count(task) == 3, task
    work["with"] = {"payments.sweep"}
    assert quiet(120).count("payments.sweep") == 3, "deposits that no sweep takes keep nothing awake"
    work["with"] = {"payments.assess_due"}
    woken = quiet(10)
    assert woken.count("payments.assess_due") == 10
    assert {"payments.watch_networks", "webhooks.deliver_due", "operations.watch_dangers"} <= set(woken)
    work["with"] = {"payments.watch_networks"}  # as with a real network, always
    assert quiet(120).count("operations.watch_dangers") == 12


@pytest.mark.django_db(transaction=True)
def test_with_redis_a_rest_stays_short_because_a_worker_of_one_queue_must_get_messages(
    quiet: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "REDIS_SERVERS", object())
    monkeypatch.setattr(due_work, "with_work", set)
    quiet(120)
    assert quiet(120).count("webhooks.deliver_due") >= 11


@pytest.mark.django_db(transaction=True)
def test_an_idle_minute_sends_few_queries(quiet: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhooks.tasks.IDLE_SECONDS", 0.0)
    for task in app.conf.beat_schedule:  # what is made on first use
        app.tasks[task].apply(throw=True)
    quiet(120)
    sent = quiet(120)
    queries = 0
    execute = CursorWrapper.execute

    def count(self: Any, *arguments: Any) -> Any:
        nonlocal queries
        queries += 1
        return execute(self, *arguments)

    monkeypatch.setattr(CursorWrapper, "execute", count)
    for task in sent:
        app.tasks[task].apply(throw=True)
    assert queries <= 120 * QUERIES_OF_AN_IDLE_SECOND


def test_every_task_that_declares_rows_is_scheduled_and_its_query_runs(db: None) -> None:
    app.loader.import_default_modules()
    often = {entry["task"] for entry in app.conf.beat_schedule.values() if entry["schedule"] <= 5}
    assert due_work._ROWS.keys() == often - {"installation.keep_pulse"} | {"operations.watch_dangers"}
    assert "merchants.fold_counts" not in due_work.with_work()


def test_the_query_for_due_work_is_kept_and_its_times_go_on(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    app.loader.import_default_modules()
    begun, later = timezone.now(), timezone.now() + timedelta(seconds=30)
    Mail.objects.create(to="ada@example.com", subject="Later", next_attempt_at=later)
    monkeypatch.setattr(timezone, "now", lambda: begun)
    assert "people.send_mails" not in due_work.with_work()
    kept = due_work._query()
    monkeypatch.setattr(timezone, "now", lambda: later)
    with monkeypatch.context() as patched:
        patched.setattr(due_work, "_build", lambda: pytest.fail("it was built anew"))
        assert "people.send_mails" in due_work.with_work()
        moved_on = due_work._query()
    assert moved_on == due_work._build(), "every time in it counts from now"
    assert moved_on != kept


def test_while_nobody_can_say_what_is_due_every_task_is_sent(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise DatabaseError("the database is down")

    monkeypatch.setattr(connection, "cursor", fail)
    assert due_work.with_work() == due_work._ROWS.keys()
