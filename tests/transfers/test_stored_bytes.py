"""What keeps in what is signed already: the switches before each signature and each sending, and the time of bytes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from payments.chains import registry
from payments.chains.protocol.chain import sweeps_of
from payments.chains.protocol.payouts import SignedTransfer
from payments.chains.simulated import control
from payments.chains.simulated.sending import Sending
from payments.transfers import services
from payments.transfers.execution import rounds
from payments.transfers.models import Envelope, Payout, PayoutPolicy, Transfer
from payments.transfers.payouts import approve_payout, lock_policy, policy_of
from payments.transfers.spending import Allowance
from payments.transfers.states import HoldReason, PayoutStatus, TransferStatus
from tests import stopping
from tests.factories import make_user
from tests.networks import put_simulated
from tests.transfers.scenes import (
    COIN,
    ETHEREUM,
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
    the_wallet,
    wait_no_longer,
)

pytestmark = pytest.mark.django_db


def set_policy(**changes: object) -> None:
    policy_of(SANDBOX)
    PayoutPolicy.objects.filter(environment=SANDBOX).update(**changes)


def signed_and_not_sent(monkeypatch: pytest.MonkeyPatch, network: str, amount: int = COIN) -> Payout:
    payout = ask(network, amount)
    with monkeypatch.context() as patched:
        patched.setattr(rounds.Round, "_send", lambda self: False)
        drive(network)
    assert the_transfer().status == TransferStatus.SIGNED
    return payout


def sent_from_now(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What is handed to a network from now on."""
    sent: list[bytes] = []
    real = Sending.broadcast

    def noted(sending: Sending, transfer: SignedTransfer) -> None:
        sent.append(transfer.raw)
        real(sending, transfer)

    monkeypatch.setattr(Sending, "broadcast", noted)
    return sent


def let_an_hour_pass() -> None:
    """Everything that was signed was signed an hour earlier."""
    for version in Envelope.objects.all():
        version.signed_at -= timedelta(hours=1)
        if version.valid_until is not None:
            version.valid_until -= timedelta(hours=1)
        version.save()


@pytest.mark.parametrize("stop", ["kill switch", "breaker"])
@pytest.mark.parametrize("at", ["sign", "broadcast"])
def test_nothing_is_signed_or_sent_once_it_is_stopped(monkeypatch: pytest.MonkeyPatch, stop: str, at: str) -> None:
    """A stop during the first of two signatures, or the first of two sendings, is seen before the second."""
    stock(ETHEREUM, 10 * COIN)
    for _ in range(2):
        ask(ETHEREUM)
    real, calls = getattr(Sending, at), []

    def stopped_meanwhile(sending: Sending, *asked: Any, **named: Any) -> Any:
        calls.append(asked)
        if stop == "breaker":
            stopping.stop_payouts(environment=SANDBOX, network=ETHEREUM, reason="seen")
        else:
            stopping.stop_payouts(environment=SANDBOX, reason="seen")
        return real(sending, *asked, **named)

    monkeypatch.setattr(Sending, at, stopped_meanwhile)
    drive(ETHEREUM)
    assert len(calls) == 1


def test_a_lost_transfer_is_neither_replaced_nor_sent_again_once_it_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    put_simulated(monkeypatch, ETHEREUM, replace_after_seconds=0, block_seconds=0)
    stock(ETHEREUM, 10 * COIN)
    ask(ETHEREUM)
    control.lose_broadcasts(ETHEREUM, 1)
    drive(ETHEREUM)
    real, sent = Sending.sign, []

    def stopped_meanwhile(sending: Sending, *asked: Any, **named: Any) -> Any:
        stopping.stop_payouts(environment=SANDBOX, reason="seen")
        return real(sending, *asked, **named)

    monkeypatch.setattr(Sending, "sign", stopped_meanwhile)
    monkeypatch.setattr(Sending, "broadcast", lambda sending, transfer: sent.append(transfer))
    wait_no_longer()
    drive(ETHEREUM)
    assert (sent, Envelope.objects.count()) == ([], 1)


def test_a_stop_is_seen_between_the_signature_of_a_sweep_and_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """The row of a sweep is written under the lock of the policy, as that of a payout: no stop comes in between."""
    taken: list[str] = []

    def noted(environment: str) -> PayoutPolicy:
        taken.append(environment)
        return lock_policy(environment)

    monkeypatch.setattr(services, "lock_policy", noted)
    drive(ETHEREUM)
    wallet, asset = the_wallet(ETHEREUM), registry.asset(SANDBOX, ETHEREUM, "USDC")
    signed = sweeps_of(registry.chain(SANDBOX, ETHEREUM)).sign(asset, (1,), sender=wallet.address, sequence=0)
    services.record_signed_sweep(wallet, signed, asset=asset, deposits=[1], record=lambda transfer: None)
    assert taken == [SANDBOX]


def test_bytes_that_waited_too_long_are_signed_anew_for_the_same_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    stock(ETHEREUM, 10 * COIN)
    payout = signed_and_not_sent(monkeypatch, ETHEREUM)
    let_an_hour_pass()
    sent = sent_from_now(monkeypatch)
    drive(ETHEREUM)
    void, new = Envelope.objects.order_by("pk")
    assert bytes(void.raw) not in sent
    assert sent == [bytes(new.raw)]
    finish(ETHEREUM)
    assert fresh(payout).status == PayoutStatus.PAID
    assert on_chain(ETHEREUM, somebody(ETHEREUM)) == COIN
    assert Transfer.objects.count() == 1


@pytest.mark.parametrize("limit", ["approval_above", "transfer_limit", "daily_limit", "merchant_daily_limit"])
def test_void_bytes_are_signed_anew_only_within_the_limits_of_now(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    stock(ETHEREUM, 10 * COIN)
    payout = signed_and_not_sent(monkeypatch, ETHEREUM, 3 * COIN)
    let_an_hour_pass()
    set_policy(**{limit: 2})
    finish(ETHEREUM)
    transfer = the_transfer()
    assert (transfer.status, transfer.envelopes.count()) == (TransferStatus.SIGNED, 1)
    assert "not signed again" in transfer.last_error
    assert on_chain(ETHEREUM, somebody(ETHEREUM)) == 0
    if limit == "transfer_limit":
        set_policy(transfer_limit=3)
    else:
        for _ in range(2):
            approve_payout(fresh(payout), by=make_user(is_staff=True, is_superuser=True))
    wait_no_longer()
    finish(ETHEREUM)
    assert fresh(payout).status == PayoutStatus.PAID
    assert on_chain(ETHEREUM, somebody(ETHEREUM)) == 3 * COIN


def test_bytes_that_the_network_lets_expire_are_not_sent_after_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    stock(STELLAR, 10 * COIN)
    payout = signed_and_not_sent(monkeypatch, STELLAR)
    let_an_hour_pass()
    first = the_transfer()
    sent = sent_from_now(monkeypatch)
    wait_no_longer()
    finish(STELLAR)
    first.refresh_from_db()
    assert bytes(first.envelopes.get().raw) not in sent
    assert (first.status, fresh(payout).status) == (TransferStatus.DEAD, PayoutStatus.PAID)
    assert on_chain(STELLAR, somebody(STELLAR)) == COIN


@pytest.mark.parametrize("off", [timedelta(hours=-30), timedelta(hours=30)], ids=["behind", "ahead"])
def test_the_limit_of_a_day_is_counted_by_the_clock_of_the_database(
    monkeypatch: pytest.MonkeyPatch, off: timedelta
) -> None:
    """A worker whose clock is off neither ends its payouts outside the window, nor looks at another window."""
    set_policy(daily_limit=3)
    stock(ETHEREUM, 10 * COIN)
    first = ask(ETHEREUM, 2 * COIN)
    finish(ETHEREUM)
    assert fresh(first).status == PayoutStatus.PAID
    second = ask(ETHEREUM, 2 * COIN)
    real = timezone.now
    with monkeypatch.context() as patched:
        patched.setattr(timezone, "now", lambda: real() + off)
        assert Allowance(policy_of(SANDBOX)).why_held(second) == HoldReason.DAILY_LIMIT
        third = ask(ETHEREUM, COIN)
        Payout.objects.filter(pk=third.pk).update(next_attempt_at=real() - timedelta(days=2))
        finish(ETHEREUM)
    ended = fresh(third).finished_at
    assert ended is not None
    assert abs(ended - real()) < timedelta(hours=1)
