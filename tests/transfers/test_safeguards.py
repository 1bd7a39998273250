"""What keeps money in: limits, approvals, switches, and the order of a wallet's sequences."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from merchants.ledger.posting import Line, post
from payments.chains import registry
from payments.chains.protocol.payouts import PayoutInstruction, SignedTransfer
from payments.chains.simulated import control
from payments.chains.simulated.networks import first_sequence
from payments.chains.simulated.sending import Sending
from payments.deposits.postings import chain_account
from payments.transfers.execution import executor, rounds
from payments.transfers.models import Payout, PayoutPolicy, Transfer, approval_count
from payments.transfers.payouts import approve_payout, policy_of, reject_payout
from payments.transfers.postings import hot_account
from payments.transfers.services import freeze_wallet
from payments.transfers.states import HoldReason, PayoutStatus, TransferStatus
from tests import stopping
from tests.factories import make_merchant, make_user
from tests.transfers.scenes import (
    COIN,
    ETHEREUM,
    POLYGON,
    SANDBOX,
    STELLAR,
    ask,
    drive,
    finish,
    fresh,
    on_chain,
    reserved,
    set_back,
    somebody,
    stock,
    the_transfer,
    the_wallet,
    treasury,
    why_frozen,
)

pytestmark = pytest.mark.django_db

NETWORKS = (ETHEREUM, POLYGON, STELLAR)


def set_policy(**changes: object) -> None:
    policy_of(SANDBOX)
    PayoutPolicy.objects.filter(environment=SANDBOX).update(**changes)


# --- limits and switches -----------------------------------------------------------------------------


def test_the_kill_switch_stops_what_is_ready_and_what_is_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    stock(ETHEREUM, 10 * COIN)
    first = ask(ETHEREUM)
    monkeypatch.setattr(rounds.Round, "_send", lambda self: False)
    drive(ETHEREUM)
    monkeypatch.undo()
    assert the_transfer().status == TransferStatus.SIGNED
    stopping.stop_payouts(environment=SANDBOX, reason="seen")
    second = ask(ETHEREUM)
    finish(ETHEREUM)
    assert the_transfer().status == TransferStatus.SIGNED
    assert fresh(second).status == PayoutStatus.HELD
    stopping.lift(environment=SANDBOX)
    Payout.objects.filter(next_attempt_at__isnull=False).update(next_attempt_at=timezone.now())
    Transfer.objects.filter(next_step_at__isnull=False).update(next_step_at=timezone.now())
    finish(ETHEREUM)
    assert {fresh(first).status, fresh(second).status} == {PayoutStatus.PAID}


def test_a_frozen_wallet_sends_what_is_signed_and_keeps_nothing_that_was_just_being_signed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stock(ETHEREUM, 10 * COIN)
    first = ask(ETHEREUM)
    with monkeypatch.context() as patched:
        patched.setattr(rounds.Round, "_send", lambda self: False)
        drive(ETHEREUM)
    second, sign, asked = ask(ETHEREUM), Sending.sign, []

    def frozen_meanwhile(sending: Sending, *args: Any, **named: Any) -> SignedTransfer:
        asked.append(named["sequence"])
        freeze_wallet(the_wallet(ETHEREUM), reason="looks odd")
        return sign(sending, *args, **named)

    monkeypatch.setattr(Sending, "sign", frozen_meanwhile)
    finish(ETHEREUM)
    assert why_frozen(ETHEREUM) == "looks odd"
    assert (fresh(first).status, fresh(second).status) == (PayoutStatus.PAID, PayoutStatus.READY)
    assert (Transfer.objects.count(), len(asked)) == (1, 1)


def test_an_open_breaker_stops_payouts_of_its_network_alone() -> None:
    for network in (ETHEREUM, POLYGON):
        stock(network, 10 * COIN)
    stopping.stop_payouts(environment=SANDBOX, network=ETHEREUM, reason="books and chain disagree")
    stopped, paid = ask(ETHEREUM), ask(POLYGON)
    for network in (ETHEREUM, POLYGON):
        finish(network)
    assert (fresh(stopped).status, fresh(paid).status) == (PayoutStatus.HELD, PayoutStatus.PAID)
    assert fresh(stopped).hold_reason == HoldReason.STOPPED
    stopping.lift(environment=SANDBOX, network=ETHEREUM, by="operator@example.com")
    Payout.objects.filter(next_attempt_at__isnull=False).update(next_attempt_at=timezone.now())
    finish(ETHEREUM)
    assert fresh(stopped).status == PayoutStatus.PAID


def test_above_a_limit_two_different_operators_must_agree() -> None:
    set_policy(approval_above=2)
    stock(ETHEREUM, 10 * COIN)
    payout = ask(ETHEREUM, 3 * COIN)
    drive(ETHEREUM)
    assert (fresh(payout).status, fresh(payout).hold_reason) == (PayoutStatus.HELD, HoldReason.APPROVAL)
    first, second = (make_user(is_staff=True, is_superuser=True) for _ in range(2))
    approve_payout(payout, by=first)
    drive(ETHEREUM)
    assert fresh(payout).status == PayoutStatus.HELD
    approve_payout(payout, by=first)
    assert approval_count(payout) == 0
    approve_payout(payout, by=second)
    finish(ETHEREUM)
    assert fresh(payout).status == PayoutStatus.PAID


def test_a_held_payout_can_be_rejected_and_says_why() -> None:
    set_policy(approval_above=2)
    stock(ETHEREUM, 10 * COIN)
    payout = ask(ETHEREUM, 3 * COIN)
    drive(ETHEREUM)
    reject_payout(payout, operator=make_user(is_staff=True), note="The address is on a list.")
    rejected = fresh(payout)
    assert (rejected.status, rejected.failure_code) == (PayoutStatus.FAILED, "rejected")
    assert rejected.failure_message == "The address is on a list."
    assert reserved(payout) == 3 * COIN


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"transfer_limit": 1}, HoldReason.OVER_LIMIT),
        ({"daily_limit": 3}, HoldReason.DAILY_LIMIT),
        ({"merchant_daily_limit": 3}, HoldReason.MERCHANT_LIMIT),
    ],
)
def test_what_is_over_a_limit_waits(limits: dict[str, int], reason: HoldReason) -> None:
    set_policy(**limits)
    stock(ETHEREUM, 100 * COIN)
    merchant = make_merchant()
    payouts = [ask(ETHEREUM, 2 * COIN, merchant=merchant) for _ in range(3)]
    finish(ETHEREUM)
    held = [payout for payout in payouts if fresh(payout).status == PayoutStatus.HELD]
    assert {fresh(payout).hold_reason for payout in held} == {reason}
    assert len(held) == (3 if reason is HoldReason.OVER_LIMIT else 2)


def test_another_merchant_is_not_held_by_the_limit_of_the_first() -> None:
    set_policy(merchant_daily_limit=3)
    stock(ETHEREUM, 100 * COIN)
    payouts = [ask(ETHEREUM, 2 * COIN) for _ in range(3)]
    finish(ETHEREUM)
    assert {fresh(payout).status for payout in payouts} == {PayoutStatus.PAID}


def test_a_payout_waits_until_the_coins_are_in_the_hot_wallet() -> None:
    stock(ETHEREUM, COIN)
    with transaction.atomic():
        lines = [Line(chain_account(ETHEREUM, "USDC"), 2 * COIN), Line(treasury(ETHEREUM), -2 * COIN)]
        post(height=1, environment=SANDBOX, kind="treasury_in", reference="in deposit addresses", lines=lines)
    small, large = ask(ETHEREUM, COIN), ask(ETHEREUM, 2 * COIN)
    finish(ETHEREUM)
    assert fresh(small).status == PayoutStatus.PAID
    assert (fresh(large).status, fresh(large).hold_reason) == (PayoutStatus.HELD, HoldReason.LIQUIDITY)

    control.fund(ETHEREUM, address=the_wallet(ETHEREUM).address, code="USDC", amount=2 * COIN)
    with transaction.atomic():
        lines = [Line(hot_account(ETHEREUM, "USDC"), 2 * COIN), Line(chain_account(ETHEREUM, "USDC"), -2 * COIN)]
        post(height=1, environment=SANDBOX, kind="sweep_final", reference="swept", lines=lines)
    Payout.objects.filter(pk=large.pk).update(next_attempt_at=timezone.now())
    finish(ETHEREUM)
    assert fresh(large).status == PayoutStatus.PAID


# --- who may sign ------------------------------------------------------------------------------------


def test_a_wallet_whose_chain_is_ahead_of_the_books_starts_frozen() -> None:
    stock(ETHEREUM, 10 * COIN)
    first = ask(ETHEREUM)
    finish(ETHEREUM)
    assert fresh(first).status == PayoutStatus.PAID
    # The database goes back to before the payout was signed; the chain does not.
    wallet = the_wallet(ETHEREUM)
    wallet.next_sequence = 0
    wallet.save()
    set_back(first)
    finish(ETHEREUM)
    assert "restored" in why_frozen(ETHEREUM)
    assert on_chain(ETHEREUM, somebody(ETHEREUM)) == COIN


def test_somebody_else_signing_with_the_key_freezes_the_wallet() -> None:
    stock(ETHEREUM, 10 * COIN)
    payout = ask(ETHEREUM)
    chain = registry.chain(SANDBOX, ETHEREUM)
    control.lose_broadcasts(ETHEREUM, 1)
    drive(ETHEREUM)
    asset = registry.asset(SANDBOX, ETHEREUM, "USDC")
    stolen = chain.sending.sign(
        (PayoutInstruction(asset, 2 * COIN, somebody(ETHEREUM, "a thief")),), sender=chain.payout_address(), sequence=0
    )
    chain.sending.broadcast(stolen)
    control.mine(ETHEREUM, control.deepest_reorg(ETHEREUM) + 1)
    finish(ETHEREUM)
    assert why_frozen(ETHEREUM)
    assert Transfer.objects.get().status == TransferStatus.DEAD
    assert fresh(payout).status == PayoutStatus.READY


@pytest.mark.django_db(transaction=True)
def test_one_worker_at_a_time_runs_rounds_of_a_wallet() -> None:
    for network in NETWORKS:
        stock(network, 1000 * COIN)
    payouts = [ask(network, to=somebody(network, f"p{n}")) for network in NETWORKS for n in range(6)]

    def work(_: int) -> None:
        try:
            for _ in range(3):
                executor.run_due()
        finally:
            connection.close()

    for _ in range(3):
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
        for network in NETWORKS:
            control.mine(network, control.deepest_reorg(network) + 1)
    executor.run_due()
    assert {fresh(payout).status for payout in payouts} == {PayoutStatus.PAID}
    for network in NETWORKS:
        sequences = sorted(Transfer.objects.filter(network=network).values_list("sequence", flat=True))
        assert sequences == list(range(first_sequence(network), first_sequence(network) + len(sequences)))
        for number in range(6):
            assert on_chain(network, somebody(network, f"p{number}")) == COIN
