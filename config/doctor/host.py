"""Checks of this machine and of what is installed on it: settings, versions, clock, disk."""

from __future__ import annotations

import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import redis
from django.conf import settings
from django.core.checks import CheckMessage, run_checks
from django.core.checks import messages as levels
from django.http.request import validate_host

from config.doctor.registry import Asked, Finding, fail, ok, register, warn

OLDEST_PYTHON: Final = (3, 11)
OLDEST_REDIS: Final = (6, 2)

DISK_FAILS_BELOW_GB: Final = 1.0
DISK_WARNS_BELOW_GB: Final = 5.0
"""Free room, in thousand million bytes, on the disks that this process writes to."""


@register("settings", reads_database=False)
def check_settings(asked: Asked) -> Iterator[Finding]:
    """Django's checks and those of the apps, and what no single setting can be refused for."""
    found = [_of_django(message) for message in run_checks(include_deployment_checks=asked.deploy)]
    if asked.deploy and not settings.IN_PRODUCTION:
        found.append(
            fail(
                "settings",
                f"BALLAST_MODE is {settings.MODE}, not production.",
                "Set BALLAST_MODE=production, or leave it unset.",
            )
        )
    host = urlsplit(settings.PUBLIC_URL).hostname
    if host and not validate_host(host, settings.ALLOWED_HOSTS):
        found.append(
            fail(
                "settings",
                f"ALLOWED_HOSTS lacks {host}, the host of PUBLIC_URL: every page answers 400.",
                f"Add {host} to ALLOWED_HOSTS and restart the web processes.",
            )
        )
    if settings.STATIC_ROOT and not (Path(settings.STATIC_ROOT) / "staticfiles.json").is_file():
        found.append(
            fail(
                "settings",
                f"{settings.STATIC_ROOT} has no collected files: pages answer 500.",
                "Run manage.py collectstatic --no-input with the code of this version, then restart the web processes.",
            )
        )
    yield from found
    if not found:
        extent = "with those of check --deploy" if asked.deploy else "doctor --production adds those of check --deploy"
        yield ok("settings", f"{settings.MODE}; every check of the settings passes, {extent}.")


def _of_django(message: CheckMessage) -> Finding:
    grade = fail if message.level >= levels.ERROR else warn
    text = f"{message.msg} ({message.id})" if message.id else str(message.msg)
    return grade("settings", " ".join(text.split()), " ".join((message.hint or "Change the setting it names.").split()))


@register("python", reads_database=False)
def check_python(asked: Asked) -> Iterator[Finding]:
    if sys.version_info < OLDEST_PYTHON:
        yield fail(
            "python",
            f"Python {platform.python_version()} is too old.",
            f"Run Ballast with Python {'.'.join(map(str, OLDEST_PYTHON))} or newer.",
        )
    else:
        yield ok("python", f"Python {platform.python_version()} on {platform.system()} {platform.release()}.")


@register("disk", reads_database=False)
def check_disk(asked: Asked) -> Iterator[Finding]:
    """The disks of the run's folder and of temporary files. PostgreSQL's own is tried by /health/ready."""
    seen = set[int]()
    for folder in (settings.VAR_DIR, settings.BASE_DIR, Path(tempfile.gettempdir())):
        if not folder.exists() or (device := folder.stat().st_dev) in seen:
            continue
        seen.add(device)
        usage = shutil.disk_usage(folder)
        free = usage.free / 1e9
        text = f"{free:,.1f} GB of {usage.total / 1e9:,.1f} GB are free at {folder}."
        advice = "Delete old logs and copies, or enlarge the disk. Never delete anything inside PostgreSQL's folder."
        if free < DISK_FAILS_BELOW_GB:
            yield fail("disk", text, advice)
        elif free < DISK_WARNS_BELOW_GB:
            yield warn("disk", text, advice)
        else:
            yield ok("disk", text)


@register("redis", reads_database=False)
def check_redis(asked: Asked) -> Iterator[Finding]:
    if settings.REDIS_SERVERS is None:
        yield ok("redis", "Not used: queues and request budgets are inside the process.")
        return
    client = settings.REDIS_SERVERS.client(socket_timeout=3, socket_connect_timeout=3)
    try:
        about = client.info()
    except (redis.RedisError, OSError) as error:
        yield fail(
            "redis",
            f"It does not answer: {str(error).splitlines()[0]}",
            "Start Redis, or correct REDIS_URL. Payments are still taken; work in the background waits.",
        )
        return
    finally:
        client.close()
    version, policy = str(about["redis_version"]), about.get("maxmemory_policy", "noeviction")
    used, most = int(about.get("used_memory", 0)), int(about.get("maxmemory", 0))
    if tuple(map(int, version.split(".")[:2])) < OLDEST_REDIS:
        yield fail(
            "redis", f"Redis {version} is too old.", f"Install Redis {'.'.join(map(str, OLDEST_REDIS))} or newer."
        )
    elif about.get("role") != "master":
        yield fail(
            "redis", "The server takes no writes: it is a replica.", "Let REDIS_URL name the primary, or its sentinels."
        )
    elif policy != "noeviction":
        yield warn(
            "redis",
            f"Its maxmemory-policy is {policy}: under pressure it drops messages and counters.",
            "Set maxmemory-policy noeviction in redis.conf. Give Ballast a Redis of its own.",
        )
    elif most and used > 0.9 * most:
        yield warn(
            "redis",
            f"{used / 1e6:,.0f} MB of {most / 1e6:,.0f} MB are used.",
            "See that the workers run: queues grow without them. Then raise maxmemory.",
        )
    else:
        yield ok("redis", f"Redis {version} answers.")


def host_zone() -> str:
    return "UTC" if time.localtime().tm_gmtoff == 0 else time.strftime("UTC%z")
