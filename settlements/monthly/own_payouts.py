"""The `payout` accounts of a merchant's settlements, by which each of its postings is known as the merchant's.

A settlement that pays only a fee that is given back moves no account of the merchant's own: its posting is
`payout −x, fee:service +x`. Whoever reads what is a merchant's from the ledger reads these accounts as well.
"""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import Any

from config import ids
from merchants.ledger.chart import AccountKind
from merchants.ledger.models import Account
from settlements.models import Settlement

BETWEEN = timedelta(days=1)
"""A settlement's id and its posting's are made in one database transaction, which never takes so long."""

PAYOUT_ACCOUNTS = f"""
    SELECT account.id, account.network, account.asset
    FROM {Settlement._meta.db_table} AS settlement
    JOIN {Account._meta.db_table} AS account ON account.environment = settlement.environment
        AND account.owner = settlement.id::text AND account.kind = '{AccountKind.PAYOUT}'
    WHERE settlement.merchant_id = %(merchant)s AND settlement.environment = %(environment)s
        AND settlement.id >= %(first_settlement)s AND settlement.id < %(last_settlement)s
"""  # noqa: S608 - the names of our own tables


def payout_parameters(merchant_id: uuid.UUID, environment: str, start: datetime, end: datetime) -> dict[str, Any]:
    """The parameters of PAYOUT_ACCOUNTS, with `start` and `end` as the first keys of postings of then."""
    return {
        "merchant": merchant_id,
        "environment": environment,
        "start": ids.first_uuid_at(start),
        "end": ids.first_uuid_at(end),
        "first_settlement": ids.first_uuid_at(start - BETWEEN),
        "last_settlement": ids.first_uuid_at(end + BETWEEN),
    }
