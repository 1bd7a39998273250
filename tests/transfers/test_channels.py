"""Sequences of wallets and of the channels that lend them theirs: prepared accounts, busy channels, lost books."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from merchants.ledger.checking import Severity
from payments.chains import registry
from payments.chains.networks import NETWORKS
from payments.chains.simulated import control, networks
from payments.chains.simulated.adapter import SimulatedChain
from payments.transfers.audit.wallet_snapshot import WalletSnapshot, take_wallet_snapshot
from payments.transfers.models import Channel, Transfer, TransferLine
from payments.transfers.states import PayoutStatus, TransferStatus
from payments.treasury.wallet_balances import wallet_findings
from tests.networks import put, put_simulated
from tests.payments.scenes import watch
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
    the_wallet,
    wait_no_longer,
    why_frozen,
)
from tests.transfers.test_invariants import findings
from tests.transfers.test_recovery import send_behind_the_books, thaw

pytestmark = pytest.mark.django_db


@pytest.fixture
def channels(monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """Three accounts lend the wallet of stellar their sequences."""
    put(monkeypatch, STELLAR, simulation=replace(NETWORKS[STELLAR].simulation, channels=3))
    return networks.channels(STELLAR)


def open_by_channel() -> Counter[str]:
    return Counter(Transfer.objects.exclude(status=TransferStatus.FINAL).values_list("channel", flat=True))


# --- accounts that were prepared ---------------------------------------------------------------------


@pytest.mark.parametrize("prepared", [0, 3])
def test_a_wallet_that_was_only_prepared_pays_at_once(prepared: int) -> None:
    stock(STELLAR, 10 * COIN)
    chain = registry.chain(SANDBOX, STELLAR)
    for _ in range(prepared):
        control.prepare_account(STELLAR, chain.payout_address())
        control.mine(STELLAR)
    payouts = [ask(STELLAR)]
    finish(STELLAR)
    control.prepare_account(STELLAR, chain.payout_address())  # another trustline, while it is in use
    control.mine(STELLAR)
    payouts.append(ask(STELLAR))
    finish(STELLAR)
    assert {fresh(payout).status for payout in payouts} == {PayoutStatus.PAID}
    assert the_wallet(STELLAR).next_sequence == chain.hot_wallet.next_sequence(chain.payout_address()) > 1 << 32


def test_preparing_the_account_may_take_the_sequence_of_a_transfer_on_its_way() -> None:
    stock(STELLAR, 10 * COIN)
    payout = ask(STELLAR)
    control.lose_broadcasts(STELLAR, 1)
    drive(STELLAR)
    control.prepare_account(STELLAR, registry.chain(SANDBOX, STELLAR).payout_address())
    control.mine(STELLAR)
    finish(STELLAR)
    assert not why_frozen(STELLAR)
    assert fresh(payout).status == PayoutStatus.PAID
    assert on_chain(STELLAR, somebody(STELLAR)) == COIN
    assert [each.status for each in Transfer.objects.order_by("id")] == ["dead", "final"]


def test_a_network_where_nothing_is_prepared_forgives_no_unknown_sequence() -> None:
    stock(ETHEREUM, 10 * COIN)
    control.prepare_account(ETHEREUM, registry.chain(SANDBOX, ETHEREUM).payout_address())
    control.mine(ETHEREUM)
    ask(ETHEREUM)
    drive(ETHEREUM)
    assert why_frozen(ETHEREUM)


def test_an_installation_whose_sequences_began_at_nothing_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    stock(STELLAR, 10 * COIN)
    with monkeypatch.context() as before:
        before.setattr("payments.chains.simulated.blocks.first_sequence", lambda network: 0)
        payouts = [ask(STELLAR)]
        finish(STELLAR)
    payouts.append(ask(STELLAR))
    finish(STELLAR)
    assert [fresh(payout).status for payout in payouts] == ["paid", "paid"]
    assert list(Transfer.objects.order_by("id").values_list("sequence", flat=True)) == [0, 1]


# --- channels ----------------------------------------------------------------------------------------


def test_each_channel_has_one_transfer_on_its_way_and_the_wallet_pays(
    channels: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    put_simulated(monkeypatch, STELLAR, payouts_per_transfer=10)
    stock(STELLAR, 100 * COIN)
    payouts = [ask(STELLAR, to=somebody(STELLAR, f"person {number}")) for number in range(35)]
    drive(STELLAR)
    assert open_by_channel() == dict.fromkeys(channels, 1)
    assert TransferLine.objects.count() == 30
    drive(STELLAR)
    assert Transfer.objects.count() == 3, "none is free before what it signed has ended"
    finish(STELLAR)
    assert {fresh(payout).status for payout in payouts} == {PayoutStatus.PAID}
    assert on_chain(STELLAR, the_wallet(STELLAR).address) == 65 * COIN
    chain = registry.chain(SANDBOX, STELLAR)
    assert {each.address: each.next_sequence for each in Channel.objects.all()} == {
        channel: chain.hot_wallet.next_sequence(channel) for channel in channels
    }


def test_a_channel_that_waits_keeps_no_other_from_paying(channels: tuple[str, ...]) -> None:
    stock(STELLAR, 1000 * COIN)
    control.lose_broadcasts(STELLAR, 1)
    first = ask(STELLAR)
    drive(STELLAR)
    others = [ask(STELLAR, memo=str(number)) for number in range(4)]
    drive(STELLAR)
    assert len(open_by_channel()) == 3
    finish(STELLAR, rounds=4)
    assert {fresh(payout).status for payout in (first, *others)} == {PayoutStatus.PAID}


def test_fewer_channels_than_before_leave_nothing_behind(
    channels: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    stock(STELLAR, 10 * COIN)
    payouts = [ask(STELLAR, memo=str(number)) for number in range(3)]
    drive(STELLAR)
    monkeypatch.setattr(SimulatedChain, "channels", lambda chain: (chain.payout_address(),))
    payouts.append(ask(STELLAR, memo="9"))
    finish(STELLAR)
    assert {fresh(payout).status for payout in payouts} == {PayoutStatus.PAID}
    assert Transfer.objects.get(channel="").lines.get().payout_id == payouts[-1].pk


# --- lost books --------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 1, 2])
def test_what_a_channel_sent_after_the_backup_is_not_sent_again(channels: tuple[str, ...], number: int) -> None:
    stock(STELLAR, 100 * COIN)
    paid, waiting = ask(STELLAR, 3 * COIN), ask(STELLAR, 4 * COIN, to=somebody(STELLAR, "another"), memo="7")
    send_behind_the_books(STELLAR, [paid], channel=channels[number])
    finish(STELLAR)
    assert f"its channel {channels[number]}" in why_frozen(STELLAR)
    assert on_chain(STELLAR, somebody(STELLAR)) == 3 * COIN

    said = thaw(STELLAR)
    assert f"of channel {channels[number]}" in said
    assert f"has paid {paid.reference}" in said
    wait_no_longer()
    finish(STELLAR)
    assert {fresh(payout).status for payout in (paid, waiting)} == {PayoutStatus.PAID}
    assert [on_chain(STELLAR, somebody(STELLAR, name)) for name in ("somebody", "another")] == [3 * COIN, 4 * COIN]
    assert Transfer.objects.get(payouts=paid).channel == channels[number]


def test_channels_that_the_lost_books_knew_nothing_of_do_not_hide_what_the_wallet_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stock(STELLAR, 100 * COIN)
    paid = ask(STELLAR)
    send_behind_the_books(STELLAR, [paid])
    put(monkeypatch, STELLAR, simulation=replace(NETWORKS[STELLAR].simulation, channels=3))
    finish(STELLAR)
    assert "this wallet" in why_frozen(STELLAR)
    assert on_chain(STELLAR, somebody(STELLAR)) == COIN


def test_damage_to_the_sequences_of_a_channel_is_found(channels: tuple[str, ...]) -> None:
    stock(STELLAR, 100 * COIN)
    for number in range(2):
        ask(STELLAR, memo=str(number))
    finish(STELLAR)
    assert findings() == {}
    Channel.objects.filter(address=channels[0]).update(next_sequence=0)
    assert [each.subject for each in findings()["I13"]] == [f"{channels[0]} on {STELLAR}"]
    Channel.objects.filter(address=channels[0]).update(next_sequence=networks.first_sequence(STELLAR) + 1)
    ask(STELLAR)
    drive(STELLAR)
    waiting = Transfer.objects.get(status=TransferStatus.SENT)
    Transfer.objects.filter(pk=waiting.pk).update(sequence=waiting.sequence + 1)
    found = {each.subject: each.actual for each in findings()["I13"]}
    assert found == {
        f"{waiting.channel} on {STELLAR}: sequence {waiting.sequence}": "none",
        f"{waiting.channel} on {STELLAR}: sequence {waiting.sequence + 1}": "a transfer",
    }


def test_native_coins_that_somebody_sends_break_no_comparison(channels: tuple[str, ...]) -> None:
    stock(STELLAR, 10 * COIN)
    ask(STELLAR)
    finish(STELLAR)
    for account in (the_wallet(STELLAR).address, *channels):
        control.fund_native(STELLAR, address=account, amount=12_345)
    control.mine(STELLAR)
    watch()
    snapshot = take_wallet_snapshot(SANDBOX, STELLAR)
    assert isinstance(snapshot, WalletSnapshot)
    assert [each for each in wallet_findings(snapshot) if each.severity is not Severity.WARNING] == []
    assert findings() == {}
