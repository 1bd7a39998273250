"""What becomes of what was sent, by Horizons that lag, lose, refuse and forget."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from stellar_sdk import BumpSequence

from payments.chains.errors import ChainUnavailable, RecipientProblem, TransferRefused
from payments.chains.protocol.payouts import PayoutInstruction, TransactionStatus
from payments.chains.stellar.keys import envelopes
from tests.stellar.network import keys
from tests.stellar.place import STOCK, USDC, WALLET, XLM, Place, key_of

VALIDITY_SECONDS = 300


@pytest.fixture
def place() -> Iterator[Place]:
    made = Place()
    yield made
    made.stop()


def test_a_transfer_is_signed_until_five_minutes_from_now_and_paid_once(place: Place) -> None:
    before = time.time()
    transfer = place.sign(*place.pay(7, 8))
    assert transfer.valid_until is not None
    assert before - 1 <= transfer.valid_until.timestamp() - VALIDITY_SECONDS <= time.time() + 60
    said = envelopes.read(transfer.raw, passphrase=keys.PASSPHRASE)
    assert (said.valid_until, said.transaction_hash) == (transfer.valid_until, transfer.transaction_hash)
    assert place.state(transfer) == "unknown"
    place.chain.sending.broadcast(transfer)
    place.chain.sending.broadcast(transfer)
    assert place.state(transfer) == "unknown"
    ledger = place.local.close_ledger()
    place.chain.sending.broadcast(transfer)
    status = place.chain.sending.status(transfer)
    assert (status.state, status.final, status.height, status.included_as) == ("included", True, ledger, "")
    assert 0 < status.fee_units == 200 <= transfer.fee_limit_units
    assert status.said_by == ("horizon-0", "horizon-1")
    assert [place.held(place.recipient(number)) for number in (1, 2)] == [7, 8]


def test_while_horizon_does_not_read_ledgers_nothing_is_known_and_nothing_is_paid_twice(place: Place) -> None:
    """Measured on a real Horizon: 404 by hash, tx_bad_seq for the same envelope, the old sequence of the account."""
    transfer = place.sign(*place.pay(7))
    place.chain.sending.broadcast(transfer)
    for each in (place.local, place.other):
        each.pause_ingestion()
    for _ in range(5):
        place.local.close_ledger()
    assert place.held(place.recipient()) == 7
    with pytest.raises(TransferRefused, match="tx_bad_seq"):
        place.chain.sending.broadcast(transfer)
    assert place.state(transfer) == "unknown"
    assert place.chain.hot_wallet.next_sequence(transfer.sender) == transfer.sequence
    for each in (place.local, place.other):
        each.resume_ingestion()
    assert place.state(transfer) == "included"
    assert place.chain.hot_wallet.next_sequence(transfer.sender) == transfer.sequence + 1
    assert place.held(place.recipient()) == 7


def test_its_time_is_over_for_ledgers_that_horizons_have_read_and_not_by_the_clock(place: Place) -> None:
    """The network included it in time; both Horizons stopped reading before that ledger."""
    transfer = place.sign(*place.pay(7))
    place.chain.sending.broadcast(transfer)
    for each in (place.local, place.other):
        each.pause_ingestion()
    place.local.close_ledger()
    place.local.close_ledger(10 * VALIDITY_SECONDS)
    assert place.state(transfer) == "unknown"
    for each in (place.local, place.other):
        each.resume_ingestion()
    assert place.state(transfer) == "included"


def test_one_horizon_that_lags_is_not_believed_and_stops_nothing_but_the_answer(place: Place) -> None:
    transfer = place.sign(*place.pay(7))
    place.chain.sending.broadcast(transfer)
    place.other.pause_ingestion()
    place.local.close_ledger()
    place.local.close_ledger(10 * VALIDITY_SECONDS)
    assert place.state(transfer) == "unknown"
    place.other.resume_ingestion()
    assert place.state(transfer) == "included"


@pytest.mark.parametrize(
    ("seconds_after", "state"), [(-10, "unknown"), (5, "unknown"), (59, "unknown"), (75, "expired")]
)
def test_what_got_into_no_ledger_expires_a_minute_after_its_time(place: Place, seconds_after: int, state: str) -> None:
    transfer = place.sign(*place.pay(7))
    assert transfer.valid_until is not None
    until = int(transfer.valid_until.timestamp()) + seconds_after
    place.local.close_ledger(until - place.local.network.state.closed_at)
    status = place.chain.sending.status(transfer)
    assert (status.state, status.final) == (state, state == "expired")
    if state == "expired":
        with pytest.raises(TransferRefused, match="tx_too_late"):
            place.chain.sending.broadcast(transfer)
        again = place.sign(*place.pay(7))
        assert again.sequence == transfer.sequence


def test_a_history_that_begins_later_proves_no_absence(place: Place) -> None:
    transfer = place.sign(*place.pay(7))
    place.local.close_ledger(2 * VALIDITY_SECONDS)
    ledger = place.local.close_ledger()
    for each in (place.local, place.other):
        each.reap_history(ledger)
    assert place.state(transfer) == "unknown"


def test_what_used_the_sequence_is_proof_that_it_was_replaced(place: Place) -> None:
    transfer = place.sign(*place.pay(7))
    rival = place.sign(*place.pay(9))
    assert rival.sequence == transfer.sequence
    place.chain.sending.broadcast(rival)
    with pytest.raises(TransferRefused, match="TRY_AGAIN_LATER"):
        place.chain.sending.broadcast(transfer)
    ledger = place.local.close_ledger()
    status = place.chain.sending.status(transfer)
    assert (status.state, status.final, status.height) == ("replaced", True, ledger)
    assert place.held(place.recipient()) == 9


def test_a_sequence_that_was_jumped_over_was_used_by_nobody(place: Place) -> None:
    """Only BumpSequence does that, which none but a thief of the key sends: the next sequence then is ahead of ours."""
    transfer = place.sign(*place.pay(7))
    place.local.act(WALLET, BumpSequence(transfer.sequence + 10))
    later = place.sign(*place.pay(7))
    assert later.sequence > transfer.sequence
    unused = place.chain.sending.sign(place.pay(7), sender=transfer.sender, sequence=transfer.sequence + 5)
    assert place.state(unused) == "unknown"
    place.local.close_ledger(3 * VALIDITY_SECONDS)
    assert place.state(unused) == "expired"


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        ("destination_invalid", "op_no_destination"),
        ("no_trustline", "op_no_trust"),
        ("no_trustline", "op_line_full"),
        ("destination_refused", "op_not_authorized"),
    ],
)
def test_a_batch_that_fails_names_those_it_failed_for(place: Place, problem: RecipientProblem, code: str) -> None:
    fault = key_of(50)
    if code != "op_no_destination":
        place.local.fund_native(fault.public_key, 10 * XLM)
    if code in ("op_line_full", "op_not_authorized"):
        place.local.trust(fault, "USDC", *([5] if code == "op_line_full" else []))
    if code == "op_not_authorized":
        place.local.deauthorise(fault.public_key, "USDC")
    good, bad = place.pay(7, 8, 9), PayoutInstruction(USDC, 6, fault.public_key)
    transfer = place.sign(good[0], bad, good[1], bad)
    place.chain.sending.broadcast(transfer)
    place.local.close_ledger()
    status = place.chain.sending.status(transfer)
    assert (status.state, status.final, dict(status.refused)) == ("failed", True, {1: problem, 3: problem})
    assert status.error == f"The network refused: {code} (2), {code} (4)."
    assert status.fee_units == 400
    assert place.held(WALLET) == STOCK
    assert place.chain.hot_wallet.next_sequence(transfer.sender) == transfer.sequence + 1


def test_a_fault_of_our_own_wallet_names_no_recipient(place: Place) -> None:
    transfer = place.sign(*place.pay(STOCK + 1))
    place.chain.sending.broadcast(transfer)
    place.local.close_ledger()
    status = place.chain.sending.status(transfer)
    assert (status.state, dict(status.refused)) == ("failed", {})
    assert status.error == "The network refused: op_underfunded (1)."
    place.local.deauthorise(WALLET.public_key, "USDC")
    blocked = place.sign(*place.pay(1))
    place.chain.sending.broadcast(blocked)
    place.local.close_ledger()
    status = place.chain.sending.status(blocked)
    assert (status.error, dict(status.refused)) == ("The network refused: op_src_not_authorized (1).", {})


def test_answers_that_never_came_are_no_answers(place: Place) -> None:
    transfer = place.sign(*place.pay(7))
    for each in (place.local, place.other):
        each.drop_after_accept(2)  # it is asked once more, on a fresh connection
    with pytest.raises(ChainUnavailable):
        place.chain.sending.broadcast(transfer)
    place.local.close_ledger()
    assert place.state(transfer) == "included"
    later = place.sign(*place.pay(7))
    for each in (place.local, place.other):
        each.try_again_later()
    with pytest.raises(TransferRefused, match="TRY_AGAIN_LATER"):
        place.chain.sending.broadcast(later)
    for each in (place.local, place.other):
        each.answer_next(504, path="/transactions_async")
    with pytest.raises(ChainUnavailable):
        place.chain.sending.broadcast(later)
    assert place.state(later) == "unknown"
    place.chain.sending.broadcast(later)
    place.local.close_ledger()
    assert place.state(later) == "included"


def test_one_horizon_that_denies_a_transaction_makes_nothing_known(place: Place) -> None:
    transfer = place.sign(*place.pay(7))
    place.chain.sending.broadcast(transfer)
    place.local.close_ledger()
    place.local.close_ledger(3 * VALIDITY_SECONDS)
    place.fronts[1].spoil(f"/transactions/{transfer.transaction_hash}", lambda said: said | {"hash": "0" * 64})
    with pytest.raises(ChainUnavailable):
        place.chain.sending.status(transfer)
    place.fronts[1].heal()
    assert place.state(transfer) == "included"


class Payer:
    """Pays as the executor does: what is not there is sent again, and what is dead is signed anew."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.payouts = place.pay(7)
        self.sent = [place.sign(*self.payouts)]

    def step(self) -> None:
        refused = False
        with suppress(ChainUnavailable):
            status = self.place.chain.sending.status(self.sent[-1])
            if status.state == "included":
                return
            try:
                self.place.chain.sending.broadcast(self.sent[-1])
            except TransferRefused as refusal:
                refused = "tx_bad_seq" in str(refusal)
            if self.is_dead(status, refused):
                sender = self.sent[-1].sender
                self.sent.append(
                    self.place.chain.sending.sign(self.payouts, sender=sender, sequence=self.sequence(sender))
                )

    def is_dead(self, status: TransactionStatus, has_bad_sequence: bool) -> bool:
        return status.final

    def sequence(self, sender: str) -> int:
        return self.place.chain.hot_wallet.next_sequence(sender)

    @property
    def paid(self) -> int:
        return self.place.held(self.place.recipient())


class CredulousPayer(Payer):
    """One that takes an absence, and tx_bad_seq, for a failure that used the sequence up."""

    def is_dead(self, status: TransactionStatus, has_bad_sequence: bool) -> bool:
        return status.state == "unknown" and has_bad_sequence

    def sequence(self, sender: str) -> int:
        return self.sent[-1].sequence + 1


@pytest.mark.parametrize(("kind", "pays_once"), [(Payer, True), (CredulousPayer, False)])
def test_whoever_takes_an_absence_for_a_failure_pays_twice_and_we_do_not(
    place: Place, kind: type[Payer], pays_once: bool
) -> None:
    payer = kind(place)
    payer.step()
    for each in (place.local, place.other):
        each.pause_ingestion()
    for _ in range(4):
        place.local.close_ledger()
        payer.step()
    for each in (place.local, place.other):
        each.resume_ingestion()
    for _ in range(4):
        place.local.close_ledger()
        payer.step()
    place.local.close_ledger(3 * VALIDITY_SECONDS)
    payer.step()
    place.local.close_ledger()
    assert payer.paid == 7 if pays_once else payer.paid > 7
