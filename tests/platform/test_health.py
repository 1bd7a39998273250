"""What load balancers and supervisors are told."""

from __future__ import annotations

import pytest
from django.db import connections
from django.test import Client
from pytest_django.fixtures import Settings
from pytest_django.plugin import DjangoDbBlocker

from config import health
from config.celery import app
from config.periodic import beat
from config.periodic.redis_servers import RedisServers
from payments.monitoring.alarm_rules import AlarmCondition
from payments.monitoring.states import AlarmKind
from tests.advisory_locks import end_beats
from tests.operations.scenes import there_is


def test_live_asks_nothing_outside_the_process(client: Client) -> None:
    reply = client.get("/health/live")  # pytest-django fails any query a test has not asked for
    assert reply.status_code == 200
    assert reply.json() == {"status": "ok"}
    assert "no-store" in reply.headers["Cache-Control"]


@pytest.mark.django_db
def test_ready_says_what_it_checked(client: Client) -> None:
    reply = client.get("/health/ready")
    assert reply.status_code == 200
    assert reply.json()["status"] == "ok"
    assert {"database": "ok", "migrations": "ok"}.items() <= reply.json()["checks"].items()
    assert reply.json()["beatHeartbeatAgeSeconds"] is None


@pytest.mark.django_db
def test_ready_tells_how_long_ago_beat_ticked(client: Client) -> None:
    scheduler = beat.ElectedScheduler(app, lazy=True)
    try:
        assert scheduler._is_elected()
        age = client.get("/health/ready").json()["beatHeartbeatAgeSeconds"]
        assert 0 <= age < 5
    finally:
        end_beats(scheduler)


@pytest.mark.django_db
def test_ready_tells_nobody_of_alarms(client: Client) -> None:
    there_is(AlarmCondition(AlarmKind.GAS_TANK_LOW, "The hot wallet holds nothing."))
    reply = client.get("/health/ready")
    assert (reply.status_code, set(reply.json())) == (200, {"status", "checks", "beatHeartbeatAgeSeconds"})


@pytest.mark.django_db(transaction=True)
def test_a_database_without_room_for_new_files_is_not_ready_until_it_has_some(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "_write_due_at", 0.0)
    codes = []
    try:
        for limit in ("0", "0", "-1"):
            with connections["default"].cursor() as cursor:
                cursor.execute(f"SET temp_file_limit = {limit}")
            reply = client.get("/health/ready")
            codes.append((reply.status_code, reply.json()["checks"]["database"]))
    finally:
        connections["default"].close()
    assert codes == [(503, "unavailable"), (503, "unavailable"), (200, "ok")]


@pytest.mark.django_db
def test_ready_without_redis_because_requests_are_served_without_it(client: Client, settings: Settings) -> None:
    settings.REDIS_SERVERS = RedisServers.parse("redis://127.0.0.1:1/0")
    reply = client.get("/health/ready")
    assert (reply.status_code, reply.json()["status"]) == (200, "ok")
    assert reply.json()["checks"] == {"database": "ok", "migrations": "ok", "redis": "unavailable"}


@pytest.mark.django_db(transaction=True)
def test_a_standby_that_takes_no_writes_is_not_ready(client: Client) -> None:
    with connections["default"].cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
    try:
        reply = client.get("/health/ready")
    finally:
        connections["default"].close()
    assert (reply.status_code, reply.json()["checks"]["database"]) == (503, "unavailable")


@pytest.mark.django_db
def test_a_missing_migration_is_not_ready(client: Client) -> None:
    health._every_migration_is_applied.cache_clear()
    with connections["default"].cursor() as cursor:
        cursor.execute("delete from django_migrations where app = 'merchants'")
    try:
        reply = client.get("/health/ready")
    finally:
        health._every_migration_is_applied.cache_clear()
    assert reply.status_code == 503
    assert reply.json()["status"] == "unavailable"
    assert reply.json()["checks"]["migrations"] == "unavailable"


def test_a_database_that_is_down_is_not_ready_and_says_no_more(
    client: Client, django_db_blocker: DjangoDbBlocker
) -> None:
    usable = connections["default"]
    broken = usable.copy()
    broken.settings_dict["HOST"] = "/nowhere"
    connections["default"] = broken
    try:
        with django_db_blocker.unblock():
            reply = client.get("/health/ready")
    finally:
        connections["default"] = usable
    assert reply.status_code == 503
    assert reply.json()["checks"]["database"] == "unavailable"
    assert "nowhere" not in reply.content.decode()


@pytest.mark.parametrize("path", ["/health/live", "/health/ready", "/health/work"])
def test_health_is_read_only(client: Client, path: str) -> None:
    assert client.post(path).status_code == 405
