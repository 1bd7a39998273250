"""Payment links, read back the way a wallet reads them."""

from __future__ import annotations

import io
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
import zxingcpp
from PIL import Image
from stellar_sdk.sep.stellar_uri import PayStellarUri

from config.pages.qr import render_png
from payments.chains.evm import links as evm_links
from payments.chains.stellar import addresses
from payments.chains.stellar.payer_wallets import links as stellar_links

ISSUER = "GBBD47IF6LWK7P7MDEVSCWR7DPUWV3NY3DTQEVFL4NAT4AQH3ZLLFLA5"
ACCOUNT = "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"


def test_a_token_transfer_names_contract_chain_recipient_and_plain_amount() -> None:
    link = evm_links.token_transfer(
        contract="0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359",
        chain_id=137,
        recipient="0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        amount=12_500_000 * 10**12,
    )
    assert link == (
        "ethereum:0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359@137/transfer"
        "?address=0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed&uint256=12500000000000000000"
    )


def pay(amount: int = 125_000_000, message: str = "", memo: str | None = "4242", passphrase: str | None = None) -> str:
    return stellar_links.pay(
        destination=ACCOUNT,
        amount=amount,
        decimals=7,
        asset_code="USDC",
        asset_issuer=ISSUER,
        memo=memo,
        message=message,
        network_passphrase=passphrase,
    )


def test_a_payment_names_everything_a_wallet_needs() -> None:
    assert pay() == (
        f"web+stellar:pay?destination={ACCOUNT}&amount=12.5&asset_code=USDC&asset_issuer={ISSUER}"
        "&memo=4242&memo_type=MEMO_ID"
    )


def test_amounts_are_exact_and_plain() -> None:
    amounts = {pay(units).split("amount=")[1].split("&")[0]: units for units in (1, 10**7, 10**9, 10**40 + 1)}
    assert amounts == {
        "0.0000001": 1,
        "1": 10**7,
        "100": 10**9,
        "1000000000000000000000000000000000.0000001": 10**40 + 1,
    }


def test_no_memo_goes_with_an_address_that_carries_its_own() -> None:
    assert "memo" not in pay(memo=None)


def test_the_message_is_percent_encoded_and_comes_back() -> None:
    link = pay(message="Order #1 & more = 100 % ü")
    assert "msg=Order%20%231%20%26%20more%20%3D%20100%20%25%20%C3%BC" in link
    assert parse_qs(urlsplit(link).query)["msg"] == ["Order #1 & more = 100 % ü"]


def test_a_long_message_is_cut_at_300_characters() -> None:
    link = pay(message="ü" * 301)
    assert unquote(link.split("msg=")[1]) == "ü" * 300


def test_other_networks_than_the_public_one_say_which() -> None:
    assert pay(passphrase="Test SDF Network ; September 2015").endswith(
        "&network_passphrase=Test%20SDF%20Network%20%3B%20September%202015"
    )


MESSAGES = ["", "Order #1 & more = 100 % ü", "“Café” + 1/2 ? yes; a=b\n€", "ü" * 301]
PASSPHRASES = [None, "Test SDF Network ; September 2015", "Ballast Simulated Network ; 2026"]


@pytest.mark.parametrize("coin", ["USDC", "USDT", "USDT0", "DAI"])
@pytest.mark.parametrize("passphrase", PASSPHRASES)
@pytest.mark.parametrize("message", MESSAGES)
def test_the_library_of_the_protocol_reads_every_link_as_it_was_meant(
    coin: str, passphrase: str | None, message: str
) -> None:
    for destination, memo in ((ACCOUNT, "9007199254740991"), (addresses.mux(ACCOUNT, 4242), None)):
        link = stellar_links.pay(
            destination=destination,
            amount=125_000_001,
            decimals=7,
            asset_code=coin,
            asset_issuer=ISSUER,
            memo=memo,
            message=message,
            network_passphrase=passphrase,
        )
        read = PayStellarUri.from_uri(link)
        assert (read.destination, read.asset_code, read.asset_issuer) == (destination, coin, ISSUER)
        assert (str(read.amount), read.memo) == ("12.5000001", int(memo) if memo else None)
        assert (read.msg or "", read.network_passphrase) == (message[:300], passphrase)
        if not message:  # pages show none
            assert zxingcpp.read_barcodes(Image.open(io.BytesIO(render_png(link))))[0].text == link
