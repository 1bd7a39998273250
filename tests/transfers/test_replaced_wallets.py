"""Another hot wallet pays from now on: what the one before has on its way is followed to its end, and booked once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import Sum
from django.utils import timezone

from merchants.ledger.balances import balance
from payments.chains import registry
from payments.chains.simulated import actions, adapter, control
from payments.chains.simulated.clock import locked
from payments.chains.simulated.networks import payout_work
from payments.chains.simulated.sending import Sending
from payments.transfers.execution import rounds
from payments.transfers.models import Envelope, Payout, Transfer, Wallet
from payments.transfers.postings import gas_account
from payments.transfers.states import OPEN_TRANSFERS, HoldReason, PayoutStatus
from tests.networks import put_simulated
from tests.transfers.scenes import (
    COIN,
    ETHEREUM,
    SANDBOX,
    ask,
    drive,
    finish,
    fresh,
    on_chain,
    somebody,
    stock,
    thaw_by_two,
    wait_no_longer,
)
from tests.transfers.test_invariants import findings

pytestmark = pytest.mark.django_db

PAYEES = 14


def replace_wallet(monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Another hot wallet in the settings; returns the one of before and the new one."""
    old, new = registry.chain(SANDBOX, ETHEREUM).payout_address(), somebody(ETHEREUM, "the next hot wallet")
    control.fund_native(ETHEREUM, address=new, amount=10**18)
    monkeypatch.setattr(adapter, "hot_wallet", lambda network: new)
    monkeypatch.setattr(adapter, "channels", lambda network: (new,))
    assert registry.chain(SANDBOX, ETHEREUM).payout_address() == new
    return old, new


def move_coins(old: str, new: str) -> None:
    """The operator moves what the old wallet holds, with the old key, outside Ballast."""
    contract, amount = registry.asset(SANDBOX, ETHEREUM, "USDC").contract, on_chain(ETHEREUM, old)
    sequence = registry.chain(SANDBOX, ETHEREUM).hot_wallet.next_sequence(old)
    with locked(ETHEREUM) as row:
        moved = actions.movement(ETHEREUM, contract=contract, amount=amount, recipient=new, memo=None)
        actions.submit(
            row, sender=old, sequence=sequence, movements=[moved], work=payout_work(ETHEREUM, 1), fee_offer=10**15
        )
    control.mine(ETHEREUM, 1 + control.deepest_reorg(ETHEREUM))


@pytest.fixture
def halfway(monkeypatch: pytest.MonkeyPatch) -> list[Payout]:
    """Payouts, of which some are paid, some on their way, and some wait, when the wallet is replaced."""
    put_simulated(monkeypatch, ETHEREUM, transfers_in_flight=4)
    stock(ETHEREUM, 100 * COIN)
    payouts = [ask(ETHEREUM, COIN, to=somebody(ETHEREUM, f"payee {number}")) for number in range(PAYEES)]
    finish(ETHEREUM, rounds=1)
    wait_no_longer()
    drive(ETHEREUM)
    statuses = {fresh(payout).status for payout in payouts}
    assert {PayoutStatus.PAID, PayoutStatus.SENDING, PayoutStatus.READY} <= statuses
    return payouts


def test_in_the_middle_of_many_payouts_each_is_paid_once(
    halfway: list[Payout], monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = replace_wallet(monkeypatch)
    for _ in range(3):
        wait_no_longer()
        finish(ETHEREUM, rounds=1)
    by_status = {fresh(payout).status for payout in halfway}
    assert not Transfer.objects.filter(wallet__address=old, status__in=OPEN_TRANSFERS).exists()
    assert by_status == {PayoutStatus.PAID, PayoutStatus.HELD}  # the rest waits for coins in the new wallet
    held = Payout.objects.filter(status=PayoutStatus.HELD)
    assert set(held.values_list("hold_reason", flat=True)) == {HoldReason.LIQUIDITY}

    move_coins(old, new)
    for _ in range(3):
        wait_no_longer()
        finish(ETHEREUM, rounds=1)
    assert {fresh(payout).status for payout in halfway} == {PayoutStatus.PAID}
    assert [on_chain(ETHEREUM, somebody(ETHEREUM, f"payee {number}")) for number in range(PAYEES)] == [COIN] * PAYEES
    assert set(Wallet.objects.values_list("address", flat=True)) == {old, new}
    assert Wallet.objects.get(address=new).next_sequence > 0


def test_coins_moved_by_hand_are_taken_over_with_their_fee(
    halfway: list[Payout], monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = replace_wallet(monkeypatch)
    for _ in range(3):
        wait_no_longer()
        finish(ETHEREUM, rounds=1)
    assert findings() == {}
    move_coins(old, new)
    assert set(findings()) == {"I13"}
    gas = gas_account(registry.profile(SANDBOX, ETHEREUM).native)
    spent_before = Transfer.objects.aggregate(total=Sum("fee_units"))["total"]
    held_before = balance(gas, environment=SANDBOX)
    assert "went to another hot wallet of ours" in thaw_by_two(network=ETHEREUM, address=old)
    assert findings() == {}
    fee = Transfer.objects.aggregate(total=Sum("fee_units"))["total"] - spent_before
    assert fee > 0
    assert held_before - balance(gas, environment=SANDBOX) in (fee, 0)  # 0: booked as the treasury's when spent


def test_nothing_is_signed_for_a_replaced_wallet(halfway: list[Payout], monkeypatch: pytest.MonkeyPatch) -> None:
    put_simulated(monkeypatch, ETHEREUM, replace_after_seconds=0, block_seconds=0)
    old, _ = replace_wallet(monkeypatch)
    before = Envelope.objects.filter(transfer__wallet__address=old).count()
    senders: list[str] = []
    real = Sending.sign

    def noted(sending: Sending, payouts: Any, **named: Any) -> Any:
        senders.append(named["sender"])
        return real(sending, payouts, **named)

    monkeypatch.setattr(Sending, "sign", noted)
    wait_no_longer()
    drive(ETHEREUM, rounds=2)
    assert old not in senders
    assert Envelope.objects.filter(transfer__wallet__address=old).count() == before


@pytest.mark.parametrize("void", [False, True])
def test_what_a_replaced_wallet_has_signed_is_sent_unless_it_is_void(
    monkeypatch: pytest.MonkeyPatch, void: bool
) -> None:
    stock(ETHEREUM, 10 * COIN)
    payout = ask(ETHEREUM)
    with monkeypatch.context() as patched:
        patched.setattr(rounds.Round, "_send", lambda self: False)
        drive(ETHEREUM)
    if void:
        Envelope.objects.update(signed_at=timezone.now() - timedelta(hours=1))
    replace_wallet(monkeypatch)
    finish(ETHEREUM)
    assert fresh(payout).status == (PayoutStatus.SENDING if void else PayoutStatus.PAID)
    assert on_chain(ETHEREUM, somebody(ETHEREUM)) == (0 if void else COIN)
    assert ("only the key of that wallet" in Transfer.objects.get().last_error) == void
