"""What is none of ours, or not what was asked for."""

from __future__ import annotations

import pytest

from payments.chains import registry
from payments.chains.simulated import control
from payments.deposits import unattributed
from payments.models import Deposit, Discrepancy
from tests.networks import look_alike
from tests.payments.scenes import (
    ETHEREUM,
    NETWORKS,
    SANDBOX,
    STELLAR,
    assert_all_is_well,
    books,
    confirm,
    discrepancies,
    make_payment,
    mine,
    now,
    pay_and_confirm,
    pay_without_memo,
    read,
    units,
    watch,
)
from tests.stopping import halt, lift_halt

pytestmark = pytest.mark.django_db


def test_an_unknown_token_is_ignored() -> None:
    payment = make_payment(ETHEREUM)
    control.pay(ETHEREUM, recipient=payment.deposit_address, contract=payment.deposit_address, amount=10**9)
    payment = confirm(payment)
    assert (payment.status, payment.status_reasons, payment.deposit_count) == ("created", [], 0)
    assert (Deposit.objects.count(), books(payment)) == (0, {})


@pytest.mark.parametrize("network", NETWORKS)
def test_a_token_that_only_looks_like_the_coin_is_never_credited(network: str) -> None:
    payment = make_payment(network)
    fake = control.Part(look_alike(network), payment.due, payment.deposit_address, payment.memo or None)
    control.pay_together(network, [fake] * 20)
    payment = confirm(payment)
    assert (payment.status, Deposit.objects.count(), books(payment)) == ("created", 0, {})
    payment = pay_and_confirm(payment)
    assert (payment.status, payment.received, Deposit.objects.count()) == ("completed", payment.due, 1)
    assert_all_is_well()


def test_transfers_of_nothing_are_ignored() -> None:
    payment = make_payment(ETHEREUM)
    asset = registry.asset(SANDBOX, ETHEREUM, "USDC")
    control.pay(ETHEREUM, recipient=payment.deposit_address, contract=asset.contract, amount=0)
    assert (confirm(payment).deposit_count, Deposit.objects.count()) == (0, 0)


def test_money_to_a_stranger_is_not_ours() -> None:
    payment = make_payment(ETHEREUM)
    asset = registry.asset(SANDBOX, ETHEREUM, "USDC")
    control.pay(ETHEREUM, recipient=payment.merchant_wallet, contract=asset.contract, amount=payment.due)
    confirm(payment)
    assert Deposit.objects.count() == 0


def test_several_transfers_of_one_on_chain_transaction_are_several_deposits() -> None:
    first, second = make_payment(ETHEREUM), make_payment(ETHEREUM)
    asset = registry.asset(SANDBOX, ETHEREUM, "USDC")
    parts = [
        control.Part(asset.contract, units(first, "60"), first.deposit_address),
        control.Part(asset.contract, units(second, "100"), second.deposit_address),
        control.Part(asset.contract, units(first, "40"), first.deposit_address),
    ]
    transaction_hash = control.pay_together(ETHEREUM, parts)
    first = confirm(first)
    assert (first.status, first.deposit_count, now(second).status) == ("completed", 2, "completed")
    found = Deposit.objects.filter(transaction_hash=transaction_hash).order_by("ordinal")
    assert [(each.ordinal, each.amount) for each in found] == [
        (0, units(first, "60")),
        (1, units(first, "100")),
        (2, units(first, "40")),
    ]
    assert_all_is_well()


@pytest.mark.parametrize("memo", [None, "0", "999999999", "thanks for the fish"])
def test_money_without_a_memo_that_names_a_payment_waits_for_a_person(memo: str | None) -> None:
    payment = make_payment(STELLAR)
    asset = registry.asset(SANDBOX, STELLAR, "USDC")
    control.pay(STELLAR, recipient=payment.deposit_address, contract=asset.contract, amount=payment.due, memo=memo)
    confirm(payment)
    watch()  # once is enough
    held = Discrepancy.objects.get()
    assert (held.kind, held.merchant, held.payment, held.amount) == ("no_memo", None, None, payment.due)
    assert books(payment) == {"chain:hot": payment.due, "suspense:no_memo": payment.due}
    assert discrepancies(payment) == []
    assert_all_is_well()


def test_memo_less_money_that_the_chain_takes_back_leaves_the_books() -> None:
    payment = make_payment(STELLAR)
    pay_without_memo(payment, "10")
    confirm(payment)
    control.reorg(STELLAR, 1, "dropped", force=True)
    watch()
    lift_halt(STELLAR)
    watch()
    assert books(payment) == {}
    assert Discrepancy.objects.get().status == "void"
    assert_all_is_well()


def test_memo_less_money_waits_while_its_network_is_halted() -> None:
    payment = make_payment(STELLAR)
    pay_without_memo(payment, "10")
    mine(STELLAR)
    read(STELLAR)
    halt(STELLAR)
    assert unattributed.book_unattributed(SANDBOX, STELLAR) == 0
    assert books(payment) == {}
