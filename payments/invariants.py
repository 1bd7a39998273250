"""Invariants of payments, and between them and the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from django.utils import timezone

from merchants.invariants import inexact_counters
from merchants.ledger.checking import (
    Finding,
    Records,
    Scope,
    Severity,
    invariant,
    key_of_day,
    share_by,
    unequal,
)
from payments.deposits.invariants import networks_halted, records_set_aside
from payments.deposits.turnover.counting import TURNOVER
from payments.deposits.turnover.models import Span
from payments.models import PAYMENTS
from payments.states import PaymentStatus
from payments.treasury.invariants import sweeps_waiting_too_long
from webhooks.invariants import changes_without_event

UNASSESSED_MAX = timedelta(minutes=5)
REFUNDED_STATUSES = [PaymentStatus.PARTIALLY_REFUNDED.value, PaymentStatus.REFUNDED.value]
PAID_STATUSES = [PaymentStatus.COMPLETED.value, *REFUNDED_STATUSES]
EMPTY_STATUSES = [PaymentStatus.CREATED.value, PaymentStatus.EXPIRED.value, PaymentStatus.CANCELLED.value]

LOOKED_AT = Records(
    "payment",
    "payments_payment",
    touched=(
        "SELECT payment_id FROM payments_deposit WHERE id >= %(since)s",
        "SELECT object_id FROM webhooks_event WHERE id >= %(since)s",
    ),
)
share_by(LOOKED_AT.table)

_IN_SCOPE = """
    payment.environment = ANY(%(environments)s)
        AND (%(network)s::text IS NULL OR payment.network = %(network)s) AND {payments}
"""

WHERE_THE_MONEY_IS = f"""
    SELECT payment.environment, payment.network, payment.cryptocurrency, payment.id,
        payment.received, coalesce(credited.total, 0),
        payment.received - payment.released - payment.surplus - payment.short, coalesce(-account.balance, 0)
    FROM payments_payment AS payment
    LEFT JOIN LATERAL (
        SELECT sum(amount) AS total FROM payments_deposit
        WHERE payment_id = payment.id AND booked_to = 'payment' AND payment.deposit_count > 0
    ) AS credited ON true
    LEFT JOIN ledger_account AS account ON account.kind = 'payment' AND account.owner = payment.id::text
        AND account.environment = payment.environment AND account.network = payment.network
        AND account.asset = payment.cryptocurrency
    WHERE {_IN_SCOPE} AND payment.assess_at IS NULL AND (
        payment.received <> coalesce(credited.total, 0)
        OR payment.received - payment.released - payment.surplus - payment.short <> coalesce(-account.balance, 0)
    )
"""  # noqa: S608 - no value of a caller is part of the text


@invariant("I6", "every payment's deposits, what it says it received and what its account holds agree")
def payments_account_for_their_money(scope: Scope) -> Iterator[Finding]:
    for *pot, key, received, credited, unreleased, held in scope.rows(
        WHERE_THE_MONEY_IS.format(payments=scope.records(LOOKED_AT))
    ):
        if received != credited:
            yield unequal(
                f"payment {key}: received",
                pot,
                credited,
                received,
                "compare the payment's deposits with the chain, then let it be assessed again",
                key=key,
            )
        if unreleased != held:
            yield unequal(
                f"payment {key}: clearing account",
                pot,
                unreleased,
                held,
                "trace the postings of this payment by its id",
                key=key,
            )


REFUNDED_BEYOND = f"""
    SELECT payment.environment, payment.network, payment.cryptocurrency, payment.id, part.name, part.limit_, part.actual
    FROM payments_payment AS payment
    LEFT JOIN LATERAL (
        SELECT sum(amount) AS total FROM payments_discrepancy AS discrepancy
        WHERE discrepancy.payment_id = payment.id AND discrepancy.status = 'refunded'
            AND discrepancy.kind IN ('overpaid', 'underpaid')
    ) AS from_suspense ON true
    CROSS JOIN LATERAL (
        VALUES ('refunded', payment.received, payment.refunded),
            ('refunded of what was released', payment.released, payment.refunded - coalesce(from_suspense.total, 0)),
            ('returned', payment.refunded, payment.returned)
    ) AS part (name, limit_, actual)
    WHERE {_IN_SCOPE} AND payment.refunded + payment.returned > 0 AND part.actual > part.limit_
        AND (part.name = 'returned' OR NOT 'reversed' = ANY(payment.status_reasons))
"""  # noqa: S608


@invariant("I7", "no payment gives back more than it received, unless the network undid it after that")
def refunds_stay_within_payments(scope: Scope) -> Iterator[Finding]:
    for environment, network, asset, key, part, limit, actual in scope.rows(
        REFUNDED_BEYOND.format(payments=scope.records(LOOKED_AT))
    ):
        yield Finding(
            f"payment {key}: {part}",
            f"{int(limit)} or less",
            int(actual),
            "stop payouts, and compare the payment's refunds with its postings",
            delta=int(actual - limit),
            environment=environment,
            network=network,
            asset=asset,
            key=key,
        )


STATUS_AGAINST_MONEY = f"""
    SELECT payment.environment, payment.network, payment.id, payment.status, payment.released, payment.received,
        payment.due
    FROM payments_payment AS payment
    WHERE {_IN_SCOPE} AND payment.assess_at IS NULL AND (
        (payment.status = 'completed' AND payment.released = 0)
        OR (payment.status = ANY(%(refunded)s) AND (payment.returned = 0 OR payment.released + payment.short = 0))
        OR (payment.status = 'refunded' AND payment.returned < payment.released + payment.short)
        OR (payment.status <> ALL(%(paid)s) AND payment.released > 0)
        OR (payment.status = ANY(%(empty)s) AND payment.received > 0)
    )
"""  # noqa: S608


@invariant("I8", "a payment is completed exactly when the merchant has its money")
def statuses_follow_the_money(scope: Scope) -> Iterator[Finding]:
    query = STATUS_AGAINST_MONEY.format(payments=scope.records(LOOKED_AT))
    rows = scope.rows(query, paid=PAID_STATUSES, refunded=REFUNDED_STATUSES, empty=EMPTY_STATUSES)
    for environment, network, key, status, released, received, due in rows:
        yield Finding(
            f"payment {key}",
            "released to the merchant only when completed",
            f"{status}, received {int(received)} and released {int(released)} of {int(due)}",
            "find out who wrote the status; only services may",
            environment=environment,
            network=network,
            key=key,
        )


BALANCES_AGAINST_CHANGES = """
    SELECT coalesce(account.environment, change.environment), coalesce(account.network, change.network),
        coalesce(account.asset, change.asset), coalesce(account.owner, change.owner),
        coalesce(account.total, 0), coalesce(change.total, 0)
    FROM (
        SELECT environment, network, asset, owner, -sum(balance) AS total FROM ledger_account
        WHERE kind IN ('merchant:available', 'merchant:receivable')
        GROUP BY environment, network, asset, owner
    ) AS account
    FULL JOIN (
        SELECT environment, network, asset, merchant_id::text AS owner, sum(amount) AS total
        FROM payments_balancechange WHERE settlement IS NULL
        GROUP BY environment, network, asset, merchant_id
    ) AS change USING (environment, network, asset, owner)
    WHERE coalesce(account.total, 0) <> coalesce(change.total, 0)
        AND coalesce(account.environment, change.environment) = ANY(%(environments)s)
        AND (%(network)s::text IS NULL OR coalesce(account.network, change.network) = %(network)s)
"""


@invariant("I9", "what each merchant may have settled is what is available to them, less what they owe")
def balances_are_made_of_changes(scope: Scope) -> Iterator[Finding]:
    # Balances have no time of their own: they are compared as a whole, whatever the scope's time is.
    for environment, network, asset, merchant_id, balance, changes in scope.rows(BALANCES_AGAINST_CHANGES):
        yield unequal(
            f"{environment} {network} {asset} merchant {merchant_id}",
            (environment, network, asset),
            balance,
            changes,
            "stop settlements, and find the posting without a change, or the change without a posting",
        )


NOT_ASSESSED = """
    SELECT environment, network, id, status, assess_at FROM payments_payment AS payment
    WHERE environment = ANY(%(environments)s) AND (%(network)s::text IS NULL OR network = %(network)s)
        AND assess_at < %(before)s
"""


@invariant("I15", "nothing waits longer than it should", severity=Severity.WARNING)
def nothing_waits_too_long(scope: Scope) -> Iterator[Finding]:
    for environment, network, key, status, assess_at in scope.rows(
        NOT_ASSESSED, before=timezone.now() - UNASSESSED_MAX
    ):
        yield Finding(
            f"payment {key} ({status})",
            "assessed within 5 minutes",
            f"due since {assess_at:%Y-%m-%d %H:%M:%S}",
            "see that the chain worker runs and that its network is not halted",
            environment=environment,
            network=network,
        )
    yield from sweeps_waiting_too_long(scope)
    yield from networks_halted(scope)
    yield from records_set_aside(scope)


@invariant("I16", "every change of a payment was told by an event")
def changes_have_events(scope: Scope) -> Iterator[Finding]:
    yield from changes_without_event(scope, LOOKED_AT)


@invariant("C1", "the counters behind `totalCount` are exact", severity=Severity.WARNING, counter=PAYMENTS.counter)
def payment_counters_are_exact(scope: Scope) -> Iterator[Finding]:
    yield from inexact_counters(scope, PAYMENTS)


@invariant("C2", "the counters behind the turnover are exact", severity=Severity.WARNING, counter=TURNOVER)
def turnover_is_exact(scope: Scope) -> Iterator[Finding]:
    query = scope.part_of(TURNOVER, date="starts_at").differences
    for merchant, environment, span, at, network, coin, currency, *sums in scope.rows(query):
        moment = "%Y-%m-%d" if span == Span.DAY else "%Y-%m-%d %H:%M"
        paid, counted_paid, _unpaid, _counted_unpaid, volume, counted_volume, *_ = map(int, sums)
        yield Finding(
            f"merchant {merchant}: {coin} for {currency} on {at:{moment}}",
            f"{counted_paid} paid, {counted_volume}",
            f"{paid} paid, {volume}",
            "the figures of the overview are wrong for this time until it is counted again: ./manage.py recount",
            environment=environment,
            network=network,
            key=key_of_day(at.date()),
        )
