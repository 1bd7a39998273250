"""A merchant's refunds in every state, and the links on which payers say where they go."""

from __future__ import annotations

from dataclasses import dataclass

from merchants.models import Merchant
from payments.chains.simulated import control
from payments.models import Payment
from refunds.destination_links import destination_link_url
from refunds.models import Refund
from refunds.services import cancel_refund, give_destination
from refunds.states import NamedBy
from tests.networks import POLYGON, STELLAR
from tests.refunds.scenes import ask, fresh, paid, paid_by_two, send, wallet


@dataclass(frozen=True)
class RefundScenes:
    """Refunds and paths of claim links by the name of their state, and payments that can still be refunded."""

    refunds: dict[str, Refund]
    claims: dict[str, str]
    refundable: Payment
    with_surplus: Payment


def add_refunds(merchant: Merchant) -> RefundScenes:
    shared = paid_by_two(merchant=merchant)
    given, called_off, done, bounced = (ask(shared, amount) for amount in ("10", "11", "12", "13"))
    waiting = ask(paid_by_two(POLYGON, merchant=merchant), "64.20")
    claims = {
        "asks": _path(waiting),
        "asks_for_a_memo": _path(ask(shared, "14")),
        "used": _path(given),
        "cancelled": _path(called_off),
        "completed": _path(done),
        "failed": _path(bounced),
    }
    control.describe_account(STELLAR, wallet(name="closed"), refuses="destination_invalid")
    give_destination(done, address=wallet(), memo="7341", named_by=NamedBy.PAYER)
    give_destination(bounced, address=wallet(name="closed"), named_by=NamedBy.PAYER)
    cancel_refund(called_off)
    send()
    give_destination(given, address=wallet(), named_by=NamedBy.PAYER)
    refundable = paid(merchant=merchant)
    return RefundScenes(
        refunds={
            "requires_action": fresh(waiting),
            "pending": ask(refundable, "25.50", reason="One of two bags was out of stock"),
            "completed": fresh(done),
            "failed": fresh(bounced),
            "cancelled": fresh(called_off),
        },
        claims=claims,
        refundable=refundable,
        with_surplus=paid(received=["125"], merchant=merchant),
    )


def _path(refund: Refund) -> str:
    return "/refund/" + (destination_link_url(refund) or "").rpartition("/")[2]
