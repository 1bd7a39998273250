"""POST /payments, and the service behind it."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django.fixtures import Settings

from config import ids
from merchants import counting
from merchants.services import update_settings
from payments.chains import network_table
from payments.chains.simulated.networks import simulated_profile
from payments.deposits.models import ScanCursor
from payments.models import PAYMENTS, Payment
from payments.services import create_payment
from tests.factories import api_client, make_key, make_merchant
from tests.forgetting import forget_networks
from tests.payments.creating import assert_refused, body, create
from tests.payments.scenes import (
    ETHEREUM,
    PAIRS,
    PRODUCTION,
    SANDBOX,
    STELLAR,
    WALLETS,
    everything,
    make_merchant_who,
    make_payment,
    request_for,
    watch,
)
from tests.stopping import halt
from webhooks.models import Event
from webhooks.records import event_record

pytestmark = pytest.mark.django_db


# The record.


def test_every_field_of_the_record_says_what_it_should(settings: Settings) -> None:
    settings.PUBLIC_URL = "https://pay.example.com"
    before = timezone.now() - timedelta(milliseconds=1)
    reply = create(
        amount=19.99,
        currency="EUR",
        redirectUrl="https://shop.example.com/thanks?order=7",
        webhookUrl="https://shop.example.com/hooks",
        expiresIn=900,
        metadata={"order": "7"},
    )
    assert reply.status_code == 201
    record = reply.json()
    payment = Payment.objects.get()
    assert record.pop("qrCode").startswith("data:image/png;base64,")
    quoted_at = record["exchangeRate"].pop("quotedAt")
    assert before <= datetime.fromisoformat(quoted_at) <= timezone.now()
    created_at, expires_at = datetime.fromisoformat(record["createdAt"]), datetime.fromisoformat(record["expiresAt"])
    assert before <= created_at <= timezone.now()
    assert expires_at - created_at == timedelta(seconds=900)
    assert record == {
        "id": payment.public_id,
        "object": "payment",
        "status": "created",
        "amount": 19.99,
        "currency": "EUR",
        "cryptoAmount": "23.064498",  # 19.99 / 0.8667 = 23.0644975...
        "cryptocurrency": "USDC",
        "network": "ethereum",
        "url": f"https://pay.example.com/pay/{payment.public_id}",
        "expiresAt": record["expiresAt"],
        "createdAt": record["createdAt"],
        "amountDue": "23.064498",
        "amountReceived": "0.000000",
        "amountRefunded": "0.000000",
        "exchangeRate": {"rate": "0.8667", "source": "bundled table of 2025-11-20"},
        "depositAddress": payment.deposit_address,
        "memo": None,
        "muxedAddress": None,
        "paymentUri": payment.payment_uri,
        "confirmations": 0,
        "requiredConfirmations": 3,
        "statusReasons": [],
        "transfers": [],
        "transferCount": 0,
        "merchantWallet": WALLETS[ETHEREUM],
        "redirectUrl": "https://shop.example.com/thanks?order=7",
        "cancelUrl": None,
        "webhookUrl": "https://shop.example.com/hooks",
        "expiresIn": 900,
        "metadata": {"order": "7"},
        "description": None,
        "items": [],
        "note": None,
        "paymentLink": None,
        "choices": [],
        "chosenAt": None,
        "environment": "sandbox",
        "completedAt": None,
        "cancelledAt": None,
        "closedAt": None,
        "version": 1,
    }
    assert re.fullmatch(r"pay_[0-7][0-9a-hjkmnp-tv-z]{25}", record["id"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", record["createdAt"])


def test_what_is_left_out_takes_its_default() -> None:
    record = create().json()
    assert (record["redirectUrl"], record["webhookUrl"], record["metadata"]) == (None, None, {})
    assert record["expiresIn"] == 1800
    created_at, expires_at = (datetime.fromisoformat(record[name]) for name in ("createdAt", "expiresAt"))
    assert expires_at - created_at == timedelta(seconds=1800)


@pytest.mark.parametrize(("network", "coin"), PAIRS)
def test_each_coin_of_each_network_can_be_asked_for(network: str, coin: str) -> None:
    record = create(network=network, cryptocurrency=coin, amount=12.5).json()
    payment = Payment.objects.get()
    digits = 7 if network == STELLAR else 18 if coin == "DAI" else 6
    assert (record["network"], record["cryptocurrency"], record["cryptoAmount"]) == (network, coin, "12.500000")
    assert (payment.decimals, payment.due) == (digits, 125 * 10 ** (digits - 1))
    assert record["requiredConfirmations"] == {"ethereum": 3, "polygon": 2, "stellar": 1}[network]
    assert (record["memo"] is not None) == (network == STELLAR)


# Time.


@pytest.mark.parametrize("seconds", [60, 3600, 86_400, 60.0])
def test_the_window_is_as_long_as_asked_for(seconds: float) -> None:
    record = create(expiresIn=seconds).json()
    created_at, expires_at = (datetime.fromisoformat(record[name]) for name in ("createdAt", "expiresAt"))
    assert expires_at - created_at == timedelta(seconds=seconds)
    payment = Payment.objects.get()
    assert payment.created_at == created_at == ids.created_at_of(payment.pk)


@pytest.mark.parametrize("seconds", [59, 86_401, 0, -60, 90.5, "900", True, 10**30])
def test_a_window_too_short_or_too_long_is_refused(seconds: Any) -> None:
    assert_refused(create(expiresIn=seconds), code="invalid_parameter", param="expiresIn")


# Metadata.


@pytest.mark.parametrize(
    "metadata",
    [
        {str(number): "x" * 300 for number in range(50)},
        {"k" * 40: ""},
        {"emoji 🙂": "ñ → ✓", "<script>": "</script>'\"&"},
    ],
)
def test_metadata_is_given_back_untouched(metadata: dict[str, str]) -> None:
    assert create(metadata=metadata).json()["metadata"] == metadata
    assert Payment.objects.get().metadata == metadata


@pytest.mark.parametrize(
    "metadata",
    [
        {"order": "x" * 16 * 1024},
        ["order"],
        "order",
        7,
    ],
)
def test_metadata_beyond_its_limits_is_refused(metadata: Any) -> None:
    assert_refused(create(metadata=metadata), code="invalid_parameter", param="metadata")


# What is asked for must exist, and be asked for.


@pytest.mark.parametrize("field", ["amount", "currency", "cryptocurrency", "network", "merchantWallet"])
def test_a_missing_parameter_is_named(field: str) -> None:
    asked = body()
    del asked[field]
    reply = api_client(make_key()).call("POST", "/payments", json_body=asked)
    assert_refused(reply, code="missing_parameter", param=field)


def test_an_unknown_parameter_is_named_and_the_right_one_suggested() -> None:
    assert_refused(
        create(expires_in=60),
        code="unknown_parameter",
        param="expires_in",
        message='Unknown parameter: "expires_in". Did you mean expiresIn?',
    )


@pytest.mark.parametrize(
    ("field", "value"), [("network", "solana"), ("network", "Ethereum"), ("cryptocurrency", "ETH")]
)
def test_an_unknown_network_or_coin_is_refused(field: str, value: str) -> None:
    asked = body() | {field: value}
    reply = api_client(make_key()).call("POST", "/payments", json_body=asked)
    assert_refused(reply, code="invalid_parameter", param=field, message="Must be one of: ")


def test_every_fault_is_reported_at_once() -> None:
    error = assert_refused(create(amount=-1, currency="XTS", expiresIn=5), code="invalid_parameter", param="amount")
    assert [(each["param"], each["code"]) for each in error["errors"]] == [
        ("amount", "invalid_parameter"),
        ("currency", "invalid_parameter"),
        ("expiresIn", "invalid_parameter"),
    ]


def test_production_has_no_network_before_one_is_set_up() -> None:
    live = api_client(make_key(environment=PRODUCTION))
    reply = live.call("POST", "/payments", json_body=body())
    assert_refused(
        reply, code="network_unavailable", param="network", message="No network is set up in production yet."
    )


def test_a_coin_the_network_does_not_carry_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def with_usdc_alone(network: str) -> Any:
        full = simulated_profile(network)
        return replace(full, assets={"USDC": full.assets["USDC"]})

    monkeypatch.setattr(network_table, "simulated_profile", with_usdc_alone)
    forget_networks()
    assert_refused(
        create(network=STELLAR, cryptocurrency="DAI"),
        code="unsupported_asset",
        param="cryptocurrency",
        message="DAI is not accepted on stellar; accepted are USDC.",
    )


# What the world must be like.


def test_a_halted_network_takes_no_payments() -> None:
    watch()
    halt(ETHEREUM)
    reply = create(network=ETHEREUM)
    assert_refused(reply, code="network_unavailable", param="network")
    assert reply["Retry-After"] == "60"
    assert create(network=STELLAR).status_code == 201


def test_a_network_that_has_been_silent_for_ten_minutes_takes_no_payments() -> None:
    watch()
    silent_since = timezone.now() - timedelta(minutes=10, seconds=1)
    ScanCursor.objects.filter(network=ETHEREUM).update(polled_at=silent_since)
    assert_refused(create(network=ETHEREUM), code="network_unavailable", param="network")
    ScanCursor.objects.filter(network=ETHEREUM).update(polled_at=silent_since + timedelta(seconds=30))
    assert create(network=ETHEREUM).status_code == 201


def test_the_other_environment_s_trouble_is_not_ours() -> None:
    watch()
    halt(ETHEREUM, environment=PRODUCTION)
    assert create(network=ETHEREUM).status_code == 201


def test_without_a_current_rate_nothing_is_guessed(settings: Settings) -> None:
    settings.RATE_SOURCES = ["ecb", "kraken", "coinbase", "bitstamp"]
    reply = create()
    assert_refused(reply, code="rate_unavailable", param=None)
    assert reply["Retry-After"] == "60"


# What a payment remembers.


def test_tolerance_and_late_policy_are_those_of_the_moment_it_was_created() -> None:
    merchant = make_merchant_who(payment_tolerance_bps=25, late_payments="accept")
    payment = make_payment(merchant=merchant)
    update_settings(
        merchant=merchant, environment=SANDBOX, changes={"payment_tolerance_bps": 0, "late_payments": "hold"}
    )
    later = make_payment(merchant=merchant)
    payment.refresh_from_db()
    assert (payment.tolerance_bps, payment.closes_at - payment.expires_at) == (25, timedelta(hours=24))
    assert (later.tolerance_bps, later.closes_at - later.expires_at) == (0, timedelta())


def test_the_first_event_carries_the_record_as_it_was_answered() -> None:
    record = create(metadata={"order": "7"}).json()
    event = Event.objects.get()
    assert (event.type, event.version, event.object_id) == ("payment.created", 1, Payment.objects.get().pk)
    shown = event_record(event)["data"]["object"]
    assert {**shown, "amount": str(shown["amount"])} == {**record, "amount": "19.99"}


def test_a_payment_its_event_and_its_count_are_one() -> None:
    merchant = make_merchant()
    before = everything()
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION refuse_count() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'no space left'; END $$"
        )
        cursor.execute(
            "CREATE TRIGGER refuse_count BEFORE INSERT ON merchants_recordcountdelta"
            " FOR EACH ROW EXECUTE FUNCTION refuse_count()"
        )
        with pytest.raises(Exception, match="no space left"):
            make_payment(merchant=merchant)
        cursor.execute("DROP TRIGGER refuse_count ON merchants_recordcountdelta")
    assert everything() == before
    make_payment(merchant=merchant)
    assert Event.objects.count() == 1
    assert counting.total(PAYMENTS, merchant_id=merchant.pk, environment=SANDBOX) == 1


def test_creating_takes_two_statements() -> None:
    merchant = make_merchant()
    watch()
    make_payment(merchant=merchant)  # a process's first one asks which database this is
    with (
        transaction.atomic(),
        CaptureQueriesContext(
            connection,
        ) as queries,
    ):
        create_payment(merchant=merchant, environment=SANDBOX, request=request_for())
    assert [query["sql"].split()[0] for query in queries.captured_queries] == ["WITH", "WITH"]


def test_the_whole_request_takes_few_statements() -> None:
    client = api_client(make_key())
    client.call("POST", "/payments", json_body=body())
    with CaptureQueriesContext(connection) as queries:
        assert client.call("POST", "/payments", json_body=body()).status_code == 201
    work = [sql for query in queries.captured_queries if "SAVEPOINT" not in (sql := query["sql"])]
    assert len(work) <= 4, work
