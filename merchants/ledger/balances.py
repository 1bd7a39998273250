"""Reads the ledger. Balances are natural: positive when there is money, whatever side the account grows on."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import QuerySet

from merchants.ledger.chart import AccountKind
from merchants.ledger.day_sums import sums_before
from merchants.ledger.models import Account
from merchants.ledger.posting import AccountRef
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


def _accounts(account: AccountRef, environment: str) -> QuerySet[Account]:
    return Account.objects.filter(
        environment=environment, owner=account.owner, kind=account.kind, network=account.network, asset=account.asset
    )
