"""Where a payment is paid, and where people and events are sent from it."""

from __future__ import annotations

import io
from base64 import b64decode
from typing import Any

import pytest
import zxingcpp
from PIL import Image

from payments.chains import registry
from payments.chains.simulated.networks import PASSPHRASE
from payments.models import Payment
from tests.factories import api_client, make_key, make_merchant
from tests.payments.creating import assert_refused, body, create
from tests.payments.scenes import (
    ETHEREUM,
    NETWORKS,
    PRODUCTION,
    SANDBOX,
    STELLAR,
    WALLETS,
    make_merchant_who,
    make_payment,
)

pytestmark = pytest.mark.django_db


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
