"""Invariants of deposits, and between them and the ledger."""

from __future__ import annotations

from collections.abc import Iterator

from merchants.ledger.checking import Finding, Scope, Severity, invariant, unequal
from merchants.ledger.models import Stop
from payments.deposits.models import ReadingRequest

# A deposit is named in the references of its postings, with a number behind it.
_NAME = "concat_ws(':', deposit.environment, deposit.network, deposit.transaction_hash, deposit.ordinal)"
_NAME_IN_REFERENCE = "left(posting.reference, -1 - length(substring(posting.reference from '[^:]*$')))"
_BOOKED = """posting.kind IN ('deposit_credited', 'deposit_held', 'deposit_reversed')"""
_OF_COINS = """account.kind IN ('chain:deposit', 'chain:hot', 'chain:cold')"""

DEPOSITS_AGAINST_LEDGER = f"""
    {{named}}
    SELECT coalesce(deposit.environment, booked.environment), coalesce(deposit.network, booked.network),
        coalesce(deposit.asset, booked.asset), coalesce(deposit.name, booked.name),
        coalesce(deposit.id, booked.posting_id), coalesce(deposit.total, 0), coalesce(booked.total, 0)
    FROM (
        SELECT {_NAME} AS name, id, environment, network, asset, amount AS total
        FROM payments_deposit AS deposit WHERE booked_to <> '' AND {{deposits}}
    ) AS deposit
    FULL JOIN (
        SELECT {_NAME_IN_REFERENCE} AS name, posting.environment, account.network, account.asset,
            sum(entry.amount) AS total, min(posting.id::text)::uuid AS posting_id
        FROM ledger_entry AS entry
        JOIN ledger_posting AS posting ON posting.id = entry.posting_id
        JOIN ledger_account AS account ON account.id = entry.account_id
        WHERE {_OF_COINS} AND {_BOOKED} AND {{postings}}
        GROUP BY 1, 2, 3, 4
    ) AS booked USING (name, environment, network, asset)
    WHERE coalesce(deposit.total, 0) <> coalesce(booked.total, 0)
        AND coalesce(deposit.environment, booked.environment) = ANY(%(environments)s)
        AND (%(network)s::text IS NULL OR coalesce(deposit.network, booked.network) = %(network)s)
"""  # noqa: S608 - no value of a caller is part of the text

# The names of a part: of deposits to look at, and those in postings to look at, whose references may be forged.
NAMED = f"""
    WITH named AS MATERIALIZED (
        SELECT {_NAME} AS name, deposit.booking_count AS number, NULL AS reference
        FROM payments_deposit AS deposit WHERE {{deposits}}
        UNION ALL
        SELECT {_NAME_IN_REFERENCE},
            least(coalesce(substring(posting.reference from '[0-9]+$')::numeric, 0), 1000)::integer, posting.reference
        FROM ledger_posting AS posting WHERE {_BOOKED} AND {{postings}}
    )
"""  # noqa: S608

# Arrays, so that each is looked up by its index: a join would read all entries of these accounts.
DEPOSITS_NAMED = """
    deposit.id = ANY(ARRAY(
        SELECT found.id FROM (SELECT DISTINCT name FROM named) AS known CROSS JOIN LATERAL (
            SELECT id FROM payments_deposit
            WHERE environment = split_part(name, ':', 1) AND network = split_part(name, ':', 2)
                AND transaction_hash = split_part(name, ':', 3) AND ordinal::text = split_part(name, ':', 4)
            OFFSET 0
        ) AS found
    ))
"""
POSTINGS_NAMED = """
    posting.reference = ANY(ARRAY(
        SELECT reference FROM named
        UNION
        SELECT known.name || ':' || booking
        FROM (SELECT name, max(number) AS number FROM named GROUP BY name) AS known,
            generate_series(0, number + 1) AS booking
    ))
"""


@invariant("I10", "the deposits that count and the coins in the ledger are the same, one by one")
def deposits_are_in_the_ledger(scope: Scope) -> Iterator[Finding]:
    query = DEPOSITS_AGAINST_LEDGER.format(named="", deposits="TRUE", postings="TRUE")
    if scope.since:
        named = NAMED.format(deposits=scope.keys("deposit.id"), postings=scope.keys("posting.id"))
        query = DEPOSITS_AGAINST_LEDGER.format(named=named, deposits=DEPOSITS_NAMED, postings=POSTINGS_NAMED)
    for environment, network, asset, name, key, deposited, booked in scope.rows(query):
        yield unequal(
            f"deposit {name}: {asset}",
            (environment, network, asset),
            deposited,
            booked,
            "look for the posting of this deposit, or for the deposit of its postings",
            key=key,
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
