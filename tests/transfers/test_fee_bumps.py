"""Fees raised around one signed transaction: it has several hashes, is settled once, and every hash finds it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from payments.chains import registry
from payments.chains.simulated import control, mempool, signing
from payments.chains.simulated.clock import locked
from payments.transfers.audit.wallet_snapshot import WalletSnapshot, take_wallet_snapshot
from payments.transfers.models import Transfer
from payments.transfers.states import PayoutStatus, TransferStatus
from payments.treasury.wallet_balances import wallet_balances
from tests.networks import put_simulated
from tests.payments.scenes import watch
from tests.transfers.scenes import (
    COIN,
    SANDBOX,
    STELLAR,
    ask,
    drive,
    finish,
    fresh,
    on_chain,
    somebody,
    stock,
    the_transfer,
    wait_no_longer,
)
from tests.transfers.test_invariants import findings

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    put_simulated(monkeypatch, STELLAR, replace_after_seconds=0)


def assert_coins_are_explained() -> None:
    watch()
    snapshot = take_wallet_snapshot(SANDBOX, STELLAR)
    assert isinstance(snapshot, WalletSnapshot)
    assert {each.asset.code: each.unexplained for each in wallet_balances(snapshot) if each.account.kind != "gas"} == {
        "USDC": 0,
        "USDT": 0,
        "DAI": 0,
    }


@pytest.mark.parametrize("mined", [0, 1, 2], ids=["as it was first signed", "raised once", "raised twice"])
def test_whichever_version_is_in_a_block_the_payout_is_paid_once(mined: int) -> None:
    stock(STELLAR, 10 * COIN)
    payout = ask(STELLAR)
    drive(STELLAR)
    control.set_fee_level(STELLAR, 15)
    drive(STELLAR, rounds=4)
    versions = list(the_transfer().envelopes.all())
    assert len(versions) == 3, "the fourth would offer more than may be paid"
    assert len({version.valid_until for version in versions}) == 1
    if mined < 2:
        control.revive(STELLAR, versions[mined].transaction_hash)
    control.set_fee_level(STELLAR, 1)
    control.mine(STELLAR)
    assert_coins_are_explained()
    assert findings() == {}

    drive(STELLAR)
    assert fresh(payout).status == PayoutStatus.PAID
    assert the_transfer().transaction_hash == versions[mined].transaction_hash
    finish(STELLAR)
    assert on_chain(STELLAR, somebody(STELLAR)) == COIN
    assert_coins_are_explained()
    assert findings() == {}


def test_a_fee_that_a_stranger_raised_is_found_as_our_transfer() -> None:
    stock(STELLAR, 10 * COIN)
    payout = ask(STELLAR)
    control.lose_broadcasts(STELLAR, 1)
    drive(STELLAR)
    ours = the_transfer().envelopes.get()
    content = signing.read(bytes(ours.raw))
    around_it = replace(content, fee_offer=content.fee_offer * 10, inner=ours.transaction_hash).to_bytes()
    with locked(STELLAR) as row:
        mempool.accept(row, around_it)
    control.mine(STELLAR)
    assert_coins_are_explained()
    assert findings() == {}, "it is ours before anybody has looked what became of it"
    drive(STELLAR)
    assert fresh(payout).status == PayoutStatus.PAID
    assert the_transfer().transaction_hash == signing.hash_of(STELLAR, around_it)
    assert_coins_are_explained()
    assert findings() == {}
    found = registry.chain(SANDBOX, STELLAR).reading.find_transaction(ours.transaction_hash)
    assert found is not None
    assert found.transaction_hash == the_transfer().transaction_hash


def test_raising_the_fee_gives_no_more_time_and_what_expired_is_signed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    stock(STELLAR, 10 * COIN)
    payout = ask(STELLAR)
    with monkeypatch.context() as brief:
        brief.setattr("payments.chains.simulated.sending.VALIDITY", timedelta(minutes=1))
        drive(STELLAR)
    control.set_fee_level(STELLAR, 500)
    drive(STELLAR, rounds=3)
    assert the_transfer().envelopes.count() == 2
    control.set_fee_level(STELLAR, 2_000)
    control.mine(STELLAR, at=timezone.now() + timedelta(minutes=2))
    control.set_fee_level(STELLAR, 1)
    drive(STELLAR)
    assert Transfer.objects.order_by("id")[0].status == TransferStatus.DEAD
    wait_no_longer()
    finish(STELLAR)
    assert fresh(payout).status == PayoutStatus.PAID
    assert [each.status for each in Transfer.objects.order_by("id")] == ["dead", "final"]
    assert on_chain(STELLAR, somebody(STELLAR)) == COIN
