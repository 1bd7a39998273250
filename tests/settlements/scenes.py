"""What merchants earn, how it is settled and what comes of it, in words the tests of settlements share.

Amounts are written as people say them, `"12.5"`, and the ledger is read in base units.
"""

from __future__ import annotations

import itertools
from collections import Counter
from datetime import datetime
from decimal import Decimal
from typing import Unpack

from django.db import transaction

from config import ids
from config.environments import Environment
from config.money import to_units
from merchants.counting import total
from merchants.ledger.balances import balance
from merchants.ledger.chart import AccountKind
from merchants.ledger.models import Account
from merchants.ledger.posting import AccountRef, Line, post
from merchants.models import Merchant
from merchants.services import SettingsChanges, update_settings
from payments.chains import registry
from payments.chains.networks import NETWORKS
from payments.chains.simulated import control
from payments.chains.simulated.networks import address_named
from payments.models import BalanceChange
from payments.states import BalanceChangeKind
from payments.transfers.owners import follow_payouts
from settlements import due_runs
from settlements.models import SETTLEMENTS, Settlement, SettlementRun
from settlements.services import run_now
from settlements.states import SettlementProblem, SettlementStatus
from tests.factories import make_merchant
from tests.networks import ETHEREUM, POLYGON, STELLAR
from tests.payments.scenes import assert_all_is_well
from tests.transfers.scenes import drive, finish, on_chain
from tests.transfers.scenes import stock as stock_units
from webhooks.models import Event

__all__ = ["ETHEREUM", "NETWORKS", "POLYGON", "STELLAR", "assert_all_is_well", "drive", "finish", "on_chain"]

SANDBOX = Environment.SANDBOX
PRODUCTION = Environment.PRODUCTION
WALLETS = {network: address_named(network, "the merchant's wallet") for network in NETWORKS}
OTHER_WALLETS = {network: address_named(network, "the merchant's other wallet") for network in NETWORKS}

_numbers = itertools.count(1)


def make_merchant_who(**changes: Unpack[SettingsChanges]) -> Merchant:
    """A merchant with these settings in the sandbox."""
    merchant = make_merchant()
    update_settings(merchant=merchant, environment=SANDBOX, changes=changes)
    return merchant


def units(amount: str, coin: str = "USDC", network: str = ETHEREUM) -> int:
    return to_units(Decimal(amount), registry.decimals(SANDBOX, network, coin))


def earn(
    merchant: Merchant,
    amount: str = "100",
    coin: str = "USDC",
    *,
    network: str = ETHEREUM,
    wallet: str = "",
    kind: str = BalanceChangeKind.PAYMENT,
    at: datetime | None = None,
    environment: str = SANDBOX,
) -> BalanceChange:
    """Money becomes a merchant's, or is the merchant's no more: in the ledger, and as what settlements are made of.

    What a payment leaves behind, but quicker. Its coins are at deposit addresses: what is paid out is the operator's.
    """
    change, asset = units(amount, coin, network), coin
    reference = f"test:{next(_numbers)}"
    with transaction.atomic():
        post(
            height=1,
            environment=environment,
            kind="earned",
            reference=reference,
            lines=[
                Line(AccountRef(network, asset, AccountKind.CHAIN_DEPOSIT), change),
                Line(available(merchant, coin, network), -change),
            ],
        )
        return BalanceChange.objects.create(
            id=ids.new_uuid() if at is None else ids.first_uuid_at(at),
            merchant=merchant,
            environment=environment,
            kind=kind,
            reference=reference,
            network=network,
            asset=asset,
            decimals=registry.decimals(environment, network, coin),
            wallet=wallet or WALLETS[network],
            amount=change,
            posting_kind="earned",
            posting_reference=reference,
        )


def stock_treasury(amount: str, coin: str = "USDC", network: str = ETHEREUM) -> None:
    """The operator puts coins of their own into the hot wallet, on the chain, for good, and in the ledger."""
    stock_units(network, units(amount, coin, network), coin)
    control.mine(network, control.deepest_reorg(network) + 1)


def settle(merchant: Merchant) -> SettlementRun:
    return run_now(merchant=merchant, environment=SANDBOX, requested_by="a test")


def settle_one(merchant: Merchant) -> Settlement:
    """A run that makes exactly one settlement."""
    return settle(merchant).settlements.get()


def advance(settlement: Settlement) -> Settlement:
    """What the worker does all the time; a settlement that waits is looked at again at once."""
    Settlement.objects.filter(pk=settlement.pk, next_step_at__isnull=False).update(next_step_at=settlement.created_at)
    due_runs.advance_due()
    follow_payouts()
    return fresh(settlement)


def pay_out(settlement: Settlement) -> Settlement:
    """Hand over, send, let it become final, and look."""
    advance(settlement)
    finish(settlement.network)
    return advance(settlement)


def fresh(settlement: Settlement) -> Settlement:
    return Settlement.objects.get(pk=settlement.pk)


def available(merchant: Merchant, coin: str = "USDC", network: str = ETHEREUM) -> AccountRef:
    return AccountRef(network, coin, AccountKind.MERCHANT_AVAILABLE, str(merchant.pk))


def owed(merchant: Merchant, coin: str = "USDC", network: str = ETHEREUM) -> int:
    """What the merchant has available, by the ledger."""
    return balance(available(merchant, coin, network), environment=SANDBOX)


def books(environment: str = SANDBOX) -> dict[str, int]:
    """Every account with money in it by coin and kind, those of all owners and networks together."""
    totals: Counter[str] = Counter()
    for account in Account.objects.filter(environment=environment).exclude(balance=0):
        totals[f"{account.asset} {account.kind}"] += account.natural_balance
    return dict(totals)


def events(settlement: Settlement) -> list[tuple[str, int]]:
    """What has been told of it, oldest first, with its versions."""
    return list(Event.objects.about(settlement.pk).values_list("type", "version"))


def counted(merchant: Merchant, *statuses: str) -> int:
    """How many settlements the merchant's lists say there are."""
    return total(SETTLEMENTS, merchant_id=merchant.pk, environment=SANDBOX, statuses=list(statuses))


def carried(run: SettlementRun) -> list[tuple[str, str, str]]:
    return [(left["coin"], left["amount"], left["reason"]) for left in run.carried_over]


def failed(settlement: Settlement, problem: SettlementProblem) -> bool:
    """It has failed for this, and its money waits for the same wallet again."""
    settlement = fresh(settlement)
    back = BalanceChange.objects.filter(kind=BalanceChangeKind.SETTLEMENT_FAILED, reference=settlement.public_id)
    assert {change.wallet for change in back} == {settlement.destination}
    assert "USDC payout" not in books()
    assert settlement.next_step_at is None
    assert settlement.failure_message
    assert events(settlement) == [("settlement.created", 1), ("settlement.failed", 2)]
    assert_all_is_well()
    return (settlement.status, settlement.failure_code, settlement.version) == (SettlementStatus.FAILED, problem, 2)
