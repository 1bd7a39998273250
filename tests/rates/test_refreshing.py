"""Refreshing against providers on good and bad days, over real HTTP into real rows."""

from __future__ import annotations

import gzip
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from config.coins import COINS
from config.money import FIAT_DIGITS
from payments.rates import quoting
from payments.rates.models import CurrentRate, RateSnapshot
from payments.rates.providers import PROVIDERS
from payments.rates.quoting import Quote, RateUnavailable, forget_rates, quote, refresh_rates
from tests.rates.conftest import NOW, Answer, ProviderServer, say

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("real_sources")]

EXCHANGES = tuple(name for name in PROVIDERS if name != "ecb")


def test_a_refresh_prices_every_coin_in_every_currency(provider_server: ProviderServer) -> None:
    refreshed = refresh_rates(now=NOW, providers=provider_server.providers())

    assert (refreshed.disputed, refreshed.failures) == ((), ())
    assert len(refreshed.agreed) == len(COINS) + len(FIAT_DIGITS) - 1
    for currency in FIAT_DIGITS:
        for coin in COINS:
            assert quote(currency, coin, now=NOW).rate > 0


def test_sources_are_asked_at_the_addresses_that_are_set(provider_server: ProviderServer, settings: Settings) -> None:
    settings.RATE_SOURCE_URLS = {name: f"{provider_server.address}/{name}/" for name in PROVIDERS}

    refreshed = refresh_rates(now=NOW)

    assert (refreshed.disputed, refreshed.failures) == ((), ())
    assert set(provider_server.requested) == set(PROVIDERS)


def test_a_quote_is_the_product_of_the_medians_and_names_its_sources(provider_server: ProviderServer) -> None:
    refresh_rates(now=NOW, providers=provider_server.providers())

    assert quote("USD", "USDT", now=NOW) == Quote(
        rate=Decimal("0.999405000000"),
        source="bitfinex, bitstamp, coinbase, gemini, kraken",
        quoted_at=NOW - timedelta(seconds=3),
    )
    euro = quote("EUR", "USDC", now=NOW)
    assert euro.source == "bitfinex, bitstamp, gemini, kraken; ecb"
    assert euro.rate == Decimal("0.866520797227")  # 0.999965 / 1.1540, rounded down
    dirham = quote("AED", "USDC", now=NOW)
    assert dirham.source == "bitfinex, bitstamp, gemini, kraken; official-pegs"
    assert dirham.rate == Decimal("3.672371462500")  # 0.999965 × 3.6725


TICKER = b'{"bid":"%s","ask":"%s","time":"2026-11-21T10:29:57Z","timestamp":"1795256997"}'
HOSTILE: dict[str, Answer] = {
    "zero": say(TICKER % (b"0", b"0")),
    "negative": say(TICKER % (b"-1", b"-1")),
    "not a number": say(TICKER % (b"NaN", b"NaN")),
    "a billion": say(TICKER % (b"1e9", b"1e9")),
    "ten": say(TICKER % (b"10", b"10")),
    "html": say(b"<!doctype html><title>Just a moment...</title>"),
    "yesterday's": say(b'{"bid":"1.05","ask":"1.05","time":"2026-11-20T10:29:57Z","timestamp":"1795170597"}'),
    "truncated": say(b'{"bid":"0.99'),
    "empty": say(b" "),
    "an error": say(b"{}", status=500),
    "a redirect": say(b"", status=302),
    "rate limited": say(b"{}", status=429),
    "endless": say(b"x" * 100_000, times=20),
}


@pytest.mark.parametrize("behaviour", HOSTILE)
def test_a_hostile_exchange_changes_no_price(provider_server: ProviderServer, behaviour: str) -> None:
    provider_server.answers["bitstamp"] = HOSTILE[behaviour]
    refreshed = refresh_rates(now=NOW, providers=provider_server.providers())

    assert len(refreshed.agreed) == len(COINS) + len(FIAT_DIGITS) - 1
    for coin in COINS:
        quoted = quote("USD", coin, now=NOW)
        assert Decimal("0.999") < quoted.rate < Decimal("1.001")
        assert "bitstamp" not in quoted.source
    assert not RateSnapshot.objects.filter(source="bitstamp").exists()


@pytest.mark.parametrize("behaviour", ["zero", "a billion", "ten", "html", "yesterday's", "truncated", "an error"])
def test_when_every_exchange_is_hostile_nothing_is_quoted(provider_server: ProviderServer, behaviour: str) -> None:
    provider_server.answers = dict.fromkeys(EXCHANGES, HOSTILE[behaviour])
    refreshed = refresh_rates(now=NOW, providers=provider_server.providers())

    assert not set(refreshed.agreed) & {(coin, "USD") for coin in COINS}
    for coin in COINS:
        with pytest.raises(RateUnavailable):
            quote("EUR", coin, now=NOW)


@pytest.mark.parametrize(
    ("encoding", "times", "reason"),
    [
        ("gzip", 1, "the answer does not end"),
        ("gzip, gzip", 2, "the answer is compressed in a way that was not asked for"),
    ],
)
def test_an_answer_that_unpacks_to_more_than_it_should_is_left_packed(
    provider_server: ProviderServer, encoding: str, times: int, reason: str
) -> None:
    content = b" " * 50_000_000
    for _ in range(times):
        content = gzip.compress(content)
    provider_server.answers["kraken"] = say(content, encoding=encoding)
    refreshed = refresh_rates(now=NOW, providers=provider_server.providers())

    assert [failure.split("RequestFailed ")[1] for failure in refreshed.failures] == [reason]


def test_a_packed_answer_is_read(provider_server: ProviderServer) -> None:
    provider_server.answers["kraken"] = lambda handler, recorded: say(gzip.compress(recorded), encoding="gzip")(
        handler, recorded
    )
    assert refresh_rates(now=NOW, providers=provider_server.providers()).failures == ()
    assert "kraken" in quote("USD", "USDC", now=NOW).source


@pytest.mark.parametrize("behaviour", ["hang", "trickle"])
def test_an_exchange_that_does_not_finish_is_left_behind(provider_server: ProviderServer, behaviour: str) -> None:
    provider_server.answers["kraken"] = getattr(provider_server, behaviour)
    refreshed = refresh_rates(now=NOW, providers=provider_server.providers())

    (failure,) = refreshed.failures
    assert failure.startswith("kraken/")
    assert failure.endswith(": TimeoutError"), "by reads alone it would end with one of httpx, or with a whole reply"
    assert quote("USD", "USDC", now=NOW).source == "bitfinex, bitstamp, gemini"


def test_with_one_of_three_exchanges_down_quotes_go_on(provider_server: ProviderServer) -> None:
    provider_server.answers["bitstamp"] = say(b"", status=503)
    refresh_rates(now=NOW, providers=provider_server.providers("ecb", "kraken", "bitstamp", "gemini"))

    assert quote("GBP", "DAI", now=NOW).source == "gemini, kraken; ecb"


def test_with_two_of_three_exchanges_down_no_coin_has_a_new_price(provider_server: ProviderServer) -> None:
    provider_server.answers = dict.fromkeys(("bitstamp", "gemini"), say(b"", status=503))
    refreshed = refresh_rates(now=NOW, providers=provider_server.providers("kraken", "bitstamp", "gemini"))

    assert refreshed.disputed == (("DAI", "USD"), ("USDC", "USD"), ("USDT", "USD"))
    with pytest.raises(RateUnavailable):
        quote("USD", "USDC", now=NOW)


def test_a_provider_that_cannot_be_reached_is_a_failure_with_a_reason(provider_server: ProviderServer) -> None:
    (unreachable,) = provider_server.providers("gemini")
    object.__setattr__(unreachable, "address", "http://127.0.0.1:9")
    refreshed = refresh_rates(now=NOW, providers=[unreachable])

    assert len(refreshed.failures) == 3
    assert all(failure.startswith("gemini/v2/ticker/") for failure in refreshed.failures)


def test_an_inverted_reference_rate_is_refused(provider_server: ProviderServer) -> None:
    document = (
        b"<Cube xmlns='http://www.ecb.int/vocabulary/2002-08-01/eurofxref'><Cube time='2026-11-20'>%s</Cube></Cube>"
    )
    provider_server.answers["ecb"] = say(document % b"<Cube currency='USD' rate='0.8666'/>")
    refreshed = refresh_rates(now=NOW, providers=provider_server.providers("ecb"))

    assert refreshed.disputed == (("USD", "EUR"),)
    assert not CurrentRate.objects.filter(quote="EUR").exists()


def test_an_answer_out_of_an_old_cache_is_stale(provider_server: ProviderServer) -> None:
    provider_server.answers["gemini"] = say(b"", age="600")
    refresh_rates(now=NOW, providers=provider_server.providers("kraken", "bitstamp", "gemini"))

    assert quote("USD", "USDC", now=NOW).source == "bitstamp, kraken"


def test_an_exchange_that_misses_one_round_still_counts(provider_server: ProviderServer) -> None:
    refresh_rates(now=NOW, providers=provider_server.providers("kraken", "gemini"))
    provider_server.answers["gemini"] = say(b"", status=500)
    later = NOW + timedelta(seconds=60)
    refresh_rates(now=later, providers=provider_server.providers("kraken", "gemini"))

    quoted = quote("USD", "USDC", now=later)
    assert quoted.source == "gemini, kraken"
    assert quoted.quoted_at == NOW


def test_the_last_good_rate_serves_ten_minutes_and_no_longer(provider_server: ProviderServer) -> None:
    refresh_rates(now=NOW, providers=provider_server.providers())
    provider_server.answers = dict.fromkeys(PROVIDERS, say(b"", status=500))
    observed_at = NOW - timedelta(seconds=3)

    for minutes in (3, 6, 9):
        refresh_rates(now=NOW + timedelta(minutes=minutes), providers=provider_server.providers())
    assert quote("EUR", "USDC", now=observed_at + timedelta(minutes=10)).quoted_at == observed_at
    with pytest.raises(RateUnavailable) as refusal:
        quote("EUR", "USDC", now=observed_at + timedelta(minutes=10, seconds=1))
    assert (refusal.value.code, refusal.value.status, refusal.value.retry_after_seconds) == (
        "rate_unavailable",
        400,
        60,
    )


def test_reference_rates_serve_over_a_long_weekend_while_coins_are_refreshed(provider_server: ProviderServer) -> None:
    refresh_rates(now=NOW, providers=provider_server.providers())
    published_at = NOW.replace(hour=13, minute=0) - timedelta(days=1)
    for age, quoted in ((timedelta(days=6), True), (timedelta(days=6, seconds=1), False)):
        now = published_at + age
        CurrentRate.objects.filter(quote="USD").update(observed_at=now)
        refresh_rates(now=now, providers=[])
        if quoted:
            assert quote("EUR", "USDC", now=now).source.endswith("; ecb")
        else:
            with pytest.raises(RateUnavailable):
                quote("EUR", "USDC", now=now)
            assert quote("AED", "USDC", now=now).rate > 0


def test_the_central_bank_is_asked_once_an_hour_and_exchanges_every_time(provider_server: ProviderServer) -> None:
    for minutes in (0, 1, 59, 60):
        refresh_rates(now=NOW + timedelta(minutes=minutes), providers=provider_server.providers("ecb", "kraken"))
    assert provider_server.requested.count("ecb") == 2
    assert provider_server.requested.count("kraken") == 4


def test_no_database_transaction_is_open_while_providers_are_asked(
    provider_server: ProviderServer, settings: Settings
) -> None:
    with CaptureQueriesContext(connection) as queries:
        refresh_rates(now=NOW, providers=provider_server.providers())
    statements = [query["sql"].split()[0] for query in queries.captured_queries]
    assert statements.index("SAVEPOINT") > statements.index("SELECT")
    assert len(statements) <= 9


def test_old_snapshots_are_pruned_and_rates_stay_one_row_per_pair(provider_server: ProviderServer) -> None:
    for days in (0, 1, 3):
        refresh_rates(now=NOW + timedelta(days=days), providers=provider_server.providers("kraken"))
    assert {each.fetched_at for each in RateSnapshot.objects.all()} == {
        NOW + timedelta(days=1),
        NOW + timedelta(days=3),
    }
    refresh_rates(now=NOW + timedelta(days=3), providers=provider_server.providers("kraken", "gemini"))
    assert CurrentRate.objects.filter(base="USDC").count() == 1


def test_quoting_reads_the_rows_at_most_once_a_second(
    provider_server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert quoting.REMEMBERED_SECONDS == 1
    monkeypatch.setattr(quoting, "REMEMBERED_SECONDS", 600.0)  # which is longer than twenty quotes take anywhere
    refresh_rates(now=NOW, providers=provider_server.providers())
    with CaptureQueriesContext(connection) as queries:
        for _ in range(20):
            quote("EUR", "USDC", now=NOW)
    forget_rates()
    assert len(queries) == 1
