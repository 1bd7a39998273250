"""Whoever has the database or the executor, and not the key, gets signed what was asked for, within limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from config.ids import new_uuid
from payments.chains.errors import SignerRefused
from payments.chains.evm import abi
from payments.chains.evm.fees import GWEI
from payments.chains.evm.keys.remote_signing import request_for
from payments.chains.evm.keys.signing import Purpose, Transaction, read_signed, signer_from_key
from payments.chains.signer.messages import Reply, SigningRequest
from payments.chains.signer.service import SEQUENCES_PER_PAYOUT, SIGNED_AGAIN_FOR, SIGNED_WITHIN
from payments.chains.stellar.keys.wallet_keys import Keys
from tests.evm.network import devnet
from tests.signer.signer import POLYGON, PROFILES, STELLAR, OwnSigner, intent
from tests.stellar.network.keys import HOT_WALLET_KEY

PROFILE = PROFILES[POLYGON]
USDC = PROFILE.assets["USDC"].contract
DAI = PROFILE.assets["DAI"].contract
SOMEBODY, THIEF = "0x" + "11" * 20, "0x" + "66" * 20
COIN = 10**6


def transfer(to: str, amount: int) -> bytes:
    return abi.call("transfer(address,uint256)", to, amount)


def transaction(sequence: int = 0, to: str = USDC, data: bytes | None = None, **changes: Any) -> Transaction:
    fields: dict[str, Any] = {"chain_id": PROFILE.evm_chain_id, "gas": 80_000, "max_fee": 100 * GWEI, "tip": 30 * GWEI}
    call = transfer(SOMEBODY, COIN) if data is None else data
    return Transaction(**{**fields, "nonce": sequence, "to": to, "data": call, **changes})


def payout(
    signer: OwnSigner,
    amount: int = COIN,
    *,
    sequence: int = 0,
    payout_id: str = "one",
    said: dict[str, Any] | None = None,
    **changes: Any,
) -> SigningRequest:
    """A payout as the executor asks for it; `said` is what its intent has that nobody asked for."""
    asked = replace(intent(POLYGON, payout_id, amount, SOMEBODY), **(said or {}))
    made = transaction(sequence, **{"data": transfer(SOMEBODY, amount), **changes})
    empty = request_for(made, Purpose(), devnet.HOT_WALLET, signer.client(POLYGON))
    return replace(empty, intents=(asked,))


def sweep(signer: OwnSigner, **changes: Any) -> SigningRequest:
    fields = {"to": devnet.DEPLOYMENT.factory, "data": abi.call("sweep(uint256[],address)", (1, 2), USDC), **changes}
    return request_for(transaction(**fields), Purpose(sweeps="USDC"), devnet.HOT_WALLET, signer.client(POLYGON))


def refusal(signer: OwnSigner, request: SigningRequest) -> Reply:
    before = [line for line in signer.lines() if '"hash"' in line]
    reply = signer.service.reply_to(request)
    assert not reply.raw
    assert [line for line in signer.lines() if '"hash"' in line] == before
    return reply


def test_what_was_asked_for_is_signed_as_the_key_itself_signs_it(signer: OwnSigner) -> None:
    asked = transaction()
    raw = signer.client(POLYGON).sign(payout(signer))
    assert raw == signer_from_key(devnet.HOT_WALLET_KEY).sign(asked).raw
    assert read_signed(signer.client(POLYGON).sign(sweep(signer, sequence=1))).to == devnet.DEPLOYMENT.factory


def dear(signer: OwnSigner, last: int) -> SigningRequest:
    """The last of so many transactions, each of which may cost 32 of the 100 coins that a day's fees may be."""
    every = [
        payout(signer, sequence=number, payout_id=f"dear {number}", gas=16_000_000, max_fee=2_000 * GWEI)
        for number in range(1, last + 1)
    ]
    assert all(signer.service.reply_to(each).raw for each in every[:-1])
    return every[-1]


ATTACKS: dict[str, tuple[str, Callable[[OwnSigner], SigningRequest]]] = {
    "the row names the thief": ("not_asked_for", lambda signer: payout(signer, said={"recipient": THIEF})),
    "the row names the thief, and the transaction too": (
        "not_asked_for",
        lambda signer: payout(signer, said={"recipient": THIEF}, data=transfer(THIEF, COIN)),
    ),
    "the row has more": (
        "not_asked_for",
        lambda signer: payout(signer, said={"amount": 2 * COIN}, data=transfer(SOMEBODY, 2 * COIN)),
    ),
    "the row has another coin": (
        "not_asked_for",
        lambda signer: payout(signer, said={"coin": "DAI"}, to=DAI),
    ),
    "an invented row with the proof of another": (
        "not_asked_for",
        lambda signer: payout(signer, said={"payout_id": "two"}),
    ),
    "a row without a proof": ("not_asked_for", lambda signer: payout(signer, said={"mac": ""})),
    "only the transaction names the thief": ("differs", lambda signer: payout(signer, data=transfer(THIEF, COIN))),
    "only the transaction has more": ("differs", lambda signer: payout(signer, data=transfer(SOMEBODY, 2 * COIN))),
    "an approval to spend all": (
        "differs",
        lambda signer: payout(signer, data=abi.call("approve(address,uint256)", THIEF, 2**255)),
    ),
    "something behind the call": ("differs", lambda signer: payout(signer, data=transfer(SOMEBODY, COIN) + b"\0")),
    "another contract": ("differs", lambda signer: payout(signer, to=DAI)),
    "native coins beside it": ("differs", lambda signer: payout(signer, units=1)),
    "another network": ("differs", lambda signer: payout(signer, chain_id=1)),
    "another network by name": ("unknown_network", lambda signer: replace(payout(signer), network="ethereum")),
    "another wallet": ("differs", lambda signer: replace(payout(signer), account=SOMEBODY)),
    "fees above the cap": ("fees", lambda signer: payout(signer, max_fee=2_001 * GWEI)),
    "a tip above the fee": ("fees", lambda signer: payout(signer, tip=101 * GWEI)),
    "more gas than a transaction may use": ("fees", lambda signer: payout(signer, gas=16_777_217)),
    "fees of more than a day": ("fees", lambda signer: dear(signer, 4)),
    "above a transfer": ("over_limit", lambda signer: payout(signer, 101 * COIN)),
    "the same payout twice": (
        "differs",
        lambda signer: replace(payout(signer), intents=payout(signer).intents * 2),
    ),
    "nothing at all": ("differs", lambda signer: replace(payout(signer), intents=())),
    "a payout that says it is a sweep": ("differs", lambda signer: replace(payout(signer), sweeps="USDC")),
    "a transfer that says it is a sweep": (
        "differs",
        lambda signer: sweep(signer, to=USDC, data=transfer(THIEF, COIN)),
    ),
    "a sweep by another factory": ("differs", lambda signer: sweep(signer, to=THIEF)),
    "another call of the factory": (
        "differs",
        lambda signer: sweep(signer, data=abi.call("set_treasury(address)", THIEF)),
    ),
}


@pytest.mark.parametrize(("code", "attack"), ATTACKS.values(), ids=ATTACKS)
def test_whatever_else_is_asked_for_is_refused_and_recorded(
    signer: OwnSigner, code: str, attack: Callable[[OwnSigner], SigningRequest]
) -> None:
    request = attack(signer)
    lines = len(signer.lines())
    reply = refusal(signer, request)
    assert reply.refused == code
    assert len(signer.lines()) == lines + 1
    assert f'"refused":"{code}"' in signer.lines()[-1]


@pytest.mark.parametrize(
    "change",
    [{"data": 5}, {"data": "zz"}, {"gas": "80000"}, {"gas": True}, {"gas": -1}, {"to": 5}, {"max_fee": None}, {}],
    ids=str,
)
def test_fields_of_a_wrong_kind_are_refused(signer: OwnSigner, change: dict[str, object]) -> None:
    asked = payout(signer)
    broken = {**asked.transaction, **change} if change else {}
    assert refusal(signer, replace(asked, transaction=broken)).refused == "differs"


def test_the_limit_of_a_day_counts_over_restarts_and_ends_after_a_day(signer: OwnSigner) -> None:
    for number in (1, 2):
        assert signer.service.reply_to(payout(signer, 100 * COIN, sequence=number, payout_id=f"{number}")).raw
    third = payout(signer, 51 * COIN, sequence=3, payout_id="3")
    assert refusal(signer, third) == Reply(
        refused="over_limit", reason="It is above what the signer's policy allows.", payouts=("3",)
    )
    signer.stop()
    signer.start()
    assert refusal(signer, third).refused == "over_limit"
    assert signer.service.reply_to(payout(signer, 50 * COIN, sequence=3, payout_id="4")).raw
    signer.let_pass(timedelta(hours=24))
    assert signer.service.reply_to(third).raw


def test_another_version_of_the_same_sequence_counts_once(signer: OwnSigner) -> None:
    for fee in (100, 113, 128):
        assert signer.service.reply_to(payout(signer, 100 * COIN, max_fee=fee * GWEI)).raw
    assert signer.record.paid_in_a_day(*POLYGON, "USDC") == 100 * COIN
    assert signer.record.fees_in_a_day(*POLYGON) == 80_000 * 128 * GWEI


@pytest.mark.parametrize("place", [POLYGON, STELLAR], ids=lambda place: place[1])
def test_what_was_kept_back_and_is_signed_again_another_day_counts_in_that_day(
    signer: OwnSigner, place: tuple[str, str]
) -> None:
    """On stellar bytes end after minutes: else a thief would have the limits of all days since, at once."""
    asked = kept_back if place == POLYGON else kept_back_on_stellar
    for number in (0, 1):
        assert signer.service.reply_to(asked(signer, number)).raw
    spent, cost = signer.record.paid_in_a_day(*place, "USDC"), signer.record.fees_in_a_day(*place)
    assert spent
    assert cost
    signer.let_pass(timedelta(days=1))
    assert (signer.record.paid_in_a_day(*place, "USDC"), signer.record.fees_in_a_day(*place)) == (0, 0)
    assert signer.service.reply_to(asked(signer, 2)).raw
    for _again in range(2):
        assert signer.service.reply_to(asked(signer, 0)).raw
        assert signer.record.paid_in_a_day(*place, "USDC") == spent
        assert signer.record.fees_in_a_day(*place) == cost
    assert refusal(signer, asked(signer, 1)).refused == "over_limit"
    signer.stop()
    signer.start()
    assert refusal(signer, asked(signer, 1)).refused == "over_limit"


def kept_back(signer: OwnSigner, number: int) -> SigningRequest:
    return payout(signer, 100 * COIN, sequence=number, payout_id=f"{number}")


def kept_back_on_stellar(signer: OwnSigner, number: int) -> SigningRequest:
    until = int((signer.clock() + timedelta(minutes=5)).timestamp())
    fields = {"fee_per_operation": 200, "valid_until": until, "raises": ""}
    wallet = Keys(HOT_WALLET_KEY).address
    paid = intent(STELLAR, f"{number}", 100 * 10**7, wallet)
    return SigningRequest(*STELLAR, wallet, 7 + number, intents=(paid,), transaction=fields)


def test_a_payout_whose_row_was_set_back_is_signed_for_a_few_times_at_most(signer: OwnSigner) -> None:
    for sequence in range(SEQUENCES_PER_PAYOUT):
        assert signer.service.reply_to(payout(signer, sequence=sequence)).raw
    signer.let_pass(timedelta(days=400))
    signer.stop()
    signer.start()
    again = payout(signer, sequence=SEQUENCES_PER_PAYOUT)
    assert (refusal(signer, again).refused, signer.service.reply_to(again).payouts) == ("too_often", ("one",))
    assert signer.service.reply_to(payout(signer, sequence=0)).raw


def test_no_more_is_signed_in_a_minute_than_the_policy_says(signer: OwnSigner) -> None:
    signer.stop()
    signer.policy = signer.policy.replace("signatures_per_minute = 1000", "signatures_per_minute = 2")
    signer.start()
    for sequence in (0, 1):
        assert signer.service.reply_to(payout(signer, sequence=sequence)).raw
    assert refusal(signer, sweep(signer, sequence=2)).refused == "rate"
    signer.let_pass(timedelta(minutes=1))
    assert signer.service.reply_to(sweep(signer, sequence=2)).raw


def test_a_stop_holds_until_it_is_taken_away_over_restarts_too(signer: OwnSigner) -> None:
    (signer.folder / "stop").write_text("Ada saw something odd.\n")
    signer.stop()
    signer.start()
    for request in (payout(signer), sweep(signer)):
        with pytest.raises(SignerRefused, match=r"\(stopped\): The signer was stopped. Ada saw something odd."):
            signer.client(POLYGON).sign(request)
    (signer.folder / "stop").unlink()
    assert signer.client(POLYGON).sign(payout(signer))


def test_a_paid_payout_whose_row_was_set_back_is_not_signed_again_a_year_later(signer: OwnSigner) -> None:
    assert signer.service.reply_to(payout(signer, sequence=0)).raw
    signer.let_pass(SIGNED_AGAIN_FOR)
    assert signer.service.reply_to(payout(signer, sequence=1)).raw  # its transfer may have failed
    signer.let_pass(timedelta(seconds=1))
    assert signer.service.reply_to(payout(signer, sequence=1, max_fee=110 * GWEI)).raw  # another version of the same
    signer.let_pass(timedelta(days=365))
    signer.stop()
    signer.start()
    for sequence in (2, 3):
        reply = refusal(signer, payout(signer, sequence=sequence))
        assert (reply.refused, reply.payouts) == ("too_late", ("one",))
    assert signer.service.reply_to(payout(signer, sequence=2, payout_id="another")).raw


def test_a_payout_of_long_ago_is_not_signed_for_the_first_time(signer: OwnSigner) -> None:
    made_at = signer.clock()
    one, other = (str(new_uuid(int(made_at.timestamp() * 1000))) for _ in range(2))
    signer.let_pass(SIGNED_WITHIN)
    assert signer.service.reply_to(payout(signer, payout_id=one)).raw
    signer.let_pass(timedelta(days=1))
    old = payout(signer, payout_id=other, sequence=1)
    assert (refusal(signer, old).refused, signer.service.reply_to(old).payouts) == ("too_old", (other,))
    younger = str(new_uuid(int(signer.clock().timestamp() * 1000)))
    for said in ({"payout_id": younger}, {"payout_id": other.upper()}, {"mac": "\udcff"}):
        moved = payout(signer, payout_id=other, sequence=1, said=said)
        assert refusal(signer, moved).refused == "not_asked_for"
    assert signer.service.reply_to(payout(signer, payout_id=one, max_fee=110 * GWEI)).raw  # another version
    assert signer.service.reply_to(payout(signer, payout_id=one, sequence=1)).raw  # its transfer may have failed
