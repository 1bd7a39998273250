"""Who is believed to have an account: the signers that the network lets pay from it, and not the key of its address."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings
from stellar_sdk import Asset, Keypair, Payment, SetOptions, Signer

from config.errors import DomainError
from payments import tasks
from payments.merchant_wallets import proving
from payments.models import Deposit
from payments.suspense import payer_proofs
from payments.suspense.destinations import Destination
from tests.merchant_wallets.scenes import fresh, make_owner, name
from tests.networks import STELLAR
from tests.payments.scenes import SANDBOX, make_payment
from tests.stellar.network.horizon import LocalHorizon
from tests.stellar.network.keys import ISSUERS
from tests.stellar.place import WALLET, XLM, key_of
from tests.stellar.shop import PAYER, read, shop_on_local_stellar

pytestmark = pytest.mark.django_db

FIRST, SECOND = key_of(8), key_of(9)


@pytest.fixture
def local(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHorizon]:
    with shop_on_local_stellar(settings, monkeypatch) as found:
        yield found


def signed(text: str, *keys: Keypair) -> str:
    return "\n".join(base64.b64encode(key.sign_message(text)).decode() for key in keys)


def hand_over(local: LocalHorizon, account: Keypair) -> None:
    """The account's own key may do nothing any more; two others sign together."""
    for each in (FIRST, SECOND):
        local.act(account, SetOptions(signer=Signer.ed25519_public_key(each.public_key, 1)))
    local.act(account, SetOptions(master_weight=0, low_threshold=1, med_threshold=2, high_threshold=2))
    read()


def test_a_wallet_is_proven_by_those_who_can_pay_from_it(local: LocalHorizon) -> None:
    account = key_of(7)
    local.fund_native(account.public_key, 10 * XLM)
    hand_over(local, account)
    wallet = name(make_owner(), account.public_key, network=STELLAR)
    challenge = proving.new_challenge(wallet, now=timezone.now())

    def prove(*keys: Keypair) -> None:
        signature = signed(challenge.text, *keys)
        reply = proving.query_account(wallet, token=challenge.token, signature=signature)
        proving.prove_wallet(wallet, token=challenge.token, signature=signature, reply=reply)

    for keys in ((account,), (FIRST,), (account, FIRST)):
        with pytest.raises(DomainError, match="as many signers"):
            prove(*keys)
    assert fresh(wallet).proof == ""
    prove(FIRST, SECOND)
    assert fresh(wallet).proof == "signature"


def test_a_sender_whose_key_lost_its_weight_asks_nothing_back(local: LocalHorizon) -> None:
    make_payment(STELLAR)  # a network is read for its payments
    usdc = Asset("USDC", ISSUERS["USDC"])
    for _ in range(2):
        local.act(PAYER, Payment(WALLET.public_key, usdc, "5"))
    local.close_ledger()
    read()
    tasks.read_new(SANDBOX, STELLAR)  # what belongs to no payment is held
    before, after = Deposit.objects.order_by("id")

    def ask_back(deposit: Deposit) -> str:
        challenge = payer_proofs.new_challenge(deposit, Destination(PAYER.public_key), now=timezone.now())
        signature = signed(challenge.text, PAYER)
        return payer_proofs.prove_sender(deposit, token=challenge.token, signature=signature).status

    assert ask_back(before) == "proven"
    hand_over(local, PAYER)
    with pytest.raises(DomainError, match="may not pay from it alone any more"):
        ask_back(after)
    assert not after.returns.exists()
