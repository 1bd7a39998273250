"""What is asked of accounts while one Horizon has read more than the other."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest
from stellar_sdk import Keypair, SetOptions, Signer

from payments.chains.errors import ChainUnavailable
from payments.chains.ownership import bytes_of
from payments.chains.stellar.addresses import mux
from tests.stellar.place import WALLET, XLM, Place, key_of


@pytest.fixture
def place() -> Iterator[Place]:
    found = Place()
    yield found
    found.stop()


def test_a_change_that_one_horizon_has_still_to_read_is_no_disagreement(place: Place) -> None:
    before = place.chain.hot_wallet.next_sequence(WALLET.public_key)
    place.other.pause_ingestion()
    place.local.fund_native(key_of(7).public_key, 10 * XLM)
    place.chain.sending.broadcast(place.sign(*place.pay(5)))
    place.local.close_ledger()
    with pytest.raises(ChainUnavailable):
        place.chain.hot_wallet.next_sequence(WALLET.public_key)
    assert [dict(each.problems) for each in place.chain.providers.states()] == [{}, {}]
    place.other.resume_ingestion()
    assert place.chain.hot_wallet.next_sequence(WALLET.public_key) == before + 1


def test_signers_with_enough_weight_sign_for_an_account_and_a_key_that_lost_its_weight_does_not(place: Place) -> None:
    account, first, second = (key_of(number) for number in (7, 8, 9))
    chain, text = place.chain, "I confirm that this wallet belongs to the merchant."

    def accepts(*keys: Keypair, said: str = text, address: str = account.public_key) -> bool | None:
        written = "\n".join(base64.b64encode(key.sign_message(said)).decode() for key in keys)
        return chain.signers.account_accepts(address, text, bytes_of(chain.profile, written))

    assert accepts(account) is None  # there is no such account: its key decides
    place.local.fund_native(account.public_key, 10 * XLM)
    muxed = mux(account.public_key, 7)
    assert [accepts(account), accepts(first), accepts(account, address=muxed)] == [True, False, True]
    place.local.act(account, SetOptions(signer=Signer.ed25519_public_key(first.public_key, 1)))
    place.local.act(account, SetOptions(signer=Signer.ed25519_public_key(second.public_key, 1)))
    place.local.act(account, SetOptions(master_weight=0, low_threshold=1, med_threshold=2, high_threshold=2))
    assert [
        accepts(account),
        accepts(first),
        accepts(first, first),
        accepts(first, second, said="Another text."),
        accepts(account, first, second),
        accepts(first, second),
        accepts(second, first, address=muxed),
    ] == [False, False, False, False, False, True, True]
