"""Deposits on their way to the hot wallet: what is swept, what is booked for it, and what stays when it fails."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django.fixtures import Settings

from config import ids
from merchants.ledger.checking import Scope, registered
from merchants.ledger.posting import Line, PostingDraft, post_draft
from payments import tasks
from payments.chains import registry
from payments.chains.protocol.payouts import SignedTransfer
from payments.chains.simulated import control
from payments.chains.simulated.sweeps import Sweeps
from payments.deposits import postings
from payments.deposits.models import ScanCursor
from payments.models import Deposit, Payment
from payments.suspense.acceptance import accept_discrepancy
from payments.transfers.execution import executor
from payments.transfers.models import Transfer, Wallet
from payments.transfers.payouts import request_payout
from payments.transfers.postings import hot_account, payout_account
from payments.transfers.services import freeze_wallet
from payments.treasury import sweeping
from payments.treasury.models import Sweep
from payments.treasury.sweep_booking import book_sweeps
from tests.payments.scenes import (
    BLOCKS_UNTIL_FINAL,
    ETHEREUM,
    POLYGON,
    SANDBOX,
    STELLAR,
    assert_all_is_well,
    books,
    confirm,
    deposit_of,
    discrepancy,
    end_window,
    make_payment,
    mine,
    mine_and_watch,
    now,
    pay,
    pay_and_confirm,
    units,
    watch,
)
from tests.stopping import halt, lift_halt
from tests.transfers.scenes import drive, hot, on_chain, the_wallet

pytestmark = pytest.mark.django_db


def sweep(network: str = ETHEREUM) -> None:
    """Sign what is due, send it, let it become final, and book it."""
    tasks.sweep()
    drive(network, 2)
    mine_and_watch(network, BLOCKS_UNTIL_FINAL[network])
    drive(network)
    tasks.sweep()


def sweeps() -> list[tuple[int, int | None]]:
    """What each was to move and what it moved."""
    return [(each.expected, each.moved) for each in Sweep.objects.order_by("id")]


def swept(payment: Payment) -> list[bool]:
    return [deposit.is_swept for deposit in payment.deposits.order_by("id")]


def test_a_final_deposit_is_brought_to_the_hot_wallet() -> None:
    payment = pay_and_confirm(make_payment(ETHEREUM))
    sweep()
    assert sweeps() == [(payment.due, payment.due)]
    assert swept(payment) == [True]
    assert on_chain(ETHEREUM, payment.deposit_address) == 0
    assert hot(ETHEREUM) == payment.due
    assert on_chain(ETHEREUM, the_wallet(ETHEREUM).address) == payment.due
    assert books(payment)["chain:hot"] == payment.due
    assert "chain:deposit" not in books(payment)
    assert_all_is_well()

    for _ in range(3):
        sweep()
    assert len(sweeps()) == 1


def test_nothing_is_swept_before_it_is_final() -> None:
    mine(ETHEREUM, 7)
    payment = make_payment(ETHEREUM)
    pay(payment)
    mine_and_watch(ETHEREUM, 6)
    assert now(payment).status == "completed"
    assert sweeping.sweep_due(SANDBOX, ETHEREUM) == 0
    mine_and_watch(ETHEREUM)
    assert sweeping.sweep_due(SANDBOX, ETHEREUM) == 1


def test_one_transfer_empties_many_addresses_and_takes_every_kind_of_money() -> None:
    payments = [make_payment(ETHEREUM) for _ in range(4)]
    pay(payments[0])
    pay(payments[1], "60")
    pay(payments[2], "130")
    pay(payments[3], "7")
    pay(payments[3], "8")
    pay(payments[0], "5", coin="DAI")
    confirm(payments[0])
    end_window(payments[1])
    sweep()
    total = sum(units(payments[0], amount) for amount in ("100", "60", "130", "7", "8"))
    assert sorted(sweeps()) == [(total, total), (5 * 10**18, 5 * 10**18)]
    assert [swept(payment) for payment in payments] == [[True, True], [True], [True], [True, True]]
    assert_all_is_well()


def test_money_on_the_wrong_network_is_swept_there() -> None:
    payment = pay_and_confirm(make_payment(ETHEREUM), "70", network=POLYGON)
    sweep(POLYGON)
    assert swept(payment) == [True]
    assert hot(POLYGON) == units(payment, "70", network=POLYGON)
    assert_all_is_well()


def test_where_deposits_arrive_at_the_hot_wallet_there_is_nothing_to_sweep() -> None:
    pay_and_confirm(make_payment(STELLAR))
    assert sweeping.sweep_due(SANDBOX, STELLAR) == 0


def test_a_threshold_waits_for_enough(settings: Settings) -> None:
    settings.SWEEP_THRESHOLD = 150
    first = pay_and_confirm(make_payment(ETHEREUM))
    assert sweeping.sweep_due(SANDBOX, ETHEREUM) == 0
    second = pay_and_confirm(make_payment(ETHEREUM, amount="50"))
    sweep()
    assert sweeps() == [(first.due + second.due, first.due + second.due)]


def test_payouts_that_wait_for_coins_do_not_wait_for_the_threshold(settings: Settings) -> None:
    settings.SWEEP_THRESHOLD = 1_000
    payment = pay_and_confirm(make_payment(ETHEREUM))
    key = ids.new_uuid()
    with transaction.atomic():
        reserved = (
            Line(postings.available_account(payment, ETHEREUM, "USDC"), payment.due),
            Line(payout_account(ETHEREUM, "USDC", key), -payment.due),
        )
        post_draft(PostingDraft("reserved", str(key), reserved, height=1), environment=SANDBOX)
        payout = request_payout(
            id=key,
            environment=SANDBOX,
            merchant_id=payment.merchant_id,
            reference=ids.REFUND.encode(key),
            asset=registry.asset(SANDBOX, ETHEREUM, "USDC"),
            amount=payment.due,
            recipient=payment.merchant_wallet,
        )
    drive(ETHEREUM)
    payout.refresh_from_db()
    assert payout.hold_reason == "insufficient_liquidity"
    sweep()
    sweep()
    payout.refresh_from_db()
    assert payout.status == "paid"


def test_the_fullest_addresses_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    payments = [make_payment(ETHEREUM, amount=amount) for amount in ("10", "30", "20")]
    for payment in payments:
        pay(payment)
    confirm(payments[0])
    asset = registry.asset(SANDBOX, ETHEREUM, "USDC")
    waiting = Deposit.objects.filter(sweep__isnull=True)
    fullest = sweeping.waiting_addresses(ScanCursor.objects.get(network=ETHEREUM), "USDC")[:2]
    assert sweeping._sign(SANDBOX, registry.chain(SANDBOX, ETHEREUM), asset, waiting, fullest) is not None
    [transfer] = Transfer.objects.all()
    assert transfer.deposits == [payments[1].sequence, payments[2].sequence]
    assert sweeps() == [(units(payments[0], "50"), None)]


def test_two_sweepers_take_each_deposit_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pay_and_confirm(make_payment(ETHEREUM))

    def slow(**asked: Any) -> Transfer | None:
        monkeypatch.undo()
        assert sweeping.sweep_due(SANDBOX, ETHEREUM) == 1  # the other one, which began later
        return executor.sign_sweep(**asked)

    monkeypatch.setattr(sweeping, "sign_sweep", slow)
    assert sweeping.sweep_due(SANDBOX, ETHEREUM) == 0
    assert (Sweep.objects.count(), Transfer.objects.count()) == (1, 1)


def test_money_that_a_sweep_took_along_is_not_swept_again() -> None:
    payment = pay_and_confirm(make_payment(ETHEREUM))
    tasks.sweep()
    pay(payment, "25")  # while the sweep waits to be sent: it is in the next block, the sweep in a later one
    mine(ETHEREUM)
    drive(ETHEREUM, 2)
    mine(ETHEREUM, BLOCKS_UNTIL_FINAL[ETHEREUM])
    drive(ETHEREUM)
    assert on_chain(ETHEREUM, payment.deposit_address) == 0

    # The ledger does not have these coins yet, and the sweep waits for them.
    assert book_sweeps() == 0
    assert hot(ETHEREUM) == 0
    watch()
    assert book_sweeps() == 1
    assert sweeps() == [(payment.due, payment.due + units(payment, "25"))]
    assert hot(ETHEREUM) == payment.due + units(payment, "25")
    assert sweeping.sweep_due(SANDBOX, ETHEREUM) == 0
    assert swept(payment) == [True, True]
    accept_discrepancy(discrepancy(payment), resolved_by="Ada")
    assert_all_is_well()


def test_money_that_arrives_after_a_sweep_is_for_the_next_one() -> None:
    payment = pay_and_confirm(make_payment(ETHEREUM))
    sweep()
    pay_and_confirm(payment, "25")
    sweep()
    assert sweeps() == [(payment.due, payment.due), (units(payment, "25"),) * 2]
    assert on_chain(ETHEREUM, payment.deposit_address) == 0
    assert_all_is_well()


def test_a_sweep_that_can_never_be_mined_gives_its_deposits_back() -> None:
    payment = pay_and_confirm(make_payment(ETHEREUM))
    assert sweeping.sweep_due(SANDBOX, ETHEREUM) == 1
    Transfer.objects.update(status="dead", next_step_at=None, finished_at=timezone.now())
    assert book_sweeps() == 1
    [dead] = Sweep.objects.all()
    assert (dead.moved, dead.booked_at is not None) == (0, True)
    assert now(payment).deposits.get().sweep_id is None
    assert books(payment)["chain:deposit"] == payment.due


def test_a_provider_that_is_behind_does_not_make_a_sweep_look_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    payment = pay_and_confirm(make_payment(ETHEREUM))
    tasks.sweep()
    drive(ETHEREUM, 2)
    mine_and_watch(ETHEREUM, BLOCKS_UNTIL_FINAL[ETHEREUM])
    drive(ETHEREUM)
    transfer = Transfer.objects.get()
    real_hash = transfer.transaction_hash
    Transfer.objects.update(transaction_hash="0x" + "ab" * 32)  # what the provider has not heard of
    assert book_sweeps() == 0
    assert sweeps() == [(payment.due, None)]
    Transfer.objects.update(transaction_hash=real_hash)
    assert book_sweeps() == 1
    assert sweeps() == [(payment.due, payment.due)]


def test_coins_that_a_sweep_brought_elsewhere_are_not_booked_as_ours() -> None:
    payment = pay_and_confirm(make_payment(ETHEREUM))
    tasks.sweep()
    drive(ETHEREUM, 2)
    mine_and_watch(ETHEREUM, BLOCKS_UNTIL_FINAL[ETHEREUM])
    drive(ETHEREUM)
    wallet = the_wallet(ETHEREUM).address
    Wallet.objects.update(address="0x" + "ab" * 20)  # the coins went to another wallet than the one they are booked to
    assert book_sweeps() == 0
    assert sweeps() == [(payment.due, None)]
    assert "came to no wallet of ours" in Sweep.objects.get().last_error
    assert books(payment)["chain:deposit"] == payment.due
    Wallet.objects.update(address=wallet)
    assert book_sweeps() == 1
    assert sweeps() == [(payment.due, payment.due)]


def test_a_sweep_that_nobody_books_is_found() -> None:
    pay_and_confirm(make_payment(ETHEREUM))
    assert sweeping.sweep_due(SANDBOX, ETHEREUM) == 1
    Transfer.objects.update(
        status="final",
        next_step_at=None,
        finished_at=timezone.now() - timedelta(minutes=11),
        transaction_hash="0x" + "ab" * 32,
    )
    check = {each.code: each.check for each in registered()}["I15"]
    assert [finding.expected for finding in check(Scope())] == ["booked within 10 minutes"]
    assert list(check(Scope(network=POLYGON))) == []


def test_a_halted_network_is_not_swept() -> None:
    payment = pay_and_confirm(make_payment(ETHEREUM))
    halt(ETHEREUM)
    assert sweeping.sweep_due(SANDBOX, ETHEREUM) == 0
    lift_halt(ETHEREUM)
    assert sweeping.sweep_due(SANDBOX, ETHEREUM) == 1
    assert payment.deposits.get().sweep_id is not None


def test_a_sweep_is_not_kept_when_its_wallet_was_frozen_while_it_was_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    payment, sign = pay_and_confirm(make_payment(ETHEREUM)), Sweeps.sign

    def frozen_meanwhile(sweeps: Sweeps, *args: Any, **named: Any) -> SignedTransfer:
        freeze_wallet(the_wallet(ETHEREUM), reason="looks odd")
        return sign(sweeps, *args, **named)

    monkeypatch.setattr(Sweeps, "sign", frozen_meanwhile)
    assert sweeping.sweep_due(SANDBOX, ETHEREUM) == 0
    assert payment.deposits.get().sweep_id is None


# The network broke its word: a final deposit that was swept is undone.


def broken_word(payment: Payment, transaction_hash: str) -> Payment:
    depth = registry.chain(SANDBOX, ETHEREUM).reading.head().height - deposit_of(transaction_hash).height + 1
    control.reorg(ETHEREUM, depth, "dropped", only=[transaction_hash], force=True)
    mine_and_watch(ETHEREUM, BLOCKS_UNTIL_FINAL[ETHEREUM])
    lift_halt(ETHEREUM)
    watch()
    return now(payment)


@pytest.mark.parametrize("spent", ["0", "40", "100"])
def test_a_swept_deposit_that_is_undone_is_taken_from_where_coins_are(spent: str) -> None:
    payment = make_payment(ETHEREUM)
    transaction_hash = pay(payment)
    confirm(payment)
    sweep()
    assert swept(payment) == [True]
    other = pay_and_confirm(make_payment(ETHEREUM, amount="300"))
    left = units(payment, spent)
    if left:  # has left the hot wallet, for whatever it paid
        gone = (
            Line(postings.available_account(other, ETHEREUM, "USDC"), left),
            Line(hot_account(ETHEREUM, "USDC"), -left),
        )
        with transaction.atomic():
            post_draft(PostingDraft("payout_paid", "whatever", gone, height=1), environment=SANDBOX)
    payment = broken_word(payment, transaction_hash)
    assert deposit_of(transaction_hash).status == "orphaned"
    assert (payment.status, payment.released) == ("created", 0)
    held = books(payment)
    assert held.get("chain:hot", 0) == 0
    assert held["chain:deposit"] == other.due - left


def test_a_swept_deposit_that_is_mined_again_is_in_the_hot_wallet_still() -> None:
    payment = make_payment(ETHEREUM)
    transaction_hash = pay(payment)
    confirm(payment)
    sweep()
    deposit = deposit_of(transaction_hash)
    depth = registry.chain(SANDBOX, ETHEREUM).reading.head().height - deposit.height + 1
    control.reorg(ETHEREUM, depth, "moved", only=[transaction_hash], force=True)
    watch()
    lift_halt(ETHEREUM)
    watch()
    assert books(payment).get("chain:hot", 0) == 0
    payment = confirm(payment)
    assert payment.status == "completed"
    assert (books(payment)["chain:hot"], books(payment).get("chain:deposit", 0)) == (payment.due, 0)
