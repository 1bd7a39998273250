"""What PostgreSQL refuses whoever asks: every statement here is raw SQL that goes around the ledger's code."""

from __future__ import annotations

import uuid

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction

from merchants.ledger.balances import balance
from merchants.ledger.chart import CHART, Owner
from merchants.ledger.kinds import functions_of_chart
from merchants.ledger.models import Account, Entry, Posting
from tests.ledger.books import COINS, PRODUCTION, SANDBOX, available_account, move, payment_account


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


def test_an_account_with_entries_cannot_be_deleted(posting: Posting) -> None:
    with pytest.raises(IntegrityError, match="foreign key"):
        execute("DELETE FROM ledger_account")


INSERT_POSTING = "INSERT INTO ledger_posting (id, environment, kind, reference, memo) VALUES (%s, %s, 'raw', %s, '')"
INSERT_ENTRY = "INSERT INTO ledger_entry (posting_id, account_id, amount) VALUES (%s, %s, %s)"


def insert_posting(*entries: tuple[int, int], environment: str = SANDBOX) -> None:
    """A posting by raw SQL; entries are (account id, amount)."""
    key = uuid.uuid4()
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(INSERT_POSTING, [key, environment, str(key)])
            for account, amount in entries:
                cursor.execute(INSERT_ENTRY, [key, account, amount])
        execute("SELECT 1")


def test_a_balanced_posting_is_let_through(posting: Posting) -> None:
    insert_posting((account_id("chain:deposit"), 7), (account_id("payment"), -7))
    assert Posting.objects.count() == 2


def test_a_posting_without_entries_is_refused(posting: Posting) -> None:
    with pytest.raises(IntegrityError, match="fewer than two entries"):
        insert_posting()


def test_a_posting_with_one_entry_is_refused(posting: Posting) -> None:
    with pytest.raises(IntegrityError, match="fewer than two entries"):
        insert_posting((account_id("chain:deposit"), 7))


def test_an_unbalanced_posting_is_refused(posting: Posting) -> None:
    with pytest.raises(IntegrityError, match="does not sum to zero"):
        insert_posting((account_id("chain:deposit"), 7), (account_id("payment"), -6))


def test_assets_do_not_balance_each_other(posting: Posting) -> None:
    tether = Account.objects.create(
        environment=SANDBOX, network="ethereum", asset="USDT", kind="chain:deposit", balance=0
    )
    with pytest.raises(IntegrityError, match="does not sum to zero"):
        insert_posting((tether.pk, 7), (account_id("payment"), -7))


def test_networks_do_not_balance_each_other(posting: Posting) -> None:
    polygon = Account.objects.create(
        environment=SANDBOX, network="polygon", asset="USDC", kind="chain:deposit", balance=0
    )
    with pytest.raises(IntegrityError, match="does not sum to zero"):
        insert_posting((polygon.pk, 7), (account_id("payment"), -7))


def test_a_posting_cannot_touch_another_environment(posting: Posting) -> None:
    move(5, debit=COINS, credit=payment_account(), environment=PRODUCTION)
    with pytest.raises(IntegrityError, match="another environment"):
        insert_posting((account_id("chain:deposit", PRODUCTION), 7), (account_id("payment"), -7))
    with pytest.raises(IntegrityError, match="another environment"):
        insert_posting((account_id("chain:deposit"), 7), (account_id("payment"), -7), environment=PRODUCTION)


def test_a_later_entry_cannot_join_an_old_posting(posting: Posting) -> None:
    move(5, debit=COINS, credit=available_account())
    with pytest.raises(IntegrityError, match="does not sum to zero"):
        execute(INSERT_ENTRY, posting.pk, account_id("merchant:available"), -1)


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


@pytest.mark.django_db(transaction=True)
def test_an_unbalanced_posting_fails_at_commit_and_leaves_nothing() -> None:
    move(5, debit=COINS, credit=payment_account())
    key = uuid.uuid4()
    with pytest.raises(IntegrityError, match="fewer than two entries"), transaction.atomic():
        Posting.objects.create(id=key, environment=SANDBOX, kind="raw", reference="raw")
    assert not Posting.objects.filter(id=key).exists()
    assert balance(COINS, environment=SANDBOX) == 5


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
