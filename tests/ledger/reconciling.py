"""Runs of the reconcile command over books with something forged in them."""

from __future__ import annotations

import io
import sys

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from merchants.ledger import quick
from merchants.ledger.models import Stop
from merchants.ledger.posting import AccountRef

STELLAR_COINS = AccountRef("stellar", "USDC", "chain:deposit")


def run(*arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of one run."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("reconcile", *arguments, stdout=out, stderr=err, no_color=True)
    except SystemExit as stop:
        return int(stop.code or 0), out.getvalue(), err.getvalue()
    except CommandError as error:
        return error.returncode, out.getvalue(), f"{err.getvalue()}{error}"
    return 0, out.getvalue(), err.getvalue()


def share_has(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quick run looks at so many old rows, however many PostgreSQL has counted in other tests."""
    monkeypatch.setattr(quick, "LEAST_ROWS", rows)
    monkeypatch.setattr(quick, "SHARES", sys.maxsize)


def stopped() -> list[tuple[str, str]]:
    """Where payouts are stopped."""
    found = Stop.objects.standing().order_by("environment", "network")
    return list(found.values_list("environment", "network"))


def forge_balance(amount: int = 1) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE ledger_account SET balance = balance + %s WHERE kind = 'chain:deposit'", [amount])
