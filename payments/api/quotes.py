"""What a price comes to now, without a payment."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from config.api.renderers import format_instant
from config.money import FIAT_DIGITS, format_crypto, from_units
from merchants.models import Merchant
from payments.chains import registry
from payments.chains.errors import NetworkUnavailable
from payments.checkout.choices.options import Option, options_of
from payments.choices import Choice, choices_among
from payments.rates.amounts import fiat_units, require_worth
from payments.rates.quoting import RateUnavailable, quote
from payments.terms import Offer, terms_of


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
    by_coin = options_of(environment, payable, amount=amount, currency=currency, now=timezone.now())
    options = [each for coin in by_coin for each in coin.options if each.due is not None]
    if not options:
        raise RateUnavailable(retry_after_seconds=60)
    require_worth(amount, currency, environment=environment, coin=options[0].choice.coin)
    return {
        "object": "quote",
        "amount": amount,
        "currency": currency,
        "options": [_option_record(environment, currency, each) for each in options],
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
    return [
        each
        for each in choices
        if terms[each.network].is_read(environment) and each.coin not in terms[each.network].stopped_coins
    ]


def _option_record(environment: str, currency: str, option: Option) -> dict[str, Any]:
    coin, network = option.choice.coin, option.choice.network
    price = quote(currency, coin, environment=environment)
    return {
        "cryptocurrency": coin,
        "network": network,
        "cryptoAmount": format_crypto(option.due or 0, registry.asset(environment, network, coin).decimals),
        "exchangeRate": {
            "rate": f"{price.rate.normalize():f}",
            "source": price.source,
            "quotedAt": format_instant(price.quoted_at),
        },
        "networkFee": option.fee,
        "seconds": math.ceil(option.wait_seconds),
    }
