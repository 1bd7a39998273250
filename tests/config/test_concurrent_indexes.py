"""An index that is built beside the writers is there at the end, whatever an earlier run left or who reads."""
# ruff: noqa: S608 - names of our own table and index

from __future__ import annotations

from threading import Timer
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, connections

pytestmark = pytest.mark.django_db(transaction=True)

INDEX, TABLE = "simulated_by_fee_payer", "simulated_chain_simulatedtransaction"


def ask(sql: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall() if cursor.description else []


def migrate(to: str) -> None:
    call_command("migrate", "simulated_chain", to, verbosity=0)


def is_whole() -> bool:
    """True if the index is valid and has the column that it is for."""
    found = ask(f"SELECT indisvalid, pg_get_indexdef(indexrelid) FROM pg_index WHERE indexrelid = '{INDEX}'::regclass")
    return found[0][0] and "(fee_payer)" in found[0][1]


def test_a_migration_that_was_interrupted_is_run_again() -> None:
    migrate("0001")
    ask(f"CREATE INDEX {INDEX} ON {TABLE} (id)")
    ask(f"UPDATE pg_index SET indisvalid = false WHERE indexrelid = '{INDEX}'::regclass")
    assert not is_whole()
    migrate("0002")
    assert is_whole()


def test_it_waits_for_whoever_reads_for_longer_than_others_wait_for_a_lock() -> None:
    migrate("0001")
    reader = connections["default"].copy()
    reader.set_autocommit(False)
    reader.cursor().execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT 1")  # as a backup does
    ends = Timer(1.0, reader.connection.close)
    ends.start()
    try:
        ask("SET lock_timeout = '200ms'")
        migrate("0002")
    finally:
        ends.join()
        ask("RESET lock_timeout")
    assert is_whole()
    assert ask("SHOW lock_timeout") == [("10s",)]
