"""What every test stands on: settings for tests, and a PostgreSQL of its own unless DATABASE_URL names one."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import django
import psutil
import pytest
from django.db import connection
from pytest_django.plugin import DjangoDbBlocker

from config.embedded.postgres import EmbeddedPostgres

FOLDER_PREFIX = "ballast-test-"

# The workers of pytest-xdist inherit all of this, and the running server, from the process that starts them.
IS_FIRST_PROCESS = "PYTEST_XDIST_WORKER" not in os.environ
if IS_FIRST_PROCESS:
    os.environ["BALLAST_VAR"] = tempfile.mkdtemp(prefix=f"{FOLDER_PREFIX}{os.getpid()}-")
    Path(os.environ["BALLAST_VAR"]).chmod(0o755)  # PostgreSQL runs as another account when the tests run as root
os.environ["BALLAST_MODE"] = "test"
os.environ["SECRET_KEY"] = "a key for tests, and for nothing else but tests, ever"
os.environ["API_KEY_PEPPER"] = "a pepper for tests and nothing else"
os.environ["WEBHOOK_ENCRYPTION_KEY"] = "a key for the webhooks of tests and nothing else"
if os.environ.get("REDIS_URL") and not IS_FIRST_PROCESS:
    # Each worker counts and queues in a Redis database of its own.
    address, _, number = os.environ["REDIS_URL"].rpartition("/")
    os.environ["REDIS_URL"] = f"{address}/{int(number) + 1 + int(os.environ['PYTEST_XDIST_WORKER'].removeprefix('gw'))}"
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
django.setup()

server: EmbeddedPostgres | None = None


def pytest_configure(config: pytest.Config) -> None:
    if IS_FIRST_PROCESS and not os.environ.get("DATABASE_URL") and not config.option.collectonly:
        remove_left_overs()
        global server
        server = EmbeddedPostgres(Path(os.environ["BALLAST_VAR"]), durable=False)
        server.start()


def pytest_unconfigure(config: pytest.Config) -> None:
    if IS_FIRST_PROCESS:
        if server is not None:
            server.stop()
        shutil.rmtree(os.environ["BALLAST_VAR"], ignore_errors=True)


def remove_left_overs() -> None:
    """A test run that was killed leaves a server behind; the next one clears it away."""
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*"):
        process_id = folder.name.removeprefix(FOLDER_PREFIX).partition("-")[0]
        mine = folder.stat().st_uid == os.geteuid()
        if mine and process_id.isdigit() and not psutil.pid_exists(int(process_id)):
            EmbeddedPostgres(folder).stop_left_over()
            shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    """Let the test database be emptied: between transactional tests Django truncates every table.

    The ledger refuses that in any database which does not carry this setting.
    """
    with django_db_blocker.unblock():
        with connection.cursor() as cursor:
            database = connection.ops.quote_name(str(connection.settings_dict["NAME"]))
            cursor.execute(f"ALTER DATABASE {database} SET ballast.allow_truncate = 'on'")
        connection.close()  # the setting is there from the next session on
