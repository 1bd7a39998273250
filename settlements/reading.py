"""Reading what a settlement is made of."""

from __future__ import annotations

from itertools import starmap

from payments.models import BalanceChange
from settlements.models import Settlement
from settlements.statements import CHANGE_COLUMNS, Change, Statement, build_statement


def statement_of(settlement: Settlement) -> Statement:
    """Its statement, from one query however many payments it has; StatementDoesNotBalance when the rows are damaged."""
    rows = BalanceChange.objects.filter(settlement=settlement.id).order_by("id").values_list(*CHANGE_COLUMNS)
    return build_statement(settlement, starmap(Change, rows.iterator(chunk_size=2_000)))
