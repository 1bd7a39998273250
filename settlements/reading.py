"""Reading what settlements are made of, and from when on the next one counts."""

from __future__ import annotations

from datetime import datetime
from itertools import starmap

from django.db.models import F

from merchants.models import Merchant
from payments.models import BalanceChange
from payments.states import BalanceChangeKind
from payments.transfers.models import Payout
from settlements.models import Settlement, SettlementRun
from settlements.statements import CHANGE_COLUMNS, Change, Statement, build_statement


def statement_of(settlement: Settlement) -> Statement:
    """Its statement, from one query however many payments it has; StatementDoesNotBalance when the rows are damaged."""
    fees = _token_fees(settlement)
    rows = BalanceChange.objects.filter(settlement=settlement.id).order_by("id").values_list(*CHANGE_COLUMNS)
    changes = starmap(Change, rows.iterator(chunk_size=2_000))
    return build_statement(settlement, (each._replace(token_fee=fees.get(each.reference, 0)) for each in changes))


def _token_fees(settlement: Settlement) -> dict[str, int]:
    """What tokens kept of the refunds in a settlement, by their public ids; few keep anything."""
    refunds = BalanceChange.objects.filter(settlement=settlement.id, kind=BalanceChangeKind.REFUND)
    payouts = Payout.objects.filter(reference__in=refunds.values("reference"), arrived__lt=F("amount"))
    return {payout.reference: payout.token_fee for payout in payouts}


def next_period_start(merchant: Merchant, environment: str) -> datetime:
    """Where the last run ended; for the first one, when the merchant came."""
    runs = SettlementRun.objects.filter(merchant=merchant, environment=environment)
    return runs.order_by("-period_end").values_list("period_end", flat=True).first() or merchant.created_at
