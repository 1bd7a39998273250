"""What PostgreSQL refuses whoever asks: every statement here is raw SQL that goes around the ledger's code."""

from __future__ import annotations

import uuid

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction

from merchants.ledger.chart import CHART, Owner
from merchants.ledger.kinds import functions_of_chart
from merchants.ledger.models import Account, Entry, Posting
from tests.ledger.books import COINS, SANDBOX, available_account, move, payment_account


def execute(sql: str, *parameters: uuid.UUID | int | str) -> None:
    """Run a statement, and what is checked at commit, inside a savepoint."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")


def query(sql: str, *parameters: int | str) -> tuple[bool, ...]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return tuple(cursor.fetchone())


def account_id(kind: str, environment: str = SANDBOX) -> int:
    return int(Account.objects.get(kind=kind, environment=environment).pk)


@pytest.fixture
def posting(db: None) -> Posting:
    posting = move(5, debit=COINS, credit=payment_account())
    execute("SELECT 1")  # nothing is left to check at commit
    return posting


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE ledger_posting SET memo = 'changed'",
        "UPDATE ledger_entry SET amount = amount * 2",
        "DELETE FROM ledger_entry",
        "DELETE FROM ledger_posting",
    ],
)
def test_the_past_cannot_be_changed(posting: Posting, sql: str) -> None:
    with pytest.raises(IntegrityError, match="is append-only"):
        execute(sql)
    posting.refresh_from_db()
    assert posting.memo == ""
    assert sorted(Entry.objects.values_list("amount", flat=True)) == [-5, 5]


@pytest.mark.parametrize("sql", ["TRUNCATE ledger_entry", "TRUNCATE ledger_posting CASCADE"])
def test_the_books_cannot_be_emptied(posting: Posting, sql: str) -> None:
    with pytest.raises(IntegrityError, match="TRUNCATE refused"):
        execute(sql)
    assert Entry.objects.count() == 2


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE ledger_account SET environment = 'production'",
        "UPDATE ledger_account SET network = 'polygon'",
        "UPDATE ledger_account SET asset = 'DAI'",
        "UPDATE ledger_account SET kind = 'chain:hot' WHERE kind = 'chain:deposit'",
        "UPDATE ledger_account SET owner = 'x' WHERE kind = 'payment'",
    ],
)
def test_an_account_keeps_its_meaning(posting: Posting, sql: str) -> None:
    with pytest.raises(IntegrityError, match="is append-only"):
        execute(sql)


def test_an_account_cannot_be_deleted(posting: Posting) -> None:
    with pytest.raises(IntegrityError, match="is append-only"):
        execute("DELETE FROM ledger_account")


INSERT_ENTRY = "INSERT INTO ledger_entry (posting_id, account_id, amount) VALUES (%s, %s, %s)"


def test_an_account_stands_once_in_a_posting(posting: Posting) -> None:
    with pytest.raises(IntegrityError, match="entry_once_per_account"):
        execute(INSERT_ENTRY, posting.pk, account_id("payment"), -1)


def test_an_entry_of_nothing_is_refused(posting: Posting) -> None:
    move(5, debit=COINS, credit=available_account())
    with pytest.raises(IntegrityError, match="entry_amount_not_zero"):
        execute(INSERT_ENTRY, posting.pk, account_id("merchant:available"), 0)


def test_a_kind_and_reference_stand_once_in_an_environment(posting: Posting) -> None:
    with pytest.raises(IntegrityError, match="posting_once"):
        execute(
            "INSERT INTO ledger_posting (id, environment, kind, reference, memo) VALUES (%s, 'sandbox', %s, %s, '')",
            uuid.uuid4(),
            posting.kind,
            posting.reference,
        )


@pytest.mark.parametrize(("kind", "beyond"), [("chain:deposit", -1), ("payment", 1)])
def test_no_balance_goes_beyond_zero(posting: Posting, kind: str, beyond: int) -> None:
    with pytest.raises(IntegrityError, match="account_balance_not_negative"):
        execute("UPDATE ledger_account SET balance = %s WHERE kind = %s", beyond, kind)


@pytest.mark.parametrize(
    ("kind", "owner", "constraint"),
    [
        ("merchant:gold", "x", "account_balance_not_negative"),
        ("payment", "", "account_owner_by_kind"),
        ("gas", "x", "account_owner_by_kind"),
    ],
)
def test_an_account_outside_the_chart_is_refused(db: None, kind: str, owner: str, constraint: str) -> None:
    with pytest.raises(IntegrityError, match=constraint):
        execute(
            "INSERT INTO ledger_account (environment, network, asset, kind, owner, balance) "
            "VALUES ('sandbox', 'ethereum', 'USDC', %s, %s, 0)",
            kind,
            owner,
        )


def test_postgresql_holds_every_kind_to_the_rules_of_the_chart(db: None) -> None:
    for kind, rules in CHART.items():
        for amount in (-1, 0, 1):
            assert query("SELECT ledger_allows_balance(%s, %s)", kind, amount) == (rules.allows_balance(amount),), kind
        owned = rules.owner is not Owner.NOBODY
        assert query("SELECT ledger_allows_owner(%s, 'x'), ledger_allows_owner(%s, '')", kind, kind) == (
            owned,
            not owned,
        )


def test_a_kind_that_is_new_in_the_chart_needs_no_migration(db: None) -> None:
    execute(functions_of_chart().replace("'withdrawn'", "'gone'"))
    assert query("SELECT ledger_allows_balance('withdrawn', 1), ledger_allows_owner('withdrawn', '')") == (False, False)
    call_command("migrate", "ledger", verbosity=0)
    assert query("SELECT ledger_allows_balance('withdrawn', 1), ledger_allows_owner('withdrawn', '')") == (True, True)
