"""Keys in AWS KMS and Vault transit: what they sign is what the wallet's own key would, and nothing else is used."""

from __future__ import annotations

import base64
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hexbytes import HexBytes
from stellar_sdk import Keypair

from payments.chains.errors import SignerUnavailable
from payments.chains.evm.fees import GWEI, FeeRules
from payments.chains.evm.keys.accounts import Account, TypedTransaction
from payments.chains.evm.keys.service_keys import ServiceKeySigner
from payments.chains.evm.keys.signing import read_signed
from payments.chains.evm.keys.signing_rules import EvmWallet
from payments.chains.key_services.base import KeyServiceFailed
from payments.chains.key_services.configuration import ed_key, secp_key
from payments.chains.stellar.keys.service_keys import ServiceKeypair
from payments.chains.stellar.keys.wallet_keys import Keys
from payments.chains.stellar.signing_rules import StellarWallet
from tests.evm.network import devnet
from tests.signer import services
from tests.signer.services import ORDER, Kms, Vault, listening
from tests.signer.signer import POLYGON, PROFILES, STELLAR, OwnSigner
from tests.signer.test_service import payout, transaction
from tests.signer.test_stellar_rules import asked
from tests.stellar.network import keys as local

EVM_SECRET = bytes.fromhex(devnet.HOT_WALLET_KEY.removeprefix("0x"))
SEED = Keypair.from_secret(local.HOT_WALLET_KEY).raw_secret_key()


@pytest.fixture
def kms(monkeypatch: pytest.MonkeyPatch) -> Iterator[Kms]:
    with listening(Kms()) as found:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", services.ACCESS_KEY)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", services.SECRET_KEY)
        monkeypatch.setenv("AWS_ENDPOINT_URL_KMS", found.url)
        yield found


@pytest.fixture
def vault(settings: Any) -> Iterator[Vault]:
    with listening(Vault()) as found:
        settings.VAULT_ADDR, settings.VAULT_TOKEN = found.url, services.TOKEN
        yield found


@pytest.mark.parametrize("high_s", [False, True])
def test_kms_signs_for_a_wallet_of_ethereum_with_the_low_s_and_the_right_recovery_id(kms: Kms, high_s: bool) -> None:
    kms.high_s = high_s
    signer = ServiceKeySigner(secp_key(kms.add("ECC_SECG_P256K1", EVM_SECRET)))
    assert signer.address == devnet.HOT_WALLET
    ids = set()
    for number in range(12):  # either id is as likely as the other
        asked_for = transaction(number)
        signed = signer.sign(asked_for)
        assert read_signed(signed.raw) == asked_for
        assert Account.recover_transaction(signed.raw) == devnet.HOT_WALLET
        v, _, s = TypedTransaction.from_bytes(HexBytes(signed.raw)).vrs()
        assert 0 < s <= ORDER // 2
        ids.add(v)
    assert ids == {0, 1}
    assert kms.asked == ["GetPublicKey", *["Sign"] * 12]


def _both(kms: Kms, vault: Vault) -> dict[str, Callable[[], Keypair]]:
    return {
        "kms": lambda: ServiceKeypair(ed_key(kms.add("ECC_NIST_EDWARDS25519", SEED))),
        "vault": lambda: ServiceKeypair(ed_key(vault.add("hot", SEED))),
    }


@pytest.mark.parametrize("service", ["kms", "vault"])
def test_kms_and_vault_sign_for_the_wallet_on_stellar_as_its_own_key_does(
    signer: OwnSigner, kms: Kms, vault: Vault, service: str
) -> None:
    request = asked(signer)
    own = signer.wallets[STELLAR].sign(request)
    pair = _both(kms, vault)[service]()
    wallet = StellarWallet(PROFILES[STELLAR], Keys(pair), cap=100_000, clock=signer.clock)
    assert wallet.most_fee(request) == 400
    assert wallet.sign(request) == own


def test_a_signer_of_its_own_can_have_its_key_in_kms(signer: OwnSigner, kms: Kms) -> None:
    key = ServiceKeySigner(secp_key(kms.add("ECC_SECG_P256K1", EVM_SECRET)))
    factories, rules = [devnet.DEPLOYMENT.factory], FeeRules(cap=2_000 * GWEI)
    signer.wallets[POLYGON] = EvmWallet(PROFILES[POLYGON], key, factories=factories, rules=rules)
    raw = signer.client(POLYGON).sign(payout(signer))
    assert Account.recover_transaction(raw) == devnet.HOT_WALLET
    kms.spoil = lambda reply: {**reply, "Signature": "AAAA"}
    with pytest.raises(SignerUnavailable):
        signer.client(POLYGON).sign(payout(signer, sequence=1, payout_id="two"))
    assert len(signer.lines()) == 1


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda reply: {**reply, "Signature": base64.b64encode(b"no DER").decode()}, "no signature"),
        (lambda reply: {**reply, "Signature": ""}, "no signature"),
        (lambda reply: {**reply, "Signature": "MAYCAQECAQE="}, "another key"),  # r and s are 1
    ],
)
def test_what_kms_did_not_sign_with_this_key_is_not_used(
    kms: Kms, spoil: Callable[[dict[str, Any]], dict[str, Any]], said: str
) -> None:
    signer = ServiceKeySigner(secp_key(kms.add("ECC_SECG_P256K1", EVM_SECRET)))
    kms.spoil = spoil
    with pytest.raises(SignerUnavailable, match=said):
        signer.sign(transaction())


def test_vault_goes_on_with_the_first_version_of_a_key_that_was_rotated(vault: Vault) -> None:
    place = vault.add("hot", SEED, bytes(range(32)))
    pair = ServiceKeypair(ed_key(place))
    assert pair.public_key == local.HOT_WALLET
    pair.verify(b"a hash", pair.sign(b"a hash"))


def test_the_token_of_vault_is_read_anew_from_its_file(vault: Vault, settings: Any, tmp_path: Any) -> None:
    file = tmp_path / "token"
    settings.VAULT_TOKEN_FILE = str(file)
    pair_of = ed_key(vault.add("hot", SEED))
    file.write_text("an old one\n")
    with pytest.raises(KeyServiceFailed, match="403 permission denied"):
        pair_of.public_key()
    file.write_text(services.TOKEN + "\n")
    assert len(pair_of.public_key()) == 32


def _without_key(kms: Kms, vault: Vault, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Callable[[], object], str]]:
    secp, ed = kms.add("ECC_SECG_P256K1", EVM_SECRET), kms.add("ECC_NIST_EDWARDS25519", SEED)
    yield lambda: ServiceKeySigner(secp_key(ed)), "is no key for signing of the kind ECC_SECG_P256K1"
    yield lambda: ServiceKeypair(ed_key(secp)), "is no key for signing of the kind ECC_NIST_EDWARDS25519"
    yield lambda: ServiceKeySigner(secp_key(secp.replace("00000000", "99999999"))), "NotFoundException"
    yield lambda: ServiceKeypair(ed_key("vault:transit/nothing")), "Vault refused .*404"
    vault.kind = "ecdsa-p256"
    yield lambda: ServiceKeypair(ed_key(vault.add("hot", SEED))), "it must be ed25519"
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another one")
    yield lambda: ServiceKeySigner(secp_key(secp)), "InvalidSignatureException"
    monkeypatch.setenv("AWS_ENDPOINT_URL_KMS", "http://127.0.0.1:1")
    yield lambda: ServiceKeySigner(secp_key(secp)), "did not get public key"


def test_a_key_that_cannot_be_used_is_named_with_the_reason(
    kms: Kms, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    for use, said in _without_key(kms, vault, monkeypatch):
        with pytest.raises(KeyServiceFailed, match=said):
            use()


@pytest.mark.parametrize(
    "token", ["hvs.not to be shown\nanother line", "hvs.not to be shown\x00", "hvs.not to be shown é"]
)
def test_a_token_that_cannot_be_sent_is_not_shown(
    kms: Kms, vault: Vault, settings: Any, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    settings.VAULT_TOKEN = token
    keys = [ed_key(vault.add("hot", SEED))]
    if "\x00" not in token:  # which no variable of a process can hold
        monkeypatch.setenv("AWS_SESSION_TOKEN", token)
        keys.append(ed_key(kms.add("ECC_NIST_EDWARDS25519", SEED)))
    for key in keys:
        with pytest.raises(KeyServiceFailed) as failed:
            key.public_key()
        shown = "".join(traceback.format_exception(failed.value))
        assert "not to be shown" not in shown
