"""The sandbox on a test network: Amoy's chain id and Circle's contract on a local node, set up as the docs say."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from pytest_django.fixtures import Settings

from config.environments import Environment
from payments import tasks
from payments.chains import registry
from payments.chains.evm.development import devnet
from payments.chains.operator_settings import TESTNET
from payments.deposits.models import ScanCursor
from payments.models import Payment
from payments.services import NewPayment, create_payment
from tests.evm.node import TestNode, running_node
from tests.factories import make_merchant
from tests.networks import POLYGON, profile_of_test, with_set

SANDBOX = Environment.SANDBOX
AMOY_ID = 80_002
USDC = profile_of_test(POLYGON).assets["USDC"].contract


@pytest.fixture
def amoy(settings: Settings) -> Iterator[TestNode]:
    node = running_node(AMOY_ID, "test network", 1)
    with node.put_back():
        tokens = devnet.prepare(node.rpc)  # the deployer's bytes, so that the factory stands there already
        put_token(node, tokens["USDC"], USDC)
        settings.SANDBOX_CHAIN = "testnet"
        settings.NETWORK_SETTINGS = with_set(
            POLYGON,
            TESTNET,
            rpc_urls=(node.url,),
            one_may_decide=True,
            owner=devnet.OWNER,
            hot_wallet=devnet.HOT_WALLET,
            hot_wallet_key=devnet.HOT_WALLET_KEY,
            factory=devnet.DEPLOYMENT.factory,
        )
        yield node


def put_token(node: TestNode, token: str, address: str) -> None:
    """A token with everything it was deployed with, at another address."""
    node.rpc.call("anvil_setCode", address, node.rpc.call("eth_getCode", token, "latest"))
    for slot in range(6):
        value = node.rpc.call("eth_getStorageAt", token, hex(slot), "latest")
        node.rpc.call("anvil_setStorageAt", address, hex(slot), value)
    node.mine()


def said_by(command: str, **options: object) -> str:
    said = StringIO()
    call_command(command, stdout=said, **options)
    return said.getvalue()


def test_the_factory_is_deployed_by_the_settings_of_test_networks(amoy: TestNode, settings: Settings) -> None:
    settings.NETWORK_SETTINGS = with_set(POLYGON, hot_wallet="", owner="")
    said = said_by("deploy_deposits", network=POLYGON, testnet=True)
    assert f"TESTNET_EVM_FACTORY={devnet.DEPLOYMENT.factory}\n" in said
    settings.NETWORK_SETTINGS = with_set(POLYGON, TESTNET, owner="")
    with pytest.raises(CommandError, match="TESTNET_EVM_OWNER is not set"):
        said_by("deploy_deposits", network=POLYGON, testnet=True)


def test_what_is_set_up_is_checked(amoy: TestNode, settings: Settings) -> None:
    assert said_by("check_networks", env=SANDBOX).startswith("polygon: head ")
    settings.TESTNET_TOKENS = {"polygon:DAI": amoy.deploy_token("StandardToken", "DAI", 18)}
    assert said_by("check_networks", env=SANDBOX).startswith("polygon: head ")
    settings.TESTNET_TOKENS = {"polygon:DAI": amoy.deploy_token("StandardToken", "DAI", 6)}
    with pytest.raises(CommandError, match="DAI on polygon has 6 decimals, not 18"):
        said_by("check_networks", env=SANDBOX)


@pytest.mark.django_db
def test_a_sandbox_payment_is_paid_on_it(amoy: TestNode) -> None:
    tasks.watch_networks()
    request = NewPayment(
        amount=Decimal(40), currency="USD", cryptocurrency="USDC", network=POLYGON, merchant_wallet=devnet.OWNER
    )
    with transaction.atomic():
        payment, record = create_payment(merchant=make_merchant(), environment=SANDBOX, request=request)
    assert record["paymentUri"].startswith(f"ethereum:{USDC}@{AMOY_ID}/transfer?")
    amoy.mint(USDC, payment.deposit_address, int(payment.due))
    amoy.mine(20)
    tasks.watch_networks()
    assert Payment.objects.get().status == "completed"
    assert registry.networks(SANDBOX) == (POLYGON,)
    assert ScanCursor.objects.get(environment=SANDBOX).fault == ""
