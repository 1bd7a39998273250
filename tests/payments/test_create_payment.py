"""POST /payments, and the service behind it."""

from __future__ import annotations

import io
import json
import re
from base64 import b64decode
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
import zxingcpp
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from pytest_django.fixtures import Settings

from config import ids
from config.errors import InvalidParameter
from config.money import FIAT_DIGITS, from_units
from merchants import counting
from merchants.models import Merchant
from merchants.services import update_settings
from payments.chains import registry
from payments.chains.simulated.networks import PASSPHRASE, simulated_profile
from payments.models import PAYMENTS, Payment, ScanCursor
from payments.rates.quoting import quote
from payments.services import create_payment
from tests.factories import api_client, make_key, make_merchant
from tests.payments.scenes import (
    ETHEREUM,
    NETWORKS,
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
from webhooks.models import Event

pytestmark = pytest.mark.django_db


def body(network: str = ETHEREUM, **fields: Any) -> dict[str, Any]:
    asked = {
        "amount": 19.99,
        "currency": "USD",
        "cryptocurrency": "USDC",
        "network": network,
        "merchantWallet": WALLETS[network],
    }
    return {**asked, **fields}


def create(merchant: Merchant | None = None, **fields: Any) -> Any:
    client = api_client(make_key(merchant or make_merchant()))
    return client.call("POST", "/payments", json_body=body(**fields))


def assert_refused(reply: Any, *, code: str, param: str | None, message: str = "") -> dict[str, Any]:
    assert reply.status_code == 400
    error: dict[str, Any] = reply.json()["error"]
    assert (error["type"], error["code"], error.get("param")) == ("invalid_request_error", code, param)
    assert message in error["message"]
    assert not Payment.objects.exists()
    assert not Event.objects.exists()
    return error


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
        "amountReceived": "0.000000",
        "amountRefunded": "0.000000",
        "exchangeRate": {"rate": "0.8667", "source": "bundled table of 2025-11-20"},
        "depositAddress": payment.deposit_address,
        "memo": None,
        "paymentUri": payment.payment_uri,
        "confirmations": 0,
        "requiredConfirmations": 3,
        "statusReasons": [],
        "transfers": [],
        "merchantWallet": WALLETS[ETHEREUM],
        "redirectUrl": "https://shop.example.com/thanks?order=7",
        "webhookUrl": "https://shop.example.com/hooks",
        "expiresIn": 900,
        "metadata": {"order": "7"},
        "environment": "sandbox",
        "completedAt": None,
        "cancelledAt": None,
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


# Amounts.


@pytest.mark.parametrize(
    ("amount", "currency", "minor_units"),
    [
        ("19.99", "USD", 1999),
        ("0.01", "USD", 1),
        ("1000000", "USD", 100_000_000),
        ("1e2", "USD", 10_000),
        ("0.10", "USD", 10),
        ("100.000", "USD", 10_000),
        ("1250", "JPY", 1250),
        ("1250.0", "JPY", 1250),
        ("1", "KRW", 1),
        ("0.001", "BHD", 1),
        ("19.995", "OMR", 19_995),
        ("8.29", "GBP", 829),
    ],
)
def test_an_amount_stays_exactly_what_it_was(amount: str, currency: str, minor_units: int) -> None:
    client = api_client(make_key())
    text = json.dumps(body(currency=currency, amount="?")).replace('"?"', amount).encode()
    reply = client.call("POST", "/payments", data=text)
    assert reply.status_code == 201
    payment = Payment.objects.get()
    assert payment.fiat_amount == minor_units
    shown = re.search(rb'"amount":([0-9.]+),', reply.content)
    assert shown is not None
    assert Decimal(shown[1].decode()) == Decimal(amount)
    assert shown[1].decode() == f"{from_units(minor_units, FIAT_DIGITS[currency]):f}"


@pytest.mark.parametrize(
    ("amount", "currency", "message"),
    [
        (19.999, "USD", "An amount in USD has at most 2 decimal places."),
        (0.001, "EUR", "An amount in EUR has at most 2 decimal places."),
        (1250.5, "JPY", "An amount in JPY has no decimal places."),
        (1.0001, "BHD", "An amount in BHD has at most 3 decimal places."),
        (0, "USD", "Must be greater than 0."),
        (-5, "USD", "Must be greater than 0."),
        (1_000_000.01, "USD", "Must be at most 1,000,000."),
        (1_000_001, "JPY", "Must be at most 1,000,000."),
        ("19.99", "USD", "Must be a number, not a string"),
        (True, "USD", "Must be a number."),
        (None, "USD", ""),
        ([5], "USD", "Must be a number."),
    ],
)
def test_an_amount_that_cannot_be_is_refused(amount: Any, currency: str, message: str) -> None:
    assert_refused(create(amount=amount, currency=currency), code="invalid_parameter", param="amount", message=message)


@pytest.mark.parametrize("currency", ["XTS", "usd", "BTC", "", 5, None])
def test_an_unknown_currency_is_refused(currency: Any) -> None:
    assert_refused(create(currency=currency), code="invalid_parameter", param="currency")


def test_the_service_knows_the_currencies_too() -> None:
    with pytest.raises(InvalidParameter, match="XTS is not a currency payments can be priced in"):
        make_payment(currency="XTS")
    assert not Payment.objects.exists()


def quoted(amount: Decimal, currency: str, coin: str) -> tuple[int, Decimal]:
    """What the payer is asked for in base units of stellar, and the rate."""
    with transaction.atomic():
        payment, _ = create_payment(
            merchant=make_merchant(),
            environment=SANDBOX,
            request=request_for(STELLAR, coin, str(amount), currency=currency),
        )
        transaction.set_rollback(True)
    return payment.due, payment.rate


@given(
    minor_units=st.integers(1, 10**8),
    currency=st.sampled_from(sorted(FIAT_DIGITS)),
    coin=st.sampled_from(["USDC", "USDT", "DAI"]),
)
def test_a_quote_never_asks_for_too_little_nor_for_a_millionth_too_much(
    minor_units: int, currency: str, coin: str
) -> None:
    amount = from_units(minor_units, FIAT_DIGITS[currency])
    due, rate = quoted(amount, currency, coin)
    assert rate == quote(currency, coin).rate
    asked = from_units(due, 7)
    assert asked * rate >= amount
    assert (asked - Decimal("0.000001")) * rate < amount
    assert due % 10 == 0  # six digits, all of them shown


# Time.


@pytest.mark.parametrize("seconds", [60, 3600, 86_400, 60.0])
def test_the_window_is_as_long_as_asked_for(seconds: float) -> None:
    record = create(expiresIn=seconds).json()
    created_at, expires_at = (datetime.fromisoformat(record[name]) for name in ("createdAt", "expiresAt"))
    assert expires_at - created_at == timedelta(seconds=seconds)
    payment = Payment.objects.get()
    assert payment.created_at == created_at == ids.created_at_of(payment.pk)


@pytest.mark.parametrize("seconds", [59, 86_401, 0, -60, 90.5, "900", None, True, 10**30])
def test_a_window_too_short_or_too_long_is_refused(seconds: Any) -> None:
    assert_refused(create(expiresIn=seconds), code="invalid_parameter", param="expiresIn")


# Wallets and addresses.


@pytest.mark.parametrize(
    ("network", "wallet"),
    [
        ("ethereum", WALLETS["ethereum"]),
        ("ethereum", WALLETS["ethereum"].lower()),
        ("polygon", WALLETS["polygon"].lower()),
        ("stellar", WALLETS["stellar"]),
    ],
)
def test_a_wallet_is_kept_in_its_canonical_spelling(network: str, wallet: str) -> None:
    record = create(network=network, merchantWallet=wallet).json()
    assert record["merchantWallet"] == WALLETS[network]


@pytest.mark.parametrize(
    ("network", "wallet"),
    [
        ("ethereum", WALLETS["stellar"]),
        ("stellar", WALLETS["ethereum"]),
        ("ethereum", WALLETS["ethereum"][:-1]),
        ("ethereum", WALLETS["ethereum"] + "0"),
        ("ethereum", "0x" + "0" * 40),
        ("polygon", WALLETS["ethereum"].swapcase().replace("0X", "0x")),
        ("stellar", WALLETS["stellar"][:-1] + ("A" if WALLETS["stellar"][-1] != "A" else "B")),
        ("stellar", WALLETS["stellar"].lower()),
        ("ethereum", " " + WALLETS["ethereum"]),
        ("ethereum", ""),
    ],
)
def test_a_wallet_of_no_such_network_is_refused_with_the_reason(network: str, wallet: str) -> None:
    error = assert_refused(
        create(network=network, merchantWallet=wallet), code="invalid_parameter", param="merchantWallet"
    )
    assert len(error["message"]) > 15
    assert error["message"].endswith(".")


def test_only_wallets_on_the_allow_list_are_taken_once_there_is_one() -> None:
    merchant = make_merchant_who(wallet_allow_list=[WALLETS[ETHEREUM]])
    assert create(merchant, network=ETHEREUM).status_code == 201
    reply = create(merchant, network=STELLAR)
    assert (reply.status_code, reply.json()["error"]["code"]) == (400, "wallet_not_allowed")
    assert reply.json()["error"]["param"] == "merchantWallet"
    assert Payment.objects.count() == 1
    # The address counts, however it is spelled and whatever the network.
    assert create(merchant, network="polygon", merchantWallet=WALLETS[ETHEREUM].lower()).status_code == 201


def test_no_two_payments_share_where_they_are_paid() -> None:
    merchant = make_merchant()
    for network in NETWORKS:
        made = [make_payment(network, coin, merchant=merchant) for coin in ("USDC", "DAI") for _ in range(5)]
        places = {(payment.deposit_address, payment.memo) for payment in made}
        assert len(places) == len(made)
        assert len({payment.sequence for payment in made}) == len(made)
        if network == STELLAR:
            assert len({payment.deposit_address for payment in made}) == 1
            assert all(payment.memo.isdecimal() and payment.muxed_address.startswith("M") for payment in made)
        else:
            assert {payment.memo for payment in made} == {""}


def test_the_payment_link_carries_everything_a_wallet_needs() -> None:
    on_ethereum = make_payment(ETHEREUM, "DAI", "12.5")
    contract = registry.asset(SANDBOX, ETHEREUM, "DAI").contract
    assert on_ethereum.payment_uri == (
        f"ethereum:{contract}@913370001/transfer?address={on_ethereum.deposit_address}&uint256=12500000000000000000"
    )
    on_stellar = make_payment(STELLAR, "USDC", "12.5")
    code, issuer = registry.asset(SANDBOX, STELLAR, "USDC").contract.split(":")
    passphrase = PASSPHRASE.replace(" ", "%20").replace(";", "%3B")
    assert on_stellar.payment_uri == (
        f"web+stellar:pay?destination={on_stellar.deposit_address}&amount=12.5&asset_code={code}"
        f"&asset_issuer={issuer}&memo={on_stellar.memo}&memo_type=MEMO_ID&network_passphrase={passphrase}"
    )


@pytest.mark.parametrize("network", NETWORKS)
def test_the_qr_code_holds_only_what_no_scanner_can_misread(network: str) -> None:
    record = create(network=network).json()
    with Image.open(io.BytesIO(b64decode(record["qrCode"].removeprefix("data:image/png;base64,")))) as image:
        assert image.format == "PNG"
        barcode = zxingcpp.read_barcode(image)
    assert barcode is not None
    # A scanner that half-reads an EIP-681 token link would pay the token contract.
    assert barcode.text == (record["paymentUri"] if network == STELLAR else record["depositAddress"])
    assert record["depositAddress"] in record["paymentUri"]


# Addresses on the web.


@pytest.mark.parametrize("field", ["redirectUrl", "webhookUrl"])
@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://shop.example.com/", "Must begin with https:// or http://."),
        ("javascript:alert(1)", "Must begin with https:// or http://."),
        ("//shop.example.com/", "Must begin with https:// or http://."),
        ("https://ada:secret@shop.example.com/", "Must not contain a user name or password."),
        ("https://shop.example.com/\n", "plain ASCII characters"),
        ("https://shop.example.com/\\evil", "plain ASCII characters"),
        ("https://", "Must name a valid host"),
        ("https://shop.example.com:0/", "Must name a valid host"),
        ("https://shop.example.com/" + "a" * 2000, "Must have at most 2000 characters."),
        (5, "Must be a string."),
    ],
)
def test_an_address_nobody_should_be_sent_to_is_refused(field: str, url: Any, message: str) -> None:
    assert_refused(create(**{field: url}), code="invalid_parameter", param=field, message=message)


@pytest.mark.parametrize("field", ["redirectUrl", "webhookUrl"])
def test_the_sandbox_takes_http_and_production_does_not(field: str) -> None:
    addresses: dict[str, Any] = {field: "http://localhost:3000/done"}
    assert create(**addresses).json()[field] == "http://localhost:3000/done"
    live = api_client(make_key(environment=PRODUCTION))
    reply = live.call("POST", "/payments", json_body=body(**{field: "http://shop.example.com/"}))
    error = reply.json()["error"]
    assert (reply.status_code, error["code"], error["param"]) == (400, "invalid_parameter", field)
    assert error["message"] == "Must begin with https:// in production."
    assert Payment.objects.count() == 1


# Metadata.


@pytest.mark.parametrize(
    "metadata",
    [
        {str(number): "x" * 500 for number in range(50)},
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
        {str(number): "" for number in range(51)},
        {"k" * 41: ""},
        {"": ""},
        {"order": "x" * 501},
        {"order": 7},
        {"order": None},
        {"order": {"id": "7"}},
        {"a\nb": ""},
        ["order"],
        "order",
        None,
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

    monkeypatch.setattr(registry, "simulated_profile", with_usdc_alone)
    assert_refused(
        create(network=STELLAR, cryptocurrency="DAI"),
        code="unsupported_asset",
        param="cryptocurrency",
        message="DAI is not accepted on stellar; accepted are USDC.",
    )


# What the world must be like.


def test_a_halted_network_takes_no_payments() -> None:
    watch()
    ScanCursor.objects.filter(network=ETHEREUM).update(halted_at=timezone.now())
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
    ScanCursor.objects.create(environment=PRODUCTION, network=ETHEREUM, halted_at=timezone.now())
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
    assert {**event.payload, "amount": str(event.payload["amount"])} == {**record, "amount": "19.99"}


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
    with (
        transaction.atomic(),
        CaptureQueriesContext(
            connection,
        ) as queries,
    ):
        create_payment(merchant=merchant, environment=SANDBOX, request=request_for())
    assert [query["sql"].split()[0] for query in queries.captured_queries] == ["SELECT", "WITH"]


def test_the_whole_request_takes_few_statements() -> None:
    client = api_client(make_key())
    client.call("POST", "/payments", json_body=body())
    with CaptureQueriesContext(connection) as queries:
        assert client.call("POST", "/payments", json_body=body()).status_code == 201
    work = [sql for query in queries.captured_queries if "SAVEPOINT" not in (sql := query["sql"])]
    assert len(work) <= 4, work
