"""GET /merchant, PATCH /merchant/settings, GET /balance."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django.fixtures import Settings

from config.environments import Environment
from merchants.ledger.posting import AccountRef, Line, post
from merchants.models import Merchant, MerchantSettings
from tests.factories import api_client, make_key, make_merchant

pytestmark = pytest.mark.django_db


def settings_of(merchant: Merchant, environment: Environment = Environment.SANDBOX) -> MerchantSettings:
    return MerchantSettings.objects.get(merchant=merchant, environment=environment)


def test_a_new_merchant_is_shown_with_its_defaults() -> None:
    merchant = make_merchant("Corner Shop")
    reply = api_client(make_key(merchant)).call("GET", "/merchant")
    assert reply.status_code == 200
    assert reply.json() == {
        "id": merchant.public_id,
        "object": "merchant",
        "name": "Corner Shop",
        "email": merchant.email,
        "plan": "starter",
        "feeBps": 0,
        "environment": "sandbox",
        "settlementCurrency": "USDC",
        "settlementSchedule": {
            "frequency": "daily",
            "time": "00:00",
            "timezone": "UTC",
            "dayOfWeek": None,
            "dayOfMonth": None,
            "minimumAmount": "0.000000",
        },
        "paymentTolerance": "0.00",
        "latePayments": "hold",
        "surplus": "ask",
        "surplusKept": "0.00",
        "walletAllowList": [],
        "balances": [],
        "createdAt": merchant.created_at.strftime("%Y-%m-%dT%H:%M:%S.")
        + f"{merchant.created_at.microsecond // 1000:03}Z",
    }


def test_the_fee_is_the_merchants_own_or_else_its_plans(settings: Settings) -> None:
    settings.FEE_BPS = {"starter": 50}
    merchant = make_merchant()
    client = api_client(make_key(merchant))
    assert client.call("GET", "/merchant").json()["feeBps"] == 50
    merchant.fee_bps = 0
    merchant.save()
    assert client.call("GET", "/merchant").json()["feeBps"] == 0


def test_a_change_merges_and_answers_with_the_merchant() -> None:
    merchant = make_merchant()
    client = api_client(make_key(merchant))
    first = client.call(
        "PATCH",
        "/merchant/settings",
        json_body={
            "settlementCurrency": "DAI",
            "settlementSchedule": {"frequency": "weekly", "time": "09:30", "timezone": "Europe/Berlin"},
            "paymentTolerance": "0.25",
        },
    )
    assert first.status_code == 200
    second = client.call(
        "PATCH",
        "/merchant/settings",
        json_body={"settlementSchedule": {"dayOfWeek": 5, "minimumAmount": 12.5}, "latePayments": "accept"},
    )
    record = second.json()
    assert record["settlementCurrency"] == "DAI"
    assert record["settlementSchedule"] == {
        "frequency": "weekly",
        "time": "09:30",
        "timezone": "Europe/Berlin",
        "dayOfWeek": 5,
        "dayOfMonth": None,
        "minimumAmount": "12.500000",
    }
    assert (record["paymentTolerance"], record["latePayments"]) == ("0.25", "accept")
    assert client.call("GET", "/merchant").json() == record


def test_what_becomes_of_a_surplus_is_chosen() -> None:
    client = api_client(make_key())

    def chosen(**body: str) -> tuple[str, str]:
        record = client.call("PATCH", "/merchant/settings", json_body=body).json()
        return record["surplus"], record["surplusKept"]

    assert chosen(surplus="keep", surplusKept="0.75") == ("keep", "0.75")
    assert chosen(surplusKept="0.5") == ("keep", "0.50")
    assert chosen(latePayments="accept") == ("keep", "0.50")
    assert chosen(surplus="give_back") == ("give_back", "0.00")
    assert chosen(surplus="ask") == ("ask", "0.00")


def test_a_weekly_or_monthly_schedule_gets_its_first_day_when_none_is_named() -> None:
    client = api_client(make_key())
    weekly = client.call("PATCH", "/merchant/settings", json_body={"settlementSchedule": {"frequency": "weekly"}})
    assert weekly.json()["settlementSchedule"]["dayOfWeek"] == 1
    monthly = client.call("PATCH", "/merchant/settings", json_body={"settlementSchedule": {"frequency": "monthly"}})
    assert monthly.json()["settlementSchedule"]["dayOfMonth"] == 1


def test_a_change_in_the_sandbox_leaves_production_alone() -> None:
    merchant = make_merchant()
    api_client(make_key(merchant)).call("PATCH", "/merchant/settings", json_body={"settlementCurrency": "USDT"})
    assert settings_of(merchant).settlement_currency == "USDT"
    assert settings_of(merchant, Environment.PRODUCTION).settlement_currency == "USDC"


WALLET = "0x52908400098527886E0F7030069857D2E4169EE7"


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"settlementCurrency": "EUR"}, "settlementCurrency"),
        ({"currency": "USDC"}, "currency"),
        ({"settlementSchedule": "daily"}, "settlementSchedule"),
        ({"settlementSchedule": {"frequency": "hourly"}}, "settlementSchedule.frequency"),
        ({"settlementSchedule": {"hour": 9}}, "settlementSchedule.hour"),
        ({"settlementSchedule": {"time": "24:00"}}, "settlementSchedule.time"),
        ({"settlementSchedule": {"time": "9:30"}}, "settlementSchedule.time"),
        ({"settlementSchedule": {"time": "09:30\n"}}, "settlementSchedule.time"),
        ({"settlementSchedule": {"time": "٠٩:٣٠"}}, "settlementSchedule.time"),
        ({"settlementSchedule": {"timezone": "Mars/Olympus"}}, "settlementSchedule.timezone"),
        ({"settlementSchedule": {"timezone": "../etc/passwd"}}, "settlementSchedule.timezone"),
        ({"settlementSchedule": {"dayOfWeek": 0}}, "settlementSchedule.dayOfWeek"),
        ({"settlementSchedule": {"dayOfWeek": 8}}, "settlementSchedule.dayOfWeek"),
        ({"settlementSchedule": {"dayOfMonth": 32}}, "settlementSchedule.dayOfMonth"),
        ({"settlementSchedule": {"minimumAmount": -1}}, "settlementSchedule.minimumAmount"),
        ({"settlementSchedule": {"minimumAmount": "1e3"}}, "settlementSchedule.minimumAmount"),
        ({"settlementSchedule": {"minimumAmount": "0.0000001"}}, "settlementSchedule.minimumAmount"),
        ({"settlementSchedule": {"minimumAmount": "1" + "0" * 14}}, "settlementSchedule.minimumAmount"),
        ({"paymentTolerance": "0.51"}, "paymentTolerance"),
        ({"paymentTolerance": "0.125"}, "paymentTolerance"),
        ({"paymentTolerance": True}, "paymentTolerance"),
        ({"latePayments": "drop"}, "latePayments"),
        ({"surplus": "drop"}, "surplus"),
        ({"surplus": "keep"}, "surplusKept"),
        ({"surplusKept": "0.5"}, "surplusKept"),
        ({"surplus": "keep", "surplusKept": "1.01"}, "surplusKept"),
        ({"surplus": "give_back", "surplusKept": "0.5"}, "surplusKept"),
        ({"walletAllowList": WALLET}, "walletAllowList"),
        ({"walletAllowList": ["0x12"]}, "walletAllowList.0"),
        ({"walletAllowList": [WALLET, WALLET.lower()]}, "walletAllowList"),
        ({"walletAllowList": [WALLET] * 201}, "walletAllowList"),
    ],
)
def test_a_bad_setting_is_refused_by_name_and_changes_nothing(body: dict[str, Any], param: str) -> None:
    merchant = make_merchant()
    before = MerchantSettings.objects.values().get(merchant=merchant, environment="sandbox")
    reply = api_client(make_key(merchant)).call(
        "PATCH", "/merchant/settings", json_body={"latePayments": "accept", **body}
    )
    error = reply.json()["error"]
    code = "unknown_parameter" if param in {"currency", "settlementSchedule.hour"} else "invalid_parameter"
    assert (reply.status_code, error["code"], error["param"]) == (400, code, param)
    assert MerchantSettings.objects.values().get(merchant=merchant, environment="sandbox") == before


def test_the_balance_shows_what_the_books_hold_in_this_environment() -> None:
    merchant = make_merchant()
    for environment, amount in ((Environment.SANDBOX, 12_345_678), (Environment.PRODUCTION, 1)):
        post(
            kind="test:credit",
            height=1,
            reference=merchant.public_id,
            environment=environment,
            lines=[
                Line(AccountRef("polygon", "USDC", "chain:deposit", ""), amount),
                Line(AccountRef("polygon", "USDC", "merchant:available", str(merchant.pk)), -amount),
            ],
        )
    nothing = "0.000000"
    expected = [
        {
            "network": "polygon",
            "cryptocurrency": "USDC",
            "available": "12.345678",
            "receivable": nothing,
            "inSuspense": nothing,
        }
    ]
    client = api_client(make_key(merchant))
    assert client.call("GET", "/balance").json() == {
        "object": "balance",
        "environment": "sandbox",
        "at": None,
        "balances": expected,
    }
    assert client.call("GET", "/merchant").json()["balances"] == expected
    assert api_client(make_key()).call("GET", "/balance").json()["balances"] == []


def test_money_on_a_network_that_is_not_in_use_is_still_shown() -> None:
    merchant = make_merchant()
    for network, coin in (("stellar", "USDT"), ("ethereum", "DAI")):
        post(
            kind="test:credit",
            height=1,
            reference=f"{merchant.public_id} {network}",
            environment=Environment.PRODUCTION,
            lines=[
                Line(AccountRef(network, coin, "chain:deposit", ""), 10**18),
                Line(AccountRef(network, coin, "merchant:available", str(merchant.pk)), -(10**18)),
            ],
        )
    shown = api_client(make_key(merchant, Environment.PRODUCTION)).call("GET", "/balance").json()["balances"]
    assert [(each["network"], each["cryptocurrency"], each["available"]) for each in shown] == [
        ("ethereum", "DAI", "1.000000"),
        ("stellar", "USDT", "100000000000.000000"),
    ]
