"""The start page of a merchant that takes payments: how business goes, what waits, what there is and what comes."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from merchants.models import ApiKey, Member
from merchants.rotation import rotate_api_key
from merchants.services import change_fee
from payments.dashboard.overview import trends
from payments.dashboard.overview.attention import needs_attention
from payments.dashboard.overview.periods import PERIODS, period_named
from payments.deposits.turnover.counting import fold_turnover
from payments.deposits.turnover.models import Span, Turnover
from payments.deposits.turnover.reading import Came
from payments.rates.quoting import RateUnavailable
from settlements.states import SettlementStatus
from tests.factories import make_key
from tests.payments.scenes import (
    ETHEREUM,
    POLYGON,
    SANDBOX,
    end_window,
    make_payment,
    mine_and_watch,
    pay,
    pay_and_confirm,
    watch,
)
from tests.refunds.scenes import ask, paid_by_two
from tests.settlements.page_scenes import earn_and_settle, fill_treasury, pay_out
from webhooks.models import Endpoint
from webhooks.services import register_endpoint

NETWORK = "Polygon (simulated)"
NOW = datetime(2026, 3, 29, 10, 30, tzinfo=UTC)


def came(days_ago: int, *, paid: int = 1, unpaid: int = 0, volume: int = 1000, currency: str = "EUR") -> Came:
    at = NOW.replace(hour=0, minute=0) - timedelta(days=days_ago)
    return Came(at, POLYGON, "USDC", currency, paid, unpaid, volume, seconds=paid * 90)


def text_of(page: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


@pytest.mark.parametrize("period", PERIODS, ids=lambda period: period.name)
def test_the_bars_of_a_period_follow_each_other_and_end_now(period: object) -> None:
    chosen = period_named(period.name)  # type: ignore[attr-defined]
    starts = chosen.starts(NOW)
    assert len(starts) == chosen.bars
    assert starts[0] == chosen.first(NOW)
    assert starts[-1] <= NOW < starts[-1] + chosen.bar == chosen.end(NOW)
    assert chosen.first(NOW) - chosen.first_before(NOW) == chosen.end(NOW) - chosen.first(NOW)
    assert period_named("for ever").name == "30d"


def test_a_period_is_compared_with_the_one_before() -> None:
    rows = [came(0, paid=3, unpaid=1, volume=3000), came(29, volume=1500), came(30, volume=3000), came(59, volume=0)]
    shown = trends.trend(rows, SANDBOX, period_named("30d"), "EUR", NOW)
    assert [(figure.label, figure.value, figure.change) for figure in shown.figures] == [
        ("Volume", "45.00 EUR", "50 % more than in the 30 days before"),
        ("Paid", "4", "100 % more than in the 30 days before"),
        ("Success", "80.0 %", "100.0 % in the 30 days before"),
        ("Time to pay", "1 min 30 s", "1 min 30 s in the 30 days before"),
    ]
    assert [(bar.volume, bar.paid, bar.unpaid) for bar in shown.bars if bar.paid] == [
        ("15.00 EUR", 1, 0),
        ("30.00 EUR", 3, 1),
    ]
    assert shown.bars[-1].height == f"{trends.CHART_HEIGHT:.2f}"
    [row] = shown.coins
    assert (row.coin, row.network, row.paid, row.success, row.volume) == ("USDC", NETWORK, "4", "80.0 %", "45.00 EUR")


def test_other_currencies_are_converted_or_named(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [came(0, volume=1000), came(0, volume=2000, currency="USD"), came(0, paid=2, volume=500, currency="JPY")]
    rates = {"EUR": Decimal("0.8"), "USD": Decimal(1)}

    def quote(currency: str, coin: str, *, environment: str) -> object:
        if currency not in rates:
            raise RateUnavailable
        return type("Quote", (), {"rate": rates[currency]})

    monkeypatch.setattr(trends, "quote", quote)
    shown = trends.trend(rows, SANDBOX, period_named("7d"), "EUR", NOW)
    assert shown.figures[0].value == "26.00 EUR"
    assert shown.without_rate == ["2 payments in JPY"]


def test_the_page_shows_what_was_counted_folded_or_not(client: Client, member: Member) -> None:
    pay_and_confirm(make_payment(POLYGON, merchant=member.merchant, amount="1250", currency="EUR"))
    left = make_payment(ETHEREUM, merchant=member.merchant, amount="10", currency="EUR")
    end_window(left)
    watch()
    before = text_of(client.get("/dashboard?period=24h&currency=EUR").text)
    assert "Volume 1,250.00 EUR nothing in the 24 hours before" in before
    assert "Success 50.0 %" in before
    fold_turnover()
    assert Turnover.objects.filter(span=Span.DAY).count() == 2
    for period in PERIODS:
        shown = text_of(client.get(f"/dashboard?period={period.name}&currency=EUR").text)
        assert "Volume 1,250.00 EUR" in shown
        assert f"USDC {NETWORK} 1 100.0 % 1,250.00 EUR" in shown
    assert "Volume 1,250.00 EUR" in text_of(client.get("/dashboard?period=never&currency=QQQ").text)


def test_the_page_shows_balance_and_what_is_on_its_way(client: Client, member: Member) -> None:
    pay_and_confirm(make_payment(POLYGON, merchant=member.merchant, amount="1250"))
    pending = make_payment(POLYGON, merchant=member.merchant, amount="20")
    pay(pending)
    mine_and_watch(POLYGON, 1)
    shown = text_of(client.get("/dashboard?currency=USD").text)
    assert f"Balance 1,250.00 USD USDC {NETWORK} 1,250.00 1,250.00 USD" in shown
    way = rf"On its way 1 payment on {re.escape(NETWORK)}, about \d+ (s|min) 20.00 USDC Next settlement \w{{3}} \d"
    assert re.search(way, shown)


def test_a_balance_of_which_all_is_settled_says_what_came_and_went(client: Client, member: Member) -> None:
    fill_treasury()
    change_fee(merchant=member.merchant, fee_bps=50)
    assert pay_out(earn_and_settle(member.merchant, "1250")).status == SettlementStatus.COMPLETED
    shown = text_of(client.get("/dashboard").text)
    assert "All of it is settled 1,250.00 USDC came in, and 1,243.75 USDC was paid to your wallets" in shown
    assert "Nothing yet" not in shown


def test_what_needs_attention_is_a_link_each_and_nothing_else_is(member: Member) -> None:
    merchant, now = member.merchant, timezone.now()
    assert needs_attention(merchant, SANDBOX, now) == []
    for days in (13, 15):
        make_key(merchant, expires_at=now + timedelta(days=days))
    make_key(merchant)
    ApiKey.objects.filter(expires_at__isnull=True).update(created_at=now - timedelta(days=91))
    for number in range(2):
        register_endpoint(merchant=merchant, environment=SANDBOX, url=f"https://shop.example/{number}")
    Endpoint.objects.filter(url="https://shop.example/1").update(failing_since=now)
    ask(paid_by_two(merchant=merchant))
    late = make_payment(POLYGON, merchant=merchant)
    end_window(late)
    pay_and_confirm(late)
    assert [(item.words, item.url) for item in needs_attention(merchant, SANDBOX, now)] == [
        ("1 payment waits for your decision", "/dashboard/decisions"),
        ("1 refund waits for an address", "/dashboard/decisions?kind=refund"),
        ("1 webhook fails", "/dashboard/webhooks"),
        ("1 key pair in use ends within two weeks", "/dashboard/keys"),
        ("1 key pair is older than 90 days", "/dashboard/keys"),
    ]
    assert needs_attention(merchant, "production", now) == []


def test_a_replaced_key_needs_attention_only_while_it_is_used(member: Member) -> None:
    old = make_key(member.merchant).key
    ApiKey.objects.update(created_at=timezone.now() - timedelta(days=91))
    rotate_api_key(key=old, overlap=timedelta(days=7))
    now = timezone.now()
    assert needs_attention(member.merchant, SANDBOX, now) == []
    ApiKey.objects.filter(pk=old.pk).update(last_used_at=now)
    assert [item.kind for item in needs_attention(member.merchant, SANDBOX, now)] == ["expiring"]
    assert needs_attention(member.merchant, SANDBOX, now + timedelta(days=8)) == []


def test_the_pages_take_few_queries(client: Client, member: Member) -> None:
    for _ in range(3):
        pay_and_confirm(make_payment(POLYGON, merchant=member.merchant, metadata={"order": "7341"}))
    client.get("/dashboard")
    for path in ("/dashboard", "/dashboard/payments", "/dashboard/payments?q=7341", "/dashboard/find?q=7341"):
        with CaptureQueriesContext(connection) as queries:
            assert client.get(path).status_code == 200
        assert len(queries) <= 12, [query["sql"][:90] for query in queries]
