"""What a run would settle: reads what a merchant has unsettled, and lets the plan be made of it. Writes nothing."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Sum

from config import ids
from merchants.models import Merchant, MerchantSettings
from merchants.services import fee_bps_of
from merchants.wallets import WalletRules
from payments.chains import registry
from payments.chains.errors import InvalidAddress
from payments.losses.models import MissingCoins, MissingStatus
from payments.models import BalanceChange
from payments.payable import refusal_of
from payments.states import BalanceChangeKind
from settlements.models import Settlement
from settlements.planning import CarriedOver, CarryReason, Place, Plan, Pot, Terms, plan
from settlements.pricing import known_prices
from settlements.schedule import Period
from settlements.states import BLOCKING, SettlementStatus

PAID = (BalanceChangeKind.PAYMENT, BalanceChangeKind.ACCEPTED)
REVERSED = (
    BalanceChangeKind.REVERSAL,
    BalanceChangeKind.MISSING,
    BalanceChangeKind.MISSING_ENDED,
    BalanceChangeKind.LOSS,
)
REFUNDED = (BalanceChangeKind.REFUND, BalanceChangeKind.REFUND_FAILED)
RETURNED = (BalanceChangeKind.SETTLEMENT_FAILED,)


@dataclass(frozen=True, slots=True)
class Preview:
    """What the next run would settle if it came now; `period` is None when it has to be asked for."""

    period: Period | None
    plan: Plan


def propose(merchant: Merchant, chosen: MerchantSettings, *, until: datetime, now: datetime) -> Plan:
    """The plan for what happened before `until`."""
    environment = chosen.environment
    pots = unsettled(merchant.pk, environment, until=until)
    held = held_while_missing(merchant.pk, environment)
    if not pots:
        return Plan(carried_over=held)
    places = {pot.place for pot in pots}
    in_use = set(registry.networks(environment))
    currency = chosen.settlement_currency
    made = plan(
        pots,
        terms_of(merchant, chosen),
        now=now,
        decimals={
            place.network: registry.decimals(environment, place.network, currency)
            for place in places
            if place.network in in_use
        },
        prices=known_prices((pot.coin for pot in pots), currency, environment=environment),
        blocked=blocked_places(merchant.pk, environment),
        invalid={place for place in places if place.network in in_use and not _is_address(environment, place)},
    )
    return replace(made, carried_over=(*made.carried_over, *held))


def held_while_missing(merchant_id: uuid.UUID, environment: str) -> tuple[CarriedOver, ...]:
    """What is held of a merchant's balance, by wallet and coin, because its coins are missing on the network."""
    waiting = MissingCoins.objects.filter(
        payment__merchant=merchant_id, environment=environment, status=MissingStatus.OPEN, held__gt=0
    )
    rows = waiting.values_list("network", "payment__merchant_wallet", "asset", "decimals").annotate(Sum("held"))
    return tuple(
        CarriedOver(network, wallet, coin, decimals, int(held), CarryReason.COINS_MISSING)
        for network, wallet, coin, decimals, held in rows.order_by("network", "payment__merchant_wallet", "asset")
    )


def terms_of(merchant: Merchant, chosen: MerchantSettings) -> Terms:
    return Terms(
        currency=chosen.settlement_currency,
        fee_bps=fee_bps_of(merchant),
        minimum=chosen.settlement_minimum,
        wallets=WalletRules.of(chosen.wallet_allow_list, chosen.wallets_allowed_at),
    )


def unsettled_changes(merchant_id: uuid.UUID, environment: str, *, until: datetime) -> QuerySet[BalanceChange]:
    """What no settlement has taken. What came off counts at once, or more could be paid out than there is now."""
    return BalanceChange.objects.filter(
        Q(id__lt=ids.first_uuid_at(until)) | Q(amount__lt=0),
        merchant_id=merchant_id,
        environment=environment,
        settlement__isnull=True,
    )


def unsettled(merchant_id: uuid.UUID, environment: str, *, until: datetime) -> list[Pot]:
    """Summed up by the database, so that a merchant with a million payments takes no more memory than one with ten."""

    def total(kinds: Iterable[str]) -> Sum:
        return Sum("amount", filter=Q(kind__in=kinds), default=0)

    rows = (
        unsettled_changes(merchant_id, environment, until=until)
        .values("network", "wallet", "decimals", coin=F("asset"))
        .annotate(
            paid=total(PAID),
            reversed=total(REVERSED),
            refunded=total(REFUNDED),
            returned=total(RETURNED),
            payment_count=Count("payment", filter=Q(kind=BalanceChangeKind.PAYMENT), distinct=True),
        )
        .order_by()
    )
    return [Pot(**row) for row in rows]


def blocked_places(merchant_id: uuid.UUID, environment: str) -> set[Place]:
    """Wallets that could not be paid, with nobody having said since that they can be."""
    same_place = Settlement.objects.filter(
        merchant=OuterRef("merchant"),
        environment=OuterRef("environment"),
        network=OuterRef("network"),
        destination=OuterRef("destination"),
    )
    failed = Settlement.objects.filter(
        ~Exists(same_place.filter(status=SettlementStatus.COMPLETED, id__gt=OuterRef("id"))),
        merchant=merchant_id,
        environment=environment,
        status=SettlementStatus.FAILED,
        failure_code__in=BLOCKING,
        may_retry=False,
    )
    return {Place(*place) for place in failed.values_list("network", "destination")}


def _is_address(environment: str, place: Place) -> bool:
    """Whether somebody can be paid there. Money that arrived on another network than its payment's may be for a wallet
    that does not exist there; and older payments may name one of ours, or a token."""
    chain = registry.chain(environment, place.network)
    try:
        return refusal_of(chain, chain.parse_address(place.wallet)) is None
    except InvalidAddress:
        return False
