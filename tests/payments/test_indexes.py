"""The indexes that each confirmed payment writes to."""

from __future__ import annotations

import pytest
from django.db import connection

WRITTEN = [
    "payments_payment", "payments_deposit", "payments_balancechange", "ledger_account", "ledger_posting",
    "ledger_entry", "webhooks_event", "webhooks_delivery", "webhooks_attempt",
]  # fmt: skip

BEGINNINGS = """
    WITH known AS (
        SELECT indrelid, indexrelid, indexrelid::regclass::text AS name, indisunique,
            string_to_array(indkey::text, ' ') AS columns
        FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_am ON pg_am.oid = relam
        WHERE indrelid = ANY(%s::regclass[]) AND indpred IS NULL AND indexprs IS NULL AND amname = 'btree'
    )
    SELECT one.name FROM known AS one WHERE NOT one.indisunique AND EXISTS (
        SELECT FROM known AS longer WHERE longer.indrelid = one.indrelid AND longer.indexrelid <> one.indexrelid
            AND longer.columns[:cardinality(one.columns)] = one.columns
    )
"""


@pytest.mark.django_db
def test_no_index_is_the_beginning_of_another() -> None:
    with connection.cursor() as cursor:
        cursor.execute(BEGINNINGS, [WRITTEN])
        assert cursor.fetchall() == []


@pytest.mark.django_db
def test_each_index_of_all_changes_leaves_room_for_their_settlement() -> None:
    of_all = "indrelid = 'payments_balancechange'::regclass AND indpred IS NULL"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT reloptions FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE {of_all}")  # noqa: S608
        assert cursor.fetchall() == [(["fillfactor=50"],)] * 3
