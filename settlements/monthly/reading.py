"""Reads the statement of a month: for each account and coin, opening balance + entries = closing balance.

From the ledger, by the merchant's accounts alone: a kind of posting that is added later is in it. Entries are read in
parts, so that memory stays constant. An account is what a merchant tells apart (ACCOUNTS), in one coin on one network.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import connection

from config import ids
from config.money import FIAT_DIGITS, from_units
from merchants.ledger.chart import AccountKind
from merchants.ledger.models import Account, Entry, Posting
from merchants.models import Merchant
from payments.chains import registry
from payments.models import BalanceChange, Discrepancy, Payment
from payments.operations.accounting.periods import Days
from settlements.debts.conversion import converted
from settlements.models import Settlement
from settlements.postings import RESERVED
from settlements.statements import LineType, fiat_share

BALANCE, HELD, SUSPENSE = "balance", "held", "suspense"
ACCOUNTS = (BALANCE, HELD, SUSPENSE)
"""What is the merchant's less what it owes; what is held while coins are missing; what waits for a decision."""

ENTRIES_AT_A_TIME = 1_000
_OF_SUSPENSE = tuple(kind for kind in AccountKind if kind.value.startswith("suspense:"))


@dataclass(frozen=True, slots=True)
class MonthEntry:
    """What one posting did to an account, in base units; a fee is an entry of its own."""

    posting_id: uuid.UUID
    type: str
    amount: int
    balance: int
    reference: str
    payment_id: str
    fiat_amount: Decimal | None
    fiat_currency: str
    settlement_id: str
    """The settlement that took it into account; empty while it is not settled, and outside of the balance."""
    settlement_currency: str
    settlement_decimals: int
    in_settlement_currency: int | None
    """What it became there, at the rate that the settlement was converted at; None where there is no such rate."""
    rate: str


@dataclass(frozen=True)
class MonthAccount:
    """One account of the statement in one coin on one network, before its entries are read."""

    name: str
    network: str
    coin: str
    decimals: int
    opening: int
    keys: list[int] = field(repr=False)
    """Of the ledger's accounts that it sums."""


class _Row(NamedTuple):
    """A row of _ENTRIES."""

    posting_id: uuid.UUID
    kind: str
    reference: str
    amount: Decimal
    fee: Decimal
    change_kind: str | None
    change_reference: str | None
    settlement: uuid.UUID | None
    payment_id: uuid.UUID | None
    fiat_amount: Decimal | None
    currency: str | None
    payment_coin: str | None
    due: Decimal | None


_OWN = f"""
    SELECT account.id, account.kind, account.network, account.asset
    FROM {Account._meta.db_table} AS account
    WHERE account.environment = %(environment)s AND account.owner = %(merchant)s::text
    UNION ALL
    SELECT account.id, account.kind, account.network, account.asset
    FROM (
        SELECT DISTINCT payment_id::text AS owner FROM {Discrepancy._meta.db_table}
        WHERE merchant_id = %(merchant)s AND environment = %(environment)s
    ) AS waiting
    JOIN {Account._meta.db_table} AS account
        ON account.owner = waiting.owner AND account.environment = %(environment)s
    WHERE account.kind = ANY(%(of_suspense)s)
"""  # noqa: S608 - the names of our own tables

_OPENING = f"""
    SELECT account_id, -sum(amount) FROM {Entry._meta.db_table}
    WHERE account_id = ANY(%(keys)s) AND posting_id < %(start)s GROUP BY account_id
"""  # noqa: S608 - the names of our own tables

_MOVED = f"""
    SELECT coalesce(-sum(amount), 0) FROM {Entry._meta.db_table}
    WHERE account_id = ANY(%(keys)s) AND posting_id >= %(start)s AND posting_id < %(end)s
"""  # noqa: S608 - the name of our own table

_ENTRIES = f"""
    SELECT posting.id, posting.kind, posting.reference, moved.amount, coalesce(fee.amount, 0),
        change.kind, change.reference, change.settlement,
        payment.id, payment.fiat_amount, payment.currency, payment.cryptocurrency, payment.due
    FROM (
        SELECT entry.posting_id, -sum(entry.amount) AS amount, min(account.owner) AS owner
        FROM {Entry._meta.db_table} AS entry JOIN {Account._meta.db_table} AS account ON account.id = entry.account_id
        WHERE entry.account_id = ANY(%(keys)s) AND entry.posting_id >= %(start)s AND entry.posting_id < %(end)s
        GROUP BY entry.posting_id HAVING sum(entry.amount) <> 0
        ORDER BY entry.posting_id LIMIT %(entries)s
    ) AS moved
    JOIN {Posting._meta.db_table} AS posting ON posting.id = moved.posting_id
    LEFT JOIN LATERAL (
        SELECT -sum(entry.amount) AS amount
        FROM {Entry._meta.db_table} AS entry JOIN {Account._meta.db_table} AS account ON account.id = entry.account_id
        WHERE %(name)s = '{BALANCE}' AND entry.posting_id = posting.id AND account.kind = '{AccountKind.FEE_SERVICE}'
            AND account.network = %(network)s AND account.asset = %(coin)s
    ) AS fee ON true
    LEFT JOIN {BalanceChange._meta.db_table} AS change
        ON %(name)s = '{BALANCE}' AND change.environment = posting.environment AND change.posting_kind = posting.kind
        AND change.posting_reference = posting.reference
        AND change.network = %(network)s AND change.asset = %(coin)s
    LEFT JOIN {Payment._meta.db_table} AS payment
        ON payment.id = CASE WHEN %(name)s = '{SUSPENSE}' THEN moved.owner::uuid ELSE change.payment_id END
    ORDER BY posting.id
"""  # noqa: S608 - the names of our own tables


def accounts_of(merchant: Merchant, environment: str, month: Days) -> list[MonthAccount]:
    """The accounts of the statement with their opening balances; those that were never used are left out."""
    asked: dict[str, Any] = {
        "environment": environment,
        "merchant": merchant.pk,
        "of_suspense": [kind.value for kind in _OF_SUSPENSE],
    }
    keys: dict[tuple[str, str, int], list[int]] = {}
    found: list[MonthAccount] = []
    with connection.cursor() as cursor:
        cursor.execute(_OWN, asked)
        for key, kind, network, coin in cursor.fetchall():
            keys.setdefault((network, coin, ACCOUNTS.index(_name(AccountKind(kind)))), []).append(key)
        every = [key for own in keys.values() for key in own]
        cursor.execute(_OPENING, {"keys": every, "start": ids.first_uuid_at(month.start)})
        opening = {key: int(units) for key, units in cursor.fetchall()}
    for (network, coin, number), own in sorted(keys.items()):
        decimals = registry.decimals(environment, network, coin)
        held = sum(opening.get(key, 0) for key in own)
        found.append(MonthAccount(ACCOUNTS[number], network, coin, decimals, held, own))
    return found


def _name(kind: AccountKind) -> str:
    """Whatever a merchant owns beside these two is a part of the balance."""
    if kind in _OF_SUSPENSE:
        return SUSPENSE
    return HELD if kind == AccountKind.MERCHANT_HELD else BALANCE


def closing_of(account: MonthAccount, month: Days) -> int:
    """What it held at the end of the month, summed by the database."""
    span = {"start": ids.first_uuid_at(month.start), "end": ids.first_uuid_at(month.end)}
    with connection.cursor() as cursor:
        cursor.execute(_MOVED, {"keys": account.keys, **span})
        (moved,) = cursor.fetchone() or (0,)
    return account.opening + int(moved)


def entries_of(account: MonthAccount, month: Days, *, at_a_time: int = ENTRIES_AT_A_TIME) -> Iterator[MonthEntry]:
    """The entries of a month, oldest first, each with the balance after it."""
    balance = account.opening
    following: uuid.UUID | None = ids.first_uuid_at(month.start)
    while following is not None:
        rows = _read(account, following, month, at_a_time)
        settlements = _settlements(rows)
        for row in rows:
            for type_, amount in _parts(row):
                balance += amount
                yield _entry(account, row, type_, amount, balance, settlements)
        following = uuid.UUID(int=rows[-1].posting_id.int + 1) if len(rows) == at_a_time else None


def _read(account: MonthAccount, start: uuid.UUID, month: Days, at_a_time: int) -> list[_Row]:
    asked: dict[str, Any] = {"name": account.name, "network": account.network, "coin": account.coin}
    asked |= {"keys": account.keys, "start": start, "end": ids.first_uuid_at(month.end), "entries": at_a_time}
    with connection.cursor() as cursor:
        cursor.execute(_ENTRIES, asked)
        return [_Row(*row) for row in cursor.fetchall()]


def _parts(row: _Row) -> Iterator[tuple[str, int]]:
    """What a posting did, and the fee that it took or gave back apart from that."""
    fee = int(row.fee)
    if amount := int(row.amount) + fee:
        yield row.change_kind or row.kind, amount
    if fee:
        yield LineType.FEE, -fee


def _settlements(rows: list[_Row]) -> dict[uuid.UUID, Settlement]:
    keys = {key for row in rows if (key := _settlement_key(row))}
    return Settlement.objects.in_bulk(keys) if keys else {}


def _settlement_key(row: _Row) -> uuid.UUID | None:
    """The settlement that took it into account; of what a settlement did itself, that one."""
    return row.settlement or (Settlement.public_ids.decode(row.reference) if row.kind == RESERVED else None)


def _entry(
    account: MonthAccount, row: _Row, type_: str, amount: int, balance: int, settlements: dict[uuid.UUID, Settlement]
) -> MonthEntry:
    fiat = None
    if row.fiat_amount is not None and row.due and row.payment_coin == account.coin:
        share = fiat_share(amount, fiat_amount=int(row.fiat_amount), due=int(row.due))
        fiat = from_units(share, FIAT_DIGITS[row.currency or ""])
    key = _settlement_key(row) if account.name == BALANCE else None
    settlement = settlements.get(key) if key else None
    rate = _rate(settlement, account.coin) if settlement else None
    return MonthEntry(
        posting_id=row.posting_id,
        type=type_,
        amount=amount,
        balance=balance,
        reference=row.change_reference or row.reference,
        payment_id=ids.PAYMENT.encode(row.payment_id) if row.payment_id else "",
        fiat_amount=fiat,
        fiat_currency=(row.currency or "") if fiat is not None else "",
        settlement_id=settlement.public_id if settlement else "",
        settlement_currency=settlement.currency if settlement else "",
        settlement_decimals=settlement.decimals if settlement else 0,
        in_settlement_currency=_in_currency(amount, rate, account, settlement) if settlement else None,
        rate=f"{rate:f}" if rate is not None else "",
    )


def _rate(settlement: Settlement, coin: str) -> Decimal | None:
    """What one of the coin became in the settlement currency; None where nothing was converted (yet)."""
    if coin == settlement.currency:
        return Decimal(1)
    part = next((part for part in settlement.coins if part["coin"] == coin), None)
    return Decimal(part["rate"]) if settlement.converted_at is not None and part and part.get("rate") else None


def _in_currency(amount: int, rate: Decimal | None, account: MonthAccount, settlement: Settlement) -> int | None:
    """At the rate, towards zero to the last digit."""
    if rate is None:
        return None
    worth = converted(abs(amount), rate, account.decimals, settlement.decimals)
    return worth if amount >= 0 else -worth
