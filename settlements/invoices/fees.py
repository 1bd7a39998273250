"""Fees a merchant paid in a period, from the ledger: for each coin of each network, less what was given back.

The part that no document has yet is to be invoiced: whatever one document has left out is on the next.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import connection

from config.money import to_units
from merchants.ledger.chart import AccountKind
from merchants.ledger.models import Account, Entry
from payments.chains import registry
from settlements.invoices.models import Invoice, InvoiceKind
from settlements.monthly.own_payouts import PAYOUT_ACCOUNTS, payout_parameters

# A fee is a merchant's when its posting changes an account of the merchant's own, or reserves a settlement of its.
_FEES = f"""
    SELECT account.network, account.asset, -sum(entry.amount)
    FROM {Account._meta.db_table} AS account
    JOIN {Entry._meta.db_table} AS entry ON entry.account_id = account.id
        AND entry.posting_id >= %(start)s AND entry.posting_id < %(end)s
    WHERE account.environment = %(environment)s AND account.kind = '{AccountKind.FEE_SERVICE}'
        AND entry.posting_id IN (
            SELECT own.posting_id FROM {Account._meta.db_table} AS owned
            JOIN {Entry._meta.db_table} AS own ON own.account_id = owned.id
                AND own.posting_id >= %(start)s AND own.posting_id < %(end)s
            WHERE owned.environment = %(environment)s AND owned.owner = %(merchant)s::text
            UNION ALL
            SELECT reserved.posting_id FROM ({PAYOUT_ACCOUNTS}) AS payout
            JOIN {Entry._meta.db_table} AS reserved ON reserved.account_id = payout.id
                AND reserved.posting_id >= %(start)s AND reserved.posting_id < %(end)s
        )
    GROUP BY account.network, account.asset
    HAVING sum(entry.amount) <> 0
    ORDER BY account.network, account.asset
"""  # noqa: S608 - the names of our own tables


@dataclass(frozen=True, slots=True)
class Fee:
    """Base units of a coin on a network; below zero where more was given back than taken."""

    network: str
    coin: str
    units: int


def fees_of(merchant_id: uuid.UUID, environment: str, start: datetime, end: datetime) -> list[Fee]:
    with connection.cursor() as cursor:
        cursor.execute(_FEES, payout_parameters(merchant_id, environment, start, end))
        return [Fee(network, coin, int(units)) for network, coin, units in cursor.fetchall()]


def not_invoiced(merchant_id: uuid.UUID, environment: str, end: datetime, *, since: datetime) -> list[Fee]:
    """Fees until `end` that are on no document yet; without any document, counted from `since`."""
    documents = list(Invoice.objects.filter(merchant_id=merchant_id, environment=environment).order_by("sequence"))
    start = documents[0].period_start if documents else since
    left = {(fee.network, fee.coin): fee.units for fee in fees_of(merchant_id, environment, start, end)}
    for document in documents:
        for fee in invoiced_by(document):
            left[fee.network, fee.coin] = left.get((fee.network, fee.coin), 0) - fee.units
    return [Fee(network, coin, units) for (network, coin), units in sorted(left.items()) if units]


def invoiced_by(document: Invoice) -> list[Fee]:
    """The fees on a document; below zero on a credit note."""
    sign, environment = 1 if document.kind == InvoiceKind.INVOICE else -1, document.environment
    found = []
    for line in document.lines:
        network, coin = line["network"], line["cryptocurrency"]
        units = to_units(Decimal(line["amount"]), registry.decimals(environment, network, coin))
        found.append(Fee(network, coin, sign * units))
    return found
