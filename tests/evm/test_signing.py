"""Keys sign what they are given, say nothing of themselves, and are no concern of the web process."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import eth_keys.backends
import pytest

from payments.chains.evm.addresses import keccak256
from payments.chains.evm.keys.accounts import Account
from payments.chains.evm.keys.signing import (
    KeyRefused,
    Transaction,
    signer_from_key,
    signer_from_keystore,
)
from tests.evm.keystores import write_keystore
from tests.evm.node import TestNode

KEY = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
ADDRESS = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"

TRANSACTION = Transaction(
    chain_id=1, nonce=0, to="0x" + "11" * 20, data=b"", gas=21_000, max_fee=3 * 10**9, tip=10**9, units=5
)


@pytest.fixture(scope="module")
def keystore(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "wallet.json"
    assert write_keystore(path, bytes.fromhex(KEY), "a long password") == ADDRESS
    return path


def test_what_is_signed_is_what_a_node_takes(node: TestNode) -> None:
    signature = signer_from_key(KEY).sign(TRANSACTION)
    assert node.rpc.call("eth_sendRawTransaction", "0x" + signature.raw.hex()) == signature.transaction_hash
    node.mine()
    sent = node.rpc.call("eth_getTransactionByHash", signature.transaction_hash)
    assert (sent["from"], sent["to"], sent["value"]) == (ADDRESS.lower(), TRANSACTION.to, "0x5")
    assert (sent["maxFeePerGas"], sent["maxPriorityFeePerGas"]) == (hex(3 * 10**9), hex(10**9))


def test_the_same_transaction_always_gives_the_same_bytes() -> None:
    signer = signer_from_key(KEY)
    first, again = signer.sign(TRANSACTION), signer.sign(TRANSACTION)
    assert first == again
    assert first.transaction_hash == "0x" + keccak256(first.raw).hex()
    assert Account.recover_transaction(first.raw) == ADDRESS


@pytest.mark.parametrize("change", [{"nonce": 1}, {"chain_id": 137}, {"tip": 2 * 10**9}, {"data": b"\x00"}])
def test_another_transaction_has_another_hash(change: dict[str, int]) -> None:
    signer = signer_from_key(KEY)
    assert signer.sign(replace(TRANSACTION, **change)) != signer.sign(TRANSACTION)  # type: ignore[arg-type]  # by name


def test_the_most_it_can_cost_is_gas_at_the_highest_price() -> None:
    assert TRANSACTION.fee_limit_units == 63 * 10**12


@pytest.mark.parametrize("text", [KEY, "0x" + KEY, f" {KEY}\n"])
def test_a_key_is_read_however_it_is_written(text: str) -> None:
    assert signer_from_key(text).address == ADDRESS


@pytest.mark.parametrize("text", ["", "0x", KEY[:-2], KEY + "00", "z" * 64, "0" * 64, "f" * 64])
def test_what_is_no_key_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(KeyRefused) as refusal:
        signer_from_key(text)
    assert KEY[:16] not in str(refusal.value)
    assert refusal.value.__cause__ is None


def test_a_keystore_opens_with_its_password_alone(keystore: Path) -> None:
    assert signer_from_keystore(keystore, "a long password").address == ADDRESS
    with pytest.raises(KeyRefused, match="does not open"):
        signer_from_keystore(keystore, "another password")


def test_a_keystore_holds_no_key_and_is_for_its_owner_alone(keystore: Path) -> None:
    assert KEY not in keystore.read_text()
    assert stat.S_IMODE(keystore.stat().st_mode) == 0o600


def test_a_keystore_is_never_overwritten(keystore: Path) -> None:
    before = keystore.read_text()
    with pytest.raises(FileExistsError):
        write_keystore(keystore, bytes.fromhex(KEY), "a long password")
    assert keystore.read_text() == before


@pytest.mark.parametrize("content", [None, "", "{}", json.dumps({"version": 3}), "[]"])
def test_what_is_no_keystore_is_refused(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "wallet.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(KeyRefused):
        signer_from_keystore(path, "a long password")


def test_a_signer_shows_no_key() -> None:
    signer = signer_from_key(KEY)
    assert repr(signer) == f"KeySigner({ADDRESS})"
    assert KEY not in repr(vars(signer))


def test_the_fast_library_does_the_work() -> None:
    assert type(eth_keys.backends.get_backend()).__name__ == "CoinCurveECCBackend"


def test_the_web_process_never_imports_what_signs() -> None:
    program = """
import sys, django
django.setup()
import config.urls, payments.chains.registry, payments.chains.evm.keys.signing, payments.chains.evm.nodes.providers
print([name for name in ("eth_account", "eth_abi", "coincurve", "pydantic") if name in sys.modules])
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_what_signs_leaves_python_its_limits() -> None:
    program = """
import json
from payments.chains.evm.keys.accounts import Account
try:
    json.loads("[" * 100_000)
except RecursionError:
    print("refused")
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "refused"
