"""The factory stands at the same address on every network, whoever puts it there, and however often."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings

from payments.chains.evm import abi
from payments.chains.evm.addresses import ZERO_ADDRESS, forwarder_of, parse
from payments.chains.evm.deposit_addresses import deployment
from payments.chains.evm.deposit_addresses.artifacts import artifact
from payments.chains.evm.deposit_addresses.deployment import DEPLOYER, NotDeployed, People
from payments.chains.evm.keys.signing import signer_from_key
from payments.chains.evm.nodes.providers import Providers
from payments.chains.evm.nodes.rpc import Rpc
from tests.evm.compiling import VERSION_1
from tests.evm.mainnet import settings_for
from tests.evm.network import devnet
from tests.evm.node import ETHEREUM_ID, POLYGON_ID, TestNode, running_node
from tests.networks import with_set

WALLET, OWNER, WANTED = devnet.HOT_WALLET, devnet.OWNER, devnet.DEPLOYMENT


pytestmark = pytest.mark.django_db  # its clock says how old the blocks of providers are


@pytest.fixture
def both() -> Iterator[dict[str, TestNode]]:
    nodes = {"ethereum": running_node(ETHEREUM_ID), "polygon": running_node(POLYGON_ID)}
    urls = {name: [node.url] for name, node in nodes.items()}
    with (
        nodes["ethereum"].put_back(),
        nodes["polygon"].put_back(),
        override_settings(**{**settings_for(urls), "PRODUCTION_NETWORKS": []}),
    ):
        yield nodes


def providers(node: TestNode) -> Providers:
    return Providers([node.rpc], network="ethereum", block_seconds=12, one_may_decide=True)


def deploy(node: TestNode, network: str = "ethereum", **options: object) -> str:
    said = io.StringIO()
    with node.mining_at_once():
        call_command("deploy_deposits", network=network, stdout=said, **options)
    return said.getvalue()


def nonce(node: TestNode) -> int:
    return int(node.rpc.call("eth_getTransactionCount", WALLET, "latest"), 16)


def test_both_networks_get_the_same_factory_whatever_happened_there_before(both: dict[str, TestNode]) -> None:
    both["polygon"].succeed(WALLET, OWNER, units=1)  # another nonce
    said = [deploy(node, network) for network, node in both.items()]
    assert all(f"EVM_FACTORY={WANTED.factory}" in each for each in said)
    for node in both.values():
        asked = abi.address(node.ask(WANTED.factory, abi.call("address_of(uint256)", 5)))
        assert asked == deployment.deposit_address(WANTED.factory, 5)
        assert deployment.people(providers(node), WANTED.factory) == People(OWNER, ZERO_ADDRESS, ZERO_ADDRESS)
    assert all(f"data     0x{deployment.appointment(WALLET, WALLET).hex()}" in each for each in said)


def test_once_the_owner_has_appointed_the_wallet_nothing_is_left_to_say(both: dict[str, TestNode]) -> None:
    node = both["ethereum"]
    deploy(node)
    node.succeed(OWNER, WANTED.factory, deployment.appointment(WALLET, WALLET))
    assert deploy(node).endswith(f"EVM_FACTORY={WANTED.factory}\n")
    assert deployment.people(providers(node), WANTED.factory) == People(OWNER, WALLET, WALLET)


class TestAnotherNetwork:
    def test_it_never_begins_with_an_owner_of_before(self, both: dict[str, TestNode]) -> None:
        first = deployment.with_owner(devnet.PAYER)
        with (
            override_settings(NETWORK_SETTINGS=with_set("ethereum", factory=first.factory)),
            pytest.raises(CommandError, match="began with other people"),
        ):
            deploy(both["ethereum"])
        assert nonce(both["ethereum"]) == 0

    def test_one_that_was_handed_on_is_put_there_for_its_first_owner(self, both: dict[str, TestNode]) -> None:
        with override_settings(NETWORK_SETTINGS=with_set("ethereum", owner=devnet.PAYER)):
            said = deploy(both["ethereum"], first_owner=OWNER)
        assert f"EVM_FACTORY={WANTED.factory}" in said
        assert f"{OWNER}, its owner, must call" in said


def test_deploying_twice_sends_nothing_the_second_time(both: dict[str, TestNode]) -> None:
    deploy(both["ethereum"])
    before = nonce(both["ethereum"])
    assert "stands on ethereum already" in deploy(both["ethereum"])
    assert nonce(both["ethereum"]) == before


def test_a_stranger_who_deploys_first_has_done_our_work(both: dict[str, TestNode]) -> None:
    node = both["ethereum"]
    node.succeed(node.accounts[7], DEPLOYER, WANTED.data)
    assert "already" in deploy(node)
    assert deployment.people(providers(node), WANTED.factory).owner == OWNER


def test_a_deployment_that_waits_is_not_sent_again_as_another(both: dict[str, TestNode]) -> None:
    for _ in range(2):
        with pytest.raises(CommandError, match="no block yet"):
            call_command("deploy_deposits", network="ethereum", wait=0, stdout=io.StringIO())
    both["ethereum"].mine()
    assert nonce(both["ethereum"]) == 1
    deployment.check(providers(both["ethereum"]), WANTED.factory)


def test_what_anyone_may_send_is_shown_without_a_key(both: dict[str, TestNode]) -> None:
    said = io.StringIO()
    with override_settings(NETWORK_SETTINGS=with_set("ethereum", hot_wallet_key="", rpc_urls=())):
        call_command("deploy_deposits", network="ethereum", show=True, stdout=said)
    assert said.getvalue().split() == ["factory", WANTED.factory, "to", DEPLOYER, "data", "0x" + WANTED.data.hex()]


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("owner", "", "EVM_OWNER is not set"),
        ("owner", "0x123", "EVM_OWNER is no address"),
        ("hot_wallet", "", "EVM_HOT_WALLET is not set"),
        ("hot_wallet_key", "", "No key signs"),
        ("hot_wallet_key", "12", "EVM_HOT_WALLET_KEY: the key is no secp256k1 key"),
        ("hot_wallet", OWNER, "but the key is that of"),
        ("rpc_urls", (), "ETHEREUM_RPC_URLS is not set"),
    ],
)
def test_a_wrong_setting_is_named_and_nothing_is_sent(
    both: dict[str, TestNode], setting: str, value: object, said: str
) -> None:
    with (
        override_settings(NETWORK_SETTINGS=with_set("ethereum", **{setting: value})),
        pytest.raises(CommandError, match=said),
    ):
        deploy(both["ethereum"])
    assert nonce(both["ethereum"]) == 0


def test_a_network_without_the_deployer_is_refused(both: dict[str, TestNode]) -> None:
    both["ethereum"].rpc.call("anvil_setCode", DEPLOYER, "0x")
    with pytest.raises(CommandError, match="no deterministic deployer"):
        deploy(both["ethereum"])


def test_nothing_and_anything_else_is_not_our_factory(both: dict[str, TestNode]) -> None:
    node = both["ethereum"]
    with pytest.raises(NotDeployed, match="no contract"):
        deployment.check(providers(node), WANTED.factory)
    token = node.deploy_token("StandardToken", "USDC", 6)
    with pytest.raises(NotDeployed, match="not our factory"):
        deployment.check(providers(node), parse(token))
    deploy(node)
    node.rpc.call("anvil_setCode", forwarder_of(WANTED.factory), "0x6001")
    with pytest.raises(NotDeployed, match="not the forwarder"):
        deployment.check(providers(node), WANTED.factory)


def test_a_factory_of_version_1_is_refused_with_the_commit_that_knows_it(both: dict[str, TestNode]) -> None:
    node = both["ethereum"]
    people = OWNER, WALLET, WALLET
    forwarder = artifact("Forwarder", VERSION_1).creation
    first = parse(node.deploy(artifact("Factory", VERSION_1).creation + abi.encode(forwarder, *people)))
    with pytest.raises(NotDeployed, match=r"of version 1, which commit \w{7} was the last to know"):
        deployment.check(providers(node), first)


def test_another_owner_means_another_factory() -> None:
    assert deployment.with_owner(devnet.PAYER).factory != WANTED.factory


def test_a_prepared_node_is_always_the_same(node: TestNode) -> None:
    chain = Rpc(node.url, chain_id=node.chain_id)
    prepared = []
    for _ in range(2):
        with node.put_back():
            prepared.append(devnet.prepare(chain))
            deployment.check(providers(node), WANTED.factory)
            assert node.held(prepared[-1]["DAI"], devnet.PAYER) == 10**24
    assert prepared[0] == prepared[1] == {code: devnet.token(code) for code in ("USDC", "USDT", "DAI")}
    profile = devnet.profile("polygon")
    assert {code: asset.contract for code, asset in profile.assets.items()} == prepared[0]
    assert profile.chain_id == 31_338


def test_the_local_accounts_are_the_nodes_own_and_their_keys_fit(node: TestNode) -> None:
    numbered = {0: devnet.HOT_WALLET, 1: devnet.OWNER, 2: devnet.PAYER, 9: devnet.MINTER}
    assert {number: parse(node.accounts[number]) for number in numbered} == numbered
    assert signer_from_key(devnet.HOT_WALLET_KEY).address == devnet.HOT_WALLET
    assert signer_from_key(devnet.PAYER_KEY).address == devnet.PAYER
