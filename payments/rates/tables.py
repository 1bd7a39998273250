"""Rates that need no provider: the official dollar pegs, and a dated table for trying Ballast out.

The table is for the embedded run and for tests. Every quote names it as its source, and no payment in
production is priced with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import cache

from django.utils.translation import gettext

from config.coins import COINS, USD
from payments.rates.observations import Observation, Pair

PEGS = "official-pegs"
BUNDLED = "bundled"

# Units of the currency for one US dollar, as fixed by its central bank: the Central Bank of the UAE, the Saudi
# Central Bank, Qatar Central Bank, the Central Bank of Bahrain and the Central Bank of Oman.
_PEGGED = {
    "AED": Decimal("3.6725"),
    "SAR": Decimal("3.75"),
    "QAR": Decimal("3.64"),
    "BHD": Decimal("0.376"),
    "OMR": Decimal("0.3845"),
}

BUNDLED_ON = date(2025, 11, 20)
_BUNDLED_USD = {
    "EUR": "0.8667", "GBP": "0.7642", "CHF": "0.8057", "CZK": "20.964", "DKK": "6.4733", "HUF": "331.95",
    "NOK": "10.164", "PLN": "3.6716", "RON": "4.4069", "SEK": "9.5360", "TRY": "42.36", "AUD": "1.5430",
    "BRL": "5.3340", "CAD": "1.4040", "CNY": "7.1150", "HKD": "7.7860", "IDR": "16720", "ILS": "3.2560",
    "INR": "88.60", "MXN": "18.320", "MYR": "4.1550", "NZD": "1.7830", "PHP": "58.85", "SGD": "1.3070",
    "THB": "32.44", "ZAR": "17.180", "JPY": "157.30", "KRW": "1468.0", "ISK": "127.20",
}  # fmt: skip


def pegged_rates(now: datetime) -> list[Observation]:
    """The official pegs, valid until a central bank changes one."""
    return [Observation(USD, currency, rate, PEGS, now) for currency, rate in _PEGGED.items()]


@cache
def bundled_rates() -> Mapping[Pair, Decimal]:
    """Approximate market rates of one day, with every coin at its peg."""
    dollar = {USD: Decimal(1)} | {currency: Decimal(rate) for currency, rate in _BUNDLED_USD.items()}
    table: dict[Pair, Decimal] = {(code, USD): 1 / dollar[coin.peg] for code, coin in COINS.items()}
    table |= {(USD, currency): rate for currency, rate in dollar.items() if currency != USD}
    return table | {(USD, currency): rate for currency, rate in _PEGGED.items()}


def source_in_words(source: str) -> str:
    """The source of a rate, for people: the table that comes with the sandbox is no market."""
    return gettext("the sandbox’s own table, not a market") if source.startswith(BUNDLED) else source
