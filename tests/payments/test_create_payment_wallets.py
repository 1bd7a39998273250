"""Wallets that nobody can be paid at are refused when a payment is created, and when a settlement is sent elsewhere."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from config.errors import InvalidParameter
from merchants.models import Merchant
from payments.chains import registry
from payments.chains.simulated import control
from payments.chains.simulated.models import SimulatedTransfer
from payments.chains.simulated.networks import address_named
from payments.chains.stellar import addresses as stellar_addresses
from payments.models import Payment
from payments.suspense import recipient_checks
from payments.transfers.models import Wallet
from settlements.pages.presenters import SettlementRow
from settlements.services import redirect_failed
from tests.factories import api_client, make_key, make_merchant
from tests.payments.creating import assert_refused, body, create
from tests.payments.scenes import ETHEREUM, POLYGON, SANDBOX, STELLAR, make_payment, watch
from tests.settlements.page_scenes import earn_and_settle, fail, make_settlements, pay_out

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
    return sorted(registry.chain(SANDBOX, network).hot_wallet.own_accounts() - {hot_wallet(network)})


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


# Accounts of many people.


def exchange_wallet(name: str = "an exchange") -> str:
    """The account of one that asks for memos. Each test asks about another: a process remembers what it was told."""
    wallet = address_named(STELLAR, name)
    control.describe_account(STELLAR, wallet, refuses="memo_required")
    return wallet


def test_an_account_that_asks_for_memos_is_refused_and_its_m_address_taken(merchant: Merchant) -> None:
    exchange = exchange_wallet()
    assert_refused(
        create(merchant, network=STELLAR, merchantWallet=exchange),
        code="invalid_parameter",
        param="merchantWallet",
        message="Name the M address",
    )
    own = stellar_addresses.mux(exchange, 4711)
    reply = create(merchant, network=STELLAR, merchantWallet=own)
    assert (reply.status_code, reply.json()["merchantWallet"]) == (201, own)


def test_a_silent_network_refuses_no_wallet_and_is_asked_in_no_database_transaction(merchant: Merchant) -> None:
    exchange = exchange_wallet("another exchange")
    watch()
    control.outage(STELLAR, 60)
    assert create(merchant, network=STELLAR, merchantWallet=exchange).status_code == 201
    assert recipient_checks.needs_a_query(SANDBOX, STELLAR, address_named(STELLAR, "a third"))
    assert not recipient_checks.needs_a_query(SANDBOX, STELLAR, exchange)  # not with each payment while it is silent


def test_a_request_that_is_repeated_gets_its_reply_though_the_wallet_asks_for_memos_now(merchant: Merchant) -> None:
    client = api_client(make_key(merchant))
    wallet = address_named(STELLAR, "a fourth")
    headers = {"Idempotency-Key": "order 7"}
    asked = body(STELLAR, merchantWallet=wallet)
    first = client.call("POST", "/payments", json_body=asked, headers=headers)
    control.describe_account(STELLAR, wallet, refuses="memo_required")
    recipient_checks._needs_memo.clear()
    again = client.call("POST", "/payments", json_body=asked, headers=headers)
    assert (first.status_code, again.status_code, again.content) == (201, 201, first.content)
    assert client.call("POST", "/payments", json_body=asked).status_code == 400


def test_a_settlement_to_an_account_that_began_to_ask_for_memos_fails_with_the_reason(merchant: Merchant) -> None:
    failed = fail(earn_and_settle(merchant, network=STELLAR), "memo_required")
    assert (failed.status, failed.failure_code) == ("failed", "memo_required")
    with pytest.raises(InvalidParameter, match="Name the M address"):
        redirect_failed(failed, wallet=exchange_wallet("a fifth"), requested_by="Ada")
    own = stellar_addresses.mux(failed.destination, 4711)
    redirect_failed(failed, wallet=own, requested_by="Ada")
    [settlement] = make_settlements(merchant)
    assert settlement.destination == own
    assert SettlementRow(settlement, "UTC").memo == "4711"
    paid = pay_out(settlement)
    assert paid.status == "completed"
    assert SimulatedTransfer.objects.get(recipient=failed.destination).memo == "4711"


@pytest.fixture
def merchant() -> Merchant:
    return make_merchant()
