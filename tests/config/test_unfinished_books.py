"""What only an earlier commit can finish stops an upgrade before anything is changed."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import connection

from tests.ledger.books import COINS, available_account, move, payment_account, receivable_account

pytestmark = pytest.mark.django_db


def sql(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.fixture(autouse=True)
def not_migrated_yet() -> None:
    sql("DELETE FROM django_migrations WHERE app = 'ledger' AND name = '0016_no_unsummed_entries'")


def migrate() -> None:
    call_command("migrate", plan=True, verbosity=0, skip_checks=False)


def test_finished_books_are_brought_up_to_date() -> None:
    move(5, debit=COINS, credit=available_account())
    migrate()


def test_entries_in_no_sum_are_refused() -> None:
    sql("INSERT INTO ledger_unsummedentries (id, after, last) VALUES (1, 0, 5)")
    with pytest.raises(ImproperlyConfigured, match=r"entries are in no day's sum yet\. Run commit \w{7} "):
        migrate()


def test_money_beside_a_debt_is_refused_until_the_upgrade_alone() -> None:
    owner = "00000000-0000-7000-8000-00000000000a"
    move(100, debit=COINS, credit=available_account(owner))
    move(60, debit=receivable_account(owner), credit=payment_account())
    with pytest.raises(ImproperlyConfigured, match="beside a debt"):
        migrate()
    sql("INSERT INTO django_migrations (app, name, applied) VALUES ('ledger', '0016_no_unsummed_entries', now())")
    migrate()


def test_a_database_of_before_is_refused() -> None:
    sql("DELETE FROM django_migrations WHERE app = 'payments' AND name >= '0005'")
    with pytest.raises(ImproperlyConfigured, match="of a version before"):
        migrate()
