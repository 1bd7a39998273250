"""Gives surplus back by itself where its merchant has chosen that, by the steps of any other refund."""

from __future__ import annotations

from django.db.models import Exists, OuterRef

from config.containment import contained
from config.errors import DomainError
from payments.dashboard.decision_rows import payment_of
from payments.deposits.models import ScanCursor
from payments.deposits.surplus_policy import BATCH, DECIDED_BY, to_give_back
from payments.models import Deposit
from refunds.models import Refund
from refunds.services import NewRefund, create_refund

REASON = "Paid beyond the price"


def give_back_due() -> int:
    """Make a refund of every surplus that its merchant's policy gives back; returns how many.

    Only once every transfer of the payment is final: a reorganisation could take back what has left us already. A
    surplus of which a refund has failed before waits for a person.
    """
    done = 0
    tried = Refund.objects.filter(discrepancy=OuterRef("pk"))
    final = ScanCursor.objects.filter(environment=OuterRef("environment"), network=OuterRef("network"))
    open_to_change = Deposit.objects.filter(payment=OuterRef("payment")).exclude(
        Exists(final.filter(finalized_height__gte=OuterRef("height")))
    )
    for waiting in to_give_back():
        due = waiting.filter(~Exists(tried), ~Exists(open_to_change)).select_related("payment")
        for discrepancy in due.order_by("id")[:BATCH]:
            named = discrepancy.public_id
            with contained("surplus could not be given back", expected=(DomainError,), discrepancy=named):
                payment = payment_of(discrepancy)
                asked = NewRefund(discrepancy=discrepancy, reason=REASON)
                create_refund(payment=payment, request=asked, requested_by=DECIDED_BY)
                done += 1
    return done
