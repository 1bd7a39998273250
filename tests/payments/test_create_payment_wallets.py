"""Wallets that nobody can be paid at are refused when a payment is created, and when a settlement is sent elsewhere."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from config.errors import InvalidParameter
from merchants.models import Merchant
from payments.chains import registry
from payments.models import Payment
from payments.transfers.models import Wallet
from settlements.services import redirect_failed
from tests.factories import make_merchant
from tests.payments.scenes import ETHEREUM, POLYGON, SANDBOX, STELLAR, make_payment
from tests.settlements.page_scenes import earn_and_settle, fail

pytestmark = pytest.mark.django_db


def token(network: str) -> str:
    contract = registry.asset(SANDBOX, network, "USDT").contract
    return contract.rpartition(":")[2]


def other_deposit_address(network: str) -> str:
    return make_payment(POLYGON if network == ETHEREUM else network).deposit_address


def muxed_deposit_address(network: str) -> str:
    return make_payment(STELLAR).muxed_address


def hot_wallet(network: str) -> str:
    return registry.chain(SANDBOX, network).payout_address()


def own_contracts(network: str) -> list[str]:
    return sorted(registry.chain(SANDBOX, network).own_accounts() - {hot_wallet(network)})


@pytest.mark.parametrize(
    ("network", "wallet"),
    [
        (ETHEREUM, token),
        (ETHEREUM, hot_wallet),
        (ETHEREUM, lambda network: own_contracts(network)[0]),
        (ETHEREUM, lambda network: own_contracts(network)[1]),
        (ETHEREUM, other_deposit_address),
        (ETHEREUM, lambda network: other_deposit_address(network).lower()),
        (STELLAR, token),
        (STELLAR, hot_wallet),
        (STELLAR, muxed_deposit_address),
    ],
    ids=[
        "token",
        "hot wallet",
        "factory or forwarder",
        "the other",
        "deposit",
        "lower case",
        "issuer",
        "account",
        "muxed",
    ],
)
def test_a_wallet_where_money_would_be_lost_is_refused(network: str, wallet: Callable[[str], str]) -> None:
    named = wallet(network)
    before = Payment.objects.count()
    with pytest.raises(InvalidParameter) as refusal:
        make_payment(network, merchant_wallet=named)
    assert refusal.value.param == "merchantWallet"
    assert Payment.objects.count() == before


def test_a_hot_wallet_of_before_is_refused() -> None:
    former = "0x00000000000000000000000000000000000000aA"
    Wallet.objects.create(environment=SANDBOX, network=ETHEREUM, address=former)
    with pytest.raises(InvalidParameter):
        make_payment(ETHEREUM, merchant_wallet=former)


@pytest.mark.parametrize("wallet", [token, hot_wallet, other_deposit_address])
def test_a_failed_settlement_is_sent_to_none_of_them(merchant: Merchant, wallet: Callable[[str], str]) -> None:
    failed = fail(earn_and_settle(merchant, network=ETHEREUM), "destination_refused")
    with pytest.raises(InvalidParameter) as refusal:
        redirect_failed(failed, wallet=wallet(ETHEREUM), requested_by="Ada")
    assert refusal.value.param == "wallet"


@pytest.fixture
def merchant() -> Merchant:
    return make_merchant()
