"""Invariants of deposits, and between them and the ledger."""

from __future__ import annotations

from collections.abc import Iterator

from merchants.ledger.invariants import Finding, Scope, Severity, invariant, unequal
from merchants.ledger.models import Stop
from payments.deposits.models import ReadingRequest

DEPOSITS_AGAINST_LEDGER = """
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
        WHERE account.kind IN ('chain:deposit', 'chain:hot', 'chain:cold')
            AND posting.kind IN ('deposit_credited', 'deposit_held', 'deposit_reversed')
        GROUP BY posting.environment, account.network, account.asset
    ) AS account USING (environment, network, asset)
    WHERE coalesce(deposit.total, 0) <> coalesce(account.total, 0)
        AND coalesce(deposit.environment, account.environment) = ANY(%(environments)s)
        AND (%(network)s::text IS NULL OR coalesce(deposit.network, account.network) = %(network)s)
"""


@invariant("I10", "the deposits that count and the coins in the ledger are the same")
def deposits_are_in_the_ledger(scope: Scope) -> Iterator[Finding]:
    for environment, network, asset, deposits, booked in scope.rows(DEPOSITS_AGAINST_LEDGER):
        yield unequal(
            f"{environment} {network} {asset}",
            (environment, network, asset),
            deposits,
            booked,
            "look for deposits without a posting, or postings without a deposit",
        )


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
        yield unequal(
            f"{environment} {network} {asset} {kind} {owner}",
            (environment, network, asset),
            waiting,
            held,
            "compare the discrepancies of this payment or deposit with the postings of its account",
        )


RETURNS_NOT_AS_SIGNED = """
    SELECT returned.environment, returned.network, returned.id, concat_ws(' ', deposit.amount, deposit.asset),
        concat_ws(' ', payout.amount, payout.asset, 'to', payout.recipient, payout.memo, 'on', payout.network)
    FROM payments_payerreturn AS returned
    JOIN payments_deposit AS deposit ON deposit.id = returned.deposit_id
    JOIN transfers_payout AS payout ON payout.id = returned.payout_id
    WHERE returned.environment = ANY(%(environments)s)
        AND (%(network)s::text IS NULL OR returned.network = %(network)s)
        AND ((payout.environment, payout.network, payout.asset, payout.amount)
                <> (deposit.environment, deposit.network, deposit.asset, deposit.amount)
            OR (payout.recipient, payout.memo) <> (returned.recipient, returned.memo)
            OR payout.merchant_id IS NOT NULL
            OR position(concat(
                E'\nOn-chain transaction: ', deposit.transaction_hash, ', ', deposit.ordinal,
                E'\nSent from: ', deposit.sender,
                E'\nTo be paid to: ', payout.recipient, ' with the memo ' || nullif(payout.memo, ''), E'\n'
            ) in returned.signed_text) = 0
            OR (returned.status = 'completed') <> (payout.status = 'paid') AND returned.status <> 'pending')
"""


@invariant("I21", "what goes back to senders of money of no payment is what came, to where they have signed for")
def returns_are_as_signed(scope: Scope) -> Iterator[Finding]:
    for environment, network, key, expected, found in scope.rows(RETURNS_NOT_AS_SIGNED):
        yield Finding(
            f"return {key}",
            f"{expected} to the address that the sender has signed for",
            found,
            "stop payouts, and find out who changed these rows",
            environment=environment,
            network=network,
        )


def networks_halted(scope: Scope) -> Iterator[Finding]:
    """Part of I15."""
    for halt in Stop.objects.halting().filter(environment__in=scope.environments):
        yield Finding(
            f"network {halt.network} ({halt.environment})",
            "being read",
            f"halted: {halt.reason}",
            "compare providers, then lift the halt in the admin under Stops",
            severity=Severity.ERROR,
            environment=halt.environment,
            network=halt.network,
        )


def records_set_aside(scope: Scope) -> Iterator[Finding]:
    """Part of I15. A warning: anybody can make a contract, and no payout of others may wait for that."""
    here = ReadingRequest.objects.filter(environment__in=scope.environments).exclude(content="")
    for request in here.order_by("asked_at"):
        yield Finding(
            f"transaction {request}",
            "read",
            f"set aside on {request.asked_at:%Y-%m-%d}: {request.problem}",
            "look in a block explorer what it moved to us; the admin has its content, and reads it again when asked",
            severity=Severity.WARNING,
            environment=request.environment,
            network=request.network,
        )
