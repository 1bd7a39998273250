"""What every test stands on: settings for tests, and a PostgreSQL of its own unless DATABASE_URL names one."""

from __future__ import annotations

import gc
import getpass
import os
import re
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import django
import hypothesis
import psutil
import pytest
from django.db import connection, transaction
from django.test import TransactionTestCase

from config.embedded.postgres import EmbeddedPostgres, PostgresError
from tests.forgetting import forget
from tests.patience import wait_for_everything
from tests.shuffled_rows import shuffle_rows
from tests.template import TEMPLATE, start_server, stop_left_over
from tests.worlds import forget_committed

gc.disable()  # until all is collected: what is imported stays, and looking through it takes a seventh of the time

FOLDER_PREFIX = "ballast-test-"

# Whatever the caller's environment says: without kept modules each process rewrites the assertions of 770 files anew.
sys.dont_write_bytecode = False

# The workers of pytest-xdist inherit all of this, and the running server, from the process that starts them.
IS_FIRST_PROCESS = "PYTEST_XDIST_WORKER" not in os.environ
if IS_FIRST_PROCESS:
    os.environ["BALLAST_VAR"] = tempfile.mkdtemp(prefix=f"{FOLDER_PREFIX}{os.getpid()}-")
    Path(os.environ["BALLAST_VAR"]).chmod(0o755)  # PostgreSQL runs as another account when the tests run as root
os.environ["BALLAST_MODE"] = "test"
os.environ["OPERATORS_TO_DECIDE"] = os.environ["SANDBOX_OPERATORS_TO_DECIDE"] = "2"
os.environ["SECRET_KEY"] = "a key for tests, and for nothing else but tests, ever"
os.environ["API_KEY_PEPPER"] = "a pepper for tests and nothing else"
os.environ["WEBHOOK_ENCRYPTION_KEY"] = "a key for the webhooks of tests and nothing else"
if os.environ.get("REDIS_URL") and not IS_FIRST_PROCESS:
    # Each worker counts and queues in a Redis database of its own.
    address, _, number = os.environ["REDIS_URL"].rpartition("/")
    os.environ["REDIS_URL"] = f"{address}/{int(number) + 1 + int(os.environ['PYTEST_XDIST_WORKER'].removeprefix('gw'))}"
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
django.setup()
wait_for_everything()
shuffle_rows()

# An example that takes long shows a busy machine, and no fault. The examples are the same in every run, so that
# a change fails for what it changed; the nightly matrix looks for others (HYPOTHESIS_RANDOM=1).
hypothesis.settings.register_profile(
    "ballast",
    deadline=None,
    derandomize="HYPOTHESIS_RANDOM" not in os.environ,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("ballast")

TESTS = Path(__file__).resolve().parent
CONNECT_BY_THEMSELVES = {"installation", "pooled"}
"""Folders with tests whose processes connect to the servers."""
ABOUT_OTHERS = {"browser", "evm", "stellar"}
"""Folders about what a browser makes of pages, or about adapters of networks; others ask the servers for the same."""
COMMIT = {"live_server", "transactional_db"}
ASK_FOR_THE_DATABASE = {"db", "django_db_setup", *COMMIT}
server: EmbeddedPostgres | None = None
tables: set[tuple[Path, type | None, str]] = set()
"""Every test function that was collected; the rows of a table are of one."""


def pytest_configure(config: pytest.Config) -> None:
    if IS_FIRST_PROCESS and not os.environ.get("DATABASE_URL") and not config.option.collectonly:
        remove_left_overs()
        global server
        server = start_server(Path(os.environ["BALLAST_VAR"]))
    if not os.environ.get("DATABASE_URL"):
        connection.settings_dict["TEST"]["TEMPLATE"] = TEMPLATE


@pytest.fixture(autouse=True)
def somebody_at_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Types the password that people in tests have."""
    from tests.factories import PASSWORD

    monkeypatch.setattr(getpass, "getpass", lambda prompt="": PASSWORD)


def pytest_xdist_setupnodes() -> None:
    """Workers begin without the name of the settings, or pytest-django reads them before this file has said which."""
    os.environ.pop("DJANGO_SETTINGS_MODULE", None)


def pytest_xdist_auto_num_workers() -> int:
    """For `-n auto`: one worker more than cores, because many tests wait for processes, nodes and pages."""
    return (os.cpu_count() or 1) + 1


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where slow tests are left out, a file of nothing else is not even imported."""
    if not config.option.markexpr.startswith("not slow") or not collection_path.name.startswith("test_"):
        return None
    return bool(re.search(r"^pytestmark = .*\.slow\b", collection_path.read_text(), re.MULTILINE)) or None


def pytest_itemcollected(item: pytest.Item) -> None:
    """Says which tests are for the servers of CI. pytest-django lets no other test connect to the database.

    Those that commit, and can race; and of what `make test` leaves out whatever asks the database, of a table its first
    row, which asks for what the others do.
    """
    folder = item.path.relative_to(TESTS).parts[0]
    table = (item.path, getattr(item, "cls", None), getattr(item, "originalname", item.name))
    is_first = table not in tables
    tables.add(table)
    fixtures = {*getattr(item, "fixturenames", ())}
    mark = item.get_closest_marker("django_db")
    asks = mark is not None or fixtures & ASK_FOR_THE_DATABASE
    commits = fixtures & COMMIT or (mark is not None and mark.kwargs.get("transaction"))
    is_for_later = item.get_closest_marker("slow") is not None
    asks_the_servers = asks and folder not in ABOUT_OTHERS and (commits or (is_first and is_for_later))
    if asks_the_servers or folder in CONNECT_BY_THEMSELVES:
        item.add_marker("servers")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests go first, so that at the end no worker is left alone with one of them."""
    if times := int(os.environ.get("EXAMPLES", "0")):
        for function in {
            getattr(item.obj, "__func__", item.obj) for item in items if isinstance(item, pytest.Function)
        }:
            if known := getattr(function, "_hypothesis_internal_use_settings", None):
                more = hypothesis.settings(known, max_examples=known.max_examples * times)
                function._hypothesis_internal_use_settings = more
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def pytest_collection_finish() -> None:
    """What is loaded by now stays: looking through it again and again took a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


def pytest_sessionstart() -> None:
    from tests.operations.following import follow_every_alarm

    follow_every_alarm()


def pytest_runtest_setup() -> None:
    forget()


def pytest_unconfigure(config: pytest.Config) -> None:
    if IS_FIRST_PROCESS:
        if server is not None:
            server.stop()
        shutil.rmtree(os.environ["BALLAST_VAR"], ignore_errors=True)


def remove_left_overs() -> None:
    """A test run that was killed leaves a server behind; the next one clears it away."""
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*"):
        process_id = folder.name.removeprefix(FOLDER_PREFIX).partition("-")[0]
        if not process_id.isdigit() or psutil.pid_exists(int(process_id)):
            continue
        with suppress(PostgresError, FileNotFoundError):  # another run clears the same folder away
            if folder.stat().st_uid == os.geteuid():
                stop_left_over(EmbeddedPostgres(folder))
                shutil.rmtree(folder, ignore_errors=True)


KEPT_TABLES = {"django_content_type", "auth_permission", "auth_group", "auth_group_permissions"}
"""Django's own end of a transactional test empties these too and fills them again, which is most of its cost."""


def delete_every_row(_: TransactionTestCase) -> None:
    """Empty every table after a transactional test. TRUNCATE makes each table's files anew; these hold few rows.

    The locks wait for whatever transaction the test has left open, as TRUNCATE does.
    """
    names = {*connection.introspection.django_table_names(only_existing=True, include_views=False)} - KEPT_TABLES
    tables = [connection.ops.quote_name(name) for name in sorted(names)]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"LOCK TABLE {', '.join(tables)}")
        cursor.execute("SET LOCAL session_replication_role = replica")  # no trigger fires, no foreign key is checked
        cursor.execute(";".join(f"DELETE FROM {table}" for table in tables))  # noqa: S608 - names of our own tables
    forget_committed()


TransactionTestCase._fixture_teardown = delete_every_row  # type: ignore[attr-defined]
