"""What PostgreSQL refuses to the web and to workers, and that they can do all their work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from io import StringIO
from itertools import product
from typing import Any

import pytest
from celery.app.task import Task
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import ProgrammingError, connection
from django.test import Client
from django.test.client import ClientHandler
from django.utils import timezone
from psycopg.errors import InsufficientPrivilege
from pytest_django.fixtures import Settings

from config.celery import app
from config.installation.database_roles import TABLES, WEB, WORKER, too_much
from config.periodic import consumer
from config.periodic.beat import ElectedScheduler
from config.periodic.beat_lock import heartbeat_age_seconds
from config.process.exits import COULD_NOT_START
from merchants.models import User
from merchants.people.models import SignUp
from payments.chains import registry
from payments.transfers.services import freeze_wallet
from payments.transfers.wallets import freeze_of, wallet_of
from tests.advisory_locks import end_beats
from tests.database_address import database_address
from tests.factories import PASSWORD, make_member
from tests.journeys import test_paid, test_paid_out
from tests.networks import ETHEREUM
from tests.platform.test_settings import PRODUCTION, forked
from tests.stopping import stop_payouts
from tests.transfers.scenes import SANDBOX

pytestmark = pytest.mark.django_db(transaction=True)


def run(statement: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchone() if cursor.description else None


@contextmanager
def acting_as(role: str) -> Iterator[None]:
    [before] = run("SELECT current_user")
    run(f"SET ROLE {role}")
    try:
        yield
    finally:
        run(f"SET ROLE {before}")


@pytest.fixture(autouse=True)
def rights() -> None:
    call_command("database_roles", stdout=StringIO())


@pytest.fixture
def each_in_its_role(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests are answered by the role of the web, and tasks done by that of workers."""

    def within(role: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **kwargs: Any) -> Any:
            with acting_as(role):
                return call(*args, **kwargs)

        return called

    monkeypatch.setattr(Task, "__call__", within(WORKER, Task.__call__))
    monkeypatch.setattr(ClientHandler, "__call__", within(WEB, ClientHandler.__call__))


ONCE = ("ledger_entry", "ledger_posting", "invoices_invoice")
BY_PEOPLE = ("merchants_member", "merchants_apikey", "mfa_authenticator")
CODE = "webhooks_connectioncode"
REFUSED: dict[tuple[str, ...], list[str]] = {
    (WEB, WORKER): [
        *(f"UPDATE {table} SET id = id" for table in ONCE),  # noqa: S608 - names of our own tables
        *(f"DELETE FROM {table}" for table in ONCE),  # noqa: S608
        *(f"TRUNCATE {table} CASCADE" for table in ONCE),
        *(f"ALTER TABLE {table} DISABLE TRIGGER ALL" for table in ONCE),
        *(f"DROP TABLE {table}" for table in ONCE),
        "UPDATE audit_loggedaction SET email = ''",
        "TRUNCATE audit_loggedaction",
        "UPDATE ledger_account SET owner = ''",
        "DELETE FROM ledger_account",
        "UPDATE transfers_envelope SET raw = ''",
        "DELETE FROM transfers_envelope",
        "DELETE FROM transfers_payout",
        "UPDATE four_eyes_proposal SET after = '{}'",
        "UPDATE four_eyes_proposal SET proposed_by_id = 1",
        "DELETE FROM four_eyes_proposal",
        "INSERT INTO auth_group_permissions DEFAULT VALUES",
        "DELETE FROM django_migrations",
        f"UPDATE {CODE} SET challenge = ''",  # noqa: S608
        "CREATE TABLE mine ()",
        *(f"SELECT drop_month('{table}')" for table in (*ONCE, "request_log_loggedrequest")),
        # It would hide the real one from the function that looks whether postings balance.
        "CREATE TEMPORARY TABLE ledger_entry ()",
        "CREATE SCHEMA mine",
        "CREATE FUNCTION mine() RETURNS void LANGUAGE sql RETURN NULL",
        "CREATE OR REPLACE FUNCTION ledger_refuse_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN END'",
        "SET session_replication_role = replica",
        "SELECT setval('payments_deposit_sequence', 1)",
        "COPY ledger_entry TO PROGRAM 'true'",
        "CREATE ROLE mine",
    ],
    (WEB,): [
        "DELETE FROM audit_loggedaction",
        "INSERT INTO transfers_envelope DEFAULT VALUES",
        "UPDATE transfers_transfer SET status = 'signed'",
    ],
    (WORKER,): [
        *(f"INSERT INTO {table} DEFAULT VALUES" for table in BY_PEOPLE),
        *(f"UPDATE {table} SET id = id" for table in BY_PEOPLE),  # noqa: S608
        f"INSERT INTO {CODE} DEFAULT VALUES",
        "INSERT INTO four_eyes_proposal DEFAULT VALUES",
        "UPDATE four_eyes_proposal SET status = 'done'",
        "UPDATE transfers_payoutpolicy SET daily_limit = NULL",
        "UPDATE ledger_breaker SET closed_at = now()",
        "DELETE FROM ledger_breaker",
        "INSERT INTO merchants_user DEFAULT VALUES",
        "UPDATE merchants_user SET password = '', is_superuser = true",
        "INSERT INTO merchants_user_groups DEFAULT VALUES",
        "INSERT INTO django_session DEFAULT VALUES",
    ],
}


def test_each_role_is_refused_what_it_never_has_to_do() -> None:
    for roles, statements in REFUSED.items():
        for role, statement in product(roles, statements):
            with acting_as(role):
                with pytest.raises(ProgrammingError) as refused:
                    run(statement)
                assert isinstance(refused.value.__cause__, InsufficientPrivilege), (role, statement, refused.value)


@pytest.mark.parametrize("role", [WEB, WORKER])
def test_each_role_stops_payouts(role: str) -> None:
    with acting_as(role):
        assert stop_payouts(environment="production", reason="seen elsewhere")


def test_a_worker_freezes_a_wallet_and_thaws_none(settings: Settings) -> None:
    settings.SANDBOX_OPERATORS_TO_DECIDE = 1
    wallet = wallet_of(SANDBOX, ETHEREUM, registry.chain(SANDBOX, ETHEREUM))
    with acting_as(WORKER):
        freeze_wallet(wallet, reason="odd")
        with pytest.raises(CommandError, match="run it again as ballast_web"):
            call_command("thaw_wallet", env=SANDBOX, network=ETHEREUM, stdout=StringIO())
        with pytest.raises(ProgrammingError):  # as a process of the version before
            run("UPDATE transfers_wallet SET frozen_at = NULL")
    assert freeze_of(wallet)
    with acting_as(WEB):
        call_command("thaw_wallet", env=SANDBOX, network=ETHEREUM, stdout=StringIO())
    assert not freeze_of(wallet)


def test_every_table_with_rights_of_its_own_is_there_and_rights_are_made_again_as_they_are() -> None:
    def rights() -> Any:
        return run("SELECT array_agg(relacl::text ORDER BY relname) FROM pg_class WHERE relname NOT LIKE 'pg_%'")

    assert TABLES.keys() <= {*connection.introspection.table_names()}
    before = rights()
    call_command("database_roles", stdout=StringIO())
    assert rights() == before
    assert (too_much(), too_much(WEB), too_much(WORKER)) == ("is a superuser of PostgreSQL", None, None)
    with acting_as(WEB), pytest.raises(CommandError, match="as the owner of the tables"):
        call_command("database_roles")
    with acting_as("ballast_owner"):
        call_command("database_roles", stdout=StringIO())
        assert rights() == before
        run("CREATE TABLE later (id bigserial)")  # as a migration does
    try:
        with acting_as(WEB):
            run("INSERT INTO later DEFAULT VALUES")
    finally:
        run("DROP TABLE later")


PROCESSES = {
    "web": ("-c", "import config.wsgi"),
    "money": ("-m", "celery", "--app", "config.celery", "worker", "--queues", "money", "--pool", "threads"),
    "beat": ("-m", "celery", "--app", "config.celery", "beat"),
}


@pytest.mark.parametrize("role", PROCESSES)
def test_no_process_of_production_starts_as_superuser_or_as_owner_of_the_tables(role: str) -> None:
    def started(user: str, mode: str = "production") -> Any:
        address = f"{database_address()}?options=-c%20role%3D{user}"
        place = {"DATABASE_URL": address, "BALLAST_MODE": mode, "DJANGO_SETTINGS_MODULE": "config.settings"}
        return forked(*PROCESSES[role], **{**PRODUCTION, **place})

    [superuser] = run("SELECT current_user")
    for user, found in ((superuser, "is a superuser of PostgreSQL"), ("ballast_owner", "owns the tables")):
        ended = started(user)
        assert ended.returncode == COULD_NOT_START
        assert f"  - The user of DATABASE_URL {found}: whoever steals this process" in ended.stderr
        assert "Run `manage.py database_roles`" in ended.stderr
    if role == "web":
        assert [started(WEB).returncode, started(superuser, mode="embedded").returncode] == [0, 0]


@pytest.mark.usefixtures("each_in_its_role")
def test_money_comes_in_goes_back_and_is_settled_by_these_roles() -> None:
    test_paid_out.test_money_comes_in_a_part_goes_back_and_the_rest_is_settled_to_the_last_unit()
    with acting_as(WORKER):
        assert "Clean: 0 errors, 0 warnings" in test_paid.reconcile()


@pytest.mark.usefixtures("each_in_its_role")
def test_people_log_in_and_every_periodic_task_is_done_by_these_roles() -> None:
    user = make_member().user
    sent = Client().post("/login", {"email": user.email, "password": PASSWORD})
    assert (sent.status_code, Session.objects.count()) == (302, 1)
    never = User.objects.create_user("never@example.com", "x", name="Never")
    SignUp.objects.create(user=never, merchant_name="Never", requested_at=timezone.now() - timedelta(days=30))
    app.loader.import_default_modules()
    for name in sorted({line["task"] for line in app.conf.beat_schedule.values()}):
        app.tasks[name]()
    assert not User.objects.filter(pk=never.pk).exists()


def test_web_and_workers_see_that_a_beat_of_another_role_ticks() -> None:
    """PostgreSQL shows neither of them when a session that is not their own asked something."""
    scheduler = ElectedScheduler(app, lazy=True)
    try:
        assert scheduler._is_elected()
        run("SELECT pg_sleep(1.1)")
        for role in (WEB, WORKER):
            with acting_as(role):
                age = heartbeat_age_seconds()
                assert age is not None
                assert 1 <= age < 10
        scheduler._is_elected()
        with acting_as(WORKER):
            age = heartbeat_age_seconds()
            assert age is not None
            assert 0 <= age < 1
            assert consumer._sends_messages()
    finally:
        end_beats(scheduler)
