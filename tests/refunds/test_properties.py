"""Whatever happens to the refunds of a payment, in any order: the ledger agrees, and no more leaves than came in."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from config.errors import DomainError
from payments.states import DiscrepancyStatus
from payments.transfers.payouts import fail_payout
from refunds.models import Refund
from refunds.plans.planning import what_is_left
from refunds.services import cancel_refund, follow_payout, give_destination
from refunds.states import NamedBy, RefundStatus
from tests.payments.scenes import assert_all_is_well, now
from tests.refunds.scenes import ask, fresh, paid, resolve, send, wallet
from tests.transfers.scenes import on_chain

pytestmark = pytest.mark.django_db

AMOUNTS = st.one_of(st.none(), st.sampled_from(["0.01", "33.33", "60", "99.99", "100"]))
STEPS = st.lists(
    st.tuples(st.sampled_from(["ask", "ask", "ask", "suspense", "cancel", "fail", "name", "resolve", "send"]), AMOUNTS),
    min_size=4,
    max_size=12,
)


@given(steps=STEPS, is_known=st.booleans())
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_more_leaves_than_came_in(steps: list[tuple[str, str | None]], is_known: bool) -> None:
    # 125 came for 100: the surplus is in suspense.
    payment = paid(received=["80", "45"], senders=["one"] if is_known else ["one", "two"])
    received, before = payment.received, on_chain("stellar", wallet(name="one"))
    for step, amount in steps:
        refunds = list(Refund.objects.filter(payment=payment).order_by("id"))
        try:
            match step:
                case "ask":
                    ask(payment, amount)
                case "suspense":
                    ask(payment, discrepancy=payment.discrepancies.get(status=DiscrepancyStatus.OPEN))
                case "cancel" if refunds:
                    cancel_refund(refunds[-1])
                case "fail" if refunds and refunds[-1].payout_id:
                    fail_payout(refunds[-1].pk, code="rejected", message="No.")
                    follow_payout(refunds[-1])
                case "name" if refunds:
                    give_destination(refunds[0], address=wallet(name="one"), named_by=NamedBy.PAYER)
                case "resolve":
                    resolve()
                case "send":
                    send(rounds=1)
        except (DomainError, payment.discrepancies.model.DoesNotExist):
            pass
        payment = now(payment)
        assert payment.returned <= payment.refunded <= received
        left = what_is_left(payment)
        assert 0 <= left.units <= payment.released
        assert (left.fiat == 0) == (left.units == 0)
    send()
    for refund in Refund.objects.filter(payment=payment, status=RefundStatus.REQUIRES_ACTION):
        give_destination(refund, address=wallet(name="one"), named_by=NamedBy.MERCHANT)
    send()
    refunds = [fresh(each) for each in Refund.objects.filter(payment=payment)]
    assert {each.status for each in refunds} <= {"completed", "failed", "cancelled"}
    sent = sum(each.amount for each in refunds if each.status == "completed")
    assert sent == on_chain("stellar", wallet(name="one")) - before <= received
    assert_all_is_well()
