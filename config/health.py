"""Whether this process lives, and whether it can serve: for load balancers, supervisors and `make run` itself."""

from __future__ import annotations

from functools import cache

import redis
from django.conf import settings
from django.core.cache import cache as shared_cache
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from config.environments import Environment
from config.heartbeat import heartbeat_age_seconds
from payments.operations.models import Alarm

OK = "ok"
UNAVAILABLE = "unavailable"


@never_cache
@require_safe
def live(request: HttpRequest) -> JsonResponse:
    """The process answers. Nothing outside it is asked: a database that is down is no reason to restart."""
    return JsonResponse({"status": OK})


@never_cache
@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """Everything a request needs is there: 200, or 503 with what is missing. Beat and alarms are told of, and do not
    decide: no other process would serve better."""
    checks = {"database": UNAVAILABLE, "migrations": UNAVAILABLE}
    age: float | None = None
    alarms: int | None = None
    try:
        age = heartbeat_age_seconds()
        checks["database"] = OK
        if _is_migrated():
            checks["migrations"] = OK
            alarms = Alarm.objects.open().filter(environment=Environment.PRODUCTION).count()
    except DatabaseError:
        _every_migration_is_applied.cache_clear()
    if settings.REDIS_URL:
        checks["redis"] = OK if _redis_answers() else UNAVAILABLE
    is_ready = set(checks.values()) == {OK}
    body = {
        "status": OK if is_ready else UNAVAILABLE,
        "checks": checks,
        "beatHeartbeatAgeSeconds": None if age is None else round(age, 1),
        "openAlarms": alarms,
    }
    return JsonResponse(body, status=200 if is_ready else 503)


def _is_migrated() -> bool:
    if not (applied := _every_migration_is_applied()):
        _every_migration_is_applied.cache_clear()  # ask again next time
    return applied


@cache
def _every_migration_is_applied() -> bool:
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())


def _redis_answers() -> bool:
    try:
        shared_cache.get("health")
    except (redis.RedisError, OSError):
        return False
    return True
