"""Which networks and coins are in use where."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django.fixtures import Settings

from config.coins import COINS
from config.environments import Environment
from payments.chains import network_table, registry
from payments.chains.errors import NotSetUp
from payments.chains.evm import addresses as evm_addresses
from payments.chains.networks import NETWORKS
from payments.chains.protocol.chain import Chain
from payments.chains.providers.servers import owner_of
from payments.chains.settings_parser import TESTNET
from payments.chains.simulated.networks import mint, simulated_profile
from payments.chains.stellar import addresses as stellar_addresses
from tests.evm.network import devnet
from tests.networks import look_alike, profile_of_test, with_set

ISSUER = "GATISXX6BZ6NC7IKQBY37CJD4SOZL3CYZJWXEDG6JVIY4WBS6KXJHN6Q"
SANDBOX, PRODUCTION = Environment.SANDBOX, Environment.PRODUCTION


def test_the_sandbox_has_three_networks_and_nine_coins() -> None:
    assert registry.networks(SANDBOX) == ("stellar", "ethereum", "polygon")
    decimals = {
        network: {code: asset.decimals for code, asset in registry.profile(SANDBOX, network).assets.items()}
        for network in registry.networks(SANDBOX)
    }
    assert decimals == {
        "stellar": {"USDC": 7, "USDT": 7, "DAI": 7},
        "ethereum": {"USDC": 6, "USDT": 6, "DAI": 18},
        "polygon": {"USDC": 6, "USDT": 6, "DAI": 18},
    }


@pytest.mark.parametrize("network", NETWORKS)
def test_each_network_of_the_sandbox_has_an_adapter(network: str) -> None:
    chain = registry.chain(SANDBOX, network)
    assert isinstance(chain, Chain)
    assert chain.profile == registry.profile(SANDBOX, network)


def test_production_has_no_network_until_one_is_set_up() -> None:
    assert registry.networks(PRODUCTION) == ()
    for network in NETWORKS:
        with pytest.raises(registry.UnsupportedNetwork) as refusal:
            registry.chain(PRODUCTION, network)
        assert refusal.value.code == "network_unavailable"
        assert refusal.value.param == "network"
        assert refusal.value.message == "No network is set up in production yet."


def test_a_profile_is_made_once_in_a_process() -> None:
    assert registry.profile(SANDBOX, "polygon") is registry.chain(SANDBOX, "polygon").profile
    assert registry.known_profile(PRODUCTION, "polygon") is registry.known_profile(PRODUCTION, "polygon")


def test_an_unknown_network_is_refused_with_those_that_are_in_use() -> None:
    with pytest.raises(registry.UnsupportedNetwork) as refusal:
        registry.profile(SANDBOX, "solana")
    assert refusal.value.message == "solana is not available in sandbox; available are stellar, ethereum, polygon."


def test_a_coin_is_found_by_name_or_refused_with_those_accepted() -> None:
    assert registry.asset(SANDBOX, "polygon", "DAI").decimals == 18
    with pytest.raises(registry.UnsupportedAsset) as refusal:
        registry.asset(SANDBOX, "polygon", "EURC")
    assert refusal.value.message == "EURC is not accepted on polygon; accepted are USDC, USDT, DAI."
    assert (refusal.value.code, refusal.value.param) == ("unsupported_asset", "cryptocurrency")


def test_stellar_has_only_usdc_until_the_operator_trusts_an_issuer(settings: Settings) -> None:
    assert list(registry.known_profile(PRODUCTION, "stellar").assets) == ["USDC"]
    settings.NETWORK_SETTINGS = with_set("stellar", issuers={"USDT": ISSUER})
    found = registry.known_profile(PRODUCTION, "stellar").assets
    assert list(found) == ["USDC", "USDT"]
    assert (found["USDT"].contract, found["USDT"].decimals) == (f"USDT:{ISSUER}", 7)
    settings.NETWORK_SETTINGS = with_set("stellar", issuers={"USDT": f"USDT0:{ISSUER}"})
    assert registry.known_profile(PRODUCTION, "stellar").assets["USDT"].contract == f"USDT0:{ISSUER}"
    assert list(network_table.testnet_profile("stellar").assets) == ["USDC"]
    settings.NETWORK_SETTINGS = with_set("stellar", "TESTNET_", issuers={"DAI": ISSUER})
    assert network_table.testnet_profile("stellar").assets["DAI"].contract == f"DAI:{ISSUER}"


@pytest.mark.parametrize(
    "issuers",
    [
        {"USDC": ISSUER},
        {"EURC": ISSUER},
        {"USDT": ISSUER[:-1]},
        {"USDT": stellar_addresses.mux(ISSUER, 1)},
        {"DAI": ""},
        {"USDT": f"USDT-0:{ISSUER}"},
    ],
)
def test_a_bad_issuer_cannot_be_configured(settings: Settings, issuers: dict[str, str]) -> None:
    settings.NETWORK_SETTINGS = with_set("stellar", issuers=issuers)
    with pytest.raises(ImproperlyConfigured, match="STELLAR_ISSUERS"):
        registry.known_profile(PRODUCTION, "stellar")
    assert registry.known_profile(PRODUCTION, "polygon").assets  # the others are not stopped by it


def test_no_two_networks_share_a_name_a_place_a_chain_id_or_a_port() -> None:
    declared = list(NETWORKS.values())
    assert list(NETWORKS) == [each.real.network for each in declared]
    assert [each.position for each in declared] == list(range(1, len(declared) + 1))
    profiles = [profile for each in declared for profile in (each.real, each.test) if profile]
    chain_ids = [profile.chain_id for profile in profiles]
    chain_ids += [each.simulation.chain_id for each in declared] + [each.chain_id for each in devnet.PLACES.values()]
    known = [chain_id for chain_id in chain_ids if chain_id is not None]
    ports = [each.port for each in devnet.PLACES.values()]
    assert len(set(known)) == len(known)
    assert len(set(ports)) == len(ports)
    for profile in profiles:
        assert list(profile.decimals) == list(COINS)
        assert all(asset.network == profile.native.network == profile.network for asset in profile.assets.values())


def test_the_real_contracts_carry_a_correct_checksum() -> None:
    contracts = {
        network: {code: (asset.decimals, asset.contract) for code, asset in NETWORKS[network].real.assets.items()}
        for network in NETWORKS
    }
    for network in ("ethereum", "polygon"):
        assert list(contracts[network]) == list(COINS)
        for _, contract in contracts[network].values():
            assert evm_addresses.parse(contract) == contract
    (bridged,) = NETWORKS["polygon"].real.metadata["known_not_accepted"].values()
    assert evm_addresses.parse(bridged) == bridged
    assert bridged not in {contract for _, contract in contracts["polygon"].values()}
    code, issuer = contracts["stellar"]["USDC"][1].split(":")
    assert (code, stellar_addresses.parse(issuer)) == ("USDC", issuer)


class TestTestNetworks:
    @pytest.fixture(autouse=True)
    def sandbox(self, settings: Settings) -> None:
        settings.SANDBOX_CHAIN = "testnet"
        settings.NETWORK_SETTINGS = with_set(
            "polygon",
            TESTNET,
            rpc_urls=("https://amoy.example.com",),
            factory="0x" + "11" * 20,
            hot_wallet="0x" + "22" * 20,
        )

    def test_their_contracts_carry_a_correct_checksum_and_none_is_a_real_one(self) -> None:
        real = {asset.contract for each in NETWORKS.values() for asset in each.real.assets.values()}
        for network in ("ethereum", "polygon"):
            profile = profile_of_test(network)
            assert profile.chain_id != NETWORKS[network].real.chain_id
            assert [(asset.code, asset.decimals) for asset in profile.assets.values()] == [("USDC", 6)]
            for asset in profile.assets.values():
                assert evm_addresses.parse(asset.contract) == asset.contract
                assert asset.contract not in real

    def test_those_with_providers_are_in_use_in_the_sandbox_alone(self, settings: Settings) -> None:
        settings.PRODUCTION_NETWORKS = []
        assert registry.networks(SANDBOX) == ("polygon",)
        assert registry.networks(PRODUCTION) == ()
        chain = registry.chain(SANDBOX, "polygon")
        assert isinstance(chain, Chain)
        assert (chain.profile.name, chain.profile.chain_id) == ("Polygon Amoy", 80_002)
        assert chain.profile == registry.profile(SANDBOX, "polygon")
        assert chain.payout_address() == "0x" + "22" * 20
        with pytest.raises(registry.UnsupportedNetwork):
            registry.chain(SANDBOX, "ethereum")

    def test_an_operator_names_the_contracts_of_coins_that_nobody_issues_there(self, settings: Settings) -> None:
        contract = "0x" + "33" * 20
        settings.TESTNET_TOKENS = {"polygon:DAI": contract, "ethereum:USDT": contract}
        assets = registry.profile(SANDBOX, "polygon").assets
        assert [(asset.code, asset.decimals) for asset in assets.values()] == [("USDC", 6), ("DAI", 18)]
        assert assets["DAI"].contract == contract
        with pytest.raises(registry.UnsupportedAsset):
            registry.asset(SANDBOX, "polygon", "USDT")

    @pytest.mark.parametrize(
        ("name", "contract"),
        [
            ("polygon:USDC", "0x" + "33" * 20),
            ("polygon:EURC", "0x" + "33" * 20),
            ("stellar:USDT", "0x" + "33" * 20),
            ("USDT", "0x" + "33" * 20),
            ("ethereum:USDT", "0x33"),
        ],
    )
    def test_a_bad_contract_cannot_be_configured(self, settings: Settings, name: str, contract: str) -> None:
        settings.TESTNET_TOKENS = {name: contract}
        with pytest.raises(ImproperlyConfigured, match="TESTNET_TOKENS"):
            registry.profile(SANDBOX, "polygon")

    def test_what_is_missing_is_named_as_it_is_set(self, settings: Settings) -> None:
        settings.NETWORK_SETTINGS = with_set("polygon", TESTNET, factory="")
        with pytest.raises(ImproperlyConfigured, match="TESTNET_EVM_FACTORY is not set"):
            registry.chain(SANDBOX, "polygon")


def test_the_real_credit_rules_are_those_we_promise() -> None:
    rules = {
        (network, usd): (rule.confirmations, rule.require_finalized)
        for network in NETWORKS
        for usd in (999, 1_000)
        for rule in [NETWORKS[network].real.credit_rule(usd)]
    }
    assert rules == {
        ("ethereum", 999): (12, False),
        ("ethereum", 1_000): (1, True),
        ("polygon", 999): (8, True),
        ("polygon", 1_000): (8, True),
        ("stellar", 999): (1, False),
        ("stellar", 1_000): (1, False),
    }


def test_nothing_of_the_sandbox_exists_on_a_real_network() -> None:
    real = {asset.contract for each in NETWORKS.values() for asset in each.real.assets.values()}
    for network in NETWORKS:
        simulated, genuine = simulated_profile(network), NETWORKS[network].real
        contracts = {asset.contract for asset in simulated.assets.values()}
        assert len(contracts | {look_alike(network), mint(network)}) == 5
        assert not contracts & real
        if genuine.family == "evm":
            assert simulated.chain_id != genuine.chain_id
        else:
            assert simulated.metadata["network_passphrase"] != genuine.metadata["network_passphrase"]


def test_an_evm_deposit_address_is_the_same_on_every_evm_network() -> None:
    ethereum, polygon = registry.chain(SANDBOX, "ethereum"), registry.chain(SANDBOX, "polygon")
    assert ethereum.deposit_address(99) == polygon.deposit_address(99)


def test_the_sandbox_can_run_on_the_local_nodes_with_one_setting(settings: Settings) -> None:
    settings.SANDBOX_CHAIN = "devnet"
    assert registry.networks(SANDBOX) == ("stellar", "ethereum", "polygon")
    for network, chain_id in (("ethereum", 31_337), ("polygon", 31_338), ("stellar", None)):
        chain = registry.chain(SANDBOX, network)
        assert isinstance(chain, Chain)
        assert chain.profile == registry.profile(SANDBOX, network)
        assert chain.profile.chain_id == chain_id
        assert set(chain.profile.assets) == {"USDC", "USDT", "DAI"}


def test_production_speaks_to_the_evm_networks_by_the_operators_settings(settings: Settings) -> None:
    settings.PRODUCTION_NETWORKS = ["polygon"]
    settings.NETWORK_SETTINGS = with_set(
        "polygon",
        rpc_urls=("https://one.example.com", "https://two.example.com"),
        factory="0x" + "11" * 20,
        hot_wallet="0x" + "11" * 20,
    )
    chain = registry.chain(PRODUCTION, "polygon")
    assert isinstance(chain, Chain)
    assert chain.profile.chain_id == 137
    assert chain.payout_address() == "0x" + "11" * 20
    settings.NETWORK_SETTINGS = with_set("polygon", factory="")
    with pytest.raises(ImproperlyConfigured, match="EVM_FACTORY"):
        registry.chain(PRODUCTION, "polygon")


@pytest.mark.parametrize("network", ["polygon", "stellar"])
def test_two_keys_at_one_provider_are_not_two_that_say_the_same(network: str, settings: Settings) -> None:
    urls = ("https://a.one.example.com/key-1", "https://b.one.example.com/key-2")
    fields = {"factory": "0x" + "11" * 20, "hot_wallet": "0x" + "11" * 20 if network == "polygon" else ISSUER}
    settings.PRODUCTION_NETWORKS = [network]

    def pool(*urls: str, separate: tuple[str, ...] = ()) -> Any:
        settings.NETWORK_SETTINGS = with_set(network, rpc_urls=urls, separate=separate, **fields)
        chain: Any = registry.chain(PRODUCTION, network)
        return chain.providers if network == "polygon" else chain.horizons

    assert [each.name for each in pool(*urls).states()] == ["a.one.example.com"]
    with pytest.raises(NotSetUp, match=r"several addresses at one domain are one provider"):
        pool(*urls).require_enough()
    pool(*urls, "https://two.example.net").require_enough()
    pool(*urls, separate=("example.com",)).require_enough()


@pytest.mark.parametrize(
    ("one", "other", "are_one"),
    [
        ("https://rpc.example.com/key", "https://RPC.example.com:443/other", True),
        ("https://eth.rpc.example.com", "https://example.com:8443", True),
        ("https://a.example.co.uk", "https://b.example.co.uk", True),
        ("https://a.example.co.uk", "https://a.sample.co.uk", False),
        ("https://a.ab.io", "https://b.ab.io", True),
        ("https://93.184.215.14:1", "https://93.184.215.14:2", True),
        ("https://93.184.215.14", "https://93.184.215.15", False),
        ("http://127.0.0.1:8545", "http://127.0.0.1:8546", False),
        ("http://localhost:8545", "http://localhost:8546", False),
        ("https://10.0.0.7", "https://10.0.0.8", False),
        ("https://geth:8545", "https://erigon:8545", False),
        ("https://[::1]:8545", "https://[::1]:8546", False),
        ("https://a.notes.example", "https://b.notes.example", False),
    ],
)
def test_whose_server_it_is_by_the_domain_that_somebody_registered(one: str, other: str, are_one: bool) -> None:
    assert (owner_of(one, ["notes.example"]) == owner_of(other, ["notes.example"])) is are_one
