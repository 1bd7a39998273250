"""`manage.py signer` as an operator runs it: in production, without a database, with the keys and nothing else."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from config.money import Asset
from payments.chains.errors import SignerRefused
from payments.chains.evm.keys.remote_signing import request_for
from payments.chains.evm.keys.signing import Purpose
from payments.chains.networks import NETWORKS
from payments.chains.signer.client import SignerClient
from tests.evm.network import devnet
from tests.platform.test_settings import ROOT, forked, production
from tests.signer.signer import INTENT_KEY, SECRET, intent
from tests.signer.test_service import SOMEBODY, transaction, transfer
from tests.stellar.network import keys as local

KMS = "aws-kms:arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"

POLICY = """
signatures_per_minute = 10
[production.polygon]
fees_per_day = "1"
[production.polygon.USDC]
transfer = "10"
day = "20"
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with TemporaryDirectory(prefix="signer") as found:
        (Path(found) / "policy.toml").write_text(POLICY)
        yield Path(found)


def settings(folder: Path, **changes: str) -> dict[str, str]:
    return {
        "BALLAST_ROLE": "signer",
        "SIGNER_FOLDER": str(folder),
        "SIGNER_SECRET": SECRET,
        "PAYOUT_INTENT_KEY": INTENT_KEY,
        "EVM_FACTORY": devnet.DEPLOYMENT.factory,
        "EVM_HOT_WALLET": devnet.HOT_WALLET,
        "EVM_HOT_WALLET_KEY": devnet.HOT_WALLET_KEY,
        **changes,
    }


def check(folder: Path, *arguments: str, **changes: str) -> Any:
    return forked("manage.py", "signer", *(arguments or ("--check",)), **settings(folder, **changes))


def test_it_needs_no_database_and_says_what_it_signs_for(folder: Path) -> None:
    ended = check(folder)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "in order: production ethereum, production polygon." in ended.stdout
    stopped = check(folder, "--stop", "Ada said so")
    assert (stopped.returncode, (folder / "stop").read_text()) == (0, "Ada said so\n")
    assert check(folder, "--go-on").returncode == 0
    assert not (folder / "stop").exists()


def test_it_starts_before_there_is_the_factory_that_it_is_to_sign_for(folder: Path) -> None:
    ended = check(folder, EVM_FACTORY="", EVM_OWNER=devnet.OWNER)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"BALLAST_ROLE": "money", "SIGNER_FOLDER": ""}, "REDIS_URL is not set"),
        ({"SIGNER_SECRET": ""}, "SIGNER_SECRET is not set, but there is a signer of its own"),
        ({"PAYOUT_INTENT_KEY": "short"}, "PAYOUT_INTENT_KEY is too short"),
        ({"SIGNER_FOLDER": "/nowhere/at/all"}, "SIGNER_FOLDER names no folder"),
        ({"EVM_HOT_WALLET_KEY": ""}, "There is no key of a hot wallet"),
        ({"EVM_HOT_WALLET": SOMEBODY}, "but the key is that of"),
        ({"EVM_KEY_SERVICE": KMS}, "EVM_KEY_SERVICE is set beside EVM_HOT_WALLET_KEY"),
        ({"EVM_KEY_SERVICE": "aws-kms:alias/hot"}, "EVM_KEY_SERVICE names no key; set it like aws-kms:arn:"),
        ({"EVM_KEY_SERVICE": "vault:transit/hot"}, "in Vault, whose transit has no secp256k1; name one in AWS KMS"),
        ({"STELLAR_KEY_SERVICE": "vault:transit/hot", "STELLAR_CHANNELS": "2"}, "STELLAR_CHANNELS is 2; set it to 1"),
        (
            {"STELLAR_KEY_SERVICE": "vault:transit/hot", "STELLAR_HOT_WALLET": local.HOT_WALLET},
            "VAULT_ADDR is not set, but a key is in Vault",
        ),
        ({"VAULT_ADDR": "http://vault.example:8200"}, "VAULT_ADDR has an http address"),
        ({"SIGNER_LISTEN": "tls://127.0.0.1:7400"}, "SIGNER_TLS_FOLDER is not set, but there is a signer at tls://"),
        (
            {"SIGNER_LISTEN": "tls://127.0.0.1:7400", "SIGNER_TLS_FOLDER": "docs"},
            "SIGNER_TLS_FOLDER has no certificate.pem and no key.pem and no authority.pem",
        ),
        ({"API_KEY_PEPPER": "an opaque value of the web process"}, "the signer process has no use for it"),
    ],
    ids=str,
)
def test_what_is_missing_is_named(folder: Path, changes: dict[str, str], said: str) -> None:
    ended = check(folder, **changes)
    assert ended.returncode != 0
    assert said in ended.stderr
    assert devnet.HOT_WALLET_KEY not in ended.stderr


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('transfer = "10"', "transfer = 10", "transfer of production.polygon.USDC must be an amount in quotes"),
        ('day = "20"', 'day = "-1"', "day of production.polygon.USDC must be an amount in quotes"),
        ('day = "20"', 'weeks = "1"', "must have transfer and day, and nothing else"),
        ("USDC", "EURC", "[production.polygon.EURC] is no coin there"),
        ("production.polygon", "production.stellar", "[production.stellar] is no network with a key here"),
        ('fees_per_day = "1"', "", "fees_per_day of production.polygon must be an amount"),
        ("signatures_per_minute = 10", "", "signatures_per_minute must be a whole number"),
        ("[production.polygon]", "[", "cannot be read"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_policy_with_a_mistake_is_refused(folder: Path, old: str, new: str, said: str) -> None:
    (folder / "policy.toml").write_text(POLICY.replace(old, new))
    ended = check(folder)
    assert ended.returncode != 0
    assert said in ended.stderr


def test_a_process_that_is_handed_the_key_beside_a_signer_does_not_start(folder: Path) -> None:
    ended = forked(
        "-c",
        "import config.settings",
        **settings(folder, BALLAST_ROLE="money", SIGNER_URL="tcp://signer:7400", SIGNER_FOLDER=""),
    )
    assert "EVM_HOT_WALLET_KEY is set beside SIGNER_URL; give it to the signer alone" in ended.stderr


def test_the_process_signs_until_it_is_told_to_end(folder: Path) -> None:
    environment = production(**settings(folder))
    with subprocess.Popen(
        [sys.executable, "manage.py", "signer"], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            assert "Signing for production ethereum, production polygon at unix://" in process.stdout.readline()
            client = SignerClient(f"unix://{folder}/signer.sock", SECRET, environment="production", network="polygon")
            asset: Asset = NETWORKS["polygon"].real.assets["USDC"]
            made = transaction(
                0, to=asset.contract, data=transfer(SOMEBODY, 10**6), chain_id=NETWORKS["polygon"].real.evm_chain_id
            )
            request = request_for(made, Purpose(), devnet.HOT_WALLET, client)
            asked = intent(("production", "polygon"), "one", 10**6, SOMEBODY)
            assert client.sign(replace(request, intents=(asked,)))
            with pytest.raises(SignerRefused, match="not_asked_for"):
                client.sign(replace(request, intents=(replace(asked, amount=10**7),)))
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    assert not (folder / "signer.sock").exists()
    assert len((folder / "record.jsonl").read_text().splitlines()) == 2
