"""The sandbox on a test network: Amoy's chain id and Circle's contract on a local node, set up as the docs say."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from pytest_django.fixtures import Settings

from config.environments import Environment
from payments import tasks
from payments.chains import registry
from payments.chains.errors import NetworkUnavailable
from payments.chains.evm.deposit_addresses import deployment
from payments.chains.evm.deposit_addresses.derivation import Derivation
from payments.chains.settings_parser import TESTNET
from payments.deposits.address_derivations import ROOM, last_number
from payments.deposits.models import ScanCursor
from payments.models import Payment
from payments.services import NewPayment, create_payment
from tests.evm.derivations import ADDRESS_KEY
from tests.evm.network import devnet
from tests.evm.node import TestNode, running_node
from tests.factories import make_merchant
from tests.networks import POLYGON, profile_of_test, with_set

SANDBOX = Environment.SANDBOX
AMOY_ID = 80_002
FACTORY = devnet.DEPLOYMENT.factory
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


def opened() -> tuple[Payment, dict[str, Any]]:
    request = NewPayment(
        amount=Decimal(40), currency="USD", cryptocurrency="USDC", network=POLYGON, merchant_wallet=devnet.OWNER
    )
    with transaction.atomic():
        return create_payment(merchant=make_merchant(), environment=SANDBOX, request=request)


def said_by(command: str, **options: object) -> str:
    said = StringIO()
    call_command(command, stdout=said, **options)
    return said.getvalue()


@pytest.mark.django_db
def test_the_factory_is_deployed_by_the_settings_of_test_networks(amoy: TestNode, settings: Settings) -> None:
    settings.NETWORK_SETTINGS = with_set(POLYGON, hot_wallet="", owner="")
    said = said_by("deploy_deposits", network=POLYGON, testnet=True)
    assert f"TESTNET_EVM_FACTORY={devnet.DEPLOYMENT.factory}\n" in said
    settings.NETWORK_SETTINGS = with_set(POLYGON, TESTNET, owner="")
    with pytest.raises(CommandError, match="TESTNET_EVM_OWNER is not set"):
        said_by("deploy_deposits", network=POLYGON, testnet=True)


@pytest.mark.django_db
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
    payment, record = opened()
    assert record["paymentUri"].startswith(f"ethereum:{USDC}@{AMOY_ID}/transfer?")
    amoy.mint(USDC, payment.deposit_address, int(payment.due))
    amoy.mine(20)
    tasks.watch_networks()
    assert Payment.objects.get().status == "completed"
    assert registry.networks(SANDBOX) == (POLYGON,)
    assert ScanCursor.objects.get(environment=SANDBOX).fault == ""


@pytest.mark.django_db
def test_a_change_of_addresses_is_rehearsed_on_it(amoy: TestNode, settings: Settings) -> None:
    tasks.watch_networks()
    opened()
    settings.NETWORK_SETTINGS = with_set(POLYGON, TESTNET, address_key=ADDRESS_KEY)
    with pytest.raises(NetworkUnavailable):
        opened()
    tasks.watch_networks()
    told = "run manage.py change_addresses --env sandbox"
    assert told in ScanCursor.objects.get(environment=SANDBOX).fault
    with pytest.raises(CommandError, match=told):
        said_by("check_networks", env=SANDBOX)

    last = last_number() + ROOM
    with pytest.raises(CommandError, match=f"Set TESTNET_EVM_FORMER_ADDRESSES={last}=plain:{FACTORY}"):
        said_by("change_addresses", env=SANDBOX)
    settings.NETWORK_SETTINGS = with_set(POLYGON, TESTNET, former_addresses={str(last): f"plain:{FACTORY}"})
    assert "with --begin" in said_by("change_addresses", env=SANDBOX)
    tasks.watch_networks()
    old, _ = opened()
    assert old.deposit_address == deployment.deposit_address(FACTORY, old.sequence)
    assert f"number {last + 1}" in said_by("change_addresses", env=SANDBOX, begin=True)
    keyed, _ = opened()
    salt = Derivation(FACTORY, bytes.fromhex(ADDRESS_KEY)).salt(keyed.sequence)
    assert keyed.deposit_address == deployment.deposit_address(FACTORY, salt)
    assert said_by("check_networks", env=SANDBOX).startswith("polygon: head ")


@pytest.mark.django_db
def test_networks_that_end_with_their_database_have_nothing_to_rehearse(settings: Settings) -> None:
    settings.SANDBOX_CHAIN = "devnet"
    with pytest.raises(CommandError, match="SANDBOX_CHAIN=testnet"):
        said_by("change_addresses", env=SANDBOX)
