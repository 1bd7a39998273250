"""Proofs of wallets: what a key has signed, by the libraries that wallets use themselves."""

from __future__ import annotations

import base64
from datetime import timedelta

import pytest
from django.utils import timezone
from stellar_sdk import Keypair

from config.environments import Environment
from config.errors import DomainError
from payments.chains.evm.keys.accounts import Account
from payments.chains.stellar.addresses import mux
from payments.merchant_wallets.models import MerchantWallet
from payments.merchant_wallets.proving import (
    GOOD_FOR,
    AccountReply,
    Challenge,
    NotSimulated,
    new_challenge,
    prove_wallet,
    simulate_proof,
)
from tests.evm.personal_signatures import personal_signature
from tests.merchant_wallets.scenes import FIRST, SECOND, fresh, make_owner, name
from tests.networks import POLYGON, STELLAR

pytestmark = pytest.mark.django_db

EVM_KEY, OTHER_EVM_KEY = "0x" + "11" * 32, "0x" + "22" * 32
STELLAR_KEY = Keypair.from_raw_ed25519_seed(b"\x11" * 32)


def evm_signature(text: str, key: str = EVM_KEY) -> str:
    return personal_signature(key, text.encode())


def stellar_signature(text: str, key: Keypair = STELLAR_KEY) -> str:
    return base64.b64encode(key.sign_message(text)).decode()


def evm_wallet() -> MerchantWallet:
    return name(make_owner(), Account.from_key(EVM_KEY).address)


def asked(wallet: MerchantWallet) -> Challenge:
    return new_challenge(wallet, now=timezone.now())


def test_a_wallet_of_an_evm_network_is_proven_by_what_its_key_signed() -> None:
    wallet = evm_wallet()
    challenge = asked(wallet)
    signature = evm_signature(challenge.text)
    prove_wallet(wallet, token=challenge.token, signature=f" {signature}\n")
    proven = fresh(wallet)
    assert (proven.proof, proven.signed_text, proven.signature) == ("signature", challenge.text, signature)
    with pytest.raises(DomainError, match="already proven"):
        prove_wallet(wallet, token=challenge.token, signature=signature)


@pytest.mark.parametrize("is_muxed", [False, True])
def test_a_wallet_of_stellar_is_proven_by_what_its_key_signed(*, is_muxed: bool) -> None:
    address = mux(STELLAR_KEY.public_key, 7) if is_muxed else STELLAR_KEY.public_key
    wallet = name(make_owner(), address, network=STELLAR)
    challenge = asked(wallet)
    other = stellar_signature(challenge.text, Keypair.random())
    with pytest.raises(DomainError, match="Another account has signed"):
        prove_wallet(wallet, token=challenge.token, signature=other)
    with pytest.raises(DomainError, match="88 characters"):
        prove_wallet(wallet, token=challenge.token, signature="c2hvcnQ=")
    prove_wallet(wallet, token=challenge.token, signature=stellar_signature(challenge.text))
    assert fresh(wallet).proof == "signature"


def test_the_message_names_all_that_it_is_good_for() -> None:
    wallet = evm_wallet()
    text = asked(wallet).text
    named = ("Harbour Coffee", wallet.merchant.public_id, "Polygon", "sandbox", wallet.address, wallet.public_id)
    assert [each for each in named if each not in text] == []
    assert text != asked(wallet).text  # a nonce of its own


def test_a_proof_that_is_not_the_wallets_own_is_refused() -> None:
    wallet = evm_wallet()
    challenge, later = asked(wallet), asked(wallet)
    old = new_challenge(wallet, now=timezone.now() - GOOD_FOR - timedelta(seconds=1))
    stranger = asked(name(make_owner(), wallet.address))
    for token, signature, words in [
        (challenge.token, evm_signature(challenge.text, OTHER_EVM_KEY), "Another account has signed"),
        (challenge.token, evm_signature(later.text), "Another account has signed"),
        (challenge.token, evm_signature(challenge.text)[:-4], "no signature"),
        (challenge.token, "0x" + "00" * 65, "no signature"),
        (challenge.token, "", "Paste the signature"),
        (old.token, evm_signature(old.text), "no longer valid"),
        (stranger.token, evm_signature(stranger.text), "no longer valid"),
        (challenge.token + "x", evm_signature(challenge.text), "no longer valid"),
    ]:
        with pytest.raises(DomainError, match=words):
            prove_wallet(wallet, token=token, signature=signature)
    assert fresh(wallet).proof == ""


def test_what_a_contract_said_counts_for_that_signature_of_that_message_alone() -> None:
    wallet = evm_wallet()
    challenge, other = asked(wallet), asked(wallet)
    signature = evm_signature(challenge.text, OTHER_EVM_KEY)
    for said in (
        AccountReply(other.text, signature, accepts=True),
        AccountReply(challenge.text, evm_signature(challenge.text), accepts=True),
        AccountReply(challenge.text, signature, accepts=False),
        AccountReply(challenge.text, signature, accepts=None),
    ):
        with pytest.raises(DomainError):
            prove_wallet(wallet, token=challenge.token, signature=signature, reply=said)
    assert fresh(wallet).proof == ""
    said = AccountReply(challenge.text, signature, accepts=True)
    prove_wallet(wallet, token=challenge.token, signature=signature, reply=said)
    assert (fresh(wallet).proof, fresh(wallet).signature) == ("contract", signature)


def test_only_a_current_wallet_is_proven() -> None:
    owner = make_owner()
    first = name(owner, FIRST)
    name(owner, SECOND)
    with pytest.raises(DomainError, match="no longer in use"):
        simulate_proof(first)


def test_nobody_simulates_a_signature_outside_simulated_networks() -> None:
    wallet = name(make_owner(), FIRST, network=POLYGON)
    MerchantWallet.objects.filter(pk=wallet.pk).update(environment=Environment.PRODUCTION)
    with pytest.raises(NotSimulated):
        simulate_proof(fresh(wallet))
    assert fresh(wallet).proof == ""
