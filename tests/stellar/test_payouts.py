"""Payouts of the product over the local network: batches, memos, trustlines that are missing, Horizons that lag."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import transaction
from django.utils import timezone
from stellar_sdk import Payment as Pay

from config import ids
from merchants.ledger.posting import Line, post
from payments.chains import registry
from payments.chains.protocol.payouts import SignedTransfer
from payments.chains.stellar import addresses
from payments.chains.stellar.accounts import IS_REQUIRED, MEMO_REQUIRED
from payments.transfers.models import Envelope, Payout, Transfer
from payments.transfers.postings import hot_account
from payments.transfers.states import HoldReason, PayoutStatus, TransferStatus
from tests.factories import make_merchant
from tests.stellar.place import WALLET, XLM, Place, key_of
from tests.transfers.scenes import (
    SANDBOX,
    STELLAR,
    ask,
    drive,
    fresh,
    hot,
    treasury,
    wait_no_longer,
    why_frozen,
)

pytestmark = pytest.mark.django_db

STOCK = 1_000 * XLM


@pytest.fixture(params=[1, 3], ids=["own sequence", "three channels"])
def place(request: pytest.FixtureRequest, settings: object, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """The sandbox on a local network, its treasury stocked on the chain and in the ledger."""
    made = Place(channels=request.param)
    settings.SANDBOX_CHAIN = "devnet"  # type: ignore[attr-defined]
    monkeypatch.setattr(registry, "chain", lambda environment, network: made.chain)
    with transaction.atomic():
        lines = [Line(hot_account(STELLAR, "USDC"), STOCK), Line(treasury(STELLAR), -STOCK)]
        post(height=1, environment=SANDBOX, kind="treasury_in", reference=str(ids.new_uuid()), lines=lines)
    yield made
    made.stop()


def step(place: Place, times: int = 1) -> None:
    """A round, a ledger, and a round that looks at it."""
    for _ in range(times):
        wait_no_longer()
        drive(STELLAR, rounds=2)
        place.local.close_ledger()
        wait_no_longer()
        drive(STELLAR)


def statuses() -> Counter[str]:
    return Counter(Payout.objects.values_list("status", flat=True))


def test_a_run_of_payouts_leaves_in_few_envelopes_and_to_the_last_stroop(place: Place) -> None:
    people = [place.recipient(number) for number in range(1, 9)]
    ask_of_one = partial(ask, STELLAR, merchant=make_merchant())
    payouts = [ask_of_one(10 + number, to=people[number % 6].public_key) for number in range(101)]
    payouts += [ask_of_one(3, to=addresses.mux(people[6].public_key, number)) for number in range(3)]
    payouts += [ask_of_one(2, to=people[7].public_key, memo=memo) for memo in ("17", "17", "order 18")]
    step(place, 4)
    assert statuses() == {PayoutStatus.PAID: len(payouts)}
    assert Transfer.objects.count() == 4
    assert sum(place.held(each) for each in people) == sum(int(payout.amount) for payout in payouts)
    assert hot(STELLAR) == place.held(WALLET) == STOCK - sum(int(payout.amount) for payout in payouts)
    assert place.local.balance(WALLET.public_key, "XLM") == 100 * XLM - 3 * 100 - sum(
        int(transfer.fee_units) for transfer in Transfer.objects.all()
    )
    assert not why_frozen(STELLAR)


def test_one_without_a_trustline_waits_for_it_and_holds_up_nobody(place: Place) -> None:
    late = key_of(77)
    place.local.fund_native(late.public_key, 10 * XLM)
    paid = [ask(STELLAR, 5, to=place.recipient(number).public_key) for number in (1, 2, 3)]
    waits = ask(STELLAR, 9, to=late.public_key)
    step(place)
    assert [fresh(payout).status for payout in paid] == [PayoutStatus.PAID] * 3
    assert (fresh(waits).status, fresh(waits).hold_reason) == (PayoutStatus.HELD, HoldReason.NO_TRUSTLINE)
    place.local.trust(late, "USDC")
    step(place)
    assert fresh(waits).status == PayoutStatus.PAID
    assert place.held(late) == 9


def test_one_that_loses_its_trustline_after_the_check_is_taken_out_and_the_rest_is_sent_once(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen = place.recipient(4)
    paid = [ask(STELLAR, 5, to=place.recipient(number).public_key) for number in (1, 2, 3)]
    refused = ask(STELLAR, 9, to=frozen.public_key)
    monkeypatch.setattr(place.chain.hot_wallet, "check_recipient", lambda payout: None)
    place.local.deauthorise(frozen.public_key, "USDC")
    step(place, 2)
    assert [fresh(payout).status for payout in paid] == [PayoutStatus.PAID] * 3
    assert (fresh(refused).status, fresh(refused).failure_code) == (PayoutStatus.FAILED, "destination_refused")
    assert Transfer.objects.count() == 2
    assert place.held(WALLET) == STOCK - 15


def test_while_horizons_read_no_ledgers_nothing_is_paid_twice(place: Place) -> None:
    people = [place.recipient(number) for number in range(1, 6)]
    payouts = [ask(STELLAR, 5, to=each.public_key) for each in people]
    wait_no_longer()
    drive(STELLAR, rounds=2)
    for each in (place.local, place.other):
        each.pause_ingestion()
    step(place, 3)
    assert PayoutStatus.PAID not in statuses()
    assert [place.held(each) for each in people] == [5] * 5
    for each in (place.local, place.other):
        each.resume_ingestion()
    step(place, 3)
    assert statuses() == {PayoutStatus.PAID: len(payouts)}
    assert [place.held(each) for each in people] == [5] * 5
    assert not why_frozen(STELLAR)


def test_what_expired_is_signed_anew_with_the_same_sequence(place: Place) -> None:
    payout = ask(STELLAR, 5, to=place.recipient().public_key)
    place.local.freeze_submissions()
    step(place)
    first = Transfer.objects.get()
    place.local.close_ledger(600)
    place.chain.sending._clock = lambda: timezone.now() + timedelta(seconds=600)
    place.local.thaw_submissions()
    step(place, 3)
    assert fresh(payout).status == PayoutStatus.PAID
    assert place.held(place.recipient()) == 5
    assert [transfer.status for transfer in Transfer.objects.order_by("id")] == [
        TransferStatus.DEAD,
        TransferStatus.FINAL,
    ]
    assert {transfer.sequence for transfer in Transfer.objects.all()} == {first.sequence}


def test_a_surge_is_outbid_after_a_minute(place: Place) -> None:
    payout = ask(STELLAR, 5, to=place.recipient().public_key)
    wait_no_longer()
    drive(STELLAR)
    place.local.surge(5_000)
    step(place)
    assert fresh(payout).status != PayoutStatus.PAID
    Envelope.objects.update(signed_at=timezone.now() - timedelta(minutes=2))
    step(place, 2)
    assert fresh(payout).status == PayoutStatus.PAID
    assert Envelope.objects.count() == 2
    assert place.held(place.recipient()) == 5
    assert Transfer.objects.get().transaction_hash == list(Envelope.objects.all())[1].transaction_hash


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.django_db(transaction=True)
def test_a_set_up_that_was_killed_midway_takes_a_sequence_and_freezes_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = place.chain.sending.broadcast

    def send_and_die(transfer: SignedTransfer) -> None:
        send(transfer)
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(place.chain.sending, "broadcast", send_and_die)
        with pytest.raises(Killed):
            call_command("setup_stellar", "--yes", "--env", SANDBOX, stdout=StringIO())
    sequence = place.chain.hot_wallet.next_sequence(WALLET.public_key)
    payout = ask(STELLAR, 5, to=place.recipient().public_key)
    wait_no_longer()
    drive(STELLAR)
    uses_its_own = Transfer.objects.filter(channel="", sequence=sequence).exists()
    assert uses_its_own == (place.chain.channels() == (WALLET.public_key,))
    step(place, 2)
    assert place.local.network.state.accounts[WALLET.public_key].data[MEMO_REQUIRED] == IS_REQUIRED
    assert not why_frozen(STELLAR)
    assert fresh(payout).status == PayoutStatus.PAID
    died = [TransferStatus.DEAD] * uses_its_own
    assert [each.status for each in Transfer.objects.order_by("id")] == [*died, TransferStatus.FINAL]
    assert place.held(place.recipient()) == 5


def test_a_sequence_that_was_used_to_pay_somebody_freezes_the_wallet(place: Place) -> None:
    channel = place.keys.channel(place.chain.channels()[0])  # whose sequence the payout uses
    place.local.fund_native(channel.public_key, XLM)  # for the fee
    theft = Pay(place.recipient(2).public_key, place.local.asset("USDC"), "1", WALLET.public_key)
    paid = place.local.envelope(channel, theft, signers=tuple(dict.fromkeys((channel, WALLET))))
    payout = ask(STELLAR, 5, to=place.recipient().public_key)
    wait_no_longer()
    drive(STELLAR)
    [applied] = place.local.network.close_with(paid)
    assert applied.successful
    step(place, 2)
    assert "a transaction that Ballast did not sign" in why_frozen(STELLAR)
    assert fresh(payout).status != PayoutStatus.PAID
