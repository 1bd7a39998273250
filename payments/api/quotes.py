"""What a price comes to now, without a payment."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Any

from django.utils import timezone

from config.api.renderers import format_instant
from config.money import FIAT_DIGITS, format_crypto, from_units
from merchants.models import Merchant
from payments.chains import registry
from payments.chains.errors import NetworkUnavailable
from payments.checkout.choices.options import Option, options_of, payable_by
from payments.choices import Choice, choices_among
from payments.rates.amounts import fiat_units, require_worth
from payments.rates.quoting import Quote, RateUnavailable, quote
from payments.terms import Offer, due_at, terms_of


def quote_record(merchant: Merchant, environment: str, query: Mapping[str, Any]) -> dict[str, Any]:
    """The quote of a valid QuoteQuery, as the API shows it: what cannot be paid with now is left out.

    UnsupportedAsset for a coin that the network does not have, NetworkUnavailable and RateUnavailable where nothing is
    left.
    """
    currency = query["currency"]
    amount = from_units(fiat_units(query["amount"], currency), FIAT_DIGITS[currency])
    networks = [query["network"]] if "network" in query else registry.networks(environment)
    coins = [query["cryptocurrency"]] if "cryptocurrency" in query else []
    if "network" in query and coins:
        registry.asset(environment, query["network"], coins[0])
    payable = _payable(merchant, environment, choices_among(environment, networks, coins))
    if not payable:
        raise NetworkUnavailable(param="network", retry_after_seconds=60)
    prices: dict[str, Quote] = {}
    for coin in dict.fromkeys(each.coin for each in payable):
        with suppress(RateUnavailable):
            prices[coin] = quote(currency, coin, environment=environment)
    if not prices:
        raise RateUnavailable(retry_after_seconds=60)
    require_worth(amount, currency, environment=environment, coin=next(iter(prices)))
    priced = [each for each in payable if each.coin in prices]
    by_coin = options_of(environment, priced, amount=amount, currency=currency, now=timezone.now())
    return {
        "object": "quote",
        "amount": amount,
        "currency": currency,
        "options": [
            _option_record(environment, amount, prices[coin.coin], each) for coin in by_coin for each in coin.options
        ],
        "environment": environment,
    }


def _payable(merchant: Merchant, environment: str, choices: list[Choice]) -> list[Choice]:
    # Terms are those of a wallet, which a quote does not have: any address of the network stands for one.
    offers = [
        Offer(each.network, each.coin, registry.chain(environment, each.network).deposit_address(0).address)
        for each in choices
    ]
    terms = terms_of(merchant.pk, environment, offers, number=0) if offers else {}
    for here in terms.values():
        here.require_current()
    payable = payable_by(terms, environment, offers)
    return [each for each in choices if (each.network, each.coin) in payable]


def _option_record(environment: str, amount: Decimal, price: Quote, option: Option) -> dict[str, Any]:
    coin, network = option.choice.coin, option.choice.network
    decimals = registry.asset(environment, network, coin).decimals
    return {
        "cryptocurrency": coin,
        "network": network,
        "cryptoAmount": format_crypto(due_at(amount, price.rate, decimals), decimals),
        "exchangeRate": {
            "rate": f"{price.rate.normalize():f}",
            "source": price.source,
            "quotedAt": format_instant(price.quoted_at),
        },
        "networkFee": option.fee,
        "seconds": math.ceil(option.wait_seconds),
    }
