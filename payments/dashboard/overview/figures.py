"""What a merchant has, and what is on its way, for the start page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast

from django.db.models import Case, Count, F, IntegerField, Max, Sum, When
from django.urls import reverse
from django.utils.translation import ngettext

from config.hooks import Hook
from config.pages import wording
from merchants.ledger.balances import merchant_balances
from merchants.models import Merchant
from payments.chains import registry
from payments.dashboard.overview.trends import coins_worth, money
from payments.models import Payment
from payments.states import PaymentStatus


@dataclass(frozen=True)
class Notice:
    """Something that waits for the merchant, and the page with the remedy."""

    title: str
    words: str
    url: str
    label: str


waiting_settlements: Hook[[Merchant, str], Notice | None] = Hook("waiting_settlements")
"""The notice about settlements and refunds that wait until an account holds the coin; None when none does."""


@dataclass(frozen=True)
class Balance:
    """A merchant's balance of a coin on a network, and its present worth; empty without a rate."""

    coin: str
    network: str
    available: str
    worth: str


@dataclass(frozen=True)
class Balances:
    """All of them, and what they are worth together; empty when one of them has no rate."""

    rows: list[Balance]
    total: str
    settled: str = ""
    """Settled amounts, where nothing is left."""


@dataclass(frozen=True)
class Coming:
    """Money on its way, and when it is there, in words."""

    amount: str
    words: str
    url: str


settlements_coming: Hook[[Merchant, str], Sequence[Coming]] = Hook("settlements_coming")
"""Settlements that are on their way to the merchant's wallets, the newest first; settlements provide them."""


settled_so_far: Hook[[Merchant, str], str] = Hook("settled_so_far")
"""Gross and settled amounts, ever, in words; empty before the first settlement. Settlements provide it."""


def balances(merchant: Merchant, environment: str, currency: str) -> Balances:
    """Balance of each coin; coins of which nothing is left are not shown."""
    rows, total = [], Decimal(0)
    has_rates = True
    for balance in merchant_balances(merchant, environment):
        network = registry.known_profile(environment, balance.network)
        units, decimals = balance.available - balance.receivable, network.decimals[balance.asset]
        if not units:
            continue
        worth = coins_worth(units, decimals, balance.asset, currency, environment)
        has_rates, total = has_rates and worth is not None, total + (worth or 0)
        rows.append(
            Balance(
                coin=balance.asset,
                network=network.name,
                available=wording.grouped(wording.coins_held(units, decimals)),
                worth="" if worth is None else money(worth, currency),
            )
        )
    if not rows:
        return Balances([], "", settled_so_far(merchant, environment))
    return Balances(rows, money(total, currency) if has_rates else "")


def confirming(merchant: Merchant, environment: str) -> list[Coming]:
    """Deposits seen on the networks and not confirmed yet, by coin and network."""
    seen = Payment.objects.of(merchant, environment).filter(status=PaymentStatus.PENDING)
    until = Case(
        When(require_finalized=True, then=_UNTIL_FINAL),
        default=F("required_confirmations"),
        output_field=IntegerField(),
    )
    kinds = seen.order_by().values("network", "cryptocurrency")
    sums = kinds.annotate(number=Count("pk"), total=Sum("due"), slowest=Max(until))
    rows = cast("list[dict[str, Any]]", list(sums))
    return [_seen(environment, *each.values()) for each in sorted(rows, key=lambda row: list(row.values())[:2])]


def _seen(environment: str, network: str, coin: str, number: int, due: Decimal, confirmations: int) -> Coming:
    held = wording.coins_held(int(due), registry.decimals(environment, network, coin))
    words = ngettext("%(number)d payment on %(network)s, %(wait)s", "%(number)d on %(network)s, %(wait)s", number)
    return Coming(
        amount=f"{wording.grouped(held)} {coin}",
        words=words
        % {
            "number": number,
            "network": registry.known_profile(environment, network).name,
            "wait": wording.about(_wait(environment, network, confirmations)),
        },
        url=f"{reverse('dashboard_payments')}?status={PaymentStatus.PENDING}&network={network}&coin={coin}",
    )


_UNTIL_FINAL = 1_000_000
"""Stands for the confirmations of a payment that waits for a final block."""


def _wait(environment: str, network: str, confirmations: int) -> float:
    """Longest time the slowest one takes, in seconds."""
    profile = registry.known_profile(environment, network)
    return profile.final_within_seconds if confirmations >= _UNTIL_FINAL else profile.block_seconds * confirmations


def notices(merchant: Merchant, environment: str) -> list[Notice]:
    """Notices of money that waits until a wallet of the merchant's holds the coin."""
    notice = waiting_settlements(merchant, environment)
    return [] if notice is None else [notice]
