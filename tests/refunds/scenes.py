"""What payers, merchants and workers do about refunds, in words the tests of refunds share.

Most of it happens on stellar, where a deposit arrives in the very wallet that refunds leave from, and is final at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from merchants.ledger.balances import balance
from merchants.models import Merchant
from payments.chains.simulated import control
from payments.chains.simulated.networks import address_named
from payments.models import Discrepancy, Payment
from payments.transfers.owners import follow_payouts
from payments.transfers.postings import payout_account
from refunds import tasks
from refunds.models import Refund
from refunds.plans.planning import NewRefund
from refunds.services import create_refund
from tests.factories import make_merchant
from tests.payments.scenes import (
    BLOCKS_UNTIL_FINAL,
    SANDBOX,
    STELLAR,
    assess,
    make_payment,
    mine,
    now,
    part_of,
    read,
)
from tests.transfers.scenes import finish
from tests.worlds import populated_once
from webhooks.models import Event

PAYER = "the payer"


def wallet(network: str = STELLAR, name: str = PAYER) -> str:
    return address_named(network, name)


@populated_once
def paid(
    network: str = STELLAR,
    amount: str = "100",
    *,
    received: Sequence[str] = (),
    senders: Sequence[str] = (PAYER,),
    has_memo: bool = False,
    merchant: Merchant | None = None,
    **fields: Any,
) -> Payment:
    """A payment of so many dollars whose money has come, all of it or what is named, in turn from these payers.

    With `has_memo`, the payers name the payment by its memo, as they do in the app of an exchange.
    Only its own network is read: many tests begin with this.
    """
    payment = make_payment(network, amount=amount, merchant=merchant, **fields)
    parts = [part_of(payment, part) for part in received] or [due_of(payment)]
    if has_memo:
        parts = [replace(part, recipient=payment.deposit_address, memo=payment.memo) for part in parts]
    for number, part in enumerate(parts):
        control.pay_together(network, [part], sender=wallet(network, senders[number % len(senders)]))
    mine(network, BLOCKS_UNTIL_FINAL[network])
    read(network)
    return assess(payment)


def due_of(payment: Payment) -> control.Part:
    """What is asked for, to the base unit."""
    return replace(part_of(payment, "1"), amount=payment.due)


def paid_by_two(network: str = STELLAR, *, merchant: Merchant | None = None, **fields: Any) -> Payment:
    """Half of it from one payer and half from another: nobody can tell where it goes back to."""
    return paid(network, received=["60", "40"], senders=[PAYER, "a friend"], merchant=merchant, **fields)


def ask(
    payment: Payment, amount: str | None = None, *, discrepancy: Discrepancy | None = None, **fields: Any
) -> Refund:
    asked = NewRefund(amount=None if amount is None else Decimal(amount), discrepancy=discrepancy, **fields)
    return create_refund(payment=payment, request=asked, requested_by="tests")


def resolve() -> None:
    """The worker asks about the senders of refunds that name no address."""
    tasks.resolve_destinations()


def send(network: str = STELLAR, rounds: int = 3) -> None:
    """Whatever can be sent is sent and final, and refunds have followed."""
    resolve()
    finish(network, rounds)
    follow_payouts()


def fresh(refund: Refund) -> Refund:
    return Refund.objects.select_related("payment", "payout").get(pk=refund.pk)


def told(refund: Refund) -> list[str]:
    """What has been told of the refund, oldest first, without its first word."""
    return [type.removeprefix("refund.") for type in Event.objects.about(refund.pk).values_list("type", flat=True)]


def reserved(refund: Refund) -> int:
    """What waits for it in the ledger."""
    return balance(payout_account(refund.network, refund.cryptocurrency, refund.id), environment=SANDBOX)


def refunded(payment: Payment) -> tuple[str, int, int]:
    payment = now(payment)
    return payment.status, payment.refunded, payment.returned


def merchant_with_balance(network: str = STELLAR) -> Merchant:
    """One that has other money than that of the payment in question."""
    merchant = make_merchant()
    paid(network, "1000", merchant=merchant)
    return merchant
