"""Books of before a restore: what the wallet has sent since is found on the chain, and nothing is paid twice."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError
from django.db import connection
from django.utils import timezone

from config.database.advisory_locks import LockClass
from merchants.ledger.models import Stop, StopKind
from payments.chains import registry
from payments.chains.protocol.payouts import PayoutInstruction
from payments.chains.simulated import actions, control
from payments.chains.simulated.clock import locked
from payments.transfers.audit import adopt_unknown
from payments.transfers.models import Payout, Transfer, Wallet
from payments.transfers.states import PayoutStatus
from tests.transfers.scenes import (
    COIN,
    ETHEREUM,
    SANDBOX,
    STELLAR,
    ask,
    drive,
    finish,
    fresh,
    hot,
    on_chain,
    reserved,
    somebody,
    stock,
    thaw_by_two,
    why_frozen,
)

pytestmark = pytest.mark.django_db


def thaw(network: str, **options: Any) -> str:
    return thaw_by_two(network=network, **options)


def send_behind_the_books(network: str, payouts: list[Payout], *, is_final: bool = True, channel: str = "") -> None:
    """What the lost part of the database had sent."""
    chain = registry.chain(SANDBOX, network)
    parts = tuple(
        PayoutInstruction(
            registry.asset(SANDBOX, network, payout.asset), int(payout.amount), payout.recipient, payout.memo or None
        )
        for payout in payouts
    )
    sender = channel or chain.payout_address()
    chain.sending.broadcast(chain.sending.sign(parts, sender=sender, sequence=chain.hot_wallet.next_sequence(sender)))
    control.mine(network, control.deepest_reorg(network) + 1 if is_final else 1)


@pytest.mark.parametrize("network", [ETHEREUM, STELLAR])
def test_what_was_paid_after_the_backup_is_not_paid_again(network: str) -> None:
    stock(network, 100 * COIN)
    paid, waiting = ask(network, 3 * COIN), ask(network, 4 * COIN, to=somebody(network, "another"))
    send_behind_the_books(network, [paid])
    drive(network)
    assert why_frozen(network)
    assert not Transfer.objects.exists()

    said = thaw(network)
    assert f"has paid {paid.reference}" in said
    assert "1 payouts were paid already" in said
    assert fresh(paid).status == PayoutStatus.PAID
    assert (reserved(paid), hot(network)) == (0, 97 * COIN)

    Payout.objects.filter(pk=waiting.pk).update(next_attempt_at=timezone.now())
    finish(network)
    assert fresh(waiting).status == PayoutStatus.PAID
    assert on_chain(network, somebody(network)) == 3 * COIN
    assert on_chain(network, somebody(network, "another")) == 4 * COIN


def test_a_wallet_that_no_round_has_frozen_yet_is_frozen_and_thawed_by_two() -> None:
    stock(ETHEREUM, 100 * COIN)
    paid = ask(ETHEREUM)
    hot_wallet = registry.chain(SANDBOX, ETHEREUM).payout_address()
    for sequence in range(2):
        with locked(ETHEREUM) as row:
            actions.submit(row, sender=hot_wallet, sequence=sequence, movements=[])
    control.mine(ETHEREUM, control.deepest_reorg(ETHEREUM) + 1)
    assert "Done" in thaw(ETHEREUM, since_block=1)
    assert "It is not frozen, and signs." in thaw(ETHEREUM, since_block=1)
    assert (Wallet.objects.get().next_sequence, Stop.objects.get().kind) == (2, StopKind.WALLET)
    finish(ETHEREUM)
    assert fresh(paid).status == PayoutStatus.PAID


def test_what_is_not_final_yet_is_waited_for() -> None:
    """Thawed before, the wallet would pay the same payout by its next sequence."""
    stock(ETHEREUM, 100 * COIN)
    paid = ask(ETHEREUM, 3 * COIN)
    send_behind_the_books(ETHEREUM, [paid], is_final=False)
    drive(ETHEREUM)
    with pytest.raises(CommandError, match="1 of these transfers are not final yet"):
        thaw(ETHEREUM)
    assert (why_frozen(ETHEREUM) != "", fresh(paid).status) == (True, PayoutStatus.READY)
    control.mine(ETHEREUM, control.deepest_reorg(ETHEREUM) + 1)
    thaw(ETHEREUM)
    Payout.objects.filter(status=PayoutStatus.READY).update(next_attempt_at=timezone.now())
    finish(ETHEREUM)
    assert (fresh(paid).status, on_chain(ETHEREUM, somebody(ETHEREUM))) == (PayoutStatus.PAID, 3 * COIN)


def test_two_alike_that_were_paid_once_are_paid_once_more() -> None:
    stock(ETHEREUM, 100 * COIN)
    twins = [ask(ETHEREUM, COIN), ask(ETHEREUM, COIN)]
    send_behind_the_books(ETHEREUM, twins[:1])
    drive(ETHEREUM)
    thaw(ETHEREUM)
    Payout.objects.filter(status=PayoutStatus.READY).update(next_attempt_at=timezone.now())
    finish(ETHEREUM)
    assert {fresh(twin).status for twin in twins} == {PayoutStatus.PAID}
    assert on_chain(ETHEREUM, somebody(ETHEREUM)) == 2 * COIN


def test_money_that_left_for_nobody_we_know_keeps_the_wallet_frozen() -> None:
    stock(ETHEREUM, 100 * COIN)
    stranger = Payout(asset="USDC", amount=5 * COIN, recipient=somebody(ETHEREUM, "a thief"))
    send_behind_the_books(ETHEREUM, [stranger])
    ask(ETHEREUM)
    drive(ETHEREUM)
    with pytest.raises(CommandError, match="1 transfers paid nobody"):
        thaw(ETHEREUM)
    assert why_frozen(ETHEREUM)
    with pytest.raises(CommandError, match="book_sent says whose it was"):
        thaw(ETHEREUM, leave_unknown=True)
    assert why_frozen(ETHEREUM)
    assert hot(ETHEREUM) == 95 * COIN, "it is in the ledger by then, and the house bears it"


def test_a_long_network_is_not_looked_through_from_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    stock(ETHEREUM, 100 * COIN)
    paid = ask(ETHEREUM)
    send_behind_the_books(ETHEREUM, [paid])
    drive(ETHEREUM)
    monkeypatch.setattr(adopt_unknown, "BLOCKS_MAX", 1)
    with pytest.raises(CommandError, match=r"no transfer of this wallet to begin looking from.*--since-block"):
        thaw(ETHEREUM)
    assert why_frozen(ETHEREUM)
    assert "1 payouts were paid already" in thaw(ETHEREUM, since_block=1)
    assert fresh(paid).status == PayoutStatus.PAID


def test_looking_changes_nothing() -> None:
    stock(ETHEREUM, 100 * COIN)
    paid = ask(ETHEREUM)
    send_behind_the_books(ETHEREUM, [paid])
    drive(ETHEREUM)
    assert "Nothing was changed" in thaw(ETHEREUM, dry_run=True)
    assert (fresh(paid).status, Transfer.objects.count()) == (PayoutStatus.READY, 0)
    assert why_frozen(ETHEREUM)


def test_a_wallet_that_a_worker_holds_is_left_alone() -> None:
    stock(ETHEREUM, 100 * COIN)
    drive(ETHEREUM)
    wallet = Wallet.objects.get()
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s, %s)", [LockClass.WALLET, wallet.pk])
        with pytest.raises(CommandError, match="busy"):
            thaw(ETHEREUM)
    other.close()
