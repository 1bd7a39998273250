"""Reading what settlements are made of, and from when on the next one counts."""

from __future__ import annotations

from datetime import datetime
from itertools import starmap

from merchants.models import Merchant
from payments.models import BalanceChange
from settlements.models import Settlement, SettlementRun
from settlements.statements import CHANGE_COLUMNS, Change, Statement, build_statement


def statement_of(settlement: Settlement) -> Statement:
    """Its statement, from one query however many payments it has; StatementDoesNotBalance when the rows are damaged."""
    rows = BalanceChange.objects.filter(settlement=settlement.id).order_by("id").values_list(*CHANGE_COLUMNS)
    return build_statement(settlement, starmap(Change, rows.iterator(chunk_size=2_000)))


def next_period_start(merchant: Merchant, environment: str) -> datetime:
    """Where the last run ended; for the first one, when the merchant came."""
    runs = SettlementRun.objects.filter(merchant=merchant, environment=environment)
    return runs.order_by("-period_end").values_list("period_end", flat=True).first() or merchant.created_at
