"""On stellar the signer builds the envelope of the intents by itself, and raises the fee of nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from stellar_sdk import Keypair

from payments.chains.protocol.payouts import PayoutInstruction
from payments.chains.signer.messages import SigningRequest
from payments.chains.stellar.keys import envelopes
from payments.chains.stellar.keys.wallet_keys import Keys
from tests.signer.signer import PROFILES, STELLAR, OwnSigner, intent
from tests.stellar.network.keys import HOT_WALLET_KEY, PASSPHRASE

KEYS = Keys(HOT_WALLET_KEY)
USDC = PROFILES[STELLAR].assets["USDC"]
SOMEBODY, THIEF = (Keypair.from_raw_ed25519_seed(bytes([number] * 32)).public_key for number in (11, 66))
COIN = 10**7


def asked(signer: OwnSigner, *payout_ids: str, **changes: Any) -> SigningRequest:
    until = int((signer.clock() + timedelta(minutes=5)).timestamp())
    fields = {"fee_per_operation": 200, "valid_until": until, "raises": "", **changes}
    intents = tuple(intent(STELLAR, each, COIN, SOMEBODY) for each in payout_ids or ("one",))
    return SigningRequest(*STELLAR, KEYS.address, 7, intents=intents, transaction=fields)


def envelope(signer: OwnSigner, *recipients: str, sequence: int = 7, memo: str | None = None) -> str:
    """What pays a coin to each, signed with the very key."""
    payouts = tuple(PayoutInstruction(USDC, COIN, recipient, memo) for recipient in recipients)
    until = signer.clock() + timedelta(minutes=5)
    place = {"passphrase": PASSPHRASE, "sender": KEYS.address}
    return KEYS.sign_payouts(payouts, **place, sequence=sequence, fee_per_operation=200, valid_until=until).raw.hex()


def test_the_envelope_pays_what_was_asked_for_and_its_fee_can_be_raised(signer: OwnSigner) -> None:
    first = signer.client(STELLAR).sign(asked(signer, "one", "two"))
    assert first.hex() == envelope(signer, SOMEBODY, SOMEBODY)
    raised = signer.client(STELLAR).sign(asked(signer, "one", "two", raises=first.hex(), fee_per_operation=2_000))
    said = envelopes.read(raised, passphrase=PASSPHRASE)
    assert (said.inner_hash, said.fee) == (envelopes.read(first, passphrase=PASSPHRASE).transaction_hash, 6_000)
    assert signer.record.paid_in_a_day(*STELLAR, "USDC") == 2 * COIN


ATTACKS: dict[str, tuple[str, Callable[[OwnSigner], SigningRequest]]] = {
    "a fee above the cap": ("fees", lambda signer: asked(signer, fee_per_operation=100_001)),
    "valid for too long": ("differs", lambda signer: asked(signer, valid_until=2**33)),
    "valid no more": ("differs", lambda signer: asked(signer, valid_until=1)),
    "another account": ("differs", lambda signer: replace(asked(signer), account=THIEF)),
    "different memos": (
        "not_asked_for",
        lambda signer: replace(
            asked(signer), intents=(asked(signer).intents[0], replace(asked(signer, "two").intents[0], memo="5"))
        ),
    ),
    "a higher fee for what pays the thief": (
        "differs",
        lambda signer: asked(signer, raises=envelope(signer, THIEF)),
    ),
    "a higher fee for what pays the thief as well": (
        "differs",
        lambda signer: asked(signer, raises=envelope(signer, SOMEBODY, THIEF)),
    ),
    "a higher fee for another sequence": (
        "differs",
        lambda signer: asked(signer, raises=envelope(signer, SOMEBODY, sequence=8)),
    ),
    "a higher fee for another memo": (
        "differs",
        lambda signer: asked(signer, raises=envelope(signer, SOMEBODY, memo="5")),
    ),
    "a higher fee for no envelope": ("differs", lambda signer: asked(signer, raises="00")),
    "more payouts than an envelope carries": (
        "differs",
        lambda signer: asked(signer, *(str(number) for number in range(101))),
    ),
    "a sweep": ("differs", lambda signer: replace(asked(signer), intents=(), sweeps="USDC")),
}


@pytest.mark.parametrize(("code", "attack"), ATTACKS.values(), ids=ATTACKS)
def test_whatever_else_is_asked_for_is_refused(
    signer: OwnSigner, code: str, attack: Callable[[OwnSigner], SigningRequest]
) -> None:
    reply = signer.service.reply_to(attack(signer))
    assert (reply.raw, reply.refused) == (b"", code)
