"""Every kind of damage to the ledger is planted once, and must be found by the check that is there for it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction

from merchants.ledger import checking
from merchants.ledger.checking import Finding, Scope, Severity, invariant, registered
from merchants.ledger.models import Account, Posting
from tests.ledger.books import (
    COINS,
    FEES,
    PRODUCTION,
    SANDBOX,
    available_account,
    move,
    payment_account,
    receivable_account,
)

pytestmark = pytest.mark.django_db

LEDGER_CHECKS = ["I1", "I2", "I3", "I4", "I5", "I14", "I20"]


def vandalise(sql: str, *parameters: uuid.UUID | int | str) -> None:
    """Change the ledger as a superuser could: with every trigger and foreign key asleep."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(sql, parameters)
        cursor.execute("SET LOCAL session_replication_role = origin")


def findings(scope: Scope | None = None) -> dict[str, list[Finding]]:
    """What the ledger's own checks find, by code."""
    known = {each.code: each for each in registered()}
    found = {code: list(known[code].check(scope or Scope())) for code in LEDGER_CHECKS}
    return {code: some for code, some in found.items() if some}


@pytest.fixture(autouse=True)
def undo() -> Iterator[None]:
    """Damage may leave what no commit would let through: take it back before anything is checked again."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture
def first(undo: None) -> Posting:
    """Books with some money in them: 100 available of a merchant, 40 still clearing, 3 earned."""
    posting = move(100, debit=COINS, credit=available_account("00000000-0000-7000-8000-00000000000a"))
    move(40, debit=COINS, credit=payment_account("00000000-0000-7000-8000-00000000000b"))
    move(3, debit=COINS, credit=FEES)
    return posting


def test_clean_books_are_clean(first: Posting) -> None:
    assert findings() == {}


def test_empty_books_are_clean() -> None:
    assert findings() == {}


def test_an_altered_entry_is_found(first: Posting) -> None:
    vandalise("UPDATE ledger_entry SET amount = 150 WHERE posting_id = %s AND amount = 100", first.pk)
    found = findings()
    assert list(found) == ["I1", "I3"]
    assert found["I1"] == [
        Finding(
            f"posting {first.pk} moved {first.reference}: ethereum USDC",
            0,
            50,
            "restore the entries of this posting from a backup; never edit them to fit",
            delta=50,
            environment="sandbox",
            network="ethereum",
            asset="USDC",
            key=first.pk,
        )
    ]
    assert [(each.subject, each.expected, each.actual, each.delta) for each in found["I3"]] == [
        ("sandbox ethereum USDC chain:deposit", 193, 143, -50)
    ]


def test_both_entries_altered_alike_are_found_by_the_balances(first: Posting) -> None:
    vandalise("UPDATE ledger_entry SET amount = amount * 2 WHERE posting_id = %s", first.pk)
    found = findings()
    assert list(found) == ["I3"]
    assert sorted((each.subject, each.expected, each.actual) for each in found["I3"]) == [
        ("sandbox ethereum USDC chain:deposit", 243, 143),
        ("sandbox ethereum USDC merchant:available 00000000-0000-7000-8000-00000000000a", 200, 100),
    ]


def test_a_forged_balance_is_found(first: Posting) -> None:
    vandalise("UPDATE ledger_account SET balance = balance - 7 WHERE kind = 'merchant:available'")
    found = findings()
    assert list(found) == ["I3", "I14"]
    (finding,) = found["I3"]
    assert (finding.expected, finding.actual, finding.delta) == (100, 107, 7)


def test_a_deleted_entry_is_found(first: Posting) -> None:
    vandalise("DELETE FROM ledger_entry WHERE posting_id = %s AND amount < 0", first.pk)
    found = findings()
    assert list(found) == ["I1", "I3"]
    assert [each.actual for each in found["I1"]] == [100, "1 entries"]


def test_a_deleted_posting_is_found(first: Posting) -> None:
    vandalise("DELETE FROM ledger_posting WHERE id = %s", first.pk)
    found = findings()
    assert list(found) == ["I1"]
    assert [(each.expected, each.actual) for each in found["I1"]] == [(f"posting {first.pk}", "missing")] * 2


def test_a_posting_deleted_with_its_entries_is_found(first: Posting) -> None:
    vandalise("DELETE FROM ledger_entry WHERE posting_id = %s", first.pk)
    vandalise("DELETE FROM ledger_posting WHERE id = %s", first.pk)
    assert list(findings()) == ["I3"]


def test_a_posting_without_entries_is_found(first: Posting) -> None:
    vandalise(
        "INSERT INTO ledger_posting (id, environment, kind, reference, memo) VALUES (%s, 'sandbox', 'raw', 'raw', '')",
        uuid.uuid4(),
    )
    found = findings()
    assert list(found) == ["I1"]
    assert [each.actual for each in found["I1"]] == ["0 entries"]


def test_a_deleted_account_is_found(first: Posting) -> None:
    account = Account.objects.get(kind="payment")
    vandalise("DELETE FROM ledger_account WHERE id = %s", account.pk)
    found = findings()["I1"]
    assert [(each.expected, each.actual) for each in found if each.actual == "missing"] == [
        (f"account {account.pk}", "missing")
    ]


def test_an_entry_in_another_environment_is_found(first: Posting) -> None:
    move(40, debit=COINS, credit=payment_account(), environment=PRODUCTION)
    ours = Account.objects.get(kind="chain:deposit", environment=SANDBOX)
    theirs = Account.objects.get(kind="chain:deposit", environment=PRODUCTION)
    vandalise("UPDATE ledger_entry SET account_id = %s WHERE account_id = %s AND amount = 40", theirs.pk, ours.pk)
    found = findings()
    assert list(found) == ["I1", "I3"]
    assert [(each.expected, each.actual) for each in found["I1"]] == [("sandbox", "production")]


def test_an_entry_moved_to_another_account_is_found(first: Posting) -> None:
    fees = Account.objects.get(kind="fee:service")
    vandalise("UPDATE ledger_entry SET account_id = %s WHERE posting_id = %s AND amount < 0", fees.pk, first.pk)
    assert list(findings()) == ["I3"]


@pytest.mark.parametrize(
    ("damage", "subject"),
    [
        ("ALTER TABLE ledger_entry DISABLE TRIGGER entry_append_only", "ledger_entry: entry_append_only"),
        ("DROP TRIGGER posting_double_entry ON ledger_posting", "ledger_posting: posting_double_entry"),
        ("ALTER TABLE ledger_account DROP CONSTRAINT account_once", "ledger_account: account_once"),
        ("ALTER TABLE ledger_entry DROP CONSTRAINT entry_amount_not_zero", "ledger_entry: entry_amount_not_zero"),
    ],
)
def test_a_guard_that_was_taken_away_is_found(damage: str, subject: str) -> None:
    vandalise(damage)
    found = findings()
    assert list(found) == ["I2"]
    assert [each.subject for each in found["I2"]] == [subject]


def test_a_double_posting_is_found(first: Posting) -> None:
    second = move(100, debit=COINS, credit=available_account())
    vandalise("ALTER TABLE ledger_posting DROP CONSTRAINT posting_once")
    vandalise("UPDATE ledger_posting SET reference = %s WHERE id = %s", first.reference, second.pk)
    found = findings()
    assert list(found) == ["I2", "I4"]
    assert [(each.subject, each.expected, each.actual, each.delta) for each in found["I4"]] == [
        (f"sandbox moved {first.reference}", 1, 2, 1)
    ]


def test_an_overdrawn_account_is_found(first: Posting) -> None:
    vandalise("ALTER TABLE ledger_account DROP CONSTRAINT account_balance_not_negative")
    vandalise("UPDATE ledger_account SET balance = 7 WHERE kind = 'payment'")
    found = findings()
    assert list(found) == ["I2", "I3", "I5"]
    assert [(each.actual, each.delta) for each in found["I5"]] == [(-7, -7)]


@pytest.mark.parametrize(("kind", "owner", "expected"), [("gold", "", "a kind of the chart"), ("gas", "me", "nobody")])
def test_an_account_outside_the_chart_is_found(first: Posting, kind: str, owner: str, expected: str) -> None:
    for constraint in ("account_balance_not_negative", "account_owner_by_kind"):
        vandalise(f"ALTER TABLE ledger_account DROP CONSTRAINT {constraint}")
    vandalise(
        "INSERT INTO ledger_account (environment, network, asset, kind, owner, balance) "
        "VALUES ('sandbox', 'ethereum', 'USDC', %s, %s, 0)",
        kind,
        owner,
    )
    found = findings()
    assert list(found) == ["I2", "I5"]
    assert [(each.expected, each.actual) for each in found["I5"]] == [(expected, owner or "nobody")]


def test_coins_that_do_not_cover_what_is_owed_are_an_error(first: Posting) -> None:
    move(10, debit=FEES, credit=available_account())
    found = findings()
    assert list(found) == ["I14"]
    (finding,) = found["I14"]
    assert (finding.subject, finding.expected, finding.actual, finding.delta, finding.severity) == (
        "sandbox ethereum USDC",
        "150 or more",
        143,
        -7,
        Severity.ERROR,
    )


def test_coins_that_a_merchant_owes_are_a_warning(first: Posting) -> None:
    move(10, debit=receivable_account(), credit=COINS)
    (finding,) = findings()["I14"]
    assert (finding.delta, finding.severity) == (-7, Severity.WARNING)


class TestScope:
    def test_the_other_environment_is_left_alone(self, first: Posting) -> None:
        vandalise("UPDATE ledger_account SET balance = balance + 1 WHERE kind = 'chain:deposit'")
        assert list(findings(Scope(environments=("sandbox",)))) == ["I3"]
        assert findings(Scope(environments=("production",))) == {}

    def test_other_networks_are_left_alone(self, first: Posting) -> None:
        vandalise("UPDATE ledger_account SET balance = balance + 1 WHERE kind = 'chain:deposit'")
        assert list(findings(Scope(network="ethereum"))) == ["I3"]
        assert findings(Scope(network="stellar")) == {}

    def test_what_was_not_touched_since_is_left_alone(self, first: Posting) -> None:
        vandalise("UPDATE ledger_entry SET amount = amount + 50 WHERE posting_id = %s AND amount > 0", first.pk)
        before = datetime.now(UTC) - timedelta(minutes=5)
        after = datetime.now(UTC) + timedelta(minutes=5)
        assert list(findings(Scope(since=before))) == ["I1", "I3"]
        assert findings(Scope(since=after)) == {}

    def test_rows_come_a_few_at_a_time_and_all_of_them(self) -> None:
        rows = Scope().rows("SELECT generate_series(1, %(last)s)", last=4500)
        assert [number for (number,) in rows] == list(range(1, 4501))


class TestRegistry:
    def test_the_ledger_registers_its_own_in_order(self) -> None:
        codes = [known.code for known in registered()]
        assert [code for code in codes if code in LEDGER_CHECKS] == LEDGER_CHECKS

    def test_a_code_is_given_once(self) -> None:
        def nothing(scope: Scope) -> Iterator[Finding]:
            return iter(())

        with pytest.raises(ValueError, match="two invariants have the code I1"):
            invariant("I1", "anything")(nothing)

    @pytest.mark.parametrize("code", ["1", "I", "i1", "I1-wallets"])
    def test_a_code_is_letters_and_a_number(self, code: str) -> None:
        with pytest.raises(ValueError, match="is not like I12 or I12w"):
            invariant(code, "anything")(lambda scope: iter(()))

    def test_numbers_come_in_their_order_and_those_of_the_business_last(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(checking, "_registry", {})
        for code in ("W1", "I12w", "C1", "I2", "I12", "I13"):
            invariant(code, "anything")(lambda scope: iter(()))
        assert [known.code for known in registered()] == ["I2", "I12", "I12w", "I13", "C1", "W1"]


class TestObservers:
    def test_an_observer_looks_once(self) -> None:
        scope = Scope()
        seen: list[Scope] = []

        def look(at: Scope) -> int:
            seen.append(at)
            return len(seen)

        assert [scope.observed(look), scope.observed(look)] == [1, 1]
        assert seen == [scope]
        assert Scope().observed(look) == 2


class TestWhereItIs:
    """An error says where payouts must stop."""

    def places(self) -> set[tuple[str | None, str | None, str | None]]:
        return {(found.environment, found.network, found.asset) for some in findings().values() for found in some}

    def test_of_an_unbalanced_posting(self, first: Posting) -> None:
        vandalise("UPDATE ledger_entry SET amount = 150 WHERE posting_id = %s AND amount = 100", first.pk)
        assert self.places() == {("sandbox", "ethereum", "USDC")}

    def test_of_a_posting_without_entries(self) -> None:
        vandalise(
            "INSERT INTO ledger_posting (id, environment, kind, reference, memo) "
            "VALUES (%s, 'production', 'raw', 'raw', '')",
            uuid.uuid4(),
        )
        assert self.places() == {("production", None, None)}

    def test_of_a_guard_is_everywhere(self) -> None:
        vandalise("DROP TRIGGER posting_double_entry ON ledger_posting")
        assert self.places() == {(None, None, None)}

    def test_what_merchants_owe_is_explained(self, first: Posting) -> None:
        move(10, debit=receivable_account(), credit=COINS)
        assert self.places() == {("sandbox", "ethereum", None)}
