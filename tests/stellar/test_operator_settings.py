"""The operator's settings for stellar, as they are read when a process starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from stellar_sdk import Keypair

from config.process.variables import Variables
from payments.chains.settings_parser import MAINNET, TESTNET, NetworkSettings, read_network_settings
from payments.chains.stellar import addresses

WALLET = Keypair.from_raw_ed25519_seed(b"\x01" * 32)
ENOUGH = {"STELLAR_HORIZON_URLS": "https://one.example,https://two.example", "STELLAR_HOT_WALLET": WALLET.public_key}


def read(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], *, on_testnet: bool = False, role: str = "all"
) -> tuple[Variables, NetworkSettings]:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    variables = Variables()
    variables.role = role
    kind = TESTNET if on_testnet else MAINNET
    in_production = [] if on_testnet else ["stellar"]
    found = read_network_settings(variables, in_production=in_production, on_testnet=on_testnet)[kind, "stellar"]
    return variables, found


@pytest.mark.parametrize("prefix", ["", "TESTNET_"])
def test_they_are_read_for_real_money_and_for_the_test_network(monkeypatch: pytest.MonkeyPatch, prefix: str) -> None:
    chosen = {
        **ENOUGH,
        "EVM_ADDRESS_KEY": "5a" * 32,
        "STELLAR_HOT_WALLET_KEY": WALLET.secret,
        "STELLAR_CHANNELS": "4",
        "STELLAR_FEE_CAP_STROOPS": "5000",
        "STELLAR_SINGLE_PROVIDER": "true",
        "STELLAR_CLAIMABLE_BALANCES": "true",
        "STELLAR_ISSUERS": f"USDT={WALLET.public_key}",
    }
    alike = {"STELLAR_FEE_CAP_STROOPS", "STELLAR_CLAIMABLE_BALANCES"}
    given = {name if name in alike else prefix + name: value for name, value in chosen.items()}
    variables, found = read(monkeypatch, given, on_testnet=bool(prefix))
    variables.check()
    assert found == NetworkSettings(
        kind="TESTNET_" if prefix else "",
        rpc_urls=("https://one.example", "https://two.example"),
        one_may_decide=True,
        hot_wallet=WALLET.public_key,
        hot_wallet_key=WALLET.secret,
        address_key="5a" * 32,
        channels=4,
        fee_cap_stroops=5000,
        claimable_balances=True,
        issuers={"USDT": WALLET.public_key},
    )
    assert WALLET.secret in variables.secrets
    assert WALLET.secret not in repr(found)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("STELLAR_HORIZON_URLS", "", "STELLAR_HORIZON_URLS is not set, but PRODUCTION_NETWORKS names stellar"),
        ("STELLAR_HORIZON_URLS", "horizon.example", "STELLAR_HORIZON_URLS has entries that are no addresses"),
        ("STELLAR_HOT_WALLET", "", "STELLAR_HOT_WALLET is not set, but PRODUCTION_NETWORKS names stellar"),
        (
            "STELLAR_HOT_WALLET",
            WALLET.public_key[:-1],
            "STELLAR_HOT_WALLET is no address. An address that starts with G",
        ),
        ("STELLAR_HOT_WALLET", addresses.mux(WALLET.public_key, 1), "STELLAR_HOT_WALLET is an M address"),
        ("STELLAR_CHANNELS", "0", "STELLAR_CHANNELS is '0'"),
        ("STELLAR_CHANNELS", "51", "STELLAR_CHANNELS is 51; set it to a number from 1 to 50"),
        ("STELLAR_FEE_CAP_STROOPS", "100", "STELLAR_FEE_CAP_STROOPS is '100'"),
        ("STELLAR_SINGLE_PROVIDER", "stellar", "STELLAR_SINGLE_PROVIDER is 'stellar'; set it to one of true, false"),
        ("STELLAR_HOT_WALLET_KEY_FILE", "/nowhere/at/all", "STELLAR_HOT_WALLET_KEY_FILE cannot be read: No such file"),
    ],
)
def test_what_is_missing_or_wrong_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str, reason: str) -> None:
    variables, _ = read(monkeypatch, ENOUGH | {name: value})
    with pytest.raises(ImproperlyConfigured) as refusal:
        variables.check()
    assert reason in str(refusal.value)


def test_a_test_network_of_stellar_alone_needs_nothing_of_evm(monkeypatch: pytest.MonkeyPatch) -> None:
    variables, _ = read(monkeypatch, {f"TESTNET_{name}": value for name, value in ENOUGH.items()}, on_testnet=True)
    variables.check()


def test_the_key_may_stand_in_a_file_and_is_a_secret_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "key"
    path.write_text(WALLET.secret + "\n")
    variables, found = read(monkeypatch, ENOUGH | {"STELLAR_HOT_WALLET_KEY_FILE": str(path)})
    variables.check()
    assert found.hot_wallet_key == WALLET.secret
    assert WALLET.secret in variables.secrets
    variables, _ = read(monkeypatch, {"STELLAR_HOT_WALLET_KEY": WALLET.secret})
    with pytest.raises(ImproperlyConfigured, match="STELLAR_HOT_WALLET_KEY_FILE is set beside STELLAR_HOT_WALLET_KEY"):
        variables.check()


def test_a_process_that_does_not_send_reads_no_file_with_a_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text(WALLET.secret)
    variables, found = read(monkeypatch, ENOUGH | {"STELLAR_HOT_WALLET_KEY_FILE": str(path)}, role="web")
    assert found.hot_wallet_key == ""
    with pytest.raises(ImproperlyConfigured, match="the web process has no use for it; give it to money and signer"):
        variables.check()
