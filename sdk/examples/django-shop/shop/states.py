"""What an order is, from what the API says of its payments. No other code decides that."""

from collections.abc import Sequence
from dataclasses import dataclass

from ballast.models import Payment

STATES = {
    "created": "awaiting",
    "pending": "confirming",
    "underpaid": "short",
    "completed": "paid",
    "partially_refunded": "partly_refunded",
    "refunded": "refunded",
    "expired": "expired",
    "cancelled": "cancelled",
}

WORDS = {
    "awaiting": "We wait for your payment.",
    "confirming": "Your payment was seen. The network confirms it.",
    "short": "A part of the price is missing. Please send the rest.",
    "paid": "Paid. Your goods are on their way.",
    "partly_refunded": "A part was refunded.",
    "refunded": "Refunded.",
    "expired": "The time to pay is over. If you have sent coins, we look into it.",
    "cancelled": "Cancelled. If you have sent coins, we look into it.",
}
"""What the payer is told."""

PAID = {"paid", "partly_refunded", "refunded"}
OVER = {"expired", "cancelled"}
PASSED = {"reversed", "token_fee"}
"""Reasons that a payment has for its past: nobody must decide about them."""


def state_of(payment: Payment) -> str:
    if payment.status == "underpaid" and payment.closed_at is not None:
        return "expired"  # its time is over, and nothing more is awaited
    if payment.status in ("partially_refunded", "refunded") and payment.completed_at is None:
        return "expired"  # too little came, and was given back: it was never paid
    # A status of later than this program waits for a person: nothing is handed out.
    return STATES.get(payment.status, "confirming")


def waits(reason: str, payment: Payment) -> bool:
    """Whether a person must decide about this reason."""
    if reason == "underpaid":
        return state_of(payment) in OVER and payment.status != "refunded"
    return reason not in PASSED


@dataclass(frozen=True)
class Verdict:
    state: str
    attention: Sequence[str]
    """For which a person of the shop must look."""

    @property
    def words(self) -> str:
        return WORDS[self.state]

    @property
    def may_pay(self) -> bool:
        return self.state in ("awaiting", "short")

    @property
    def may_pay_again(self) -> bool:
        return self.state in OVER


def judge(payments: Sequence[Payment], *, is_delivered: bool) -> Verdict:
    """What becomes of an order with these payments, the first attempt first."""
    states = [state_of(payment) for payment in payments]
    paid = [state for state in states if state in PAID]
    attention = {reason for payment in payments for reason in payment.status_reasons if waits(reason, payment)}
    if len(paid) > 1:
        attention.add("paid_twice")
    if is_delivered and not paid:
        attention.add("taken_back")
    state = [*paid, *states[-1:], "awaiting"][0]
    if state == "partly_refunded" and not is_delivered:
        attention.add("not_delivered")  # nobody looked while it was paid: what is handed out now, a person decides
    return Verdict(state, sorted(attention))
