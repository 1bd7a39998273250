"""Reads what settlements are made of, and when the next period starts."""

from __future__ import annotations

import uuid
from datetime import datetime
from itertools import starmap
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import F, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import JSONObject

from config.api.renderers import format_instant
from merchants.models import Merchant
from merchants.wallets import wallet_key
from payments.merchant_wallets.models import MerchantWallet
from payments.merchant_wallets.states import WalletStatus
from payments.models import BalanceChange, Payment
from payments.states import BalanceChangeKind, PaymentStatus
from payments.transfers.models import Payout, TransferLine
from payments.transfers.states import PayoutStatus
from settlements.models import DebtDecision, DebtOffset, Settlement, SettlementRun
from settlements.plans.statements import CHANGE_COLUMNS, Change, OtherSide, Statement, build_statement
from settlements.states import SettlementStatus


def statement_of(settlement: Settlement) -> Statement:
    """The statement, from one query however many payments it has; StatementDoesNotBalance when the rows are damaged."""
    fees, set_aside, offsets = _token_fees(settlement), _set_aside(settlement), other_sides(settlement)
    rows = changes_of(settlement).order_by("id").values_list(*CHANGE_COLUMNS)
    changes = starmap(Change, rows.iterator(chunk_size=2_000))
    return build_statement(
        settlement,
        (
            each._replace(
                token_fee=fees.get(each.reference, 0),
                claimable_balance=set_aside.get(each.reference, ""),
                other_side=offsets.get((each.reference, each.kind)),
            )
            for each in changes
        ),
    )


def changes_of(settlement: Settlement) -> QuerySet[BalanceChange]:
    """The changes that it is made of, for CHANGE_COLUMNS: each with what earlier ones of its payment come to."""
    earlier = BalanceChange.objects.filter(payment=OuterRef("payment"), asset=OuterRef("asset"), id__lt=OuterRef("id"))
    before = earlier.order_by().values("payment").values(total=Sum("amount"))
    return BalanceChange.objects.filter(settlement=settlement.id).annotate(before=Subquery(before))


def other_sides(settlement: Settlement) -> dict[tuple[str, str], OtherSide]:
    """The other sides of the debt offsets in a settlement, by their public ids and the kind of this side."""
    kinds = (BalanceChangeKind.DEBT_OFFSET, BalanceChangeKind.DEBT_REPAID)
    changes = BalanceChange.objects.filter(settlement=settlement.id, kind__in=kinds)
    references = changes.values_list("reference", flat=True)
    keys = [key for reference in references if (key := DebtOffset.public_ids.decode(reference))]
    sides: dict[tuple[str, str], OtherSide] = {}
    for made in DebtOffset.objects.filter(pk__in=keys) if keys else ():
        rate = f"{made.rate:f}", made.rate_source, format_instant(made.quoted_at) if made.quoted_at else ""
        repaid = OtherSide(made.debt_asset, made.debt_network, made.debt_decimals, int(made.repaid), *rate)
        taken = OtherSide(made.asset, made.network, made.decimals, int(made.amount), *rate)
        sides[made.public_id, BalanceChangeKind.DEBT_OFFSET] = repaid
        sides[made.public_id, BalanceChangeKind.DEBT_REPAID] = taken
    return sides


def latest_offsets(merchant: Merchant, environment: str, limit: int) -> list[DebtOffset]:
    """The newest debt offsets of a merchant."""
    return list(DebtOffset.objects.filter(merchant=merchant, environment=environment).order_by("-id")[:limit])


_SHOWN_OF_DECISIONS = ("id", "network", "asset", "decimals", "amount", "ending", "taken_back_at")


def latest_decisions_as_column(limit: int) -> ArraySubquery:
    """The newest debts of a merchant that operators have ended, as a column of the query of its settings."""
    own = {"merchant": OuterRef("merchant"), "environment": OuterRef("environment")}
    latest = DebtDecision.objects.filter(**own).order_by("-id")
    return ArraySubquery(latest.values(json=JSONObject(**{name: name for name in _SHOWN_OF_DECISIONS}))[:limit])


def decisions_of_column(found: list[dict[str, Any]], environment: str) -> list[DebtDecision]:
    """The decisions in the column, as far as pages show them; not to be saved."""
    return [
        DebtDecision(
            **each
            | {
                "id": uuid.UUID(each["id"]),
                "environment": environment,
                "taken_back_at": each["taken_back_at"] and datetime.fromisoformat(each["taken_back_at"]),
            }
        )
        for each in found
    ]


def wallets_with_money(merchant: Merchant, environment: str) -> list[tuple[str, str]]:
    """Networks and wallets to which money of a merchant could still go: that of settlements on their way, what no
    settlement has yet, what payers may still pay, and the wallets in use. In one spelling, without those that are lost.
    """
    own = {"merchant": merchant, "environment": environment}
    pending = Settlement.objects.filter(**own, status=SettlementStatus.PENDING)
    unsettled = BalanceChange.objects.filter(**own, settlement__isnull=True)
    # Those whose window has closed stay underpaid until somebody decides: in an index of their own the others are few.
    short = Q(status=PaymentStatus.UNDERPAID, closed_at__isnull=True)
    awaited = Payment.objects.filter(short | Q(status__in=[PaymentStatus.CREATED, PaymentStatus.PENDING]), **own)
    named = MerchantWallet.objects.filter(**own)
    found = (
        pending.order_by()
        .values_list("network", "destination")
        .union(
            unsettled.order_by().values_list("network", "wallet"),
            awaited.order_by().values_list("network", "merchant_wallet"),
            named.filter(status=WalletStatus.IN_USE).order_by().values_list("network", "address"),
        )
    )
    lost = {
        (network, wallet_key(address))
        for network, address in named.filter(status=WalletStatus.LOST).values_list("network", "address")
    }
    by_key = {(network, wallet_key(address)): (network, address) for network, address in found if address}
    return sorted(shown for key, shown in by_key.items() if key not in lost)


def _token_fees(settlement: Settlement) -> dict[str, int]:
    """Token fees on the refunds in a settlement, by their public ids; few have any."""
    payouts = Payout.objects.filter(reference__in=_refunds(settlement), arrived__lt=F("amount"))
    return {payout.reference: payout.token_fee for payout in payouts}


def _set_aside(settlement: Settlement) -> dict[str, str]:
    """The claimable balances that refunds in a settlement became, by the refunds' public ids."""
    final = TransferLine.objects.filter(payout__reference__in=_refunds(settlement), transfer=F("payout__transfer"))
    final = final.filter(payout__status=PayoutStatus.PAID).exclude(claimable_balance="")
    return dict(final.values_list("payout__reference", "claimable_balance"))


def _refunds(settlement: Settlement) -> QuerySet[BalanceChange, str]:
    """The public ids of the refunds in a settlement."""
    refunds = BalanceChange.objects.filter(settlement=settlement.id, kind=BalanceChangeKind.REFUND)
    return refunds.values_list("reference", flat=True)


def next_period_start(merchant: Merchant, environment: str) -> datetime:
    """End of the last run; for the first one, the creation of the merchant."""
    runs = SettlementRun.objects.filter(merchant=merchant, environment=environment)
    return runs.order_by("-period_end").values_list("period_end", flat=True).first() or merchant.created_at
