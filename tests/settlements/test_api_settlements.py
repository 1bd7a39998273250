"""GET /settlements, /settlements/:id, /settlements/next and the statement, as a merchant's systems see them."""

from __future__ import annotations

import csv
import json
from datetime import timedelta
from decimal import Decimal
from io import StringIO

import jsonschema
import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from config import ids
from config.api.renderers import format_instant
from config.api.views import openapi_document
from config.environments import Environment
from merchants.services import update_settings
from payments.models import BalanceChange
from settlements.models import Settlement
from settlements.records import settlement_record
from tests.api.errors import check_error
from tests.factories import ApiClient, api_client, make_key, make_merchant
from tests.payments.scenes import STELLAR, WALLETS
from tests.refunds.scenes import ask
from tests.settlements.page_scenes import earn, earn_and_settle, fail, fill_treasury, make_settlements, pay_out

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def stopped_clock(settings: Settings) -> None:
    settings.SIMULATED_BLOCK_SECONDS = 0


def client_of(settlement: Settlement) -> ApiClient:
    return api_client(make_key(settlement.merchant))


def test_a_pending_settlement_is_shown_with_every_field(settings: Settings) -> None:
    settings.FEE_BPS = {"starter": 50}
    settlement = earn_and_settle(make_merchant())
    reply = client_of(settlement).call("GET", f"/settlements/{settlement.public_id}")
    assert reply.status_code == 200
    assert reply.json() == {
        "id": settlement.public_id,
        "object": "settlement",
        "status": "pending",
        "settlementCurrency": "USDC",
        "network": "ethereum",
        "destination": WALLETS["ethereum"],
        "grossAmount": "100.000000",
        "feeAmount": "0.500000",
        "refundAmount": "0.000000",
        "debtAmount": "0.000000",
        "amount": "99.500000",
        "tokenFee": "0.000000",
        "receivedAmount": None,
        "paymentCount": 1,
        "exchangeRate": None,
        "rateMoment": "when_paid",
        "periodStart": format_instant(settlement.period_start),
        "periodEnd": format_instant(settlement.period_end),
        "scheduledFor": format_instant(settlement.period_end),
        "transactionHash": None,
        "claimableBalanceId": None,
        "failureCode": None,
        "failureMessage": None,
        "environment": "sandbox",
        "createdAt": format_instant(settlement.created_at),
        "completedAt": None,
        "version": 1,
    }


def test_a_converted_settlement_says_at_which_rate_and_which_transaction_paid_it() -> None:
    fill_treasury()
    merchant = make_merchant()
    earn(merchant, "40", coin="DAI")
    settlement = pay_out(earn_and_settle(merchant, "60"))
    record = client_of(settlement).call("GET", f"/settlements/{settlement.public_id}").json()
    assert record["status"] == "completed"
    assert record["exchangeRate"].keys() == {"DAI"}
    assert record["exchangeRate"]["DAI"].keys() == {"rate", "source", "quotedAt"}
    assert record["exchangeRate"]["DAI"]["rate"] == "1"
    assert (record["grossAmount"], record["amount"], record["paymentCount"]) == ("100.000000", "100.000000", 2)
    assert record["transactionHash"].startswith("0x")
    assert record["completedAt"] == format_instant(settlement.completed_at or timezone.now())
    assert record["version"] == 2


def test_a_failed_settlement_says_why() -> None:
    settlement = fail(earn_and_settle(make_merchant()))
    record = client_of(settlement).call("GET", f"/settlements/{settlement.public_id}").json()
    assert (record["status"], record["failureCode"]) == ("failed", "destination_refused")
    assert record["failureMessage"]
    assert record["transactionHash"] is None


# --- the list ----------------------------------------------------------------------------------------


def test_the_list_is_newest_first_with_an_exact_count_and_pages() -> None:
    merchant = make_merchant()
    settlements = [earn_and_settle(merchant) for _ in range(3)]
    earn_and_settle(make_merchant())
    client = client_of(settlements[0])
    first = client.call("GET", "/settlements?limit=2").json()
    assert first["object"] == "list"
    assert first["data"] == [settlement_record(each) for each in (settlements[2], settlements[1])]
    assert (first["hasMore"], first["totalCount"]) == (True, 3)
    rest = client.call("GET", f"/settlements?limit=2&starting_after={first['data'][-1]['id']}").json()
    assert [record["id"] for record in rest["data"]] == [settlements[0].public_id]
    assert (rest["hasMore"], rest["totalCount"]) == (False, 3)


def test_the_list_is_filtered_by_status() -> None:
    merchant = make_merchant()
    pending, failed = earn_and_settle(merchant, network=STELLAR), fail(earn_and_settle(merchant))
    client = client_of(pending)
    for status, expected in {"pending": [pending], "failed": [failed], "completed": []}.items():
        reply = client.call("GET", f"/settlements?status={status}").json()
        assert [record["id"] for record in reply["data"]] == [each.public_id for each in expected]
        assert reply["totalCount"] == len(expected)


def test_dates_are_whole_days_of_created_at_both_ends_included() -> None:
    settlement = earn_and_settle(make_merchant())
    client = client_of(settlement)
    day = settlement.created_at.date()
    before, after = day - timedelta(days=1), day + timedelta(days=1)
    inside = [
        f"startDate={day}",
        f"endDate={day}",
        f"startDate={day}&endDate={day}",
        f"startDate={before}&endDate={after}",
    ]
    for query in inside:
        assert client.call("GET", f"/settlements?{query}").json()["totalCount"] == 1, query
    for query in (f"startDate={after}", f"endDate={before}", f"startDate={after}&endDate={before}"):
        reply = client.call("GET", f"/settlements?{query}").json()
        assert (reply["data"], reply["totalCount"]) == ([], 0), query


def test_an_instant_is_taken_to_the_millisecond() -> None:
    settlement = earn_and_settle(make_merchant())
    client = client_of(settlement)
    at = format_instant(settlement.created_at)
    just_before = format_instant(settlement.created_at - timedelta(milliseconds=1))
    just_after = format_instant(settlement.created_at + timedelta(milliseconds=1))
    assert client.call("GET", f"/settlements?startDate={at}&endDate={at}").json()["totalCount"] == 1
    assert client.call("GET", f"/settlements?endDate={just_before}").json()["totalCount"] == 0
    assert client.call("GET", f"/settlements?startDate={just_after}").json()["totalCount"] == 0


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("status=paid", "status"),
        ("startDate=yesterday", "startDate"),
        ("endDate=2026-02-30", "endDate"),
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("starting_after=set_1", "starting_after"),
        ("created_gte=2026-01-01", "created_gte"),
    ],
)
def test_a_bad_filter_is_refused_by_name(query: str, param: str) -> None:
    reply = api_client(make_key()).call("GET", f"/settlements?{query}")
    assert (reply.status_code, check_error(reply)["param"]) == (400, param)


# --- the next run ------------------------------------------------------------------------------------


def test_the_next_run_names_what_will_be_paid_and_what_is_carried_over_with_the_reason(settings: Settings) -> None:
    settings.FEE_BPS = {"starter": 100}
    merchant = make_merchant()
    update_settings(
        merchant=merchant,
        environment=Environment.SANDBOX,
        changes={"settlement_minimum": Decimal(10), "settlement_timezone": "Asia/Tokyo"},
    )
    earn(merchant, "100")
    earn(merchant, "4", network=STELLAR)
    client = api_client(make_key(merchant))
    found = client.call("GET", "/settlements/next").json()
    assert found["object"] == "next_settlements"
    assert found["settlements"] == [
        {
            "network": "ethereum",
            "destination": WALLETS["ethereum"],
            "settlementCurrency": "USDC",
            "grossAmount": "100.000000",
            "feeAmount": "1.000000",
            "refundAmount": "0.000000",
            "debtAmount": "0.000000",
            "amount": "99.000000",
            "paymentCount": 1,
            "exchangeRate": None,
            "problem": None,
            "problemMessage": None,
        }
    ]
    assert found["carriedOver"] == [
        {
            "network": "stellar",
            "destination": WALLETS[STELLAR],
            "cryptocurrency": "USDC",
            "amount": "4.000000",
            "reason": "below_minimum",
            "message": "Below the smallest settlement",
        }
    ]
    assert found["scheduledFor"] == found["periodEnd"]
    assert found["scheduledFor"].endswith("T15:00:00.000Z")  # midnight in Tokyo
    assert found["periodStart"] == format_instant(merchant.created_at)
    assert Settlement.objects.count() == 0


def test_the_next_run_begins_where_the_last_one_ended() -> None:
    settlement = earn_and_settle(make_merchant())
    found = client_of(settlement).call("GET", "/settlements/next").json()
    assert found["periodStart"] == format_instant(settlement.period_end)
    assert (found["settlements"], found["carriedOver"]) == ([], [])


def test_without_a_schedule_the_next_run_has_no_time() -> None:
    merchant = make_merchant()
    update_settings(merchant=merchant, environment=Environment.SANDBOX, changes={"settlement_frequency": "manual"})
    found = api_client(make_key(merchant)).call("GET", "/settlements/next").json()
    assert (found["scheduledFor"], found["periodEnd"]) == (None, None)


# --- statements --------------------------------------------------------------------------------------


def test_a_statement_shows_payments_the_fee_the_conversion_and_the_payout(settings: Settings) -> None:
    settings.FEE_BPS = {"starter": 50}
    fill_treasury()
    merchant = make_merchant()
    payments = [earn(merchant, "40", coin="DAI"), earn(merchant, "60")]
    [settlement] = make_settlements(merchant)
    pay_out(settlement)
    statement = client_of(settlement).call("GET", f"/settlements/{settlement.public_id}/statement").json()
    dai, usdc = statement["coins"]
    assert [(entry["type"], entry["amount"]) for entry in dai["entries"]] == [
        ("payment", "40.000000000000000000"),
        ("fee", "-0.200000000000000000"),
        ("conversion", "-39.800000000000000000"),
    ]
    assert [(entry["type"], entry["amount"]) for entry in usdc["entries"]] == [
        ("payment", "60.000000"),
        ("fee", "-0.300000"),
        ("conversion", "39.800000"),
        ("settlement", "-99.500000"),
    ]
    assert [coin["entries"][0]["paymentId"] for coin in (dai, usdc)] == [each.public_id for each in payments]
    assert (usdc["entries"][0]["fiatAmount"], usdc["entries"][0]["fiatCurrency"]) == (60, "USD")
    for coin in (dai, usdc):
        entries = sum(Decimal(entry["amount"]) for entry in coin["entries"])
        assert Decimal(coin["openingBalance"]) + entries == Decimal(coin["closingBalance"]) == 0


def test_what_a_run_carried_over_opens_the_statement_of_a_later_one() -> None:
    merchant = make_merchant()
    update_settings(merchant=merchant, environment=Environment.SANDBOX, changes={"settlement_minimum": Decimal(10)})
    early = earn(merchant, "4")
    assert make_settlements(merchant) == []
    late = earn(merchant, "20")
    [settlement] = make_settlements(merchant)
    [coin] = client_of(settlement).call("GET", f"/settlements/{settlement.public_id}/statement").json()["coins"]
    assert [entry["paymentId"] for entry in coin["carriedOver"]] == [early.public_id]
    assert coin["openingBalance"] == "4.000000"
    assert [entry["paymentId"] for entry in coin["entries"]] == [late.public_id]
    assert coin["closingBalance"] == "24.000000"


def test_a_failed_settlement_closes_with_what_went_back() -> None:
    settlement = fail(earn_and_settle(make_merchant()))
    [coin] = client_of(settlement).call("GET", f"/settlements/{settlement.public_id}/statement").json()["coins"]
    back = BalanceChange.objects.get(kind="settlement_failed")
    assert (coin["closingBalance"], back.amount) == ("100.000000", 100_000_000)


def test_a_statement_is_downloaded_as_csv() -> None:
    settlement = earn_and_settle(make_merchant())
    reply = client_of(settlement).call("GET", f"/settlements/{settlement.public_id}/statement?format=csv")
    assert reply.status_code == 200
    assert reply.headers["Content-Type"] == "text/csv; charset=utf-8"
    name = f"ballast-{settlement.period_end:%Y-%m-%d}-{settlement.public_id}.csv"
    assert reply.headers["Content-Disposition"] == f'attachment; filename="{name}"'
    assert reply.headers["X-Request-Id"]
    assert reply.headers["RateLimit-Limit"] == "100"
    rows = list(csv.DictReader(StringIO(reply.content.decode(), newline="")))
    assert [(row["statement_version"], row["type"], row["amount"]) for row in rows] == [
        ("1", "opening_balance", ""),
        ("1", "payment", "100.000000"),
        ("1", "closing_balance", ""),
    ]
    assert rows[1]["payment_id"].startswith("pay_")


@pytest.mark.parametrize("query", ["format=pdf", "format=CSV", "format=", "format=csv&format=json"])
def test_an_unknown_form_is_refused_by_name(query: str) -> None:
    settlement = earn_and_settle(make_merchant())
    reply = client_of(settlement).call("GET", f"/settlements/{settlement.public_id}/statement?{query}")
    assert (reply.status_code, check_error(reply)["param"]) == (400, "format")


@pytest.mark.parametrize("path", ["", "/statement", "/statement?format=csv"])
def test_another_merchants_settlement_is_not_there(path: str) -> None:
    settlement = earn_and_settle(make_merchant())
    stranger = api_client(make_key())
    reply = stranger.call("GET", f"/settlements/{settlement.public_id}{path}")
    unknown = stranger.call("GET", f"/settlements/{ids.SETTLEMENT.encode(ids.new_uuid())}{path}")
    assert (reply.status_code, check_error(reply)["code"]) == (404, "resource_missing")
    assert check_error(reply)["message"] == check_error(unknown)["message"]


def test_every_reply_is_as_the_reference_describes_it() -> None:
    document = json.loads(openapi_document())
    fill_treasury()
    merchant = make_merchant()
    update_settings(merchant=merchant, environment=Environment.SANDBOX, changes={"settlement_minimum": Decimal(10)})
    early = earn(merchant, "4")
    ask(early, "1", destination=WALLETS["ethereum"].lower())
    make_settlements(merchant)
    earn(merchant, "40", coin="DAI")
    completed = pay_out(earn_and_settle(merchant, "60"))
    failed = fail(earn_and_settle(merchant, network=STELLAR))
    earn(merchant, "70")
    client = api_client(make_key(merchant))
    replies = {
        "/settlements": ["/settlements"],
        "/settlements/next": ["/settlements/next"],
        "/settlements/{settlement_id}": [f"/settlements/{each.public_id}" for each in (completed, failed)],
        "/settlements/{settlement_id}/statement": [
            f"/settlements/{each.public_id}/statement" for each in (completed, failed)
        ],
    }
    for path, addresses in replies.items():
        schema = document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        for address in addresses:
            reply = client.call("GET", address).json()
            jsonschema.validate(reply, {**schema, "components": document["components"]})
