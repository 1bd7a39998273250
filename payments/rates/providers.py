"""The providers of rates: their URLs, and how their replies are parsed. Parsers are pure.

A coin's rate is the middle between the best bid and the best ask: the order book is current, while the last
trade of a quiet pair can be minutes old. A parser raises UnreadableReply for whatever it does not recognise.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any, NoReturn
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from config.coins import COINS, USD
from config.money import FIAT_DIGITS
from payments.rates.observations import Observation

WIDEST_SPREAD = Decimal("0.02")
"""With a larger spread between bid and ask the price is unknown."""


class UnreadableReply(ValueError):
    """The reply is not what the provider documents."""


Parser = Callable[[bytes, datetime], list[Observation]]
"""Takes the body of a reply and its time, for replies that contain no time."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A source over HTTP: each path of `requests` has its own parser. An exchange prices `coins`.

    It is queried at most once in `interval`, and has `answer_seconds` for each whole reply.
    """

    name: str
    address: str
    requests: Mapping[str, Parser]
    coins: frozenset[str] = frozenset()
    interval: timedelta = timedelta(0)
    answer_seconds: float = 6.0


# The European Central Bank.

_ECB_CUBE = "{http://www.ecb.int/vocabulary/2002-08-01/eurofxref}Cube"
_ECB_CONCERTATION = timedelta(hours=13)
"""The rates are those of about 14:15 Central European Time: 13:15 UTC, an hour earlier in summer."""


def parse_ecb(content: bytes, now: datetime) -> list[Observation]:
    """Euro reference rates, turned into the price of one dollar by the dollar rate of the same day."""
    try:
        envelope: Element = fromstring(content, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError, LookupError) as error:
        raise UnreadableReply("not XML") from error
    day = envelope.find(f".//{_ECB_CUBE}[@time]")
    if day is None:
        raise UnreadableReply("no day")
    try:
        observed_at = datetime.strptime(day.attrib["time"], "%Y-%m-%d").replace(tzinfo=UTC) + _ECB_CONCERTATION
    except ValueError as error:
        raise UnreadableReply("no date") from error
    in_euro = {cube.get("currency", ""): _decimal(cube.get("rate")) for cube in day.iterfind(_ECB_CUBE)}
    dollar = in_euro.get(USD)
    if dollar is None or dollar <= 0:
        raise UnreadableReply("no rate of the dollar")
    in_euro["EUR"] = Decimal(1)
    return [
        Observation(USD, currency, rate / dollar, "ecb", observed_at)
        for currency, rate in in_euro.items()
        if currency in FIAT_DIGITS and currency != USD
    ]


# Exchanges. Names of pairs are the exchange's own.


def parse_kraken(content: bytes, now: datetime, *, coins: Mapping[str, str]) -> list[Observation]:
    """All `coins` by pair in one reply: `a` and `b` are [price, whole lot volume, lot volume]. It contains no time."""
    answer = _object(_json(content))
    if answer.get("error"):
        raise UnreadableReply(f"refused: {answer['error']!s:.80}")
    tickers = _object(answer.get("result"))
    return [
        Observation(coin, USD, _middle(_item(ticker.get("b"), 0), _item(ticker.get("a"), 0)), "kraken", now)
        for pair, coin in coins.items()
        if pair in tickers and (ticker := _object(tickers[pair]))
    ]


def parse_coinbase(content: bytes, now: datetime, *, coin: str) -> list[Observation]:
    """One product. `time` is that of the last trade, after which the book may still have moved."""
    ticker = _object(_json(content))
    try:
        traded_at = datetime.fromisoformat(str(ticker.get("time")))
    except ValueError as error:
        raise UnreadableReply("no time") from error
    if traded_at.tzinfo is None:
        raise UnreadableReply("a time without a zone")
    return [Observation(coin, USD, _middle(ticker.get("bid"), ticker.get("ask")), "coinbase", traded_at)]


def parse_bitstamp(content: bytes, now: datetime, *, coin: str) -> list[Observation]:
    """One pair. `timestamp` is when the ticker was made, in Unix seconds."""
    ticker = _object(_json(content))
    seconds = _decimal(ticker.get("timestamp"))
    try:
        made_at = datetime.fromtimestamp(int(seconds), tz=UTC)
    except (OverflowError, OSError, ValueError) as error:
        raise UnreadableReply("no time") from error
    return [Observation(coin, USD, _middle(ticker.get("bid"), ticker.get("ask")), "bitstamp", made_at)]


def parse_bitfinex(content: bytes, now: datetime, *, coins: Mapping[str, str]) -> list[Observation]:
    """All `coins` by pair in one reply, each [symbol, bid, bid size, ask, ask size, …]. It contains no time."""
    rows = _json(content)
    if not isinstance(rows, list):
        raise UnreadableReply("not a list")
    if rows and rows[0] == "error":
        raise UnreadableReply("refused")
    return [
        Observation(coin, USD, _middle(_item(row, 1), _item(row, 3)), "bitfinex", now)
        for row in rows
        if (coin := coins.get(str(_item(row, 0))))
    ]


def parse_gemini(content: bytes, now: datetime, *, coin: str) -> list[Observation]:
    """One symbol, version 2 of the ticker. It contains no time."""
    ticker = _object(_json(content))
    return [Observation(coin, USD, _middle(ticker.get("bid"), ticker.get("ask")), "gemini", now)]


def _each(exchange: str, path: str, parser: Callable[..., list[Observation]]) -> dict[str, Parser]:
    """A request for each coin that the exchange has a market for."""
    return {path.format(pair): partial(parser, coin=coin) for coin, pair in _markets(exchange).items()}


def _at_once(exchange: str, path: str, parser: Callable[..., list[Observation]]) -> dict[str, Parser]:
    """One request for all coins that the exchange has a market for."""
    markets = _markets(exchange)
    answers = {COINS[coin].answers.get(exchange, pair): coin for coin, pair in markets.items()}
    return {path.format(",".join(markets.values())): partial(parser, coins=answers)}


def _markets(exchange: str) -> dict[str, str]:
    return {code: coin.markets[exchange] for code, coin in COINS.items() if exchange in coin.markets}


def providers() -> dict[str, Provider]:
    """Every source over HTTP, by name, with a request for each pair it has in COINS."""
    ecb = Provider(
        name="ecb",
        address="https://www.ecb.europa.eu",
        requests={"/stats/eurofxref/eurofxref-daily.xml": parse_ecb},
        interval=timedelta(hours=1),
    )
    exchanges = (
        ("kraken", "https://api.kraken.com", _at_once, "/0/public/Ticker?pair={}", parse_kraken),
        ("coinbase", "https://api.exchange.coinbase.com", _each, "/products/{}/ticker", parse_coinbase),
        ("bitstamp", "https://www.bitstamp.net", _each, "/api/v2/ticker/{}/", parse_bitstamp),
        ("bitfinex", "https://api-pub.bitfinex.com", _at_once, "/v2/tickers?symbols={}", parse_bitfinex),
        ("gemini", "https://api.gemini.com", _each, "/v2/ticker/{}", parse_gemini),
    )
    return {ecb.name: ecb} | {
        name: Provider(name, address, base(name, path, parser), frozenset(_markets(name)))
        for name, address, base, path, parser in exchanges
    }


PROVIDERS = providers()


# Reading.


def _json(content: bytes) -> Any:
    def refuse(constant: str) -> NoReturn:
        raise UnreadableReply(f"{constant} is no number")

    try:
        return json.loads(content, parse_float=Decimal, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise UnreadableReply("not JSON") from error


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UnreadableReply("not an object")
    return value


def _item(value: Any, position: int) -> Any:
    if not isinstance(value, list) or len(value) <= position:
        raise UnreadableReply("not a list, or too short")
    return value[position]


def _decimal(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        raise UnreadableReply("no number")
    try:
        number = Decimal(value)
    except InvalidOperation as error:
        raise UnreadableReply("no number") from error
    if not number.is_finite() or number.adjusted() not in range(-30, 31):
        raise UnreadableReply("no number of this world")
    return number


def _middle(bid: Any, ask: Any) -> Decimal:
    low, high = _decimal(bid), _decimal(ask)
    if low <= 0 or high < low or high - low > WIDEST_SPREAD * low:
        raise UnreadableReply("bid and ask do not make a price")
    return (low + high) / 2
