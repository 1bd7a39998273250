"""Each provider's answer, as recorded, and what its parser makes of answers that are not."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config.money import FIAT_DIGITS
from payments.rates.observations import Observation
from payments.rates.providers import PROVIDERS, UnreadableReply
from payments.rates.tables import pegged_rates

RECORDINGS = Path(__file__).parent / "recordings"
NOW = datetime(2026, 11, 21, 10, 30, tzinfo=UTC)


def recording(provider: str, path: str) -> bytes:
    """The recorded answer to one request: of one coin when the path names it, else the provider's only one."""
    coin = next((coin for coin in ("USDC", "USDT", "DAI") if coin in path.upper() and "," not in path), None)
    name = "ecb.xml" if provider == "ecb" else f"{provider}-{coin}.json" if coin else f"{provider}.json"
    return (RECORDINGS / name).read_bytes()


def recorded(provider: str) -> list[Observation]:
    requests = PROVIDERS[provider].requests
    return [each for path, parse in requests.items() for each in parse(recording(provider, path), NOW)]


EVERY_REQUEST = [(name, path) for name, provider in PROVIDERS.items() for path in provider.requests]


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        ("kraken", {"USDC": "0.99995", "USDT": "0.999415", "DAI": "0.99988"}),
        ("coinbase", {"USDT": "0.999425", "DAI": "1"}),
        ("bitstamp", {"USDC": "0.99995", "USDT": "0.999405", "DAI": "1"}),
        ("bitfinex", {"USDC": "0.99998", "USDT": "0.999395", "DAI": "0.9999"}),
        ("gemini", {"USDC": "1", "USDT": "0.9994", "DAI": "0.9999"}),
    ],
)
def test_an_exchange_is_read_as_the_middle_of_its_order_book(provider: str, expected: dict[str, str]) -> None:
    observations = recorded(provider)
    assert {(each.base, each.quote): each.rate for each in observations} == {
        (coin, "USD"): Decimal(rate) for coin, rate in expected.items()
    }
    assert {each.source for each in observations} == {provider}


def test_the_time_is_the_provider_s_own_where_it_tells_one() -> None:
    times = {name: {each.observed_at for each in recorded(name)} for name in PROVIDERS}
    assert times["kraken"] == times["bitfinex"] == times["gemini"] == {NOW}
    assert times["bitstamp"] == {datetime(2026, 11, 21, 10, 29, 57, tzinfo=UTC)}
    assert times["coinbase"] == {
        datetime(2026, 11, 21, 10, 29, 57, 120455, tzinfo=UTC),
        datetime(2026, 11, 21, 10, 29, 11, 4512, tzinfo=UTC),
    }
    assert times["ecb"] == {datetime(2026, 11, 20, 13, 0, tzinfo=UTC)}


def test_euro_reference_rates_become_prices_of_one_dollar() -> None:
    rates = {each.quote: each.rate for each in recorded("ecb")}
    assert rates["EUR"] == 1 / Decimal("1.1540")
    assert rates["JPY"] == Decimal("181.52") / Decimal("1.1540")
    assert rates["IDR"] == Decimal("19294.88") / Decimal("1.1540")
    assert "USD" not in rates


def test_the_ecb_and_the_pegs_together_price_every_currency() -> None:
    covered = {each.quote for each in recorded("ecb")} | {each.quote for each in pegged_rates(NOW)}
    assert covered | {"USD"} == set(FIAT_DIGITS)


def test_the_pegs_are_those_of_the_central_banks() -> None:
    assert {each.quote: each.rate for each in pegged_rates(NOW)} == {
        "AED": Decimal("3.6725"),
        "SAR": Decimal("3.75"),
        "QAR": Decimal("3.64"),
        "BHD": Decimal("0.376"),
        "OMR": Decimal("0.3845"),
    }
    assert {each.source for each in pegged_rates(NOW)} == {"official-pegs"}


ECB = b"<Cube xmlns='http://www.ecb.int/vocabulary/2002-08-01/eurofxref'>%s</Cube>"
HOSTILE = [
    b"",
    b"null",
    b"[]",
    b"{}",
    b"[1, 2, 3]",
    b'"text"',
    b"\xff\xfe\x00",
    b"<html><body>Just a moment...</body></html>",
    b"<!DOCTYPE html><html><head>",
    b"[" * 100_000,
    b'{"error":["EGeneral:Temporary lockout"],"result":{}}',
    b'["error",11010,"ratelimit: error"]',
    b'{"message":"NotFound"}',
    b'{"bid":"NaN","ask":"NaN","time":"2026-11-21T10:29:57Z","timestamp":"1795256997"}',
    b'{"bid":NaN,"ask":Infinity,"time":"2026-11-21T10:29:57Z","timestamp":"1795256997"}',
    b'{"bid":"0","ask":"0","time":"2026-11-21T10:29:57Z","timestamp":"1795256997"}',
    b'{"bid":"-1","ask":"-1","time":"2026-11-21T10:29:57Z","timestamp":"1795256997"}',
    b'{"bid":"1e999999","ask":"1e999999","time":"2026-11-21T10:29:57Z","timestamp":"1795256997"}',
    b'{"bid":"1.02","ask":"1.00","time":"2026-11-21T10:29:57Z","timestamp":"1795256997"}',
    b'{"bid":"0.50","ask":"1.50","time":"2026-11-21T10:29:57Z","timestamp":"1795256997"}',
    b'{"bid":true,"ask":true,"time":"2026-11-21T10:29:57Z","timestamp":"1795256997"}',
    b'{"bid":"0.9999","ask":"1.0000","time":"yesterday","timestamp":"1e30"}',
    b'{"error":[],"result":{"USDCUSD":{"a":[],"b":[]}}}',
    b'[["tUDCUSD"]]',
    b"<a/>",
    b'<!DOCTYPE a [<!ENTITY b "b">]><a>&b;</a>',
    ECB % b"<Cube time='soon'/>",
    ECB % b"<Cube time='2026-11-20'/>",
    ECB % b"<Cube time='2026-11-20'><Cube currency='USD' rate='0'/></Cube>",
    ECB % b"<Cube time='2026-11-20'><Cube currency='USD' rate='NaN'/></Cube>",
    ECB % b"<Cube time='2026-11-20'><Cube currency='JPY' rate='181.52'/></Cube>",
]


def read(provider: str, path: str, content: bytes) -> list[Observation]:
    """What a parser believes; the only exception it may raise means that it believes nothing."""
    try:
        return PROVIDERS[provider].requests[path](content, NOW)
    except UnreadableReply:
        return []


@pytest.mark.parametrize(("provider", "path"), EVERY_REQUEST)
def test_hostile_answers_are_unreadable_never_a_rate(provider: str, path: str) -> None:
    for content in HOSTILE:
        unreadable_time_alone = b"yesterday" in content and provider == "gemini"
        assert unreadable_time_alone or read(provider, path, content) == []


@pytest.mark.parametrize(("provider", "path"), EVERY_REQUEST)
def test_a_truncated_answer_is_unreadable(provider: str, path: str) -> None:
    content = recording(provider, path).rstrip()
    for end in range(0, len(content), 37):
        assert read(provider, path, content[:end]) == []


@given(position=st.integers(0, 5000), byte=st.integers(0, 255), request=st.sampled_from(EVERY_REQUEST))
@settings(max_examples=300, deadline=None)
def test_a_changed_byte_never_breaks_a_parser(position: int, byte: int, request: tuple[str, str]) -> None:
    content = bytearray(recording(*request))
    content[position % len(content)] = byte
    for observation in read(*request, bytes(content)):
        assert observation.rate.is_finite()
        assert observation.rate > 0


def test_a_coin_that_an_exchange_no_longer_lists_costs_only_itself() -> None:
    requests = PROVIDERS["bitfinex"].requests
    (parse,) = requests.values()
    assert [each.base for each in parse(b'[["tUDCUSD",0.9999,5,1.0001,5,0,0,1,9,1,1]]', NOW)] == ["USDC"]
