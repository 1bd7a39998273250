"""What a payer chooses among: coins, and of each its networks with what it comes to, what sending costs and how long it
takes. The cheapest and fastest come first."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import ROUND_CEILING, Decimal

from django.utils import timezone
from django.utils.translation import gettext as _

from config.coins import COINS, USD, USD_SCALE, coin_name, usd_worth
from config.money import FIAT_DIGITS, from_units
from config.pages import wording
from payments.chains import registry
from payments.chains.errors import InvalidAddress
from payments.chains.recipients import account_of
from payments.checkout.choices.usual_wait import usual_wait
from payments.choices import Choice, choices_among
from payments.models import Payment
from payments.monitoring.models import NetworkSnapshot
from payments.rates.quoting import RateUnavailable, quote
from payments.terms import Offer, Terms, due_at, terms_of
from payments.treasury.sweeping import fees_at

_CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Option:
    """A network on which a coin can be sent. `amount` is empty where there is none yet, or no rate."""

    choice: Choice
    amount: str
    fee: Decimal
    """About what the payer's wallet pays the network, in dollars."""
    wait_seconds: float
    is_checked: bool = False

    @property
    def order(self) -> tuple[Decimal, float]:
        """Less than a cent is nothing: then the time decides."""
        return self.fee if self.fee >= _CENT else Decimal(0), self.wait_seconds

    @property
    def words(self) -> str:
        fee = f"≈ {self.fee.quantize(_CENT)} {USD}" if self.fee >= _CENT else f"< {_CENT} {USD}"
        wait = f"≈ {wording.duration(self.wait_seconds)}"
        said = _("Network fee %(fee)s, time %(wait)s")
        return said % {"fee": wording.left_to_right(fee), "wait": wording.left_to_right(wait)}


@dataclass(frozen=True, slots=True)
class CoinOptions:
    """A coin with its networks."""

    coin: str
    options: tuple[Option, ...]

    @property
    def coin_name(self) -> str:
        return coin_name(self.coin)

    @property
    def amount(self) -> str:
        return self.options[0].amount

    @property
    def is_checked(self) -> bool:
        return any(option.is_checked for option in self.options)


def options_of(
    environment: str,
    choices: Sequence[Choice],
    *,
    amount: Decimal | None,
    currency: str,
    now: datetime,
    standing: Payment | None = None,
    chosen: str = "",
) -> list[CoinOptions]:
    """By coin. `standing` is the payment that asks for one of them already, `chosen` what is to be checked."""
    fees = _fees(environment, {choice.network for choice in choices})
    waits: dict[tuple[str, int, bool], float] = {}
    found: list[Option] = []
    for choice in choices:
        due = _due(environment, choice, amount, currency, standing)
        asset = registry.asset(environment, choice.network, choice.coin)
        worth = usd_worth(asset.code, due or 0, asset.decimals) // 10**USD_SCALE
        rule = registry.profile(environment, choice.network).credit_rule(worth)
        key = (choice.network, rule.confirmations, rule.require_finalized)
        if key not in waits:
            waits[key] = usual_wait(environment, choice.network, rule, now) or _declared_wait(environment, *key)
        shown = "" if due is None else wording.grouped(wording.coins_to_send(due, asset.decimals))
        found.append(Option(choice, shown, fees[choice.network], waits[key]))
    by_coin = [
        (coin, sorted((each for each in found if each.choice.coin == coin), key=lambda each: each.order))
        for coin in COINS
    ]
    ordered = sorted((each for each in by_coin if each[1]), key=lambda each: each[1][0].order)
    values = {option.choice.value for option in found}
    first = chosen if chosen in values else ordered[0][1][0].choice.value if ordered else ""
    return [CoinOptions(coin, tuple(_checked(option, first) for option in options)) for coin, options in ordered]


def _checked(option: Option, chosen: str) -> Option:
    return replace(option, is_checked=option.choice.value == chosen)


def choices_of(payment: Payment) -> list[Choice]:
    """What the payment offers, of what is in use still."""
    offered = {(each["network"], each["cryptocurrency"]) for each in payment.choices}
    networks = {network for network, _coin in offered}
    return [each for each in choices_among(payment.environment, networks, ()) if (each.network, each.coin) in offered]


def coins_of(payment: Payment) -> list[CoinOptions]:
    """What the payment's page offers now, with what it asks for checked once the payer has chosen that."""
    payable = payable_now(payment.merchant_id, payment.environment, [Offer.of_record(each) for each in payment.choices])
    return options_of(
        payment.environment,
        [each for each in choices_of(payment) if (each.network, each.coin) in payable],
        amount=from_units(payment.fiat_amount, FIAT_DIGITS[payment.currency]),
        currency=payment.currency,
        now=timezone.now(),
        standing=payment,
        chosen=f"{payment.network}:{payment.cryptocurrency}" if payment.chosen_at else "",
    )


def payable_now(merchant_id: uuid.UUID, environment: str, offers: Sequence[Offer]) -> Collection[tuple[str, str]]:
    """Networks and coins of these offers that can be paid with now; all where none can: choosing then says why."""
    readable = [offer for offer in offers if _has_wallet(environment, offer)]
    terms = terms_of(merchant_id, environment, readable, number=0) if readable else {}
    return payable_by(terms, environment, offers) or {(offer.network, offer.coin) for offer in offers}


def payable_by(terms: Mapping[str, Terms], environment: str, offers: Sequence[Offer]) -> Collection[tuple[str, str]]:
    """Networks and coins of these offers that can be paid with by these terms of the networks."""
    return {
        (offer.network, offer.coin)
        for offer in offers
        if (here := terms.get(offer.network)) and here.is_read(environment) and offer.coin not in here.stopped_coins
    }


def _has_wallet(environment: str, offer: Offer) -> bool:
    """True if the wallet is an address of its network, as that of every offer was when it was stored."""
    try:
        account_of(registry.profile(environment, offer.network), offer.wallet)
    except InvalidAddress:
        return False
    return True


def _due(
    environment: str, choice: Choice, amount: Decimal | None, currency: str, standing: Payment | None
) -> int | None:
    """In the coin that a payment asks for already its rate stands."""
    if amount is None:
        return None
    decimals = registry.asset(environment, choice.network, choice.coin).decimals
    if standing is not None and standing.cryptocurrency == choice.coin:
        return due_at(amount, standing.rate, decimals)
    try:
        return due_at(amount, quote(currency, choice.coin, environment=environment).rate, decimals)
    except RateUnavailable:
        return None


def _fees(environment: str, networks: Collection[str]) -> dict[str, Decimal]:
    """As measured last: a payout costs what a payer's transfer does. Before, what the profile says."""
    measured = NetworkSnapshot.objects.filter(environment=environment, network__in=networks, payout_cost__gt=0)
    fees = {network: Decimal(registry.profile(environment, network).transfer_usd) for network in networks}
    for snapshot in measured:
        units = fees_at(snapshot.costs, registry.profile(environment, snapshot.network)).usd(snapshot.costs.payout)
        fees[snapshot.network] = Decimal(units).scaleb(-USD_SCALE)
    return {network: fee.quantize(_CENT, ROUND_CEILING) if fee >= _CENT else fee for network, fee in fees.items()}


def _declared_wait(environment: str, network: str, confirmations: int, require_finalized: bool) -> float:
    profile = registry.profile(environment, network)
    return profile.final_within_seconds if require_finalized else max(1.0, confirmations * profile.block_seconds)
