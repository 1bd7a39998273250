"""How amounts, coins, networks and waiting times read on pages."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from config.api.renderers import render_json
from config.money import FIAT_DIGITS, format_crypto, from_units, round_up_to_shown
from payments.models import Payment

COIN_NAMES = {"USDC": "USD Coin", "USDT": "Tether USD", "DAI": "Dai"}
_SHOWN_DIGITS = 2
_HOUR, _MINUTE = 3_600, 60


def fiat(payment: Payment) -> str:
    """`1,250.00 EUR`, with the digits its currency has."""
    digits = FIAT_DIGITS[payment.currency]
    return f"{from_units(payment.fiat_amount, digits):,.{digits}f} {payment.currency}"


def metadata_rows(metadata: Mapping[str, Any]) -> list[tuple[str, str]]:
    """A merchant's own values by name: text as it is, everything else as JSON."""
    return [
        (name, value if isinstance(value, str) else render_json(value).decode())
        for name, value in sorted(metadata.items())
    ]


def coins_held(units: int, decimals: int) -> str:
    """Money that is there, to the last digit, without needless zeros: `12.50`."""
    return _without_needless_zeros(format_crypto(units, decimals))


def coins_asked(units: int, decimals: int) -> str:
    """Money to send: rounded up to six digits, so that it is enough."""
    return _without_needless_zeros(f"{round_up_to_shown(from_units(units, decimals)):f}")


def held(payment: Payment, units: int) -> str:
    """So much of the coin that a payment asks for, which is there: `12.50 USDC`."""
    return f"{coins_held(units, payment.decimals)} {payment.cryptocurrency}"


def rate(price: Decimal) -> str:
    return _without_needless_zeros(f"{price.normalize():f}")


def about(seconds: float) -> str:
    """A waiting time as people say it: `about 8 s`, `about 3 min`."""
    if seconds < _MINUTE * 1.5:
        return f"about {max(1, round(seconds))} s"
    if seconds < _HOUR * 1.5:
        return f"about {round(seconds / _MINUTE)} min"
    return f"about {round(seconds / _HOUR)} h"


def short_hash(text: str) -> str:
    """The two ends of a hash or an address, enough to recognise it by."""
    return text if len(text) <= 20 else f"{text[:10]}…{text[-8:]}"


def _without_needless_zeros(number: str) -> str:
    whole, _, fraction = number.partition(".")
    return f"{whole}.{fraction.rstrip('0').ljust(_SHOWN_DIGITS, '0')}"
