"""The journal: every posting of a period with its lines, oldest first, read in parts so that memory stays constant."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from config import ids
from config.database.replica import reading_cursor
from merchants.ledger.chart import AccountKind, Owner
from merchants.ledger.models import Account, Entry, Posting
from payments.models import Payment
from payments.monitoring.accounting.totals import OF_MERCHANTS, SummedAccount
from payments.transfers.models import Payout

POSTINGS_AT_A_TIME = 1_000


@dataclass(frozen=True, slots=True)
class JournalLine:
    """The change of one account by a posting: signed base units, debits positive."""

    account: SummedAccount
    owner: str
    """Public id of the record that the account belongs to; its UUID where it has none, empty for the house's own."""
    amount: int


@dataclass(frozen=True, slots=True)
class JournalPosting:
    """One posting of the ledger with its lines, in the order in which they were written."""

    id: uuid.UUID
    kind: str
    reference: str
    memo: str
    lines: Sequence[JournalLine]

    @property
    def at(self) -> datetime:
        return ids.created_at_of(self.id)

    def contra_accounts(self, line: JournalLine) -> list[JournalLine]:
        """The lines on the other side of this one, in the same coin on the same network."""
        coin = line.account.network, line.account.asset
        return [
            each
            for each in self.lines
            if (each.account.network, each.account.asset) == coin and (each.amount > 0) is not (line.amount > 0)
        ]


_PART = f"""
    SELECT posting.id, posting.kind, posting.reference, posting.memo,
        account.kind, account.network, account.asset, account.owner, entry.amount
    FROM (
        SELECT id, kind, reference, memo FROM {Posting._meta.db_table}
        WHERE environment = %(environment)s AND id >= %(start)s AND id < %(end)s
        ORDER BY id LIMIT %(postings)s
    ) AS posting
    JOIN {Entry._meta.db_table} AS entry ON entry.posting_id = posting.id
    JOIN {Account._meta.db_table} AS account ON account.id = entry.account_id
    ORDER BY posting.id, entry.id
"""  # noqa: S608 - the names of our own tables


def postings(
    environment: str, start: datetime, end: datetime, *, at_a_time: int = POSTINGS_AT_A_TIME
) -> Iterator[JournalPosting]:
    """Every posting from `start` until before `end`, oldest first. No more than `at_a_time` are in memory at once."""
    following: uuid.UUID | None = ids.first_uuid_at(start)
    last = ids.first_uuid_at(end)
    while following is not None:
        part = _read(environment, following, last, at_a_time)
        yield from part
        following = uuid.UUID(int=part[-1].id.int + 1) if len(part) == at_a_time else None


def _read(environment: str, start: uuid.UUID, end: uuid.UUID, at_a_time: int) -> list[JournalPosting]:
    asked: dict[str, Any] = {"environment": environment, "start": start, "end": end, "postings": at_a_time}
    with reading_cursor() as cursor:
        cursor.execute(_PART, asked)
        rows = cursor.fetchall()
    owners = _owners((kind, owner) for _, _, _, _, kind, _, _, owner, _ in rows)
    found: dict[uuid.UUID, JournalPosting] = {}
    lines: dict[uuid.UUID, list[JournalLine]] = {}
    for key, posting_kind, reference, memo, kind, network, asset, owner, amount in rows:
        if key not in found:
            lines[key] = []
            found[key] = JournalPosting(key, posting_kind, reference, memo, lines[key])
        public = owners.get((kind, owner), owner)
        merchant = public if kind in OF_MERCHANTS else ""
        lines[key].append(JournalLine(SummedAccount(kind, network, asset, merchant), public, int(amount)))
    return list(found.values())


def _owners(accounts: Iterator[tuple[str, str]]) -> Mapping[tuple[str, str], str]:
    """The public ids of the records that these accounts, pairs of kind and owner, belong to."""
    owned = {(kind, owner) for kind, owner in accounts if owner}
    keys = {owner: uuid.UUID(owner) for _, owner in owned}
    kinds: dict[Owner, list[uuid.UUID]] = {}
    for kind, owner in owned:
        kinds.setdefault(AccountKind(kind).rules.owner, []).append(keys[owner])
    payments = _among(Payment, kinds.get(Owner.PAYMENT_OR_DEPOSIT))
    payouts = dict(Payout.objects.filter(pk__in=kinds.get(Owner.PAYOUT, [])).values_list("pk", "reference"))
    named: dict[tuple[str, str], str] = {}
    for kind, owner in owned:
        key = keys[owner]
        match AccountKind(kind).rules.owner:
            case Owner.MERCHANT:
                named[kind, owner] = ids.MERCHANT.encode(key)
            case Owner.PAYOUT:
                named[kind, owner] = payouts.get(key, owner)
            case Owner.PAYMENT:
                named[kind, owner] = ids.PAYMENT.encode(key)
            case Owner.PAYMENT_OR_DEPOSIT if key in payments:
                named[kind, owner] = ids.PAYMENT.encode(key)
    return named


def _among(model: Any, keys: list[uuid.UUID] | None) -> set[uuid.UUID]:
    return set(model.objects.filter(pk__in=keys).values_list("pk", flat=True)) if keys else set()
