"""The rules of account kinds in PostgreSQL: two functions made from the chart, which the table of accounts is held to.

They are replaced after each `migrate`, so that a new kind is one line of the chart and no migration.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from django.db import connections, models
from django.db.models import F, Func

from merchants.ledger.chart import Side, kinds_where

WITHOUT: Final = "DROP FUNCTION ledger_allows_balance(varchar, numeric), ledger_allows_owner(varchar, varchar)"


def allows_balance() -> Func:
    """The condition that an account's balance has a sign its kind may have; false for a kind outside the chart."""
    return Func(F("kind"), F("balance"), function="ledger_allows_balance", output_field=models.BooleanField())


def allows_owner() -> Func:
    """The condition that an account has an owner where its kind has one; false for a kind outside the chart."""
    return Func(F("kind"), F("owner"), function="ledger_allows_owner", output_field=models.BooleanField())


def functions_of_chart() -> str:
    """The SQL that makes both functions, or replaces them, by the chart as it is now."""
    debit = _one_of(kinds_where(side=Side.DEBIT, may_go_negative=False))
    credit = _one_of(kinds_where(side=Side.CREDIT, may_go_negative=False))
    return f"""
        CREATE OR REPLACE FUNCTION ledger_allows_balance(kind varchar, balance numeric) RETURNS boolean
            IMMUTABLE LANGUAGE sql RETURN CASE
                WHEN {debit} THEN balance >= 0
                WHEN {credit} THEN balance <= 0
                ELSE {_one_of(kinds_where(may_go_negative=True))} END;
        CREATE OR REPLACE FUNCTION ledger_allows_owner(kind varchar, owner varchar) RETURNS boolean
            IMMUTABLE LANGUAGE sql RETURN CASE
                WHEN {_one_of(kinds_where(owned=True))} THEN owner <> ''
                ELSE {_one_of(kinds_where(owned=False))} AND owner = '' END;
    """


def replace_functions(using: str, **kwargs: Any) -> None:
    """Brings the functions of a database that has them up to the chart of this version: runs after `migrate`."""
    with connections[using].cursor() as cursor:
        cursor.execute("SELECT to_regprocedure('ledger_allows_owner(varchar, varchar)') IS NOT NULL")
        if cursor.fetchone() == (True,):
            cursor.execute(functions_of_chart())


def _one_of(kinds: Iterable[str]) -> str:
    return "kind IN ({})".format(", ".join(f"'{kind}'" for kind in kinds))
