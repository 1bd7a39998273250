"""Money that nobody had asked for, at an address of its own: attributed to that address's payment, once, by two."""

from __future__ import annotations

import pytest

from config.errors import DomainError
from merchants.four_eyes.models import ProposalStatus
from merchants.models import User
from payments.chains.simulated import control
from payments.models import Discrepancy, Payment
from payments.suspense.attribution import propose_attribution
from payments.suspense.suggestions import describe
from tests.factories import make_user
from tests.payments.scenes import (
    BLOCKS_UNTIL_FINAL,
    ETHEREUM,
    POLYGON,
    assert_all_is_well,
    books,
    make_payment,
    mine_and_watch,
    now,
    pay_and_confirm,
    watch,
)
from tests.payments.test_unasked_money import (
    assert_the_chain_has_what_the_books_say,
    held,
    let_time_pass,
    reconcile,
    send_to_number,
    sweep,
)
from tests.stopping import lift_halt

pytestmark = pytest.mark.django_db(transaction=True)


def operators() -> tuple[User, User]:
    return make_user(is_staff=True, is_superuser=True), make_user(is_staff=True, is_superuser=True)


def attribute(payment: Payment, operator: User) -> bool:
    waiting = Discrepancy.objects.get(status="open", payment=None)
    said = propose_attribution(waiting, payment_id=payment.public_id, by=operator, reason="the payer told us")
    return said.status == ProposalStatus.DONE


@pytest.mark.parametrize("network", [ETHEREUM, POLYGON])
def test_money_that_came_before_its_payment_is_attributed_to_it_and_a_reorganisation_takes_it_back(
    network: str,
) -> None:
    other = make_payment(network)
    address = send_to_number(1, other.due, network)
    let_time_pass(network)
    mine_and_watch(network, BLOCKS_UNTIL_FINAL[network])
    waiting = Discrepancy.objects.get()
    assert "no payment has this address yet" in describe(waiting)
    payment = make_payment(network)
    assert payment.deposit_address == address
    assert f"{payment.public_id} of " in describe(waiting)
    assert held() == [("unasked", payment.due)]
    ada, ben = operators()
    with pytest.raises(DomainError, match=f"not the address of {other.public_id}"):
        attribute(other, ada)
    assert (attribute(payment, ada), attribute(payment, ben)) == (False, True)
    assert (now(payment).status, now(payment).received, now(other).received) == ("completed", payment.due, 0)
    assert books(payment) == {"chain:deposit": payment.due, "merchant:available": payment.due}
    with pytest.raises(Discrepancy.DoesNotExist):
        attribute(payment, ben)
    assert_all_is_well()

    control.reorg(network, BLOCKS_UNTIL_FINAL[network], "dropped", force=True)
    watch()
    lift_halt(network)
    watch()
    assert (now(payment).status, now(payment).received, books(payment)) == ("created", 0, {})
    assert_all_is_well()


def test_what_was_attributed_is_swept_from_its_address_once() -> None:
    payment = make_payment(ETHEREUM)
    send_to_number(1, payment.due)
    let_time_pass()
    mine_and_watch(ETHEREUM, BLOCKS_UNTIL_FINAL[ETHEREUM])
    payment = make_payment(ETHEREUM)
    for operator in operators():
        attribute(payment, operator)
    pay_and_confirm(make_payment(ETHEREUM))
    sweep()
    assert_the_chain_has_what_the_books_say(payment)
    assert (books(payment)["chain:hot"], held()) == (2 * payment.due, [])
    assert reconcile()[0] == 0
