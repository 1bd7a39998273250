"""What must always be true of payments, of their deposits, and between them and the books and the chains."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TypedDict

from django.utils import timezone

from merchants.invariants import inexact_counters
from merchants.ledger.invariants import CouldNotCheck, Finding, Scope, Severity, invariant
from payments.chains import registry
from payments.chains.errors import ChainError
from payments.models import PAYMENTS, ScanCursor, Sweep
from payments.rereading import Rereading
from payments.states import PaymentStatus
from payments.transfers.sighting import look_at_wallets, places, sights
from payments.treasury import wallet_findings
from payments.unswept import passed_over, told
from webhooks.invariants import untold_changes

UNJUDGED_MAX = timedelta(minutes=5)
UNBOOKED_MAX = timedelta(minutes=10)
REFUNDED_STATUSES = [PaymentStatus.PARTIALLY_REFUNDED.value, PaymentStatus.REFUNDED.value]
PAID_STATUSES = [PaymentStatus.COMPLETED.value, *REFUNDED_STATUSES]
EMPTY_STATUSES = [PaymentStatus.CREATED.value, PaymentStatus.EXPIRED.value, PaymentStatus.CANCELLED.value]


class Pot(TypedDict):
    """Where a finding is, when the whole of its difference is unexplained."""

    environment: str
    network: str
    asset: str


def _pot(environment: str, network: str, asset: str) -> Pot:
    return {"environment": environment, "network": network, "asset": asset}


# `since` means: payments a deposit of which was first seen since then, or that were created since then.
_IN_SCOPE = """
    payment.environment = ANY(%(environments)s)
        AND (%(network)s::text IS NULL OR payment.network = %(network)s)
        AND (%(since)s::uuid IS NULL OR payment.id >= %(since)s
            OR payment.id IN (SELECT payment_id FROM payments_deposit WHERE id >= %(since)s))
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
    for *place, key, received, credited, unreleased, held in scope.rows(WHERE_THE_MONEY_IS):
        if received != credited:
            yield Finding(
                f"payment {key}: received",
                int(credited),
                int(received),
                "compare the payment's deposits with the chain, then let it be judged again",
                delta=int(received - credited),
                **_pot(*place),
            )
        if unreleased != held:
            yield Finding(
                f"payment {key}: clearing account",
                int(unreleased),
                int(held),
                "trace the postings of this payment by its id",
                delta=int(held - unreleased),
                **_pot(*place),
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
    for *place, key, part, limit, actual in scope.rows(REFUNDED_BEYOND):
        yield Finding(
            f"payment {key}: {part}",
            f"{int(limit)} or less",
            int(actual),
            "stop payouts, and compare the payment's refunds with its postings",
            delta=int(actual - limit),
            **_pot(*place),
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
    rows = scope.rows(STATUS_AGAINST_MONEY, paid=PAID_STATUSES, refunded=REFUNDED_STATUSES, empty=EMPTY_STATUSES)
    for environment, network, key, status, released, received, due in rows:
        yield Finding(
            f"payment {key}",
            "released to the merchant only when completed",
            f"{status}, received {int(received)} and released {int(released)} of {int(due)}",
            "find out who wrote the status; only services may",
            environment=environment,
            network=network,
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
        yield Finding(
            f"{environment} {network} {asset} merchant {merchant_id}",
            int(balance),
            int(changes),
            "stop settlements, and find the posting without a change, or the change without a posting",
            delta=int(changes - balance),
            **_pot(environment, network, asset),
        )


DEPOSITS_AGAINST_BOOKS = """
    SELECT coalesce(deposit.environment, account.environment), coalesce(deposit.network, account.network),
        coalesce(deposit.asset, account.asset), coalesce(deposit.total, 0), coalesce(account.total, 0)
    FROM (
        SELECT environment, network, asset, sum(amount) AS total FROM payments_deposit
        WHERE booked_to <> '' GROUP BY environment, network, asset
    ) AS deposit
    FULL JOIN (
        SELECT posting.environment, account.network, account.asset, sum(entry.amount) AS total
        FROM ledger_entry AS entry
        JOIN ledger_posting AS posting ON posting.id = entry.posting_id
        JOIN ledger_account AS account ON account.id = entry.account_id
        WHERE account.kind IN ('chain:deposit', 'chain:hot')
            AND posting.kind IN ('deposit_credited', 'deposit_held', 'deposit_reversed')
        GROUP BY posting.environment, account.network, account.asset
    ) AS account USING (environment, network, asset)
    WHERE coalesce(deposit.total, 0) <> coalesce(account.total, 0)
        AND coalesce(deposit.environment, account.environment) = ANY(%(environments)s)
        AND (%(network)s::text IS NULL OR coalesce(deposit.network, account.network) = %(network)s)
"""


@invariant("I10", "the deposits that count and the coins in the books are the same")
def deposits_are_in_the_books(scope: Scope) -> Iterator[Finding]:
    for environment, network, asset, deposits, booked in scope.rows(DEPOSITS_AGAINST_BOOKS):
        yield Finding(
            f"{environment} {network} {asset}",
            int(deposits),
            int(booked),
            "look for deposits without a posting, or postings without a deposit",
            delta=int(booked - deposits),
            **_pot(environment, network, asset),
        )


SWEPT_SHORT = """
    SELECT part.environment, part.network, part.asset, payment.id, payment.merchant_id, payment.deposit_address,
        sum(part.expected), sum(part.moved)
    FROM (
        SELECT deposit.environment, deposit.network, deposit.asset, deposit.payment_id,
            deposit.amount - deposit.missing AS expected, 0 AS moved
        FROM payments_deposit AS deposit JOIN payments_sweep AS sweep ON sweep.id = deposit.sweep_id
        WHERE deposit.booked_to <> '' AND sweep.booked_at IS NOT NULL AND sweep.is_itemised
        UNION ALL
        SELECT transfer.environment, transfer.network, sweep.asset, address.payment_id, 0, address."left"
        FROM payments_sweptaddress AS address
        JOIN payments_sweep AS sweep ON sweep.id = address.sweep_id
        JOIN transfers_transfer AS transfer ON transfer.id = sweep.transfer_id
    ) AS part
    JOIN payments_payment AS payment ON payment.id = part.payment_id
    WHERE part.environment = ANY(%(environments)s) AND (%(network)s::text IS NULL OR part.network = %(network)s)
    GROUP BY part.environment, part.network, part.asset, payment.id HAVING sum(part.expected) > sum(part.moved)
"""


@invariant("I11s", "what deposits were swept has come to the hot wallet", severity=Severity.WARNING)
def sweeps_brought_the_deposits(scope: Scope) -> Iterator[Finding]:
    for environment, network, asset, key, merchant_id, address, expected, moved in scope.rows(SWEPT_SHORT):
        yield Finding(
            f"sweeps {environment} {network} {asset} from {address}: payment {key} of merchant {merchant_id}",
            int(expected),
            int(moved),
            "the address held less than its deposits when it was emptied: the token kept or took away the rest",
            delta=int(moved - expected),
            **_pot(environment, network, asset),
        )
    for line in passed_over(network=scope.network):
        place = line.sweep.transfer
        if place.environment not in scope.environments:
            continue
        yield Finding(
            f"{line.sweep.asset} on {place.network} ({place.environment}) at {line.payment.deposit_address}: "
            f"payment {line.payment_id} of merchant {line.payment.merchant_id}",
            line.amount,
            f"passed over {line.tries} times: {told(line)}",
            f"cannot be paid out yet; it is tried again at {line.try_again_at:%Y-%m-%d %H:%M:%S} UTC",
            delta=-line.amount,
            environment=place.environment,
            network=place.network,
        )


@invariant(
    "I12",
    "every deposit that counts is on the chain as it was booked, and all that arrived is a deposit",
    asks_chain=True,
    observers=(look_at_wallets,),
)
def deposits_are_on_the_chain(scope: Scope) -> Iterator[Finding]:
    for sight in sights(scope):
        try:
            rereading = Rereading(sight, since=scope.since)
            scope.afterwards(rereading.ask_for_strays)
            yield from rereading.findings()
        except ChainError as error:
            raise CouldNotCheck(f"{sight.network} did not answer: {error}") from error


@invariant(
    "I12w",
    "every hot wallet holds what the books say, to the base unit",
    asks_chain=True,
    observers=(look_at_wallets,),
)
def hot_wallets_hold_what_the_books_say(scope: Scope) -> Iterator[Finding]:
    for sight in sights(scope):
        yield from wallet_findings(sight, at_block=scope.at_block)
    for environment, network in places(scope):
        if network not in registry.networks(environment):
            yield Finding(
                f"{network} ({environment})",
                "in use",
                "coins that cannot be counted",
                "use the network again, or move the coins out and correct the books",
                severity=Severity.WARNING,
                environment=environment,
                network=network,
            )


LEFT_UNJUDGED = """
    SELECT environment, network, id, status, assess_at FROM payments_payment AS payment
    WHERE environment = ANY(%(environments)s) AND (%(network)s::text IS NULL OR network = %(network)s)
        AND assess_at < %(before)s
"""


@invariant("I15", "nothing waits longer than it should", severity=Severity.WARNING)
def nothing_waits_too_long(scope: Scope) -> Iterator[Finding]:
    for environment, network, key, status, assess_at in scope.rows(LEFT_UNJUDGED, before=timezone.now() - UNJUDGED_MAX):
        yield Finding(
            f"payment {key} ({status})",
            "judged within 5 minutes",
            f"due since {assess_at:%Y-%m-%d %H:%M:%S}",
            "see that the chain worker runs and that its network is not halted",
            environment=environment,
            network=network,
        )
    unbooked = Sweep.objects.filter(booked_at__isnull=True, transfer__finished_at__lt=timezone.now() - UNBOOKED_MAX)
    for sweep in unbooked.filter(transfer__environment__in=scope.environments).select_related("transfer"):
        if scope.network in (None, sweep.transfer.network):
            yield Finding(
                f"{sweep} by {sweep.transfer.transaction_hash}",
                f"booked within {UNBOOKED_MAX // timedelta(minutes=1)} minutes",
                f"final since {sweep.transfer.finished_at:%Y-%m-%d %H:%M:%S}; {sweep.last_error or 'not tried'}",
                "see that the money worker runs; if it does, a deposit that the sweep took along is in no books",
                environment=sweep.transfer.environment,
                network=sweep.transfer.network,
            )
    for cursor in ScanCursor.objects.filter(environment__in=scope.environments, halted_at__isnull=False):
        yield Finding(
            f"network {cursor}",
            "being read",
            f"halted: {cursor.last_error}",
            "compare providers, then clear the halt in the admin",
            severity=Severity.ERROR,
            environment=cursor.environment,
            network=cursor.network,
        )


@invariant("I16", "every change of a payment was told by an event")
def changes_were_told(scope: Scope) -> Iterator[Finding]:
    yield from untold_changes(scope, noun="payment", table="payments_payment", where=_IN_SCOPE)


SUSPENSE_AGAINST_DECISIONS = """
    SELECT coalesce(account.environment, waiting.environment), coalesce(account.network, waiting.network),
        coalesce(account.asset, waiting.asset), coalesce(account.kind, waiting.kind),
        coalesce(account.owner, waiting.owner), coalesce(waiting.total, 0), coalesce(-account.balance, 0)
    FROM (SELECT * FROM ledger_account WHERE kind LIKE 'suspense:%%' AND balance <> 0) AS account
    FULL JOIN (
        SELECT environment, network, asset, 'suspense:' || kind AS kind,
            coalesce(payment_id, deposit_id)::text AS owner, sum(amount) AS total
        FROM payments_discrepancy WHERE status = 'open' GROUP BY 1, 2, 3, 4, 5
    ) AS waiting USING (environment, network, asset, kind, owner)
    WHERE coalesce(waiting.total, 0) <> coalesce(-account.balance, 0)
        AND coalesce(account.environment, waiting.environment) = ANY(%(environments)s)
        AND (%(network)s::text IS NULL OR coalesce(account.network, waiting.network) = %(network)s)
"""


@invariant("I17", "all money in suspense waits for a decision that somebody can make")
def suspense_waits_for_decisions(scope: Scope) -> Iterator[Finding]:
    for environment, network, asset, kind, owner, waiting, held in scope.rows(SUSPENSE_AGAINST_DECISIONS):
        yield Finding(
            f"{environment} {network} {asset} {kind} {owner}",
            int(waiting),
            int(held),
            "compare the discrepancies of this payment or deposit with the postings of its account",
            delta=int(held - waiting),
            **_pot(environment, network, asset),
        )


@invariant("C1", "the counters behind `totalCount` are exact", severity=Severity.WARNING)
def payment_counters_are_exact(scope: Scope) -> Iterator[Finding]:
    yield from inexact_counters(PAYMENTS)
