"""Health checks for load balancers, supervisors and `make run`: is the process alive, and can it serve?"""

from __future__ import annotations

import time
from functools import cache
from typing import Final

import redis
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from config import pulses
from config.heartbeat import heartbeat_age_seconds
from config.installation.services import current_standstill
from config.redis_servers import RedisServers
from payments.operations import work
from payments.operations.reconciling import EXTENTS, last_run

OK = "ok"
UNAVAILABLE = "unavailable"
BEHIND = "behind"

WRITE_EVERY_SECONDS: Final = 10.0
_write_due_at = 0.0


@never_cache
@require_safe
def live(request: HttpRequest) -> JsonResponse:
    """Replies 200 without using anything outside: a database that is down is no reason to restart this process."""
    return JsonResponse({"status": OK})


@never_cache
@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """Whether this process can serve: 200, or 503 when the database or a migration is missing, or takes no writes.

    Redis and beat are reported, but do not decide: requests are served without them. Strangers can read this, so it
    does not say how many alarms are open.
    """
    checks = {"database": UNAVAILABLE, "migrations": UNAVAILABLE}
    age: float | None = None
    try:
        age = heartbeat_age_seconds()
        if not _is_read_only():
            checks["database"] = OK
        if _is_migrated():
            checks["migrations"] = OK
        if OK == checks["database"] == checks["migrations"]:
            _try_a_write()
    except DatabaseError:
        checks["database"] = UNAVAILABLE
        _every_migration_is_applied.cache_clear()
    is_ready = set(checks.values()) == {OK}
    if settings.REDIS_SERVERS is not None:
        checks["redis"] = OK if _answers(settings.REDIS_SERVERS) else UNAVAILABLE
    body = {
        "status": OK if is_ready else UNAVAILABLE,
        "checks": checks,
        "beatHeartbeatAgeSeconds": None if age is None else round(age, 1),
    }
    return JsonResponse(body, status=200 if is_ready else 503)


@never_cache
@require_safe
def show_work(request: HttpRequest) -> JsonResponse:
    """Whether all background work is done in time: 200, or 503 with what is late.

    For a monitor outside: computed now from the times when each was last done, so that it works when nothing runs.
    """
    try:
        items, clocks = work.all_work(), work.clocks()
        runs = [last for extent in EXTENTS if (last := last_run(extent)) is not None]
        is_restored = current_standstill() is not None
    except DatabaseError:
        return JsonResponse({"status": UNAVAILABLE, "database": UNAVAILABLE, "behind": []}, status=503)
    behind = [f"{item.name} {item.of}".strip() for item in items if item.is_behind]
    behind += ["restored_database"] * is_restored
    behind += ["clock"] * any(clock.is_off for clock in clocks)
    body = {
        "status": UNAVAILABLE if behind else OK,
        "database": OK,
        "behind": behind,
        "work": [
            {
                "name": item.name,
                "of": item.of,
                "status": BEHIND if item.is_behind else OK,
                "ageSeconds": None if item.age is None else round(item.age, 1),
                "limitSeconds": item.limit,
            }
            for item in items
        ],
        "reconcile": {
            last.extent: {
                "outcome": last.outcome,
                "finishedAt": last.finished_at.isoformat(),
                "errors": last.errors,
                "warnings": last.warnings,
            }
            for last in runs
        },
        "clocks": {
            "processes": len(clocks),
            "mostSecondsOff": round(max((abs(clock.ahead) for clock in clocks), default=0.0), 1),
            "limitSeconds": pulses.CLOCK_OFF_SECONDS,
        },
    }
    return JsonResponse(body, status=503 if behind else 200)


def _is_read_only() -> bool:
    """True on a standby."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW transaction_read_only")
        return bool(cursor.fetchone() != ("off",))


def _try_a_write() -> None:
    """Writes a row, and a file that needs new room on PostgreSQL's disk; after a success not again for some seconds.

    The row alone may find room in a page that is there already while the disk is full. The file, of some hundred
    kilobytes, is what a sort needs beyond its memory; PostgreSQL removes it.
    """
    global _write_due_at
    if time.monotonic() < _write_due_at:
        return
    pulses.note_clock("web", at_once=True)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('work_mem', '64kB', true)")
        cursor.execute("SELECT count(*) FROM (SELECT n FROM generate_series(1, 20000) n ORDER BY -n OFFSET 1) AS n")
    _write_due_at = time.monotonic() + WRITE_EVERY_SECONDS


def _is_migrated() -> bool:
    if not (applied := _every_migration_is_applied()):
        _every_migration_is_applied.cache_clear()  # ask again next time
    return applied


@cache
def _every_migration_is_applied() -> bool:
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())


def _answers(servers: RedisServers) -> bool:
    client = servers.client(socket_timeout=0.5, socket_connect_timeout=0.5)
    try:
        return bool(client.ping())
    except (redis.RedisError, OSError):
        return False
    finally:
        client.close()
