"""The coins that Ballast takes: one entry each, from which networks, prices, limits, forms and the API follow. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal, localcontext

USD = "USD"
USD_SCALE = 18
"""Worths in dollars are integers of 10^-18 dollars, so that coins with different decimals add up."""


@dataclass(frozen=True, slots=True)
class Contract:
    """A coin on a network: its decimals there, and the contract, or `CODE:ISSUER`, of its issuer.

    No contract where the operator has to name one, or where the test network has none.
    """

    decimals: int
    real: str = ""
    test: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coin:
    """Everything that is data about one coin."""

    code: str
    name: str
    peg: str = USD
    """The currency that one coin is worth one unit of."""
    dollars: Decimal = Decimal(1)
    """About what one coin is worth in US dollars: exact enough for limits and for the band of credible prices."""
    markets: Mapping[str, str]
    """The pair with the US dollar, by exchange, as that exchange names it in a request."""
    answers: Mapping[str, str] = field(default_factory=dict)
    """The same pair as the exchange names it in an answer, where that is another name."""
    on: Mapping[str, Contract]
    """Contracts by network."""

    def usd(self, units: int, decimals: int) -> int:
        """About what base units are worth, in 10^-18 dollars, rounded up."""
        exact = units * int(10 ** (USD_SCALE - decimals))
        if self.dollars == 1:
            return exact
        with localcontext(prec=120):
            return int((exact * self.dollars).to_integral_value(ROUND_CEILING))


_DECLARED = (
    Coin(
        code="USDC",
        name="USD Coin",
        # Coinbase takes one USDC for one dollar and has no market for it.
        markets={"kraken": "USDCUSD", "bitfinex": "tUDCUSD", "bitstamp": "usdcusd", "gemini": "usdcusd"},
        on={
            "stellar": Contract(
                7,
                real="USDC:GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN",
                test="USDC:GBBD47IF6LWK7P7MDEVSCWR7DPUWV3NY3DTQEVFL4NAT4AQH3ZLLFLA5",
            ),
            "ethereum": Contract(
                6,
                real="0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
                test="0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238",
            ),
            "polygon": Contract(
                6,
                real="0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359",
                test="0x41E94Eb019C0762f9Bfcf9Fb1E58725BfB0e7582",
            ),
        },
    ),
    Coin(
        code="USDT",
        name="Tether USD",
        markets={
            "kraken": "USDTUSD",
            "bitfinex": "tUSTUSD",
            "bitstamp": "usdtusd",
            "gemini": "usdtusd",
            "coinbase": "USDT-USD",
        },
        answers={"kraken": "USDTZUSD"},
        on={
            "stellar": Contract(7),  # no issuer that everybody means
            "ethereum": Contract(6, real="0xdAC17F958D2ee523a2206206994597C13D831ec7"),
            "polygon": Contract(6, real="0xc2132D05D31c914a87C6611C10748AEb04B58e8F"),
        },
    ),
    Coin(
        code="DAI",
        name="Dai",
        markets={
            "kraken": "DAIUSD",
            "bitfinex": "tDAIUSD",
            "bitstamp": "daiusd",
            "gemini": "daiusd",
            "coinbase": "DAI-USD",
        },
        on={
            "stellar": Contract(7),  # no issuer that everybody means
            "ethereum": Contract(18, real="0x6B175474E89094C44Da98b954EedeAC495271d0F"),
            "polygon": Contract(18, real="0x8f3Cf7ad23Cd3CaDbD9735AFf958023239c6A063"),
        },
    ),
)

COINS: dict[str, Coin] = {each.code: each for each in _DECLARED}
"""By code, in the order in which lists show them."""


def coin_name(code: str) -> str:
    """`Tether USD`; the code itself of a coin that is taken no longer."""
    return COINS[code].name if code in COINS else code


def usd_worth(code: str, units: int, decimals: int) -> int:
    """About what base units of a coin are worth, in 10^-18 dollars, rounded up; LookupError for an unknown coin."""
    return COINS[code].usd(units, decimals)
