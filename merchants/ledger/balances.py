"""Reads the ledger. Balances are natural: positive when there is money, whatever side the account grows on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import QuerySet

from config import ids
from config.admin.previews import Change
from config.admin.values import money, network_name, place_of
from merchants.ledger.chart import AccountKind
from merchants.ledger.day_sums import sums_before, sums_below
from merchants.ledger.models import Account, Entry
from merchants.ledger.owners import name_owners
from merchants.ledger.posting import AccountRef, noting_balances
from merchants.models import Merchant


@dataclass(frozen=True, slots=True)
class MerchantBalance:
    """A merchant's money in one asset on one network, in base units."""

    network: str
    asset: str
    available: int
    """Theirs, to be refunded from or settled."""
    receivable: int
    """The merchant's debt: credited and spent before a reorganisation took the deposit back."""


def balance(account: AccountRef, *, environment: str) -> int:
    """Present balance of the account; zero when it has never been used. Before deciding by it, lock the account."""
    signed = _accounts(account, environment).values_list("balance", flat=True).first()
    return account.rules.natural(int(signed or 0))


@dataclass(frozen=True, slots=True)
class StatementLine:
    """An entry of an account, and the account's natural balance after it."""

    entry: Entry
    change: int
    balance: int


def balance_at(account: Account, at: datetime) -> int:
    """Balance of an account by every posting made until an instant, those of its millisecond included."""
    [signed] = sums_before([account.pk], at + timedelta(milliseconds=1))
    return account.rules.natural(signed.get(account.pk, 0))


def statement(
    account: Account,
    *,
    start: datetime | None = None,
    end: datetime | None = None,
    before: UUID | None = None,
    number: int,
) -> list[StatementLine]:
    """The newest entries of an account, of postings from `start` until before `end`, or older than the one with the key
    `before`; newest first. However many there are, only those of this page and of one day are read."""
    # Postings are read after them: joined, PostgreSQL would read every newer one as well.
    entries = account.entries.prefetch_related("posting").order_by("-posting")
    if start is not None:
        entries = entries.filter(posting__gte=ids.first_uuid_at(start))
    ends = [key for key in (before, ids.first_uuid_at(end) if end else None) if key]
    found = list(entries.filter(posting__lt=min(ends))[:number] if ends else entries[:number])
    if not found:
        return []
    [signed] = sums_below([account.pk], UUID(int=found[0].posting_id.int + 1))
    left = account.rules.natural(signed[account.pk])
    lines: list[StatementLine] = []
    for entry in found:
        change = account.rules.natural(entry.amount)
        lines.append(StatementLine(entry, change, left))
        left -= change
    return lines


def merchant_balances(merchant: Merchant, environment: str, *, at: datetime | None = None) -> list[MerchantBalance]:
    """A merchant's money per network and asset, sorted; nothing for an asset never used.

    Now, or as it was at an instant: by every posting made until then, those of its millisecond included.
    """
    kinds = (AccountKind.MERCHANT_AVAILABLE, AccountKind.MERCHANT_RECEIVABLE)
    accounts = Account.objects.filter(environment=environment, owner=str(merchant.pk), kind__in=kinds)
    signed = {account.pk: int(account.balance) for account in accounts}
    if at is not None:
        [signed] = sums_before(signed, at + timedelta(milliseconds=1))
    held: defaultdict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for account in accounts:
        if account.pk in signed:
            held[account.network, account.asset][account.kind] = account.rules.natural(signed[account.pk])
    return [
        MerchantBalance(network, asset, *(balances.get(kind, 0) for kind in kinds))
        for (network, asset), balances in sorted(held.items())
    ]


@contextmanager
def watch_balances() -> Iterator[Callable[[], list[Change]]]:
    """Notes the balances that are changed inside, for the pages on which an action is previewed."""
    with noting_balances() as before:
        yield lambda: _changes_since(before)


def _changes_since(before: Mapping[int, int]) -> list[Change]:
    accounts = Account.objects.filter(pk__in=before).order_by("owner", "kind", "network", "asset")
    changed = [account for account in accounts if int(account.balance) != before[account.pk]]
    names = {key: each.short_name for key, each in name_owners(changed).items()}
    return [
        Change(
            f"{account.get_kind_display()}, {names[account.pk]}, on {network_name(*place_of(account))}",
            *(money(account.rules.natural(signed), place_of(account), account.asset) for signed in (was, becomes)),
        )
        for account in changed
        for was, becomes in [(before[account.pk], int(account.balance))]
    ]


def _accounts(account: AccountRef, environment: str) -> QuerySet[Account]:
    return Account.objects.filter(
        environment=environment, owner=account.owner, kind=account.kind, network=account.network, asset=account.asset
    )
