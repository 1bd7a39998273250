"""Payments on a network that is declared by data alone, on a node that charges for data: from the API to reconcile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from io import StringIO

import pytest
from django.core.management import call_command
from pytest_django.fixtures import Settings

from config.environments import Environment
from config.process.variables import Variables
from payments.api.serializers import NetworkField
from payments.chains import registry
from payments.chains.networks import NETWORKS
from payments.chains.settings_parser import read_network_settings
from payments.models import Payment
from payments.transfers.models import Transfer
from tests.chains.simulation import Simulation
from tests.evm.conftest import nodes_end_with_the_run
from tests.evm.made_up import MADE_UP, MADE_UP_ID, NETWORK, PLACE, DataFeeNode
from tests.evm.mainnet import Mainnet, environment_for
from tests.evm.network import devnet
from tests.evm.node import running_node
from tests.evm.shop import RATE_SOURCES
from tests.evm.storm import Server
from tests.evm.street import Street, reconcile
from tests.factories import api_client, make_key
from tests.journeys.test_paid import call

__all__ = ["nodes_end_with_the_run"]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

PRODUCTION, SANDBOX = Environment.PRODUCTION, Environment.SANDBOX


@pytest.fixture(autouse=True)
def declared(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NETWORKS, MADE_UP, NETWORK)
    settings.NETWORK_SETTINGS = read_network_settings(Variables(), in_production=[], on_testnet=False)


@pytest.fixture
def street(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Street]:
    """A shop on it, set up by variables of the environment."""
    node = DataFeeNode(running_node(MADE_UP_ID, "journey", 1))
    server = Server(node)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    for name, value in environment_for({MADE_UP: server.urls}).items():
        monkeypatch.setenv(name, value)
    settings.RATE_SOURCES = RATE_SOURCES
    settings.PRODUCTION_NETWORKS = [MADE_UP]
    settings.NETWORK_SETTINGS = read_network_settings(Variables(), in_production=[MADE_UP], on_testnet=False)
    with node.put_back():
        yield Street(Mainnet(MADE_UP, node))
    server.shutdown()
    server.server_close()


def said_by(command: str, **options: object) -> str:
    said = StringIO()
    call_command(command, stdout=said, **options)
    return said.getvalue()


def test_what_is_paid_swept_given_back_and_settled_is_in_the_ledger_with_its_data_fees(street: Street) -> None:
    assert said_by("check_networks").startswith(f"{MADE_UP}: head ")
    assert f"The factory stands on {MADE_UP} already." in said_by("deploy_deposits", network=MADE_UP)
    client = api_client(make_key(street.shop.merchant, PRODUCTION))
    order = {"amount": 40, "currency": "USD", "cryptocurrency": "USDC", "network": MADE_UP}
    record = call(client, "POST", "/payments", order | {"merchantWallet": devnet.OWNER})
    assert f"@{MADE_UP_ID}/transfer?" in record["paymentUri"]
    street.mainnet.pay([("USDC", record["depositAddress"], 40 * 10**6)])
    street.let_blocks_pass()
    assert call(client, "GET", f"/payments/{record['id']}")["status"] == "completed"
    street.sweep()
    street.give_back(Payment.objects.get(), "10")
    street.settle("USDC")

    node = street.node
    assert isinstance(node, DataFeeNode)
    sent = {each.transaction_hash: int(each.fee_units) for each in Transfer.objects.all()}
    assert len(sent) == 3, "a sweep, a refund and a settlement"
    for transaction_hash, fee in sent.items():
        receipt = street.mainnet.receipt(transaction_hash)
        gas = int(receipt["gasUsed"], 16) * int(receipt["effectiveGasPrice"], 16)
        assert fee == gas + node.data_fees.paid[transaction_hash] > gas
    street.shop.assert_books_are_the_chain()
    assert reconcile() == 0


def test_the_sandbox_simulates_it_and_this_machine_can_run_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert registry.networks(SANDBOX)[-1] == MADE_UP
    network = Simulation(MADE_UP)
    to, usdc = network.chain.deposit_address(7), network.chain.profile.assets["USDC"]
    paid = network.pay((usdc.contract, 5, to.address, None))
    network.mine()
    [moved] = network.chain.reading.find_transfers(paid)
    assert (moved.asset, moved.amount, moved.recipient) == (usdc, 5, to.address)

    monkeypatch.setitem(devnet.PLACES, MADE_UP, PLACE)
    settings.SANDBOX_CHAIN = "devnet"
    assert registry.profile(SANDBOX, MADE_UP).chain_id == 31_339
    assert devnet.url(MADE_UP) == "http://127.0.0.1:8547"
    assert list(NetworkField().choices)[-1] == MADE_UP
