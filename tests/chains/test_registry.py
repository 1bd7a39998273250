"""Which networks and coins are in use where."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django.fixtures import Settings

from config.environments import Environment
from payments.chains import registry
from payments.chains.base import Chain
from payments.chains.evm import addresses as evm_addresses
from payments.chains.networks import COINS, NETWORKS, REAL_PROFILES, TEST_PROFILES
from payments.chains.simulated.networks import look_alike, mint, simulated_profile
from payments.chains.stellar import addresses as stellar_addresses

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


def test_a_network_without_an_adapter_cannot_be_configured(settings: Settings) -> None:
    settings.PRODUCTION_NETWORKS = ["ethereum", "dogecoin"]
    with pytest.raises(ImproperlyConfigured, match="dogecoin"):
        registry.networks(PRODUCTION)


def test_an_unknown_kind_of_sandbox_cannot_be_configured(settings: Settings) -> None:
    settings.SANDBOX_CHAIN = "wishful"
    with pytest.raises(ImproperlyConfigured, match="SANDBOX_CHAIN"):
        registry.networks(SANDBOX)


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
    assert list(registry.real_profile("stellar").assets) == ["USDC"]
    settings.STELLAR_ISSUERS = {"USDT": ISSUER}
    found = registry.real_profile("stellar").assets
    assert list(found) == ["USDC", "USDT"]
    assert (found["USDT"].contract, found["USDT"].decimals) == (f"USDT:{ISSUER}", 7)


@pytest.mark.parametrize(
    "issuers",
    [
        {"USDC": ISSUER},
        {"EURC": ISSUER},
        {"USDT": ISSUER[:-1]},
        {"USDT": stellar_addresses.mux(ISSUER, 1)},
        {"DAI": ""},
    ],
)
def test_a_bad_issuer_cannot_be_configured(settings: Settings, issuers: dict[str, str]) -> None:
    settings.STELLAR_ISSUERS = issuers
    with pytest.raises(ImproperlyConfigured, match="STELLAR_ISSUERS"):
        registry.real_profile("stellar")


def test_the_real_contracts_carry_a_correct_checksum() -> None:
    contracts = {
        network: {code: (asset.decimals, asset.contract) for code, asset in REAL_PROFILES[network].assets.items()}
        for network in NETWORKS
    }
    for network in ("ethereum", "polygon"):
        assert list(contracts[network]) == list(COINS)
        for _, contract in contracts[network].values():
            assert evm_addresses.parse(contract) == contract
    (bridged,) = REAL_PROFILES["polygon"].metadata["known_not_accepted"].values()
    assert evm_addresses.parse(bridged) == bridged
    assert bridged not in {contract for _, contract in contracts["polygon"].values()}
    code, issuer = contracts["stellar"]["USDC"][1].split(":")
    assert (code, stellar_addresses.parse(issuer)) == ("USDC", issuer)


class TestTestNetworks:
    @pytest.fixture(autouse=True)
    def sandbox(self, settings: Settings) -> None:
        settings.SANDBOX_CHAIN = "testnet"
        settings.TESTNET_EVM_PROVIDERS = {"ethereum": [], "polygon": ["https://amoy.example.com"]}
        settings.TESTNET_EVM_FACTORY = "0x" + "11" * 20
        settings.TESTNET_EVM_HOT_WALLET = "0x" + "22" * 20

    def test_their_contracts_carry_a_correct_checksum_and_none_is_a_real_one(self) -> None:
        real = {asset.contract for profile in REAL_PROFILES.values() for asset in profile.assets.values()}
        for network, profile in TEST_PROFILES.items():
            assert profile.chain_id != REAL_PROFILES[network].chain_id
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
        settings.TESTNET_EVM_FACTORY = ""
        with pytest.raises(ImproperlyConfigured, match="TESTNET_EVM_FACTORY is not set"):
            registry.chain(SANDBOX, "polygon")


def test_the_real_credit_rules_are_those_we_promise() -> None:
    rules = {
        (network, usd): (rule.confirmations, rule.require_finalized)
        for network in NETWORKS
        for usd in (999, 1_000)
        for rule in [REAL_PROFILES[network].credit_rule(usd)]
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
    real = {asset.contract for profile in REAL_PROFILES.values() for asset in profile.assets.values()}
    for network in NETWORKS:
        simulated, genuine = simulated_profile(network), REAL_PROFILES[network]
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
    assert registry.networks(SANDBOX) == ("ethereum", "polygon")
    for network, chain_id in (("ethereum", 31_337), ("polygon", 31_338)):
        chain = registry.chain(SANDBOX, network)
        assert isinstance(chain, Chain)
        assert chain.profile == registry.profile(SANDBOX, network)
        assert chain.profile.chain_id == chain_id
    with pytest.raises(registry.UnsupportedNetwork):
        registry.chain(SANDBOX, "stellar")


def test_production_speaks_to_the_evm_networks_by_the_operators_settings(settings: Settings) -> None:
    settings.PRODUCTION_NETWORKS = ["polygon"]
    settings.EVM_PROVIDERS = {"polygon": ["https://one.example.com", "https://two.example.com"]}
    settings.EVM_FACTORY = settings.EVM_HOT_WALLET = "0x" + "11" * 20
    chain = registry.chain(PRODUCTION, "polygon")
    assert isinstance(chain, Chain)
    assert chain.profile.chain_id == 137
    assert chain.payout_address() == "0x" + "11" * 20
    settings.EVM_FACTORY = ""
    with pytest.raises(ImproperlyConfigured, match="EVM_FACTORY"):
        registry.chain(PRODUCTION, "polygon")
