"""Checks of refunds against their payments, their payouts and the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from django.utils import timezone

from config import ids
from merchants.invariants import inexact_counters
from merchants.ledger.checking import Finding, Records, Scope, Severity, invariant
from refunds.models import REFUNDS, Refund
from refunds.states import RefundStatus
from webhooks.invariants import changes_without_event

PENDING_MAX = timedelta(hours=1)

LOOKED_AT = Records("refund", "refunds_refund", touched=("SELECT object_id FROM webhooks_event WHERE id >= %(since)s",))

_IN_SCOPE = """
    refund.environment = ANY(%(environments)s)
        AND (%(network)s::text IS NULL OR refund.network = %(network)s) AND {refunds}
"""

_REFUNDED_SINCE = """
    SELECT payment_id FROM refunds_refund AS made JOIN webhooks_event AS event ON event.object_id = made.id
    WHERE event.id >= %(since)s
"""

PAID_BACK = Records(
    "payment",
    "payments_payment",
    touched=(_REFUNDED_SINCE,),
)

PAYMENTS_AGAINST_REFUNDS = """
    SELECT payment.environment, payment.network, payment.id, payment.refunded, coalesce(given.reserved, 0),
        payment.returned, coalesce(given.final, 0)
    FROM payments_payment AS payment
    LEFT JOIN (
        SELECT refund.payment_id,
            sum(refund.amount) FILTER (WHERE discrepancy.kind IS NULL OR discrepancy.kind IN ('overpaid', 'underpaid'))
                AS reserved,
            sum(refund.amount) FILTER (
                WHERE refund.status = 'completed' AND (discrepancy.kind IS NULL OR discrepancy.kind = 'underpaid')
            ) AS final
        FROM refunds_refund AS refund
        LEFT JOIN payments_discrepancy AS discrepancy ON discrepancy.id = refund.discrepancy_id
        WHERE refund.status NOT IN ('failed', 'cancelled') AND {refunds}
        GROUP BY refund.payment_id
    ) AS given ON given.payment_id = payment.id
    WHERE (payment.refunded > 0 OR payment.returned > 0 OR given.payment_id IS NOT NULL)
        AND (payment.refunded <> coalesce(given.reserved, 0) OR payment.returned <> coalesce(given.final, 0))
        AND payment.environment = ANY(%(environments)s)
        AND (%(network)s::text IS NULL OR payment.network = %(network)s)
        AND {payments}
"""


@invariant("R1", "every payment knows what was given back of it, and what is reserved for that")
def payments_know_their_refunds(scope: Scope) -> Iterator[Finding]:
    payments = scope.records(PAID_BACK)
    refunds = "TRUE" if scope.since is None else payments.replace("payment.id", "refund.payment_id", 1)
    query = PAYMENTS_AGAINST_REFUNDS.format(payments=payments, refunds=refunds)
    for environment, network, key, refunded, reserved, returned, final in scope.rows(query):
        for name, expected, actual in (("refunded", reserved, refunded), ("returned", final, returned)):
            if expected != actual:
                yield Finding(
                    f"payment {ids.PAYMENT.encode(key)}: {name}",
                    int(expected),
                    int(actual),
                    "compare the payment's refunds with its postings; more than was paid may have left",
                    delta=int(actual - expected),
                    environment=environment,
                    network=network,
                    key=key,
                )


# The money of an open refund is in the account of its payout, unless that was just paid; of an ended one it is gone.
STATUS_AGAINST_MONEY = f"""
    SELECT refund.environment, refund.network, refund.id, refund.status, coalesce(payout.status, 'none'), refund.amount,
        coalesce(-account.balance, 0)
    FROM refunds_refund AS refund
    LEFT JOIN transfers_payout AS payout ON payout.id = refund.payout_id
    LEFT JOIN ledger_account AS account ON account.kind = 'payout' AND account.owner = refund.id::text
        AND account.environment = refund.environment AND account.network = refund.network
        AND account.asset = refund.cryptocurrency
    WHERE {_IN_SCOPE} AND (
        coalesce(-account.balance, 0) <> CASE
            WHEN refund.status IN ('completed', 'failed', 'cancelled') OR payout.status = 'paid' THEN 0
            ELSE refund.amount END
        OR (refund.status = 'completed' AND payout.status IS DISTINCT FROM 'paid')
        OR (refund.status = 'failed' AND payout.status IS DISTINCT FROM 'failed')
        OR (refund.status = 'cancelled' AND coalesce(payout.status, 'cancelled') <> 'cancelled')
        OR (payout.status = 'cancelled' AND refund.status <> 'cancelled')
    )
"""  # noqa: S608


@invariant("R2", "a refund is completed exactly when its payout is paid, and its money is where its status says")
def statuses_follow_the_payouts(scope: Scope) -> Iterator[Finding]:
    for environment, network, key, status, payout, amount, reserved in scope.rows(
        STATUS_AGAINST_MONEY.format(refunds=scope.records(LOOKED_AT))
    ):
        yield Finding(
            f"refund {ids.REFUND.encode(key)}",
            "reserved until it is paid or given up, and ended as its payout ended",
            f"{status}, its payout {payout}, {int(reserved)} of {int(amount)} reserved",
            "trace the postings of this refund by its id; do not pay it again before it is clear what has left",
            environment=environment,
            network=network,
            key=key,
        )


@invariant("R3", "every change of a refund was told by an event")
def changes_have_events(scope: Scope) -> Iterator[Finding]:
    yield from changes_without_event(scope, LOOKED_AT)


@invariant("R4", "no refund that has an address waits for longer than an hour", severity=Severity.WARNING)
def nothing_waits_too_long(scope: Scope) -> Iterator[Finding]:
    waiting = Refund.objects.filter(
        environment__in=scope.environments,
        status__in=[RefundStatus.PENDING, RefundStatus.PROCESSING],
        id__lt=ids.first_uuid_at(timezone.now() - PENDING_MAX),
    ).select_related("payout")
    if scope.network:
        waiting = waiting.filter(network=scope.network)
    for refund in waiting.order_by("id").iterator(chunk_size=500):
        payout = refund.payout
        why = "its sender has not been asked about" if payout is None else f"its payout is {payout.status}"
        if payout is not None and payout.hold_reason:
            why += f": {payout.get_hold_reason_display()}"
        if payout is not None and payout.created_at > timezone.now() - PENDING_MAX:
            continue  # its payer has just named an address
        yield Finding(
            f"refund {refund.public_id}",
            "sent within an hour",
            f"{refund.status} since {refund.created_at:%Y-%m-%d %H:%M}, {why}",
            "approve its payout or fill the hot wallet, and see that the money worker runs",
        )


@invariant(
    "R5", "the counters behind the refunds' `totalCount` are exact", severity=Severity.WARNING, counter=REFUNDS.counter
)
def refund_counters_are_exact(scope: Scope) -> Iterator[Finding]:
    yield from inexact_counters(scope, REFUNDS)
