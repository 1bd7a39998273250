"""Health checks for load balancers, supervisors and `make run`: is the process alive, and can it serve?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import cache
from importlib.util import find_spec
from pkgutil import iter_modules
from threading import Lock, Thread
from typing import Any, Final

import redis
from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, connection, connections, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from config.doctor.outside import is_probe
from config.installation.services import current_standstill
from config.periodic import task_runs
from config.periodic.beat_lock import heartbeat_age_seconds
from config.periodic.redis_servers import RedisServers
from merchants.access.addresses import client_address, is_from_trusted_proxy
from payments.monitoring import work

OK = "ok"
UNAVAILABLE = "unavailable"
BEHIND = "behind"

ANSWER_SECONDS: Final = 2.0
"""Time a page waits for the checks, whatever hangs."""
WRITE_EVERY_SECONDS: Final = 10.0
_write_due_at = 0.0


@never_cache
@require_safe
def live(request: HttpRequest) -> JsonResponse:
    """Replies 200 without using anything outside: a database that is down is no reason to restart this process.

    To `manage.py doctor`, which signs its request, it says how the request looked: is it the proxy's or the caller's?
    """
    return JsonResponse({"status": OK, **({"seen": _seen(request)} if is_probe(request) else {})})


@never_cache
@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """Readiness of this process: 200, or 503 when the database or a migration is missing, or takes no writes.

    Redis and beat are reported, but do not decide: requests are served without them. Strangers can read this, so the
    number of open alarms is not in it.
    """
    database, *others = looks = _results(_look_at_database, _look_at_redis)
    checks: dict[str, str] = {"database": UNAVAILABLE, "migrations": UNAVAILABLE, **database.found.get("checks", {})}
    if database.is_looking:
        checks["database"] = UNAVAILABLE
    is_ready = set(checks.values()) == {OK}
    for each in others:
        checks |= each.found
    age = database.found.get("age")
    body = {
        "status": OK if is_ready else UNAVAILABLE,
        "checks": checks,
        "beatHeartbeatAgeSeconds": None if age is None else round(age, 1),
        **_without_answer(looks),
    }
    return JsonResponse(body, status=200 if is_ready else 503)


@never_cache
@require_safe
def show_work(request: HttpRequest) -> JsonResponse:
    """State of the background work: 200 if all of it is done in time, or 503 with the tasks that are late.

    For a monitor outside: computed now from the times when each was last done, so that it works when nothing runs.
    """
    [look] = _results(_look_at_work)
    body = look.found.get("body")
    if body is None:
        body = {"status": UNAVAILABLE, "database": UNAVAILABLE, "behind": [], **_without_answer([look])}
    return JsonResponse(body, status=200 if body["status"] == OK else 503)


def _seen(request: HttpRequest) -> dict[str, Any]:
    return {
        "isSecure": request.is_secure(),
        "client": str(client_address(request)),
        "peer": request.META.get("REMOTE_ADDR", ""),
        "isTrusted": is_from_trusted_proxy(request),
        "isForwarded": "HTTP_X_FORWARDED_PROTO" in request.META,
    }


class _Look(Thread):
    """Finds something out in a thread of its own, with a connection of its own, however long that takes."""

    def __init__(self, find: Callable[[_Look], None]) -> None:
        super().__init__(daemon=True)
        self.find = find
        self.found: dict[str, Any] = {}
        self.at = "database"
        """The part it waits for."""
        self.is_looking = True

    def run(self) -> None:
        try:
            self.find(self)
        finally:
            self.is_looking = False
            connections.close_all()


_looks: dict[Callable[[_Look], None], _Look] = {}
_one_at_a_time = Lock()


def _results(*finds: Callable[[_Look], None]) -> list[_Look]:
    """The results that arrived in time. A caller who comes while another still waits gets the same results."""
    ends_at = time.monotonic() + ANSWER_SECONDS
    with _one_at_a_time:
        for find in finds:
            if find not in _looks or not _looks[find].is_looking:
                _looks[find] = _Look(find)
                _looks[find].start()
        looks = [_looks[find] for find in finds]
    for look in looks:
        look.join(max(0.0, ends_at - time.monotonic()))
    return looks


def _without_answer(looks: Iterable[_Look]) -> dict[str, list[str]]:
    silent = [look.at for look in looks if look.is_looking]
    return {"noAnswer": silent} if silent else {}


def _look_at_database(look: _Look) -> None:
    checks = look.found["checks"] = {}
    try:
        look.found["age"] = heartbeat_age_seconds()
        if not _is_read_only():
            checks["database"] = OK
        look.at = "migrations"
        if _is_migrated():
            checks["migrations"] = OK
        look.at = "write"
        if OK == checks.get("database") == checks.get("migrations"):
            _try_a_write()
    except DatabaseError:
        checks["database"] = UNAVAILABLE
        _every_migration_is_applied.cache_clear()


def _look_at_redis(look: _Look) -> None:
    look.at = "redis"
    if settings.REDIS_SERVERS is not None:
        look.found["redis"] = UNAVAILABLE
        look.found["redis"] = OK if _answers(settings.REDIS_SERVERS) else UNAVAILABLE


def _look_at_work(look: _Look) -> None:
    try:
        report = work.report()
        is_restored = current_standstill() is not None
    except DatabaseError:
        return
    behind = [f"{item.name} {item.of}".strip() for item in report.behind]
    behind += ["restored_database"] * is_restored
    behind += ["clock"] * bool(report.clocks_off)
    look.found["body"] = {
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
            for item in report.items
        ],
        "reconcile": {
            last.extent: {
                "outcome": last.outcome,
                "finishedAt": last.finished_at.isoformat(),
                "errors": last.errors,
                "warnings": last.warnings,
            }
            for last in report.runs.values()
        },
        "clocks": {
            "processes": len(report.clocks),
            "mostSecondsOff": round(max((abs(clock.ahead) for clock in report.clocks), default=0.0), 1),
            "limitSeconds": task_runs.CLOCK_OFF_SECONDS,
        },
    }


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
    task_runs.note_clock("web", at_once=True)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('work_mem', '64kB', true)")
        cursor.execute("SELECT count(*) FROM (SELECT n FROM generate_series(1, 20000) n ORDER BY -n OFFSET 1) AS n")
    _write_due_at = time.monotonic() + WRITE_EVERY_SECONDS


def _is_migrated() -> bool:
    if not (applied := _every_migration_is_applied()):
        _every_migration_is_applied.cache_clear()  # look again next time
    return applied


@cache
def _every_migration_is_applied() -> bool:
    return _migrations() <= MigrationRecorder(connection).applied_migrations().keys()


def _migrations() -> set[tuple[str, str]]:
    """The migrations of all apps, by the names of their files: to load them takes 10 MiB."""
    found = set()
    for app in apps.get_app_configs():
        module, _ = MigrationLoader.migrations_module(app.label)
        if module and (package := find_spec(module)):
            names = (each.name for each in iter_modules(package.submodule_search_locations))
            found |= {(app.label, name) for name in names if name[0] not in "_~"}
    return found


def _answers(servers: RedisServers) -> bool:
    client = servers.client(socket_timeout=0.5, socket_connect_timeout=0.5)
    try:
        return bool(client.ping())
    except (redis.RedisError, OSError):
        return False
    finally:
        client.close()
