"""Attacks on double entry, in raw SQL: each is refused as it was by three queries for each row, and by nothing else.

The guard of the first release (`0001_tables`) ran at commit, for each posting and each entry. Each attack is tried
against that one, against the present one, and with neither of them, where it must succeed.
"""
# ruff: noqa: S608 - every statement is our own

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

import pytest
from django.db import DEFAULT_DB_ALIAS, IntegrityError, connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.errors import IntegrityConstraintViolation

from merchants.ledger.models import Entry, Posting

OFF = """
    DROP TRIGGER posting_double_entry ON ledger_posting;
    DROP TRIGGER entry_double_entry ON ledger_entry;
    DROP TRIGGER account_kept ON ledger_account;
    DROP FUNCTION ledger_check_posting, ledger_check_written;
"""
GUARDS = {
    "of the first release": OFF + importlib.import_module("merchants.ledger.migrations.0001_tables").DOUBLE_ENTRY,
    "present": "SELECT",
    "off": OFF,
}

OLD, NEW = "'00000000-0000-7000-8000-00000000000a'", "'00000000-0000-7000-8000-00000000000b'"
COINS, OWED, TETHER, ON_POLYGON, REAL = range(9_000_001, 9_000_006)
NEXT = 9_000_009
"""The key of an account that is not there."""


def account(key: int, kind: str = "chain:deposit", place: str = "'sandbox', 'ethereum', 'USDC'") -> str:
    return (
        "INSERT INTO ledger_account (id, environment, network, asset, kind, owner, balance)"
        f" VALUES ({key}, {place}, '{kind}', '{'x' if kind == 'payment' else ''}', 0)"
    )


def posting(key: str = NEW, environment: str = "sandbox") -> str:
    return (
        f"INSERT INTO ledger_posting (id, environment, kind, reference, memo)"
        f" VALUES ({key}, '{environment}', 'raw', {key}, '')"
    )


def entries(*amounts: tuple[int | str, int | str], key: str = NEW) -> str:
    """Entries by one statement: (account, amount)."""
    rows = ", ".join(f"({key}, {of}, {amount})" for of, amount in amounts)
    return f"INSERT INTO ledger_entry (posting_id, account_id, amount) VALUES {rows}"


BALANCED = entries((COINS, 7), (OWED, -7))
AT_ONCE, LATER = "SET CONSTRAINTS ALL IMMEDIATE", "SET CONSTRAINTS ALL DEFERRED"

ATTACKS: dict[str, Sequence[str]] = {
    "a posting without entries": [posting()],
    "a posting with one entry": [posting(), entries((COINS, 7))],
    "a posting that is not balanced": [posting(), entries((COINS, 7), (OWED, -6))],
    "coins that balance each other": [posting(), entries((TETHER, 7), (OWED, -7))],
    "networks that balance each other": [posting(), entries((ON_POLYGON, 7), (OWED, -7))],
    "an account of another environment": [posting(), entries((REAL, 7), (OWED, -7))],
    "a posting of another environment": [posting(environment="production"), BALANCED],
    "an amount that is no number": [posting(), entries((COINS, "'NaN'"), (OWED, "'NaN'"))],
    "a good posting beside a bad one": [posting(), f"{BALANCED}, ({OLD}, {TETHER}, 1)"],
    "postings that balance each other": [posting(), f"{entries((COINS, 7), (OWED, -6))}, ({OLD}, {TETHER}, -1)"],
    "a later entry of an old posting": [entries((TETHER, 1), key=OLD)],
    "half of the rows, the others being there": [
        f"{entries((COINS, 1), (TETHER, -1), key=OLD)} ON CONFLICT DO NOTHING"
    ],
    "rows of two statements in one": [
        posting(),
        f"WITH one AS ({entries((COINS, 7))} RETURNING 1) {entries((OWED, -6))}",
    ],
    "a loop of statements": [
        posting(),
        f"DO $$ BEGIN FOR n IN 1..2 LOOP {entries((f'{COINS - 1} + n', 'n'))}; END LOOP; END $$",
    ],
    "an entry after everything was checked": [posting(), BALANCED, AT_ONCE, LATER, entries((TETHER, 1))],
    "a good entry taken back after it was checked": [
        posting(), "SAVEPOINT checked", BALANCED, AT_ONCE, LATER, "ROLLBACK TO checked",
    ],
    "an entry after good ones that are taken back": [
        posting(), "SAVEPOINT good", BALANCED, "ROLLBACK TO good", entries((TETHER, 1)),
    ],
    "a posting made after its entries, of another environment": [BALANCED, posting(environment="production")],
    "accounts made after their entries, of another coin": [
        posting(),
        entries((COINS, 7), (NEXT, -7)),
        account(NEXT, place="'sandbox', 'ethereum', 'DAI'"),
    ],
    "an account made anew, of another environment": [
        account(NEXT, place="'sandbox', 'polygon', 'DAI'"),
        account(NEXT + 1, "payment", place="'sandbox', 'polygon', 'DAI'"),
        posting(),
        entries((NEXT, 7), (NEXT + 1, -7)),
        f"DELETE FROM ledger_account WHERE id IN ({NEXT}, {NEXT + 1})",
        account(NEXT, place="'production', 'polygon', 'DAI'"),
        account(NEXT + 1, "payment", place="'production', 'polygon', 'DAI'"),
    ],
}  # fmt: skip
"""Statements of one database transaction."""

REFUSED = "posting .* (fewer than two|does not sum|another environment|has no entries)|ledger_account is append-only"

BOOKS = [
    account(COINS),
    account(OWED, "payment"),
    account(TETHER, place="'sandbox', 'ethereum', 'USDT'"),
    account(ON_POLYGON, place="'sandbox', 'polygon', 'USDC'"),
    account(REAL, place="'production', 'ethereum', 'USDC'"),
    posting(OLD),
    entries((COINS, 5), (OWED, -5), key=OLD),
]


def commit(*statements: str) -> None:
    """Run statements, and what is checked at the commit of a database transaction that consists of them."""
    with transaction.atomic(), connection.cursor() as cursor:
        for each in (*statements, AT_ONCE, LATER):
            cursor.execute(each)


@pytest.fixture
def books(db: None) -> None:
    commit(*BOOKS)


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_is_refused_by_the_guard_alone(books: None, attack: str, guard: str) -> None:
    commit(GUARDS[guard])
    if guard == "off":
        commit(*ATTACKS[attack])
        return
    with pytest.raises(IntegrityError, match=REFUSED):
        commit(*ATTACKS[attack])
    assert (Posting.objects.count(), Entry.objects.count()) == (1, 2)


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize(
    "statements",
    [
        [posting(), BALANCED],
        [posting(), entries((COINS, 7), (OWED, -7), (TETHER, 3), (NEXT, -3))],
        [posting(), "SAVEPOINT one", entries((COINS, 7), (OWED, -6)), "ROLLBACK TO one", BALANCED],
    ],
    ids=["one coin", "two coins", "after a mistake"],
)
def test_a_balanced_posting_is_let_through(books: None, statements: Sequence[str], guard: str) -> None:
    if guard == "present" and "ROLLBACK TO one" in statements:
        statements = [posting(), BALANCED]  # the mistake is refused as it is written
    commit(account(NEXT, "payment", place="'sandbox', 'ethereum', 'USDT'"), GUARDS[guard])
    commit(*statements)
    assert Posting.objects.count() == 2


def test_entries_in_two_statements_are_refused_from_now_on(books: None) -> None:
    with pytest.raises(IntegrityError, match="does not sum to zero"):
        commit(posting(), entries((COINS, 7)), entries((OWED, -7)))


def test_entries_that_are_copied_are_checked(books: None) -> None:
    copied = "COPY ledger_entry (posting_id, account_id, amount) FROM STDIN"
    with (
        pytest.raises(IntegrityConstraintViolation, match="does not sum to zero"),
        transaction.atomic(),
        connection.cursor() as cursor,
        cursor.copy(copied) as copy,
    ):
        copy.write_row((OLD.strip("'"), TETHER, 1))


@contextmanager
def session() -> Iterator[BaseDatabaseWrapper]:
    """Another connection to the database of this test."""
    with closing(connections.create_connection(DEFAULT_DB_ALIAS)) as other:
        yield other


def run(sessions: Sequence[BaseDatabaseWrapper], statements: Sequence[tuple[int, str]]) -> None:
    for number, statement in statements:
        with sessions[number].cursor() as cursor:
            cursor.execute(statement)


TWO_SESSIONS: dict[str, Sequence[tuple[int, str]]] = {
    "an entry of a posting that another has not committed": [
        (0, posting()), (0, BALANCED), (1, entries((TETHER, 1))), (1, "COMMIT"), (0, "COMMIT"),
    ],
    "an entry of a posting committed since the snapshot": [
        (1, "SELECT FROM ledger_posting"), (0, posting()), (0, BALANCED), (0, "COMMIT"),
        (1, entries((TETHER, 1))), (1, "COMMIT"),
    ],
    "two halves of a pair": [
        (0, entries((TETHER, 1), key=OLD)), (1, entries((TETHER, -1), key=OLD)), (0, "COMMIT"), (1, "COMMIT"),
    ],
}  # fmt: skip
"""Statements of two sessions, in this order; the second one reads as of its first statement."""


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("attack", TWO_SESSIONS)
def test_two_sessions_together_are_refused(attack: str) -> None:
    commit(*BOOKS)
    with session() as one, session() as other:
        run((one, other), [(0, "BEGIN"), (1, "BEGIN ISOLATION LEVEL REPEATABLE READ")])
        with pytest.raises(IntegrityError, match=REFUSED):
            run((one, other), TWO_SESSIONS[attack])
        run((one, other), [(0, "COMMIT")])
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT FROM ledger_entry AS entry JOIN ledger_account AS account ON account.id = account_id"
            " GROUP BY posting_id, network, asset HAVING sum(amount) <> 0"
        )
        assert cursor.fetchall() == []


@pytest.mark.django_db(transaction=True)
def test_a_posting_without_entries_fails_at_commit_and_leaves_nothing() -> None:
    commit(*BOOKS)
    with pytest.raises(IntegrityError, match="has no entries"), transaction.atomic():
        Posting.objects.create(environment="sandbox", kind="raw", reference="raw")
    assert Posting.objects.count() == 1
