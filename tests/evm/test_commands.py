"""What an operator asks of the networks: is everything as it should be, and where is money nobody knows of."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings
from pytest_django.fixtures import Settings

from payments.chains.evm import factory
from payments.chains.protocol.chain import sweeps_of
from tests.evm.derivations import DERIVATIONS
from tests.evm.harness import NodeHarness, profile_of
from tests.evm.keystores import write_keystore
from tests.evm.network import devnet
from tests.networks import put_profile, with_set

pytestmark = pytest.mark.django_db  # its clock says how old the blocks of providers are


def recover(**options: object) -> list[dict[str, object]]:
    said = io.StringIO()
    call_command("recover_deposits", stdout=said, stderr=io.StringIO(), **options)
    return [json.loads(line) for line in said.getvalue().splitlines()]


def test_every_coin_at_every_number_is_found(harness: NodeHarness) -> None:
    chain = harness.chain
    place = {number: chain.deposit_address(number).address for number in (3, 117, 118)}
    assets = chain.profile.assets
    harness.pay((assets["USDC"].contract, 5, place[3], None), (assets["DAI"].contract, 10**24, place[117], None))
    harness.pay((assets["USDT"].contract, 7, place[117], None), (assets["USDC"].contract, 9, place[118], None))
    harness.fund_native(place[3], 11)
    harness.mine()
    derivation = DERIVATIONS.present
    salt = {number: hex(derivation.salt(number)) for number in place}
    here: dict[str, object] = {"network": "polygon", "factory": derivation.factory}
    assert recover(last=117) == [
        here | {"number": 3, "address": place[3], "salt": salt[3], "held": {"USDC": "5", "POL": "11"}},
        here | {"number": 117, "address": place[117], "salt": salt[117], "held": {"USDT": "7", "DAI": str(10**24)}},
    ]
    assert [line["number"] for line in recover(first=118, last=120)] == [118]


def test_what_has_been_swept_is_not_found_again(harness: NodeHarness) -> None:
    chain, usdc = harness.chain, harness.chain.profile.assets["USDC"]
    harness.pay((usdc.contract, 5, chain.deposit_address(3).address, None))
    harness.mine()
    wallet = chain.payout_address()
    chain.sending.broadcast(
        sweeps_of(chain).sign(usdc, (3,), sender=wallet, sequence=chain.hot_wallet.next_sequence(wallet))
    )
    harness.mine()
    assert recover(last=10) == []


def check(settings: Settings, path: Path, password: str) -> None:
    settings.NETWORK_SETTINGS = with_set("polygon", hot_wallet_key="", keystore=str(path), keystore_password=password)
    factory._signer.cache_clear()  # the worker is started again
    factory._readiness.cache_clear()
    call_command("check_networks", signing=True, stdout=io.StringIO())


@pytest.mark.django_db
def test_the_password_of_the_keystore_is_replaced_by_the_runbook(
    harness: NodeHarness, settings: Settings, tmp_path: Path
) -> None:
    file, key = tmp_path / "hot-wallet.json", bytes.fromhex(devnet.HOT_WALLET_KEY.removeprefix("0x"))
    write_keystore(file, key, "the old password")
    check(settings, file, "the old password")
    file.unlink()
    write_keystore(file, key, "the new password")
    with pytest.raises(CommandError, match="EVM_KEYSTORE"):
        check(settings, file, "the old password")
    check(settings, file, "the new password")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"last": -1}, "in this order"),
        ({"first": 5, "last": 4}, "in this order"),
        ({"last": 1, "factory": "0x12"}, "--factory"),
        ({"last": 1, "factory": devnet.PAYER}, "no contract at"),
        ({"last": 1, "env": "sandbox"}, "simulated"),
    ],
)
def test_what_cannot_be_searched_is_refused(harness: NodeHarness, options: dict[str, object], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        recover(**options)


@pytest.mark.django_db
def test_networks_that_are_what_the_settings_say_are_well(harness: NodeHarness) -> None:
    harness.mine()  # a head of just now
    said = io.StringIO()
    call_command("check_networks", stdout=said)
    head = harness.chain.reading.head()
    assert said.getvalue() == f"polygon: head {head.height}, final {head.finalized_height}\n"


@pytest.mark.django_db
def test_what_is_not_as_the_settings_say_is_named(harness: NodeHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    faults: list[tuple[dict[str, object], str]] = [
        ({"hot_wallet": devnet.PAYER}, "the hot wallet is"),
        ({"factory": devnet.PAYER}, "no contract at"),
        ({"rpc_urls": ()}, "POLYGON_RPC_URLS"),
    ]
    for wrong, said in faults:
        with override_settings(NETWORK_SETTINGS=with_set("polygon", **wrong)), pytest.raises(CommandError, match=said):
            call_command("check_networks", stdout=io.StringIO())
    profile = profile_of("polygon")
    assets = dict(profile.assets)
    assets["DAI"] = replace(assets["DAI"], decimals=6)
    put_profile(monkeypatch, replace(profile, assets=assets))
    with pytest.raises(CommandError, match="DAI on polygon has 18 decimals, not 6"):
        call_command("check_networks", stdout=io.StringIO())
