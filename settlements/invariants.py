"""What must always be true of settlements, and between them and the books, their payouts and what they are made of."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from django.utils import timezone

from config import ids
from merchants.invariants import inexact_counters
from merchants.ledger.invariants import Finding, Scope, Severity, invariant
from settlements.models import SETTLEMENTS
from webhooks.invariants import untold_changes

PENDING_MAX = timedelta(hours=1)

# `since` means: settlements made since then, or ended since then.
_IN_SCOPE = """
    settlement.environment = ANY(%(environments)s)
        AND (%(network)s::text IS NULL OR settlement.network = %(network)s)
        AND (%(since)s::uuid IS NULL OR settlement.id >= %(since)s OR settlement.id IN (
            SELECT object_id FROM webhooks_event WHERE id >= %(since)s AND type LIKE 'settlement.%%'))
"""

MADE_TWICE = f"""
    SELECT settlement.environment, settlement.network, settlement.merchant_id, settlement.destination,
        settlement.period_key, count(*)
    FROM settlements_settlement AS settlement WHERE {_IN_SCOPE}
    GROUP BY 1, 2, 3, 4, 5 HAVING count(*) > 1
"""  # noqa: S608 - no value of a caller is part of the text

PERIODS_OF_RUNS = f"""
    SELECT settlement.environment, settlement.network, settlement.id, settlement.period_key, run.period_key
    FROM settlements_settlement AS settlement JOIN settlements_settlementrun AS run ON run.id = settlement.run_id
    WHERE {_IN_SCOPE} AND (settlement.merchant_id, settlement.environment, settlement.period_key, settlement.period_end)
        <> (run.merchant_id, run.environment, run.period_key, run.period_end)
"""  # noqa: S608


@invariant("S1", "every wallet is settled once in a period")
def wallets_are_settled_once(scope: Scope) -> Iterator[Finding]:
    for environment, network, merchant_id, wallet, period, count in scope.rows(MADE_TWICE):
        yield Finding(
            f"merchant {merchant_id}, {wallet} on {network}, period {period}",
            1,
            int(count),
            "stop payouts, and find out which was paid",
            delta=int(count) - 1,
            environment=environment,
            network=network,
        )
    for environment, network, key, period, run_period in scope.rows(PERIODS_OF_RUNS):
        yield Finding(
            f"settlement {key}",
            f"period {run_period}, as its run",
            f"period {period}",
            "find out who wrote it; a settlement never leaves its run",
            environment=environment,
            network=network,
        )


MADE_OF = f"""
    SELECT coalesce(part.environment, change.environment), coalesce(part.network, change.network),
        coalesce(part.id, change.settlement), coalesce(part.coin, change.asset), part.total, change.total
    FROM (
        SELECT settlement.id, settlement.environment, settlement.network, coin ->> 'coin' AS coin,
            (coin ->> 'gross')::numeric - (coin ->> 'refund')::numeric AS total
        FROM settlements_settlement AS settlement, jsonb_array_elements(settlement.coins) AS coin
        WHERE {_IN_SCOPE}
    ) AS part
    FULL JOIN (
        SELECT settlement, environment, network, asset, sum(amount) AS total
        FROM payments_balancechange AS settled
        WHERE settlement IS NOT NULL AND environment = ANY(%(environments)s)
            AND (%(network)s::text IS NULL OR network = %(network)s)
            AND (%(since)s::uuid IS NULL OR settlement IN (
                SELECT id FROM settlements_settlement AS settlement WHERE {_IN_SCOPE}))
        GROUP BY settlement, environment, network, asset
    ) AS change ON change.settlement = part.id AND change.asset = part.coin AND change.network = part.network
    WHERE part.total IS DISTINCT FROM change.total
"""  # noqa: S608


@invariant("S2", "every settlement is made of exactly the changes that it says")
def settlements_are_made_of_their_changes(scope: Scope) -> Iterator[Finding]:
    for environment, network, key, coin, expected, actual in scope.rows(MADE_OF):
        expected, actual = int(expected or 0), int(actual or 0)
        yield Finding(
            f"settlement {key}: {coin}",
            expected,
            actual,
            "compare its statement with the postings of its payments and refunds",
            delta=actual - expected,
            environment=environment,
            network=network,
        )


# A settlement's money waits in the `payout` account of its id: each coin's net until it is converted, then its amount.
MONEY_ON_ITS_WAY = f"""
    WITH expected AS (
        SELECT settlement.id, coin ->> 'coin' AS coin, (coin ->> 'net')::numeric AS amount
        FROM settlements_settlement AS settlement, jsonb_array_elements(settlement.coins) AS coin
        WHERE {_IN_SCOPE} AND settlement.status = 'pending' AND settlement.payout_id IS NULL
        UNION ALL
        SELECT settlement.id, settlement.currency, settlement.amount
        FROM settlements_settlement AS settlement JOIN transfers_payout AS payout ON payout.id = settlement.payout_id
        WHERE {_IN_SCOPE} AND settlement.status = 'pending' AND payout.status <> 'paid'
    ), held AS (
        SELECT settlement.id, account.asset AS coin, -account.balance AS amount
        FROM settlements_settlement AS settlement JOIN ledger_account AS account
            ON account.kind = 'payout' AND account.owner = settlement.id::text
            AND account.environment = settlement.environment AND account.network = settlement.network
        WHERE {_IN_SCOPE} AND account.balance <> 0
    )
    SELECT settlement.environment, settlement.network, settlement.id, found.coin, settlement.status,
        found.expected, found.held
    FROM (
        SELECT coalesce(expected.id, held.id) AS id, coalesce(expected.coin, held.coin) AS coin,
            coalesce(expected.amount, 0) AS expected, coalesce(held.amount, 0) AS held
        FROM expected FULL JOIN held ON held.id = expected.id AND held.coin = expected.coin
    ) AS found JOIN settlements_settlement AS settlement ON settlement.id = found.id
    WHERE found.expected <> found.held
"""  # noqa: S608

AGAINST_PAYOUTS = f"""
    SELECT settlement.environment, settlement.network, settlement.id, settlement.status, payout.status
    FROM settlements_settlement AS settlement LEFT JOIN transfers_payout AS payout ON payout.id = settlement.payout_id
    WHERE {_IN_SCOPE} AND (
        (settlement.status = 'pending') <> (settlement.ended_at IS NULL)
        OR (settlement.status = 'completed') <> (settlement.completed_at IS NOT NULL)
        OR (settlement.status = 'failed' AND settlement.failure_code = '')
        OR (settlement.status = 'completed' AND payout.status IS DISTINCT FROM 'paid')
        OR (settlement.status = 'failed' AND payout.status NOT IN ('failed', 'cancelled'))
        OR (payout.id IS NOT NULL AND (payout.amount, payout.asset, payout.recipient, payout.network)
            <> (settlement.amount, settlement.currency, settlement.destination, settlement.network))
    )
"""  # noqa: S608


@invariant("S3", "a settlement's status, its payout and its money in the books say the same")
def statuses_follow_payouts_and_money(scope: Scope) -> Iterator[Finding]:
    for environment, network, key, coin, status, expected, held in scope.rows(MONEY_ON_ITS_WAY):
        yield Finding(
            f"settlement {key} ({status}): {coin} on its way",
            int(expected),
            int(held),
            "trace the postings of this settlement by its id",
            delta=int(held - expected),
            environment=environment,
            network=network,
        )
    for environment, network, key, status, payout in scope.rows(AGAINST_PAYOUTS):
        yield Finding(
            f"settlement {key}",
            f"{status}, with a payout to match",
            f"payout {payout or 'missing'}",
            "compare the two; only services may write a status",
            environment=environment,
            network=network,
        )


@invariant("S4", "every change of a settlement was told by an event")
def changes_were_told(scope: Scope) -> Iterator[Finding]:
    yield from untold_changes(scope, noun="settlement", table="settlements_settlement", where=_IN_SCOPE)


LEFT_PENDING = f"""
    SELECT settlement.environment, settlement.network, settlement.id, settlement.failure_code, payout.status
    FROM settlements_settlement AS settlement LEFT JOIN transfers_payout AS payout ON payout.id = settlement.payout_id
    WHERE {_IN_SCOPE} AND settlement.status = 'pending' AND settlement.id < %(before)s
"""  # noqa: S608


@invariant("S5", "no settlement is on its way for longer than an hour", severity=Severity.WARNING)
def no_settlement_waits_too_long(scope: Scope) -> Iterator[Finding]:
    before = ids.first_uuid_at(timezone.now() - PENDING_MAX)
    for environment, network, key, problem, payout in scope.rows(LEFT_PENDING, before=before):
        yield Finding(
            f"settlement {key}",
            "paid or failed within an hour",
            f"waits: {problem or payout or 'not looked at'}",
            "docs/settlements.md says what each problem needs",
            environment=environment,
            network=network,
        )


@invariant("S6", "the counters behind the settlements' `totalCount` are exact", severity=Severity.WARNING)
def settlement_counters_are_exact(scope: Scope) -> Iterator[Finding]:
    yield from inexact_counters(SETTLEMENTS)
