"""What is said on real nodes of transactions that somebody names, by the API of production."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.db import transaction
from pytest_django.fixtures import Settings

from config.environments import Environment
from merchants.services import open_merchant
from payments import tasks as payment_tasks
from payments.chains import registry
from payments.chains.evm import abi
from payments.deposits.models import ReadingRequest, ScanCursor
from payments.models import Payment
from payments.services import NewPayment, create_payment
from tests.evm.mainnet import Mainnet, prepared_mainnet, settings_for
from tests.evm.network import devnet
from tests.evm.shop import RATE_SOURCES, price_coins_at_a_dollar
from tests.factories import api_client, make_key
from tests.networks import ETHEREUM, POLYGON

pytestmark = pytest.mark.django_db(transaction=True)

PRODUCTION = Environment.PRODUCTION
BLOCKS_UNTIL_FINAL = 13
UNKNOWN = "0x" + "ab" * 32
USDC = 10**6


class Square:
    """A shop that takes payments on ethereum and polygon, and a desk where people ask about theirs."""

    def __init__(self, mainnets: dict[str, Mainnet]) -> None:
        self.mainnets = mainnets
        self.merchant = open_merchant(name="Shop", email="shop@example.com", plan="business")
        self.client = api_client(make_key(self.merchant, PRODUCTION))
        price_coins_at_a_dollar()
        payment_tasks.watch_networks()

    def open(self, network: str = ETHEREUM) -> Payment:
        wanted = NewPayment(
            amount=Decimal(40),
            currency="USD",
            cryptocurrency="USDC",
            network=network,
            merchant_wallet=devnet.OWNER,
        )
        with transaction.atomic():
            return create_payment(merchant=self.merchant, environment=PRODUCTION, request=wanted)[0]

    def pay(self, network: str, *parts: tuple[str, str, int]) -> str:
        [transaction_hash] = self.mainnets[network].pay(parts)
        return transaction_hash

    def mine(self, network: str, blocks: int = 1) -> None:
        self.mainnets[network].node.mine(blocks)

    def settle(self, network: str) -> None:
        self.mine(network, BLOCKS_UNTIL_FINAL)
        payment_tasks.watch_networks()

    def claim(self, payment: Payment, transaction_hash: str) -> dict[str, Any]:
        path = f"/payments/{payment.public_id}/claim"
        reply = self.client.call("POST", path, json_body={"transactionHash": transaction_hash})
        assert reply.status_code == 200, reply.content
        record: dict[str, Any] = reply.json()
        return record

    def said(self, payment: Payment, transaction_hash: str) -> tuple[str, str | None, list[tuple[str, bool]]]:
        """The code of the whole, where it was found, and code and match of every transfer."""
        record = self.claim(payment, transaction_hash)
        transfers = [(each["code"], each["matched"]) for each in record["transfers"]]
        return record["status"], record["network"], transfers


@pytest.fixture
def square(settings: Settings) -> Iterator[Square]:
    found = {network: prepared_mainnet(network) for network in (ETHEREUM, POLYGON)}
    nodes = {network: mainnet.node for network, mainnet in found.items()}
    # Two providers each, that must agree: one node under two names.
    providers = {name: [node.url, node.url.replace("127.0.0.1", "localhost")] for name, node in nodes.items()}
    settings.RATE_SOURCES = RATE_SOURCES
    for name, value in settings_for(providers).items():
        setattr(settings, name, value)
    with nodes[ETHEREUM].put_back(), nodes[POLYGON].put_back():
        yield Square(found)


@pytest.mark.parametrize("network", [ETHEREUM, POLYGON])
def test_of_two_transfers_in_one_transaction_one_matches(square: Square, network: str) -> None:
    payment, other = square.open(network), square.open(network)
    parts = (("USDC", payment.deposit_address, 40 * USDC), ("USDC", devnet.OWNER, 7))
    transaction_hash = square.pay(network, *parts)
    assert square.said(payment, transaction_hash) == ("pending", network, [])
    square.mine(network)
    assert square.said(payment, transaction_hash) == (
        "not_read_yet",
        network,
        [("not_read_yet", True), ("other_address", False)],
    )
    payment_tasks.watch_networks()
    assert square.said(payment, transaction_hash)[0] == "confirming"
    square.settle(network)
    assert square.said(payment, transaction_hash) == (
        "credited",
        network,
        [("credited", True), ("other_address", False)],
    )
    record = square.claim(other, transaction_hash)
    assert record["status"] == "other_payment"
    assert record["transfers"][0]["payment"] == payment.public_id
    assert record["transfers"][0]["amount"] == "40.000000"


def test_a_failed_transaction_moved_nothing(square: Square) -> None:
    payment, node = square.open(), square.mainnets[ETHEREUM].node
    token = square.mainnets[ETHEREUM].tokens["USDC"]
    nobody = node.accounts[5]
    receipt = node.transact(nobody, token, abi.call("transfer(address,uint256)", payment.deposit_address, 40 * USDC))
    assert receipt["status"] == "0x0"
    record = square.claim(payment, receipt["transactionHash"])
    assert (record["status"], record["block"]) == ("failed", int(receipt["blockNumber"], 16))
    assert record["message"] == (
        f"The transaction failed in block {record['block']:,} of Ethereum: nothing moved, and the payer still has the "
        "money."
    )


def test_a_token_nobody_registered_is_no_money_here(square: Square) -> None:
    payment, node = square.open(), square.mainnets[ETHEREUM].node
    token = node.deploy_token("StandardToken", "USDC", 6)
    node.mint(token, node.accounts[5], 40 * USDC)
    call = abi.call("transfer(address,uint256)", payment.deposit_address, 40 * USDC)
    receipt = node.succeed(node.accounts[5], token, call)
    square.settle(ETHEREUM)
    record = square.claim(payment, receipt["transactionHash"])
    [transfer] = record["transfers"]
    assert (record["status"], transfer["matched"]) == ("unknown_token", False)
    assert (transfer["cryptocurrency"], transfer["amount"]) == (None, None)
    assert transfer["tokenContract"].lower() == token.lower()


def test_the_bridged_coin_is_called_by_the_name_people_know(square: Square) -> None:
    payment, mainnet = square.open(POLYGON), square.mainnets[POLYGON]
    node = mainnet.node
    bridged = registry.profile(PRODUCTION, POLYGON).metadata["known_not_accepted"]["USDC.e"]
    code = node.rpc.call("eth_getCode", mainnet.tokens["USDC"], "latest")
    node.rpc.call("anvil_setCode", bridged, code)
    node.mint(bridged, node.accounts[5], 40 * USDC)
    call = abi.call("transfer(address,uint256)", payment.deposit_address, 40 * USDC)
    receipt = node.succeed(node.accounts[5], bridged, call)
    assert square.claim(payment, receipt["transactionHash"])["message"] == (
        f"It came to this payment's address, but the token USDC.e ({bridged}) is not accepted, whatever it calls "
        "itself; the payment asked for USDC on Polygon."
    )


def test_the_networks_own_coin_is_not_the_one_asked_for(square: Square) -> None:
    payment, node = square.open(), square.mainnets[ETHEREUM].node
    receipt = node.succeed(devnet.PAYER, payment.deposit_address, units=10**18 // 50)
    record = square.claim(payment, receipt["transactionHash"])
    [transfer] = record["transfers"]
    assert (record["status"], transfer["cryptocurrency"], transfer["tokenContract"]) == ("native_coin", "ETH", None)
    assert (transfer["amount"], transfer["from"], transfer["to"]) == (
        "0.020000",
        devnet.PAYER,
        payment.deposit_address,
    )


def test_an_approval_moves_no_coins(square: Square) -> None:
    payment, mainnet = square.open(), square.mainnets[ETHEREUM]
    call = abi.call("approve(address,uint256)", payment.deposit_address, 40 * USDC)
    receipt = mainnet.node.succeed(devnet.PAYER, mainnet.tokens["USDC"], call)
    assert square.said(payment, receipt["transactionHash"]) == ("no_transfers", "ethereum", [])


def test_a_missed_deposit_is_read_again_and_credited(square: Square) -> None:
    payment = square.open()
    transaction_hash = square.pay(ETHEREUM, ("USDC", payment.deposit_address, 40 * USDC))
    square.mine(ETHEREUM, BLOCKS_UNTIL_FINAL)
    chain = registry.chain(PRODUCTION, ETHEREUM)
    head = chain.reading.head()
    ScanCursor.objects.filter(environment=PRODUCTION, network=ETHEREUM).update(
        cursor=chain.reading.cursor_at(head.finalized_height),
        head_height=head.height,
        finalized_height=head.finalized_height,
    )
    square.mainnets[ETHEREUM].let_time_pass(60)
    payment_tasks.watch_networks()
    assert not payment.deposits.exists()
    assert square.said(payment, transaction_hash) == ("missed", "ethereum", [("missed", True)])
    square.settle(ETHEREUM)
    assert not ReadingRequest.objects.exists()
    assert square.said(payment, transaction_hash) == ("credited", "ethereum", [("credited", True)])
    assert Payment.objects.get(pk=payment.pk).status == "completed"
