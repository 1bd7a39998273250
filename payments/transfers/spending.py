"""The spendable rest: coins of a hot wallet, limits of the policy, and native coins that may be locked up."""

from __future__ import annotations

import uuid
from collections.abc import Collection

from django.db.models import Q, Sum
from django.db.models.functions import Now

from config.coins import usd_worth
from merchants.four_eyes.people import people_needed
from merchants.ledger.balances import balance
from merchants.ledger.chart import AccountKind
from merchants.ledger.posting import AccountRef
from merchants.ledger.stops import stopped_merchants
from payments.chains import registry
from payments.chains.protocol.chain import Chain
from payments.screening.matching import is_released, note_evidence, with_lists
from payments.transfers import postings
from payments.transfers.limits import WINDOW, Limits, Spent, why_held
from payments.transfers.models import Payout, PayoutPolicy, Transfer, TransferLine, Wallet, approval_count
from payments.transfers.states import OPEN_TRANSFERS, HoldReason, PayoutStatus

TRANSFERS_PAID_FOR = 100
"""For how many full transfers, at the fees of this moment, native coins are never locked up."""


class Purse:
    """The hot wallet's spendable coins: its coins in the ledger less what is on its way.

    The ledger has one account for all hot wallets of a network. Where there were others before, the network is queried
    for the balance of this one: coins that are still in another are not spent from it.
    """

    def __init__(self, wallet: Wallet, chain: Chain) -> None:
        self._wallet, self._chain = wallet, chain
        self._left: dict[str, int] = {}

    def covers(self, payout: Payout) -> bool:
        if payout.asset not in self._left:
            self._left[payout.asset] = self._spendable(payout.asset)
        return self._left[payout.asset] >= int(payout.amount)

    def why_short(self, payout: Payout) -> HoldReason | None:
        """The reason it cannot pay this yet: it needs a sweep, or people who send coins from the cold wallet. None when
        it can pay it."""
        if self.covers(payout):
            return None
        lacks, place = int(payout.amount) - self._left[payout.asset], (payout.network, payout.asset)
        in_cold = balance(postings.cold_account(*place), environment=payout.environment)
        coming = 0
        if self._chain.treasury() == self._wallet.address:
            coming = balance(AccountRef(*place, AccountKind.CHAIN_DEPOSIT), environment=payout.environment)
        return HoldReason.REFILL if in_cold >= lacks > coming else HoldReason.LIQUIDITY

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
        spendable = held - int(leaving.aggregate(total=Sum("amount"))["total"] or 0)
        here = {"environment": self._wallet.environment, "network": self._wallet.network}
        if not Wallet.objects.filter(**here).exclude(pk=self._wallet.pk).exists():
            return spendable
        own = leaving.filter(transfer__wallet=self._wallet).aggregate(total=Sum("amount"))["total"] or 0
        coin = self._chain.profile.assets.get(asset)
        holds = self._chain.reading.balance(self._wallet.address, coin) if coin is not None else 0
        return min(spendable, holds - int(own))


class Lockable:
    """The hot wallet's native coins that may be locked up for payouts that are set aside. Queries the network once."""

    def __init__(self, wallet: Wallet, chain: Chain) -> None:
        self._wallet, self._chain = wallet, chain
        self._left: int | None = None
        self._each = 0

    def take(self) -> bool:
        """Take the share of one more, if there is enough. Fees come first: without them nobody is paid."""
        if self._left is None:
            self._left = self._measure()
        if self._left < self._each:
            return False
        self._left -= self._each
        return True

    def _measure(self) -> int:
        address, profile, costs = self._wallet.address, self._chain.profile, self._chain.hot_wallet.costs()
        self._each = costs.set_aside
        reserve = self._chain.reserves.reserve(address) if self._chain.reserves else 0
        held = self._chain.reading.balance(address, profile.native) - reserve
        leaving = TransferLine.objects.filter(
            transfer__wallet=self._wallet, transfer__status__in=OPEN_TRANSFERS
        ).exclude(claimable_balance="")
        for_fees = TRANSFERS_PAID_FOR * profile.payouts_per_transfer * costs.payout
        return held - for_fees - leaving.count() * self._each


class Allowance:
    """The rest of today's limits, and the merchants to whom nothing is paid. It holds until the commit only under the
    policy's lock."""

    def __init__(self, policy: PayoutPolicy, *, without: Collection[uuid.UUID] = ()) -> None:
        """`without` are payouts that are on their way and are checked again: they do not count twice."""
        self._limits = Limits(
            policy.approval_above,
            policy.transfer_limit,
            policy.daily_limit,
            policy.merchant_daily_limit,
            people_needed(policy.environment),
        )
        self._stopped = stopped_merchants(policy.environment)
        self._by_merchant: dict[object, int] = {}
        if self._limits.daily is None and self._limits.merchant_daily is None:
            return
        recent = Payout.objects.filter(environment=policy.environment).filter(
            Q(status=PayoutStatus.SENDING) | Q(status=PayoutStatus.PAID, finished_at__gt=Now() - WINDOW)
        )
        sums = (
            recent.exclude(pk__in=without)
            .exclude(merchant=None, recipient__in=_cold_wallets(policy.environment))
            .order_by()
            .values_list("merchant_id", "asset", "decimals")
            .annotate(total=Sum("amount"))
        )
        for merchant_id, code, decimals, total in sums:
            self._add(merchant_id, usd_worth(code, int(total), decimals))

    def why_held(self, payout: Payout) -> HoldReason | None:
        if payout.evidence and not is_released(payout):
            return HoldReason.REVIEW
        if payout.merchant_id in self._stopped:
            return HoldReason.STOPPED
        spent = Spent(sum(self._by_merchant.values()), self._by_merchant.get(payout.merchant_id, 0))
        is_of_house = payout.merchant_id is None
        may_be_approved = is_of_house or payout.status != PayoutStatus.READY
        approvals = approval_count(payout) if may_be_approved else 0
        if is_of_house and approvals < self._limits.approvals_needed:
            return HoldReason.APPROVAL
        if _stays_ours(payout):
            return None
        return why_held(
            usd_worth(payout.asset, int(payout.amount), payout.decimals), self._limits, spent, approvals=approvals
        )

    def take(self, payout: Payout) -> None:
        if _stays_ours(payout):
            return
        self._add(payout.merchant_id, usd_worth(payout.asset, int(payout.amount), payout.decimals))

    def _add(self, merchant_id: object, usd: int) -> None:
        self._by_merchant[merchant_id] = self._by_merchant.get(merchant_id, 0) + usd


def _stays_ours(payout: Payout) -> bool:
    """True if it goes to the cold wallet of the settings: limits are for what leaves us. The row is not believed."""
    return payout.merchant_id is None and payout.recipient in _cold_wallets(payout.environment)


def _cold_wallets(environment: str) -> set[str]:
    return {registry.chain(environment, network).cold_wallet() for network in registry.networks(environment)} - {""}


def why_not_again(policy: PayoutPolicy, transfer: Transfer) -> HoldReason | None:
    """The reason a transfer that was signed and never sent may not leave by the limits as they are now."""
    payouts = list(with_lists(transfer.payouts.filter(status=PayoutStatus.SENDING)).order_by("pk"))
    note_evidence(payouts)
    allowance = Allowance(policy, without=[payout.pk for payout in payouts])
    for payout in payouts:
        if (reason := allowance.why_held(payout)) is not None:
            return reason
        allowance.take(payout)
    return None
