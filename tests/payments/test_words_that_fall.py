"""Whoever has lost the right to decide is not counted among those who agreed about money of others."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from merchants.four_eyes.people import RESET_WAIT, DoesNotCount, note_reset
from merchants.models import User
from payments.deposits.acceptance import AlreadyApproved, accept_as_operator
from payments.deposits.attribution import attribute_as_operator
from payments.deposits.giving_back import give_back_as_operator
from payments.deposits.models import ReturnApproval
from payments.models import Attribution, Discrepancy, DiscrepancyApproval
from payments.transfers.models import Payout, PayoutPolicy
from payments.transfers.payouts import policy_of
from tests.factories import make_user
from tests.networks import ETHEREUM, STELLAR
from tests.payments.scenes import SANDBOX, discrepancy, end_window, make_payment, pay_and_confirm
from tests.payments.test_attribution import arrive
from tests.payments.test_giving_back import come, prove

pytestmark = pytest.mark.django_db(transaction=True)

Decide = Callable[[User], bool]


def accepting() -> tuple[Decide, Callable[[], str]]:
    payment = make_payment(ETHEREUM, "USDC", "25")
    pay_and_confirm(payment, "12.5")
    end_window(payment)
    policy_of(SANDBOX)
    PayoutPolicy.objects.filter(environment=SANDBOX).update(approval_above=12)
    row = discrepancy(payment)
    return lambda who: accept_as_operator(row, operator=who, reason="a voucher"), lambda: status_of(row)


def attributing() -> tuple[Decide, Callable[[], str]]:
    payment = make_payment(STELLAR)
    row = arrive(payment)
    named = payment.public_id
    return (
        lambda who: attribute_as_operator(row, payment_id=named, operator=who, reason="shown"),
        lambda: status_of(row),
    )


def giving_back() -> tuple[Decide, Callable[[], str]]:
    returned = prove(come(STELLAR))
    row = Discrepancy.objects.get()
    return lambda who: give_back_as_operator(returned, operator=who, reason="nobody lacks it"), lambda: status_of(row)


def status_of(row: Discrepancy) -> str:
    return Discrepancy.objects.get(pk=row.pk).status


def be_dismissed(person: User) -> None:
    User.objects.filter(pk=person.pk).update(is_active=False)


def be_reset(person: User) -> None:
    note_reset(person, is_password_known=False)


@pytest.mark.parametrize("scene", [accepting, attributing, giving_back])
@pytest.mark.parametrize("fall", [be_dismissed, be_reset])
def test_the_word_of_an_operator_falls_with_the_right_to_decide(
    scene: Callable[[], tuple[Decide, Callable[[], str]]], fall: Callable[[User], None]
) -> None:
    ada, ben, eve = (make_user(is_staff=True, is_superuser=True) for _ in range(3))
    decide, status = scene()
    assert not decide(ada)
    fall(ada)
    with pytest.raises(DoesNotCount):
        decide(ada)
    assert not decide(ben)
    assert (status(), Payout.objects.count()) == ("open", 0)
    with pytest.raises(AlreadyApproved):
        decide(ben)
    assert decide(eve)
    assert status() != "open"


@pytest.mark.parametrize("scene", [accepting, attributing, giving_back])
def test_whoever_is_an_operator_again_must_say_it_again(
    scene: Callable[[], tuple[Decide, Callable[[], str]]],
) -> None:
    ada, ben = (make_user(is_staff=True, is_superuser=True) for _ in range(2))
    decide, status = scene()
    assert not decide(ada)
    note_reset(ada)
    assert not decide(ben)
    reset_at = timezone.now() - RESET_WAIT - timedelta(seconds=1)
    User.objects.filter(pk=ada.pk).update(credentials_reset_at=reset_at)
    for words in (DiscrepancyApproval, Attribution, ReturnApproval):
        words.objects.filter(operator=ada).update(approved_at=reset_at - timedelta(seconds=1))
    assert decide(ada)
    assert status() != "open"
