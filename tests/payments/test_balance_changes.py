"""The rows that settlements are made of."""

from __future__ import annotations

import uuid

import pytest
from django.db import transaction

from merchants.ledger.posting import InsufficientFunds
from payments.models import BalanceChange, Payment
from payments.suspense import refund_accounting
from payments.suspense.acceptance import accept_discrepancy
from payments.suspense.refund_accounting import InsufficientBalance
from tests.payments import scenes
from tests.payments.refunds import (
    Reserved,
    assert_all_is_well,
    balance_changes,
    completed,
    reserve,
    unfinal,
)
from tests.payments.scenes import (
    ETHEREUM,
    SANDBOX,
    STELLAR,
    discrepancy,
    make_payment,
    mine_and_watch,
    now,
    pay,
    pay_and_confirm,
    reorganise,
    units,
    watch,
)

pytestmark = pytest.mark.django_db


def test_a_change_says_for_whom_for_what_and_from_which_posting() -> None:
    payment = completed()
    refund = reserve(payment, units(payment, "25"))
    paid, given = BalanceChange.objects.order_by("id")
    assert (paid.merchant_id, paid.environment, paid.payment_id) == (payment.merchant_id, SANDBOX, payment.pk)
    assert (paid.network, paid.asset, paid.decimals) == (ETHEREUM, "USDC", 6)
    assert (paid.wallet, paid.reference, paid.settlement) == (payment.merchant_wallet, payment.public_id, None)
    assert (paid.posting_kind, paid.posting_reference) == ("payment_released", f"{payment.pk}:1")
    assert (given.wallet, given.reference) == (payment.merchant_wallet, refund.public_id)
    assert (given.posting_kind, given.posting_reference) == ("refund_reserved", refund.public_id)


def test_money_in_another_coin_changes_the_balance_in_that_coin() -> None:
    payment = pay_and_confirm(make_payment(STELLAR), "70", coin="DAI")
    accept_discrepancy(discrepancy(payment), resolved_by="Ada")
    [change] = BalanceChange.objects.all()
    assert (change.kind, change.network, change.asset, change.decimals) == ("accepted", STELLAR, "DAI", 7)
    assert (change.amount, change.wallet) == (70 * 10**7, payment.merchant_wallet)


def test_what_is_owed_is_repaid_within_one_change() -> None:
    payment, transaction_hash = unfinal()
    scenes.spend(payment, "100")
    reorganise(payment, 6, "dropped", only=[transaction_hash])
    other = make_payment(ETHEREUM, merchant=payment.merchant, amount="150")
    pay(other)
    mine_and_watch(ETHEREUM, 3)
    assert balance_changes(payment)[-1] == ("reversal", -payment.due)
    assert balance_changes(other) == [("payment", other.due)]
    assert_all_is_well()


def test_a_posting_made_again_changes_nothing_twice() -> None:
    payment = completed()
    [change] = BalanceChange.objects.all()
    settlement = uuid.uuid4()
    BalanceChange.objects.update(settlement=settlement)
    Payment.objects.filter(pk=payment.pk).update(released=0, booking_count=0)  # as if it had never been assessed
    scenes.assess(payment)
    assert [row.pk for row in BalanceChange.objects.all()] == [change.pk]
    assert BalanceChange.objects.get().settlement == settlement


def test_a_refusal_leaves_no_change_behind() -> None:
    payment = completed()
    scenes.spend(payment, "100")
    with transaction.atomic():
        locked = refund_accounting.lock_payment(payment.pk)
        refund = Reserved(uuid.uuid4(), payment.pk, None, 1)
        with pytest.raises(InsufficientBalance) as refusal:
            refund_accounting.reserve(
                payment=locked,
                discrepancy=None,
                amount=1,
                payout_id=refund.id,
                refund_public_id=refund.public_id,
            )
        assert isinstance(refusal.value.__cause__, InsufficientFunds)
    assert not BalanceChange.objects.filter(kind="refund", amount=-1).exists()
    assert now(payment).refunded == 0
    watch()
