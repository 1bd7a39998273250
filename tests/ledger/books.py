"""Accounts and postings the ledger's tests share."""

from __future__ import annotations

import itertools
import uuid
from datetime import datetime

from django.db import transaction

from config.environments import Environment
from merchants.ledger.day_sums import sums_before
from merchants.ledger.models import Account, Posting
from merchants.ledger.posting import AccountRef, Line, post

SANDBOX = Environment.SANDBOX
PRODUCTION = Environment.PRODUCTION

COINS = AccountRef("ethereum", "USDC", "chain:deposit")
HOT_WALLET = AccountRef("ethereum", "USDC", "chain:hot")
FEES = AccountRef("ethereum", "USDC", "fee:service")

_numbers = itertools.count(1)


def payment_account(owner: str | None = None) -> AccountRef:
    return AccountRef("ethereum", "USDC", "payment", owner or str(uuid.uuid4()))


def available_account(owner: str | None = None, *, network: str = "ethereum", asset: str = "USDC") -> AccountRef:
    return AccountRef(network, asset, "merchant:available", owner or str(uuid.uuid4()))


def receivable_account(owner: str | None = None) -> AccountRef:
    return AccountRef("ethereum", "USDC", "merchant:receivable", owner or str(uuid.uuid4()))


def move(
    amount: int, *, debit: AccountRef, credit: AccountRef, environment: str = SANDBOX, reference: str | None = None
) -> Posting:
    """Post one amount from one account to another, in a database transaction of its own."""
    with transaction.atomic():
        return post(
            height=1,
            environment=environment,
            kind="moved",
            reference=reference or f"test:{next(_numbers)}",
            lines=[Line(debit, amount), Line(credit, -amount)],
        )


def balance_at(account: AccountRef, instant: datetime, *, environment: str) -> int:
    """Natural balance of an account just before an instant, by the stored sums of days and the entries since."""
    own = Account.objects.filter(
        environment=environment, network=account.network, asset=account.asset, kind=account.kind, owner=account.owner
    )
    [sums] = sums_before(own.values_list("pk", flat=True), instant)
    return account.rules.natural(sum(sums.values()))
