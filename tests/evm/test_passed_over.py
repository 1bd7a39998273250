"""Deposits that a sweep could not move, on a real node: named, kept in the ledger where they are, and swept later."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from merchants.ledger import stops
from merchants.ledger.balances import balance
from merchants.ledger.checking import Finding, Scope, registered
from payments.chains.evm import abi, sending
from payments.chains.evm.nodes import prices
from payments.deposits.postings import chain_account
from payments.models import Payment
from payments.monitoring.alarm_rules import AlarmCondition, of_rows
from payments.monitoring.states import AlarmKind
from payments.transfers.models import Transfer
from payments.treasury import sweeping
from payments.treasury.models import Sweep, SweepRequest, SweptAddress
from tests.evm.front import GWEI
from tests.evm.network import devnet
from tests.evm.street import PRODUCTION, Street, reconcile
from tests.networks import POLYGON

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def findings() -> list[Finding]:
    check = {each.code: each.check for each in registered()}["I11s"]
    return list(check(Scope()))


def alarms() -> list[AlarmCondition]:
    return [each for each in of_rows(PRODUCTION, POLYGON) if each.kind == AlarmKind.ADDRESS_PASSED_OVER]


def free(payment: Payment) -> bool:
    return payment.deposits.get().sweep_id is None


def let_pauses_end() -> None:
    SweptAddress.objects.filter(try_again_at__isnull=False).update(try_again_at=timezone.now())


def assert_all_is_swept(street: Street) -> None:
    assert balance(chain_account(POLYGON, "USDC"), environment=PRODUCTION) == 0
    street.shop.assert_books_are_the_chain()
    assert (findings(), alarms(), reconcile()) == ([], [], 0)


def test_a_frozen_address_is_passed_over_named_and_swept_once_it_is_free(street: Street) -> None:
    frozen, other = street.paid(), street.paid()
    street.freeze("USDC", frozen.deposit_address)
    street.sweep()
    assert [(each.expected, each.moved) for each in Sweep.objects.all()] == [(80_000_000, 40_000_000)]
    assert (free(frozen), free(other)) == (True, False)
    [stopped] = stops.elsewhere()
    assert stopped.what == "sweeps of USDC on polygon (production)"
    assert frozen.deposit_address in stopped.reason
    line = SweptAddress.objects.get(payment=frozen)
    assert (line.expected, line.left, line.was_refused, line.reason) == (40_000_000, 0, True, "frozen")
    assert balance(chain_account(POLYGON, "USDC"), environment=PRODUCTION) == 40_000_000

    said = f"40.00 USDC at {frozen.deposit_address} of payment {frozen.public_id}: the issuer has frozen the address"
    [alarm], [finding] = alarms(), findings()
    assert alarm.subject == f"USDC at {frozen.deposit_address}"
    assert alarm.message.startswith(said)
    assert said in str(finding.actual)
    assert (finding.expected, finding.delta, finding.network) == (40_000_000, -40_000_000, POLYGON)
    assert reconcile() == 1, "a warning, and nothing that would stop payouts"

    for tries, pause in ((1, 5), (2, 10), (3, 20)):
        line.refresh_from_db()
        assert line.tries == tries
        assert line.try_again_at is not None
        assert abs(line.try_again_at - timezone.now() - timedelta(minutes=pause)) < timedelta(minutes=2)
        let_pauses_end()
        street.sweep()
    assert Transfer.objects.count() == 1, "asking costs nothing: no other sweep is signed for it"

    street.freeze("USDC", frozen.deposit_address, frozen=False)
    street.sweep()
    assert free(frozen), "not before its pause has ended"
    let_pauses_end()
    street.sweep()
    assert not free(frozen)
    assert_all_is_swept(street)


@pytest.mark.parametrize("trouble", ["paused", "wallet_refused"])
def test_what_stops_a_whole_coin_is_one_alarm_and_costs_one_sweep(street: Street, trouble: str) -> None:
    def stop(on: bool) -> None:
        if trouble == "paused":
            street.pause("USDC", paused=on)
        else:
            street.freeze("USDC", devnet.HOT_WALLET, frozen=on)

    payments = [street.paid(), street.paid()]
    stop(True)
    street.sweep()
    assert {line.reason for line in SweptAddress.objects.all()} == {trouble}
    assert all(map(free, payments))
    [alarm] = alarms()
    assert alarm.subject == "USDC"
    assert all(payment.deposit_address in alarm.message for payment in payments)
    assert len(findings()) == 2

    later = street.open()
    street.mainnet.fund("USDC", later.deposit_address, int(later.due))  # new coins arrive even now
    street.let_blocks_pass()
    let_pauses_end()
    street.sweep()
    assert Transfer.objects.count() == 1
    stop(False)
    let_pauses_end()
    street.sweep()
    assert not any(map(free, [*payments, later]))
    assert_all_is_swept(street)


def test_an_address_is_given_enough_gas_where_the_estimate_is_too_low(
    street: Street, monkeypatch: pytest.MonkeyPatch
) -> None:
    payment = street.paid()
    with monkeypatch.context() as without:
        without.setattr(sending, "_SWEEP_GAS_LEAST", 40_000)
        without.setattr(sending.Sending, "_gas_per_deposit", 1)
        without.setattr(prices, "with_margin", lambda gas: gas - gas // 12)
        street.sweep()
    assert free(payment), "the control: a sweep succeeds although its only address ran out of gas"
    assert SweptAddress.objects.get().reason == "passing"
    assert "ran out of gas" in alarms()[0].message
    let_pauses_end()
    street.sweep()
    assert not free(payment)
    assert_all_is_swept(street)


def test_sweep_now_says_what_it_took_and_what_not(street: Street) -> None:
    frozen, other = street.paid(), street.paid()
    street.freeze("USDC", frozen.deposit_address)

    def ask() -> str:
        place = {"environment": PRODUCTION, "network": POLYGON, "asset": "USDC"}
        request = sweeping.request_sweep(**place, requested_by="Ada")
        street.sweep()
        request = SweepRequest.objects.get(pk=request.pk)
        assert request.done_at is not None
        return request.outcome

    left = f"40.00 USDC at {frozen.deposit_address} of payment {frozen.public_id}: the issuer has frozen the address"
    assert ask().startswith(f"Took 40.00 USDC from 1 address. Left: {left}")
    assert not free(other)
    assert ask().startswith(f"Nothing is swept. Left: {left}")
    street.freeze("USDC", frozen.deposit_address, frozen=False)
    assert ask() == "Took 40.00 USDC from 1 address.", "it waits for no pause"
    assert ask() == "Nothing is swept. Nothing that is worth it waits there."
    assert_all_is_swept(street)


def test_a_deposit_in_the_very_block_of_a_sweep_that_took_it_along_is_not_passed_over(street: Street) -> None:
    payment = street.paid()
    sweeping.sweep_due(PRODUCTION, POLYGON)
    minted = abi.call("mint(address,uint256)", payment.deposit_address, 5_000_000)
    offer = {"maxFeePerGas": hex(900 * GWEI), "maxPriorityFeePerGas": hex(800 * GWEI), "gas": hex(200_000)}
    sent = {"from": street.node.accounts[9], "to": street.mainnet.tokens["USDC"], "data": "0x" + minted.hex()}
    street.node.rpc.call("eth_sendTransaction", sent | offer)  # first in the block that the sweep is in
    street.sweep()
    street.sweep()
    assert {deposit.sweep_id for deposit in payment.deposits.all()} == {Sweep.objects.get().pk}
    heights = {deposit.height for deposit in payment.deposits.all()}
    assert Transfer.objects.get().height in heights, "else this shows nothing"
    assert (findings(), alarms(), reconcile()) == ([], [], 0)
