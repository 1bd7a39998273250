"""What may still be spent: the coins of a hot wallet, and the limits of the policy."""

from __future__ import annotations

from django.db.models import Q, Sum
from django.utils import timezone

from merchants.ledger.balances import balance
from payments.transfers import postings
from payments.transfers.limits import WINDOW, Limits, Spent, usd_units, why_held
from payments.transfers.models import Payout, PayoutPolicy, Wallet
from payments.transfers.states import HoldReason, PayoutStatus


class Purse:
    """What the hot wallet can still spend: the books' coins less what is on its way out."""

    def __init__(self, wallet: Wallet) -> None:
        self._wallet = wallet
        self._left: dict[str, int] = {}

    def covers(self, payout: Payout) -> bool:
        if payout.asset not in self._left:
            self._left[payout.asset] = self._spendable(payout.asset)
        return self._left[payout.asset] >= int(payout.amount)

    def take(self, payout: Payout) -> None:
        self._left[payout.asset] -= int(payout.amount)

    def _spendable(self, asset: str) -> int:
        held = balance(postings.hot_account(self._wallet.network, asset), environment=self._wallet.environment)
        leaving = Payout.objects.filter(
            environment=self._wallet.environment,
            network=self._wallet.network,
            asset=asset,
            status=PayoutStatus.SENDING,
        )
        return held - int(leaving.aggregate(total=Sum("amount"))["total"] or 0)


class Allowance:
    """What the policy still lets leave today. Only under the policy's lock does it stay so until the commit."""

    def __init__(self, policy: PayoutPolicy) -> None:
        self._limits = Limits(
            policy.approval_above, policy.transfer_limit, policy.daily_limit, policy.merchant_daily_limit
        )
        self._by_merchant: dict[object, int] = {}
        if self._limits.daily is None and self._limits.merchant_daily is None:
            return
        recent = Payout.objects.filter(environment=policy.environment).filter(
            Q(status=PayoutStatus.SENDING) | Q(status=PayoutStatus.PAID, finished_at__gt=timezone.now() - WINDOW)
        )
        sums = recent.order_by().values_list("merchant_id", "decimals").annotate(total=Sum("amount"))
        for merchant_id, decimals, total in sums:
            self._add(merchant_id, usd_units(int(total), decimals))

    def why_held(self, payout: Payout) -> HoldReason | None:
        spent = Spent(sum(self._by_merchant.values()), self._by_merchant.get(payout.merchant_id, 0))
        approvals = payout.approvals.count() if payout.status == PayoutStatus.HELD else 0
        return why_held(usd_units(int(payout.amount), payout.decimals), self._limits, spent, approvals=approvals)

    def take(self, payout: Payout) -> None:
        self._add(payout.merchant_id, usd_units(int(payout.amount), payout.decimals))

    def _add(self, merchant_id: object, usd: int) -> None:
        self._by_merchant[merchant_id] = self._by_merchant.get(merchant_id, 0) + usd
