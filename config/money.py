"""Money without floats: integers in base units beside their asset, and decimals only at the edges."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext

CRYPTO_DIGITS = 6
"""Fractional digits of every crypto amount the API shows, whatever the asset's own scale."""

# fmt: off
_TWO_DIGITS = (
    "USD", "EUR", "GBP", "CHF", "CZK", "DKK", "HUF", "NOK", "PLN", "RON", "SEK", "TRY", "AUD", "BRL", "CAD",
    "CNY", "HKD", "IDR", "ILS", "INR", "MXN", "MYR", "NZD", "PHP", "SGD", "THB", "ZAR", "AED", "SAR", "QAR",
)
# fmt: on

# Minor digits of the fiat currencies Ballast prices in: the euro and the currencies of the ECB's
# reference list, with the Gulf currencies that are pegged to the dollar (ISO 4217, table A.1).
FIAT_DIGITS: dict[str, int] = {
    **dict.fromkeys(_TWO_DIGITS, 2),
    **dict.fromkeys(("JPY", "KRW", "ISK"), 0),
    **dict.fromkeys(("BHD", "OMR"), 3),
}


class AmountNotExact(ValueError):
    """The decimal has more fractional digits than its asset or currency can hold."""


@dataclass(frozen=True, slots=True)
class Asset:
    """A coin on a network. `contract` is the token contract, or `CODE:ISSUER` on stellar."""

    network: str
    code: str
    decimals: int
    contract: str


def to_units(amount: Decimal, decimals: int) -> int:
    """The amount in base units, exactly; AmountNotExact when it does not fit the scale."""
    if not amount.is_finite():
        raise AmountNotExact("not a finite number")
    with localcontext(prec=120):
        scaled = amount.scaleb(decimals)
        if scaled != scaled.to_integral_value():
            raise AmountNotExact(f"more than {decimals} fractional digits")
        return int(scaled)


def from_units(units: int, decimals: int) -> Decimal:
    """The decimal value of an integer amount, exactly."""
    return Decimal(f"{units}E-{decimals}")  # made from text, a decimal is exact whatever the context


def round_up_to_shown(amount: Decimal) -> Decimal:
    """Rounded up to the six digits a payer is asked for, so that a quote never under-charges."""
    with localcontext(prec=120):
        return amount.quantize(Decimal(1).scaleb(-CRYPTO_DIGITS), rounding=ROUND_CEILING)


def format_crypto(units: int, decimals: int) -> str:
    """`12.500000`: six fractional digits, rounded down, so that money held is never overstated.

    A quote has been rounded up to six digits before it was stored, and is shown exactly.
    """
    if decimals >= CRYPTO_DIGITS:
        millionths = units // 10 ** (decimals - CRYPTO_DIGITS)
    else:
        millionths = units * 10 ** (CRYPTO_DIGITS - decimals)
    whole, part = divmod(abs(millionths), 10**CRYPTO_DIGITS)
    return f"{'-' if millionths < 0 else ''}{whole}.{part:0{CRYPTO_DIGITS}}"
