"""Counts are exact at every moment: under every filter, while deltas are folded, and whoever folds them."""

from __future__ import annotations

import random
import threading
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from config import ids
from config.api.pagination import KeyRange
from config.database.counters import Counter, correct
from merchants import counting
from merchants.ledger.checking import Scope
from merchants.models import RecordCount, RecordCountDelta
from merchants.tasks import fold_counts as fold_counts_task
from tests.api.probe import PROBES, Probe, probe_table

MERCHANTS = [uuid.UUID(int=number) for number in (1, 2)]


def differences(counter: Counter) -> Iterator[tuple[Any, ...]]:
    """What reconcile compares."""
    return Scope().rows(counter.differences)


ENVIRONMENTS = ["sandbox", "production"]
STATUSES = ["created", "pending", "completed", "expired"]
START = datetime(2027, 1, 28, tzinfo=UTC)
DAYS = 5


@pytest.fixture
def table(db: None) -> Iterator[None]:
    with probe_table():
        yield


@pytest.fixture
def shared_table(transactional_db: None) -> Iterator[None]:
    """For tests with threads, which see only what was committed."""
    with probe_table():
        yield


def create(source: random.Random, **fields: Any) -> Probe:
    moment = START + timedelta(seconds=source.uniform(0, DAYS * 86_400))
    if source.random() < 0.1:  # exactly at midnight, and in the last millisecond before it
        moment = START + timedelta(days=source.randrange(1, DAYS), milliseconds=-source.randrange(2))
    probe = Probe(
        id=ids.new_uuid(int(moment.timestamp() * 1000)),
        merchant_id=source.choice(MERCHANTS),
        environment=source.choice(ENVIRONMENTS),
        status=source.choice(STATUSES),
        **fields,
    )
    with transaction.atomic():
        probe.save(force_insert=True)
        counting.record_created(
            PROBES, merchant_id=probe.merchant_id, environment=probe.environment, key=probe.id, status=probe.status
        )
    return probe


def change(source: random.Random, probe: Probe) -> None:
    old, probe.status = probe.status, source.choice(STATUSES)
    with transaction.atomic():
        probe.save()
        counting.status_changed(
            PROBES,
            merchant_id=probe.merchant_id,
            environment=probe.environment,
            key=probe.id,
            old=old,
            new=probe.status,
        )


def ask(keys: KeyRange, statuses: list[str] | None, merchant_id: uuid.UUID, environment: str) -> int:
    return counting.total(PROBES, merchant_id=merchant_id, environment=environment, statuses=statuses, keys=keys)


def count(keys: KeyRange, statuses: list[str] | None, merchant_id: uuid.UUID, environment: str) -> int:
    rows = Probe.objects.filter(keys.condition, merchant_id=merchant_id, environment=environment)
    return (rows if statuses is None else rows.filter(status__in=statuses)).count()


def random_question(source: random.Random) -> tuple[KeyRange, list[str] | None, uuid.UUID, str]:
    def instant() -> datetime | None:
        kind = source.randrange(4)
        if kind == 0:
            return None
        if kind == 1:
            return START + timedelta(days=source.randrange(-1, DAYS + 2), milliseconds=source.randrange(-1, 2))
        return START + timedelta(seconds=source.uniform(-86_400, (DAYS + 1) * 86_400))

    statuses = source.choice([None, [], ["created"], ["completed"], ["created", "expired"], STATUSES, ["unknown"]])
    return KeyRange.between(instant(), instant()), statuses, source.choice(MERCHANTS), source.choice(ENVIRONMENTS)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_a_total_is_what_counting_the_table_gives(table: None, seed: int) -> None:
    source = random.Random(seed)
    probes: list[Probe] = []
    for _ in range(8):
        probes += [create(source) for _ in range(25)]
        for probe in source.sample(probes, 15):
            change(source, probe)
        if source.random() < 0.6:
            counting.fold_counts(batch=source.choice([1, 7, 1000]))
        for _ in range(25):
            question = random_question(source)
            assert ask(*question) == count(*question), question
    assert list(differences(PROBES.counter)) == []


def test_a_total_is_one_statement(table: None) -> None:
    question = (KeyRange.between(START + timedelta(hours=5), START + timedelta(days=3, hours=5)), ["created"])
    with CaptureQueriesContext(connection) as queries:
        ask(*question, MERCHANTS[0], "sandbox")
    assert len(queries) == 1


def test_a_span_inside_one_day_counts_rows_alone(table: None) -> None:
    create(random.Random(1))
    with CaptureQueriesContext(connection) as queries:
        ask(KeyRange.between(START, START + timedelta(hours=5)), None, MERCHANTS[0], "sandbox")
    assert "recordcount" not in queries[0]["sql"]


def test_whole_days_read_no_row_of_the_table(table: None) -> None:
    with CaptureQueriesContext(connection) as queries:
        ask(KeyRange.between(START, START + timedelta(days=2, milliseconds=-1)), None, MERCHANTS[0], "sandbox")
        ask(KeyRange(), ["created"], MERCHANTS[0], "sandbox")
    assert all("probe_probe" not in each["sql"] for each in queries)


def test_kinds_are_counted_apart(table: None) -> None:
    probe = create(random.Random(1))
    others = counting.Counted("another", Probe)
    assert counting.total(others, merchant_id=probe.merchant_id, environment=probe.environment) == 0
    assert counting.total(PROBES, merchant_id=probe.merchant_id, environment=probe.environment) == 1


def test_a_kind_without_a_status_is_counted(table: None) -> None:
    plain = counting.Counted("plain", Probe, status_column=None)
    probe = Probe.objects.create(merchant_id=MERCHANTS[0], environment="sandbox", status="x")
    counting.record_created(plain, merchant_id=MERCHANTS[0], environment="sandbox", key=probe.id)
    assert counting.total(plain, merchant_id=MERCHANTS[0], environment="sandbox") == 1
    assert list(differences(plain.counter)) == []
    keys = KeyRange.between(ids.created_at_of(probe.id), ids.created_at_of(probe.id))
    with pytest.raises(ValueError, match="no status"):
        counting.total(plain, merchant_id=MERCHANTS[0], environment="sandbox", statuses=["x"], keys=keys)


def test_a_status_that_stays_writes_nothing(table: None) -> None:
    key = ids.new_uuid()
    assert counting.status_deltas(PROBES, merchant_id=key, environment="sandbox", key=key, old="a", new="a") == ()
    removed, added = counting.status_deltas(PROBES, merchant_id=key, environment="sandbox", key=key, old="a", new="b")
    assert (removed.status, removed.change, added.status, added.change) == ("a", -1, "b", 1)
    assert removed.day == added.day == ids.created_at_of(key).date()


def test_counts_are_written_only_beside_the_record(transactional_db: None) -> None:
    key = ids.new_uuid()
    with pytest.raises(RuntimeError):
        counting.record_created(PROBES, merchant_id=key, environment="sandbox", key=key, status="a")
    with pytest.raises(RuntimeError):
        counting.status_changed(PROBES, merchant_id=key, environment="sandbox", key=key, old="a", new="b")
    assert not RecordCountDelta.objects.exists()


def test_folding_moves_every_delta_once(table: None) -> None:
    source = random.Random(5)
    probes = [create(source) for _ in range(30)]
    change(source, probes[0])
    deltas = RecordCountDelta.objects.count()
    assert counting.fold_counts(batch=10) == 10
    assert counting.fold_counts(batch=1000) == deltas - 10
    assert counting.fold_counts() == 0
    assert sum(RecordCount.objects.values_list("total", flat=True)) == 30
    assert not RecordCountDelta.objects.exists()


def test_the_task_folds_everything(table: None, monkeypatch: pytest.MonkeyPatch) -> None:
    source = random.Random(6)
    for _ in range(5):
        create(source)
    fold_counts_task()
    assert not RecordCountDelta.objects.exists()


def test_a_wrong_count_is_found(table: None) -> None:
    source = random.Random(7)
    probes = [create(source) for _ in range(20)]
    counting.fold_counts(batch=10)
    assert list(differences(PROBES.counter)) == []

    wrong = probes[3]
    Probe.objects.filter(pk=wrong.pk).update(status="vanished")
    day = ids.created_at_of(wrong.id).date()
    owner = wrong.merchant_id, wrong.environment, PROBES.kind
    vanished, before = sorted(differences(PROBES.counter), key=lambda each: each[3] != "vanished")
    assert vanished == (*owner, "vanished", day, 0, 1)
    assert (before[:5], before[5] - before[6]) == ((*owner, wrong.status, day), 1)

    RecordCount.objects.filter(pk=RecordCount.objects.earliest("pk").pk).update(total=1000)
    RecordCount.objects.latest("pk").delete()
    others = counting.Counted("another", Probe)
    assert correct(PROBES.counter) == 4
    assert list(differences(PROBES.counter)) == []
    assert len(list(differences(others.counter))) > 4
    counting.fold_counts()
    assert sum(RecordCount.objects.values_list("total", flat=True)) == 20


def in_threads(*jobs: Callable[[], None]) -> None:
    """Run the jobs at once, each on a connection of its own, and raise what any of them raised."""
    failures: list[BaseException] = []

    def run(job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=[job]) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def test_a_total_stays_exact_while_others_write_and_fold(shared_table: None) -> None:
    """Each reader sees, in one repeatable snapshot, the same number from the counts and from the table. The one count
    that is wrong is corrected once."""
    day, of = START.date(), {"environment": "sandbox", "kind": PROBES.kind, "status": "created"}
    RecordCount.objects.create(merchant_id=uuid.UUID(int=3), day=day, total=5, **of)
    both, corrected = threading.Barrier(2), []
    writers_left = threading.Semaphore(0)
    done = threading.Event()

    def write(seed: int) -> None:
        source = random.Random(seed)
        probes = []
        for _ in range(60):
            probes.append(create(source))
            change(source, source.choice(probes))
        writers_left.release()

    def fold() -> None:
        while not done.is_set():
            counting.fold_counts(batch=13)

    def recount() -> None:
        for _ in range(3):
            both.wait(timeout=60)
            corrected.append(correct(PROBES.counter))

    def read() -> None:
        source = random.Random(99)
        compared = 0
        while not done.is_set() or compared < 50:
            question = random_question(source)
            with transaction.atomic():
                with connection.cursor() as cursor:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                assert ask(*question) == count(*question), question
            compared += 1

    def stop() -> None:
        for _ in range(2):
            writers_left.acquire(timeout=60)
        done.set()

    in_threads(lambda: write(1), lambda: write(2), fold, fold, recount, recount, read, stop)
    while counting.fold_counts():
        pass
    assert list(differences(PROBES.counter)) == []
    assert sum(RecordCount.objects.values_list("total", flat=True)) == 120
    assert sum(corrected) == 1


def test_a_total_is_of_one_moment_even_without_a_snapshot_around_it(shared_table: None) -> None:
    """Only folding goes on, so the true number stands still; a total in two statements would see it waver."""
    source = random.Random(3)
    for _ in range(150):
        create(source)
    done = threading.Event()

    def fold() -> None:
        try:
            while counting.fold_counts(batch=3):
                pass
        finally:
            done.set()

    def read() -> None:
        while not done.is_set():
            assert sum(ask(KeyRange(), None, merchant, env) for merchant in MERCHANTS for env in ENVIRONMENTS) == 150

    in_threads(fold, read, read)


def test_two_workers_fold_without_waiting_in_a_circle(shared_table: None) -> None:
    source = random.Random(4)
    rows = [
        counting.creation_delta(
            PROBES,
            merchant_id=source.choice(MERCHANTS),
            environment=source.choice(ENVIRONMENTS),
            key=ids.new_uuid(int((START + timedelta(days=source.randrange(DAYS))).timestamp() * 1000)),
            status=source.choice(STATUSES),
        )
        for _ in range(4000)
    ]
    RecordCountDelta.objects.bulk_create(rows)
    folded: list[int] = []

    def fold() -> None:
        while (number := counting.fold_counts(batch=50)) > 0:
            folded.append(number)

    in_threads(fold, fold, fold)
    assert sum(folded) == 4000
    assert sum(RecordCount.objects.values_list("total", flat=True)) == 4000
