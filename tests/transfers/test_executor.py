"""From a payout to a final on-chain transaction, whatever happens on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from config import ids
from merchants.ledger.balances import balance
from merchants.ledger.chart import AccountKind
from merchants.ledger.posting import AccountRef
from payments.chains import registry
from payments.chains.protocol.payouts import PayoutInstruction, TransactionStatus
from payments.chains.simulated import control
from payments.chains.simulated.networks import simulated_profile
from payments.chains.simulated.sending import HotWallet
from payments.transfers import services
from payments.transfers.execution import rounds
from payments.transfers.execution.rounds import Round
from payments.transfers.models import Envelope, Payout, Transfer, Wallet
from payments.transfers.payouts import PayoutNotCancellable, cancel_payout, request_payout, retry_held
from payments.transfers.states import HoldReason, PayoutStatus, TransferStatus
from tests.factories import make_merchant
from tests.networks import put_simulated
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
    hot,
    on_chain,
    reserved,
    somebody,
    stock,
    the_transfer,
    the_wallet,
    wait_no_longer,
)

pytestmark = pytest.mark.django_db

NETWORKS = (ETHEREUM, POLYGON, STELLAR)


@pytest.mark.parametrize("network", NETWORKS)
def test_somebody_is_paid_and_the_books_know_what_it_cost(network: str) -> None:
    stock(network, 10 * COIN)
    payout = ask(network, 3 * COIN)
    assert fresh(payout).status == PayoutStatus.READY

    finish(network)

    paid = fresh(payout)
    assert paid.status == PayoutStatus.PAID
    assert paid.transfer is not None
    assert paid.transfer.transaction_hash == paid.transfer.envelopes.get().transaction_hash
    assert on_chain(network, somebody(network)) == 3 * COIN
    assert (hot(network), reserved(payout)) == (7 * COIN, 0)
    native = registry.chain(SANDBOX, network).profile.native
    spent = balance(AccountRef(network, native.code, AccountKind.FEE_NETWORK), environment=SANDBOX)
    assert spent == paid.transfer.fee_units > 0


@pytest.mark.parametrize("network", NETWORKS)
def test_nothing_is_sent_before_it_is_stored_and_stored_bytes_are_sent_as_they_are(
    network: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stock(network, 10 * COIN)
    ask(network)
    sent: list[bytes] = []
    adapter = type(registry.chain(SANDBOX, network).sending)
    real = adapter.broadcast

    def broadcast(self, transfer):  # type: ignore[no-untyped-def]  # stands in for the adapter's
        assert Envelope.objects.filter(transaction_hash=transfer.transaction_hash).exists()
        sent.append(transfer.raw)
        real(self, transfer)

    monkeypatch.setattr(adapter, "broadcast", broadcast)
    drive(network)
    assert sent == [bytes(Envelope.objects.get().raw)]


@pytest.mark.parametrize("network", NETWORKS)
def test_a_time_out_is_unknown_and_never_failed(network: str) -> None:
    stock(network, 10 * COIN)
    payout = ask(network)
    control.time_out_broadcasts(network, 1)
    drive(network)
    assert the_transfer().status == TransferStatus.SENT
    assert "did not answer" in the_transfer().last_error
    assert fresh(payout).status == PayoutStatus.SENDING
    finish(network)
    assert fresh(payout).status == PayoutStatus.PAID
    assert on_chain(network, somebody(network)) == COIN
    assert Envelope.objects.count() == 1


@pytest.mark.parametrize("network", NETWORKS)
def test_what_the_network_lost_is_sent_again_as_it_was(network: str) -> None:
    stock(network, 10 * COIN)
    payout = ask(network)
    control.lose_broadcasts(network, 2)
    drive(network, rounds=3)
    assert the_transfer().send_count == 3
    finish(network)
    assert fresh(payout).status == PayoutStatus.PAID
    assert Envelope.objects.count() == Transfer.objects.count() == 1
    assert on_chain(network, somebody(network)) == COIN


def test_a_transfer_that_waits_too_long_offers_more_and_keeps_every_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    put_simulated(monkeypatch, ETHEREUM, replace_after_seconds=0)
    stock(ETHEREUM, 10 * COIN)
    payout = ask(ETHEREUM)
    drive(ETHEREUM)
    control.set_fee_level(ETHEREUM, 20)
    control.mine(ETHEREUM)
    finish(ETHEREUM, rounds=6)
    assert fresh(payout).status == PayoutStatus.PAID
    versions = list(the_transfer().envelopes.all())
    assert len(versions) > 1
    assert len({version.transaction_hash for version in versions}) == len(versions)
    for earlier, later in pairwise(versions):
        assert later.fee_limit_units * 1000 >= earlier.fee_limit_units * 1125
    assert on_chain(ETHEREUM, somebody(ETHEREUM)) == COIN


def test_an_offer_that_was_lost_is_made_again_while_the_one_before_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    stock(ETHEREUM, 10 * COIN)
    payout = ask(ETHEREUM)
    drive(ETHEREUM)
    control.set_fee_level(ETHEREUM, 5)
    control.lose_broadcasts(ETHEREUM, 1)
    put_simulated(monkeypatch, ETHEREUM, replace_after_seconds=0)
    drive(ETHEREUM)
    put_simulated(monkeypatch, ETHEREUM, replace_after_seconds=3600)
    finish(ETHEREUM)
    assert fresh(payout).status == PayoutStatus.PAID
    _, high = the_transfer().envelopes.all()
    assert (the_transfer().transaction_hash, the_transfer().send_count) == (high.transaction_hash, 3)
    assert on_chain(ETHEREUM, somebody(ETHEREUM)) == COIN


def test_payouts_wait_while_fees_are_above_the_cap_and_say_so() -> None:
    stock(ETHEREUM, 10 * COIN)
    payouts = [ask(ETHEREUM) for _ in range(3)]
    control.set_fee_level(ETHEREUM, 101)
    drive(ETHEREUM)
    assert {(fresh(payout).status, fresh(payout).hold_reason) for payout in payouts} == {("held", "fees_above_cap")}
    assert Wallet.objects.get().last_error == "Fees are above the cap: 101000000000 of 100000000000."
    assert not Transfer.objects.exists()

    control.set_fee_level(ETHEREUM, 100)
    Payout.objects.update(next_attempt_at=timezone.now())
    finish(ETHEREUM)
    assert {(fresh(payout).status, fresh(payout).hold_reason) for payout in payouts} == {("paid", "")}
    assert Wallet.objects.get().last_error == ""


def test_what_was_sent_waits_above_the_cap_and_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    stock(ETHEREUM, 10 * COIN)
    first, second = ask(ETHEREUM), ask(ETHEREUM)
    drive(ETHEREUM)
    control.mine(ETHEREUM)
    third = ask(ETHEREUM)
    drive(ETHEREUM)
    control.set_fee_level(ETHEREUM, 101)
    put_simulated(monkeypatch, ETHEREUM, replace_after_seconds=0)
    control.mine(ETHEREUM, control.deepest_reorg(ETHEREUM) + 1)
    drive(ETHEREUM)
    waiting = Transfer.objects.get(payouts=third)
    assert (waiting.status, waiting.last_error[:24]) == ("sent", "Fees are above the cap: ")
    assert waiting.envelopes.count() == 1
    assert [fresh(payout).status for payout in (first, second)] == ["paid", "paid"]

    control.set_fee_level(ETHEREUM, 1)
    finish(ETHEREUM)
    assert fresh(third).status == PayoutStatus.PAID


def test_the_version_that_was_replaced_may_still_be_the_one_that_is_mined(monkeypatch: pytest.MonkeyPatch) -> None:
    put_simulated(monkeypatch, ETHEREUM, replace_after_seconds=0)
    stock(ETHEREUM, 10 * COIN)
    payout = ask(ETHEREUM)
    drive(ETHEREUM, rounds=2)
    versions = list(the_transfer().envelopes.all())
    assert len(versions) >= 2
    control.revive(ETHEREUM, versions[0].transaction_hash)
    control.mine(ETHEREUM)
    finish(ETHEREUM)
    assert fresh(payout).status == PayoutStatus.PAID
    assert the_transfer().transaction_hash == versions[0].transaction_hash
    assert on_chain(ETHEREUM, somebody(ETHEREUM)) == COIN


def test_a_transfer_that_expired_is_signed_again_and_paid_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("payments.chains.simulated.sending.VALIDITY", timedelta(seconds=0))
    stock(STELLAR, 10 * COIN)
    payout = ask(STELLAR)
    control.lose_broadcasts(STELLAR, 1)
    drive(STELLAR)
    monkeypatch.undo()
    control.mine(STELLAR, 2, at=timezone.now() + timedelta(seconds=30))
    finish(STELLAR)
    statuses = list(Transfer.objects.order_by("id").values_list("status", flat=True))
    assert statuses[-1] == TransferStatus.FINAL
    assert set(statuses[:-1]) == {TransferStatus.DEAD}
    assert fresh(payout).status == PayoutStatus.PAID
    assert on_chain(STELLAR, somebody(STELLAR)) == COIN


@pytest.mark.parametrize("outcome", ["moved", "dropped"])
def test_a_reorganisation_does_not_pay_twice(outcome: str) -> None:
    stock(ETHEREUM, 10 * COIN)
    control.mine(ETHEREUM, 10)
    payout = ask(ETHEREUM)
    drive(ETHEREUM)
    control.mine(ETHEREUM, 2)
    drive(ETHEREUM)
    control.reorg(ETHEREUM, 2, outcome)  # type: ignore[arg-type]  # parametrised
    finish(ETHEREUM, rounds=4)
    assert fresh(payout).status == PayoutStatus.PAID
    assert on_chain(ETHEREUM, somebody(ETHEREUM)) == COIN


def test_many_are_paid_by_one_transfer_where_the_network_allows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert simulated_profile(STELLAR).payouts_per_transfer == 100
    put_simulated(monkeypatch, STELLAR, payouts_per_transfer=10)
    stock(STELLAR, 1000 * COIN)
    payouts = [ask(STELLAR, COIN, to=somebody(STELLAR, f"person {number}")) for number in range(12)]
    finish(STELLAR)
    assert {fresh(payout).status for payout in payouts} == {PayoutStatus.PAID}
    assert sorted(transfer.lines.count() for transfer in Transfer.objects.all()) == [2, 10]


def test_payouts_with_different_memos_do_not_share_a_transfer() -> None:
    stock(STELLAR, 1000 * COIN)
    for memo, memo_type in (("1", ""), ("2", "id"), ("2", "id"), ("2", "text"), ("", "")):
        ask(STELLAR, memo=memo, memo_type=memo_type)
    finish(STELLAR)
    assert sorted(transfer.lines.count() for transfer in Transfer.objects.all()) == [1, 1, 1, 2]


def test_those_who_spoil_a_shared_transfer_leave_it_and_the_others_are_paid_together() -> None:
    stock(STELLAR, 1000 * COIN)
    people = [somebody(STELLAR, f"person {number}") for number in range(6)]
    payouts = [ask(STELLAR, to=person) for person in people]
    drive(STELLAR)
    for number, problem in ((2, "no_trustline"), (4, "destination_refused")):
        control.describe_account(STELLAR, people[number], refuses=problem)  # type: ignore[arg-type]  # a Literal
    finish(STELLAR)
    assert [fresh(payout).status for payout in payouts] == ["paid", "paid", "held", "paid", "failed", "paid"]
    assert (fresh(payouts[2]).hold_reason, fresh(payouts[4]).failure_code) == ("no_trustline", "destination_refused")
    assert fresh(payouts[4]).failure_message == "The issuer of USDC forbids this account to receive it."
    assert [transfer.lines.count() for transfer in Transfer.objects.order_by("id")] == [6, 4]
    assert [reserved(payouts[number]) for number in (2, 4)] == [COIN, COIN]

    control.describe_account(STELLAR, people[2])
    wait_no_longer()
    finish(STELLAR)
    assert [on_chain(STELLAR, person) for person in people] == [COIN, COIN, COIN, COIN, 0, COIN]


def test_when_nobody_knows_who_spoils_a_shared_transfer_each_is_sent_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    stock(STELLAR, 1000 * COIN)
    payouts = [ask(STELLAR, to=somebody(STELLAR, f"person {number}")) for number in range(3)]
    control.describe_account(STELLAR, payouts[1].recipient, refuses="destination_refused")
    with monkeypatch.context() as silent:
        silent.setattr(HotWallet, "check_recipient", lambda hot_wallet, payout: None)
        silent.setattr(rounds.Round, "_settle", untold(rounds.Round._settle))
        finish(STELLAR, rounds=2)
    assert Transfer.objects.first().lines.count() == 3  # type: ignore[union-attr]  # there is one
    assert {fresh(payout).is_alone for payout in payouts} == {True}
    finish(STELLAR, rounds=6)
    assert [fresh(payout).status for payout in payouts] == ["paid", "failed", "paid"]


def untold(settle: Callable[..., bool]) -> Callable[..., bool]:
    """The network does not say who made a transfer fail."""

    def settle_without(
        here: Round, transfer: Transfer, version: Envelope, status: TransactionStatus, *rest: Any
    ) -> bool:
        return settle(here, transfer, version, replace(status, refused={}), *rest)

    return settle_without


@pytest.mark.parametrize("problem", ["destination_invalid", "memo_required", "destination_refused"])
def test_nothing_is_signed_for_an_address_that_cannot_be_paid(problem: str) -> None:
    stock(STELLAR, 10 * COIN)
    control.describe_account(STELLAR, somebody(STELLAR), refuses=problem)  # type: ignore[arg-type]  # parametrised
    payout = ask(STELLAR)
    drive(STELLAR)
    assert (fresh(payout).status, fresh(payout).failure_code) == (PayoutStatus.FAILED, problem)
    assert not Transfer.objects.exists()
    assert reserved(payout) == COIN


def test_a_payout_waits_until_its_recipient_holds_the_coin() -> None:
    stock(STELLAR, 10 * COIN)
    control.describe_account(STELLAR, somebody(STELLAR), refuses="no_trustline")
    payout = ask(STELLAR)
    drive(STELLAR)
    held = fresh(payout)
    assert (held.status, held.hold_reason) == (PayoutStatus.HELD, HoldReason.NO_TRUSTLINE)
    assert held.next_attempt_at is not None
    assert not Transfer.objects.exists()
    drive(STELLAR)
    assert fresh(payout).next_attempt_at == held.next_attempt_at, "it is not asked about all the time"
    control.describe_account(STELLAR, somebody(STELLAR))
    retry_held(payout)
    finish(STELLAR)
    assert (fresh(payout).status, fresh(payout).held_since) == (PayoutStatus.PAID, None)


def test_a_transfer_that_fails_again_and_again_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "RETRY_AFTER", timedelta(0))
    stock(ETHEREUM, 10 * COIN)
    payout = ask(ETHEREUM)
    monkeypatch.setattr(HotWallet, "check_recipient", lambda hot_wallet, payout: None)
    control.describe_account(ETHEREUM, somebody(ETHEREUM), refuses="destination_refused")
    finish(ETHEREUM, rounds=8)
    assert (fresh(payout).status, fresh(payout).failure_code) == (PayoutStatus.FAILED, "transfer_failed")
    assert fresh(payout).attempt_count == services.ATTEMPTS_MAX
    assert reserved(payout) == COIN
    assert on_chain(ETHEREUM, somebody(ETHEREUM)) == 0


def test_while_nobody_answers_nothing_changes() -> None:
    stock(ETHEREUM, 10 * COIN)
    payout = ask(ETHEREUM)
    control.outage(ETHEREUM, 60)
    assert not drive(ETHEREUM)
    assert (fresh(payout).status, fresh(payout).hold_reason) == (PayoutStatus.HELD, HoldReason.NETWORK)
    assert not Transfer.objects.exists()
    assert "No provider" in the_wallet(ETHEREUM).last_error
    control.outage(ETHEREUM, 0)
    Payout.objects.filter(pk=payout.pk).update(next_attempt_at=timezone.now())
    finish(ETHEREUM)
    assert fresh(payout).status == PayoutStatus.PAID
    assert the_wallet(ETHEREUM).last_error == ""


# --- calling back ------------------------------------------------------------------------------------


def test_a_payout_can_be_called_back_until_it_is_signed() -> None:
    stock(ETHEREUM, 10 * COIN)
    early, late = ask(ETHEREUM), ask(ETHEREUM)
    with transaction.atomic():
        assert cancel_payout(early).status == PayoutStatus.CANCELLED
    drive(ETHEREUM)
    with pytest.raises(PayoutNotCancellable), transaction.atomic():
        cancel_payout(late)
    finish(ETHEREUM)
    assert (fresh(early).status, fresh(late).status) == (PayoutStatus.CANCELLED, PayoutStatus.PAID)
    assert (reserved(early), reserved(late)) == (COIN, 0)


def test_a_payout_is_only_for_money_that_is_reserved() -> None:
    with pytest.raises(RuntimeError, match="0 is reserved for a payout of 1000000"), transaction.atomic():
        request_payout(
            id=ids.new_uuid(),
            environment=SANDBOX,
            merchant_id=make_merchant().pk,
            reference="ref_x",
            asset=registry.asset(SANDBOX, ETHEREUM, "USDC"),
            amount=COIN,
            recipient=somebody(ETHEREUM),
        )


def test_the_network_is_asked_about_no_more_payouts_than_may_leave_now(monkeypatch: pytest.MonkeyPatch) -> None:
    put_simulated(monkeypatch, ETHEREUM, transfers_in_flight=4)
    stock(ETHEREUM, 100 * COIN)
    payouts = [ask(ETHEREUM, to=somebody(ETHEREUM, str(number))) for number in range(6)]
    check_recipient, asked = HotWallet.check_recipient, []

    def counting(hot_wallet: HotWallet, payout: PayoutInstruction) -> None:
        asked.append(payout.recipient)
        check_recipient(hot_wallet, payout)

    monkeypatch.setattr(HotWallet, "check_recipient", counting)
    drive(ETHEREUM)
    assert asked == [payout.recipient for payout in payouts[:4]]
    finish(ETHEREUM)
    assert asked == [payout.recipient for payout in payouts]
    assert {fresh(payout).status for payout in payouts} == {PayoutStatus.PAID}
