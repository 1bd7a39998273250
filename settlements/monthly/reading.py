"""Reads the statement of a month: for each account and coin, opening balance + entries = closing balance.

From the ledger, by the merchant's accounts: a kind of posting that is added later is in it. A settlement that pays only
a fee that is given back moves none of them, and is found by its payout. Entries are read in parts, so that memory stays
constant. An account is one of ACCOUNTS, in one coin on one network.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

from config import ids
from config.database.replica import reading_cursor
from config.money import FIAT_DIGITS, converted, fiat_share, from_units
from merchants.ledger.chart import AccountKind
from merchants.ledger.day_sums import sums_before
from merchants.ledger.models import Account, Entry, Posting
from merchants.models import Merchant
from payments.chains import registry
from payments.models import BalanceChange, Discrepancy, Payment
from payments.monitoring.accounting.periods import Days
from settlements.models import Settlement
from settlements.monthly.own_payouts import PAYOUT_ACCOUNTS, payout_parameters
from settlements.plans.postings import RESERVED
from settlements.plans.statements import LineType

BALANCE, HELD, SUSPENSE = "balance", "held", "suspense"
ACCOUNTS = (BALANCE, HELD, SUSPENSE)
"""The merchant's money less its debts; money held while coins are missing; money that waits for a decision."""

ENTRIES_AT_A_TIME = 1_000
_OF_SUSPENSE = tuple(kind for kind in AccountKind if kind.value.startswith("suspense:"))
_SUSPENSE_KINDS = [kind.value for kind in _OF_SUSPENSE]


@dataclass(frozen=True, slots=True)
class MonthEntry:
    """The change one posting made to an account, in base units; a fee is an entry of its own."""

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
    """Amount in the settlement currency, at the rate of the settlement's conversion; None if there is no such rate."""
    rate: str


@dataclass(frozen=True)
class MonthAccount:
    """One account of the statement in one coin on one network, without its entries."""

    name: str
    network: str
    coin: str
    decimals: int
    opening: int
    closing: int
    """As it was when the account was read, and so without entries of a running month that have come since."""
    keys: list[int] = field(repr=False)
    """Of the ledger's accounts that it sums."""
    unmoved: list[uuid.UUID] = field(default_factory=list, repr=False)
    """Postings of the month that took or gave back a fee and left the balance as it was."""


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
    before: Decimal | None


# The accounts of the statement, and the postings that took or gave back a fee and moved none of them. `OFFSET 0` has
# those of decisions looked up one by one, where the planner would rather read all accounts there are.
_OWN = f"""
    SELECT account.id, NULL::uuid, account.kind, account.network, account.asset
    FROM {Account._meta.db_table} AS account
    WHERE account.environment = %(environment)s AND account.owner = %(merchant)s::text
    UNION ALL
    SELECT account.id, NULL, account.kind, account.network, account.asset
    FROM (
        SELECT DISTINCT payment_id::text AS owner FROM {Discrepancy._meta.db_table}
        WHERE merchant_id = %(merchant)s AND environment = %(environment)s
            AND cardinality(%(of_suspense)s::text[]) > 0
    ) AS waiting, LATERAL (
        SELECT id, kind, network, asset FROM {Account._meta.db_table}
        WHERE environment = %(environment)s AND owner = waiting.owner AND kind = ANY(%(of_suspense)s) OFFSET 0
    ) AS account
    UNION ALL
    SELECT NULL, reserved.posting_id, '{AccountKind.MERCHANT_AVAILABLE}', payout.network, payout.asset
    FROM ({PAYOUT_ACCOUNTS}) AS payout
    JOIN {Entry._meta.db_table} AS reserved ON reserved.account_id = payout.id
        AND reserved.posting_id >= %(start)s AND reserved.posting_id < %(end)s
    JOIN {Entry._meta.db_table} AS other ON other.posting_id = reserved.posting_id
    JOIN {Account._meta.db_table} AS account
        ON account.id = other.account_id AND account.network = payout.network AND account.asset = payout.asset
    GROUP BY payout.network, payout.asset, reserved.posting_id
    HAVING bool_or(account.kind = '{AccountKind.FEE_SERVICE}') AND NOT bool_or(account.owner = %(merchant)s::text)
"""  # noqa: S608 - the names of our own tables

# The first entries of each of the ledger's accounts, by its index: what follows them in the month is not read.
_FIRST = f"""
    SELECT own.place, entry.posting_id, own.key, -entry.amount
    FROM unnest(%(places)s::integer[], %(keys)s::bigint[], %(entries)s::integer[]) AS own (place, key, most), LATERAL (
        SELECT posting_id, amount FROM {Entry._meta.db_table}
        WHERE account_id = own.key AND posting_id >= %(start)s AND posting_id < %(end)s
            AND (%(only)s::uuid[] IS NULL OR posting_id = ANY(%(only)s))
        ORDER BY posting_id LIMIT own.most
    ) AS entry
"""  # noqa: S608 - the name of our own table

_COUNTS = f"""
    SELECT own.place, count(*)
    FROM unnest(%(places)s::integer[], %(keys)s::bigint[]) AS own (place, key), LATERAL (
        SELECT FROM {Entry._meta.db_table}
        WHERE account_id = own.key AND posting_id >= %(start)s AND posting_id < %(end)s
        LIMIT %(entries)s
    ) AS entry
    GROUP BY own.place
"""  # noqa: S608 - the name of our own table

_ENTRIES = f"""
    SELECT moved.place, posting.id, posting.kind, posting.reference, moved.amount, coalesce(fee.amount, 0),
        change.kind, change.reference, change.settlement,
        payment.id, payment.fiat_amount, payment.currency, payment.cryptocurrency, payment.due, (
            SELECT sum(earlier.amount) FROM {BalanceChange._meta.db_table} AS earlier
            WHERE earlier.payment_id = change.payment_id AND earlier.asset = change.asset AND earlier.id < change.id
        )
    FROM unnest(
        %(places)s::integer[], %(postings)s::uuid[], %(keys)s::bigint[], %(amounts)s::numeric[],
        %(is_balance)s::boolean[]
    ) AS moved (place, posting_id, key, amount, is_balance)
    JOIN {Account._meta.db_table} AS own ON own.id = moved.key
    JOIN {Posting._meta.db_table} AS posting ON posting.id = moved.posting_id
    LEFT JOIN LATERAL (
        SELECT -sum(entry.amount) AS amount
        FROM {Entry._meta.db_table} AS entry JOIN {Account._meta.db_table} AS account ON account.id = entry.account_id
        WHERE moved.is_balance AND entry.posting_id = posting.id AND account.kind = '{AccountKind.FEE_SERVICE}'
            AND account.network = own.network AND account.asset = own.asset
    ) AS fee ON true
    LEFT JOIN {BalanceChange._meta.db_table} AS change
        ON moved.is_balance AND change.environment = posting.environment AND change.posting_kind = posting.kind
        AND change.posting_reference = posting.reference
        AND change.network = own.network AND change.asset = own.asset
    LEFT JOIN {Payment._meta.db_table} AS payment
        ON payment.id = CASE WHEN own.kind = ANY(%(of_suspense)s) THEN own.owner::uuid ELSE change.payment_id END
    ORDER BY moved.place, posting.id
"""  # noqa: S608 - the names of our own tables


def accounts_of(
    merchant: Merchant, environment: str, month: Days, *, suspense: Sequence[str] = _SUSPENSE_KINDS
) -> list[MonthAccount]:
    """The accounts of the statement with their opening balances; those that were never used are left out.

    Of suspense these kinds alone: there can be an account for each decision that the merchant ever made.
    """
    parameters = payout_parameters(merchant.pk, environment, month.start, month.end) | {"of_suspense": list(suspense)}
    keys: dict[tuple[str, str, int], list[int]] = {}
    unmoved: dict[tuple[str, str, int], list[uuid.UUID]] = {}
    found: list[MonthAccount] = []
    with reading_cursor() as cursor:
        cursor.execute(_OWN, parameters)
        for key, posting_id, kind, network, coin in cursor.fetchall():
            place = (network, coin, ACCOUNTS.index(_name(AccountKind(kind))))
            if posting_id is None:
                keys.setdefault(place, []).append(key)
            else:
                unmoved.setdefault(place, []).append(posting_id)
    opening, closing = sums_before([key for own in keys.values() for key in own], month.start, month.end)
    for (network, coin, number), own in sorted(keys.items()):
        decimals = registry.decimals(environment, network, coin)
        held, left = (-sum(sums.get(key, 0) for key in own) for sums in (opening, closing))
        no_change = unmoved.get((network, coin, number), [])
        found.append(MonthAccount(ACCOUNTS[number], network, coin, decimals, held, left, own, no_change))
    return found


def _name(kind: AccountKind) -> str:
    """The account of a kind; every other kind a merchant owns is part of the balance."""
    if kind in _OF_SUSPENSE:
        return SUSPENSE
    return HELD if kind == AccountKind.MERCHANT_HELD else BALANCE


def counts_of(accounts: Sequence[MonthAccount], month: Days, *, most: int) -> list[int]:
    """Number of entries of each account in the month: no fewer than there are, except beyond `most`."""
    parameters = _parameters(accounts, ids.first_uuid_at(month.start), month) | {"entries": most + 1}
    with reading_cursor() as cursor:
        cursor.execute(_COUNTS, parameters)
        counts = dict(cursor.fetchall())
    return [counts.get(place, 0) + len(account.unmoved) for place, account in enumerate(accounts)]


def first_entries_of(accounts: Sequence[MonthAccount], month: Days, at_least: Sequence[int]) -> list[list[MonthEntry]]:
    """The first entries of each account, as in `entries_of`: of so many postings of each, as far as there are more."""
    parts = _read(accounts, ids.first_uuid_at(month.start), month, at_least)
    settlements = _settlements([row for rows, _ in parts for row in rows])
    return [
        list(_with_balances(account, rows, account.opening, settlements))
        for account, (rows, _) in zip(accounts, parts, strict=True)
    ]


def entries_of(account: MonthAccount, month: Days, *, at_a_time: int = ENTRIES_AT_A_TIME) -> Iterator[MonthEntry]:
    """The entries of a month, oldest first, each with the balance after it."""
    balance = account.opening
    following: uuid.UUID | None = ids.first_uuid_at(month.start)
    while following is not None:
        [(rows, following)] = _read([account], following, month, [at_a_time])
        for entry in _with_balances(account, rows, balance, _settlements(rows)):
            balance = entry.balance
            yield entry


def statement_sums(
    merchant: Merchant, environment: str, month: Days, postings: Sequence[uuid.UUID]
) -> Mapping[tuple[str, str, str], int]:
    """Sums on the statement for postings of the balance: by network, coin and type of entry."""
    accounts = [each for each in accounts_of(merchant, environment, month, suspense=()) if each.name == BALANCE]
    most = [len(postings) + 1] * len(accounts)
    parts = _read(accounts, ids.first_uuid_at(month.start), month, most, only=postings)
    sums: Counter[tuple[str, str, str]] = Counter()
    for account, (rows, _) in zip(accounts, parts, strict=True):
        for row in rows:
            for type_, amount in _parts(row):
                sums[account.network, account.coin, type_] += amount
    return sums


def _with_balances(
    account: MonthAccount, rows: Sequence[_Row], balance: int, settlements: dict[uuid.UUID, Settlement]
) -> Iterator[MonthEntry]:
    """The entries of rows that follow a balance; a posting with a fee is two."""
    for row in rows:
        for type_, amount in _parts(row):
            balance += amount
            yield _entry(account, row, type_, amount, balance, settlements)


def _parameters(accounts: Sequence[MonthAccount], start: uuid.UUID, month: Days) -> dict[str, Any]:
    own = [(place, key) for place, account in enumerate(accounts) for key in account.keys]
    return {
        "places": [place for place, _ in own],
        "keys": [key for _, key in own],
        "start": start,
        "end": ids.first_uuid_at(month.end),
    }


@dataclass
class _Moved:
    """Changes of an account by the first postings of a month, and the posting where the rest begins."""

    amounts: dict[uuid.UUID, int] = field(default_factory=dict)
    keys: dict[uuid.UUID, int] = field(default_factory=dict)
    """One of the ledger's accounts that each posting moved."""
    following: uuid.UUID | None = None


def _moved(
    accounts: Sequence[MonthAccount],
    start: uuid.UUID,
    month: Days,
    at_a_time: Sequence[int],
    only: Sequence[uuid.UUID] | None,
) -> list[_Moved]:
    """Of each account so many postings or more, as far as there are more."""
    read: list[dict[int, list[tuple[uuid.UUID, int]]]] = [{} for _ in accounts]
    with reading_cursor() as cursor:
        most = [number for account, number in zip(accounts, at_a_time, strict=True) for _ in account.keys]
        cursor.execute(_FIRST, _parameters(accounts, start, month) | {"entries": most, "only": only and list(only)})
        for place, posting_id, key, amount in cursor.fetchall():
            read[place].setdefault(key, []).append((posting_id, int(amount)))
    found = []
    for account, by_key, number in zip(accounts, read, at_a_time, strict=True):
        moved = _Moved()
        # Beyond the last that was read of one of the ledger's accounts, what others did may be known in part only.
        last = min((rows[-1][0] for rows in by_key.values() if len(rows) == number), default=None)
        if last is not None:
            moved.following = uuid.UUID(int=last.int + 1)
        for key, rows in by_key.items():
            for posting_id, amount in rows:
                if last is None or posting_id <= last:
                    moved.amounts[posting_id] = moved.amounts.get(posting_id, 0) + amount
                    moved.keys[posting_id] = key
        for posting_id in account.unmoved:
            is_selected = only is None or posting_id in only
            if is_selected and posting_id >= start and (last is None or posting_id <= last):
                moved.amounts[posting_id], moved.keys[posting_id] = 0, account.keys[0]
        found.append(moved)
    return found


def _read(
    accounts: Sequence[MonthAccount],
    start: uuid.UUID,
    month: Days,
    at_a_time: Sequence[int],
    only: Sequence[uuid.UUID] | None = None,
) -> list[tuple[list[_Row], uuid.UUID | None]]:
    """The first postings of each account that changed it, oldest first, and where the rest begins.

    `only` reads these postings and no other.
    """
    parts = _moved(accounts, start, month, at_a_time, only)
    moved = [
        (place, posting_id, part.keys[posting_id], amount, accounts[place].name == BALANCE)
        for place, part in enumerate(parts)
        for posting_id, amount in part.amounts.items()
        if amount or posting_id in accounts[place].unmoved
    ]
    names = ("places", "postings", "keys", "amounts", "is_balance")
    rows: list[list[_Row]] = [[] for _ in accounts]
    if moved:
        columns = zip(*moved, strict=True)
        parameters = {name: list(column) for name, column in zip(names, columns, strict=True)}
        with reading_cursor() as cursor:
            cursor.execute(_ENTRIES, parameters | {"of_suspense": _SUSPENSE_KINDS})
            for place, *row in cursor.fetchall():
                rows[place].append(_Row(*row))
    return [(own, part.following) for own, part in zip(rows, parts, strict=True)]


def _parts(row: _Row) -> Iterator[tuple[str, int]]:
    """The change a posting made, and separately the fee that it took or gave back."""
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
        share = fiat_share(amount, fiat_amount=int(row.fiat_amount), due=int(row.due), before=int(row.before or 0))
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
    """Conversion rate of the coin into the settlement currency; None where nothing was converted (yet)."""
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
