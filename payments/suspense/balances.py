"""Money in suspense for a merchant: it arrived, and waits for a decision."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Sum

from config import ids
from config.database.replica import reading_cursor
from merchants.ledger.chart import AccountKind
from merchants.ledger.models import Account, Entry
from merchants.models import Merchant
from payments.models import Discrepancy, Payment
from payments.states import DiscrepancyStatus


def in_suspense(merchant: Merchant, environment: str, at: datetime | None = None) -> dict[tuple[str, str], int]:
    """Base units that wait for the merchant's decision, by network and coin; now, or as it was at an instant.

    An instant includes every posting of its millisecond.
    """
    if at is not None:
        return _in_suspense_at(merchant, environment, at)
    waiting = Discrepancy.objects.filter(merchant=merchant, environment=environment, status=DiscrepancyStatus.OPEN)
    totals = waiting.values_list("network", "asset").annotate(total=Sum("amount"))
    return {(network, asset): int(total) for network, asset, total in totals}


_SUSPENSE = [kind.value for kind in AccountKind if kind.value.startswith("suspense:")]

# An account of suspense that belongs to a deposit, and to no payment, is nobody's yet.
_AT = f"""
    SELECT account.network, account.asset, -sum(entry.amount)
    FROM {Account._meta.db_table} AS account
    JOIN {Payment._meta.db_table} AS payment ON payment.id = account.owner::uuid
    JOIN {Entry._meta.db_table} AS entry ON entry.account_id = account.id AND entry.posting_id < %s
    WHERE account.environment = %s AND account.kind = ANY(%s) AND payment.merchant_id = %s
        AND account.owner > '' AND account.kind <> 'payment'
    GROUP BY account.network, account.asset
    HAVING sum(entry.amount) <> 0
"""  # noqa: S608 - the names of our own tables


def _in_suspense_at(merchant: Merchant, environment: str, at: datetime) -> dict[tuple[str, str], int]:
    end = ids.first_uuid_at(at + timedelta(milliseconds=1))
    with reading_cursor() as cursor:
        cursor.execute(_AT, [end, environment, _SUSPENSE, merchant.pk])
        return {(network, asset): int(units) for network, asset, units in cursor.fetchall()}
