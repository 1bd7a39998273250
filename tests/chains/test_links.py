"""Payment links, read back the way a wallet reads them."""

from __future__ import annotations

from urllib.parse import parse_qs, unquote, urlsplit

from payments.chains.evm import links as evm_links
from payments.chains.stellar import links as stellar_links

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
