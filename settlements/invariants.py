"""Checks of settlements against the ledger, their payouts and the balance changes they are made of."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.utils import timezone

from config import ids
from merchants.invariants import inexact_counters
from merchants.ledger.checking import Finding, Records, Scope, Severity, invariant, unequal
from settlements.models import SETTLEMENTS
from webhooks.invariants import changes_without_event

PENDING_MAX = timedelta(hours=1)

LOOKED_AT = Records(
    "settlement",
    "settlements_settlement",
    touched=("SELECT object_id FROM webhooks_event WHERE id >= %(since)s AND type LIKE 'settlement.%%'",),
)

_IN_SCOPE = """
    settlement.environment = ANY(%(environments)s)
        AND (%(network)s::text IS NULL OR settlement.network = %(network)s) AND {settlements}
"""

MADE_TWICE = """
    SELECT settlement.environment, settlement.network, settlement.merchant_id, settlement.destination,
        settlement.period_key, count(*)
    FROM settlements_settlement AS settlement
    WHERE settlement.environment = ANY(%(environments)s)
        AND (%(network)s::text IS NULL OR settlement.network = %(network)s)
    GROUP BY 1, 2, 3, 4, 5 HAVING count(*) > 1
"""

PERIODS_OF_RUNS = f"""
    SELECT settlement.environment, settlement.network, settlement.id, settlement.period_key, run.period_key
    FROM settlements_settlement AS settlement JOIN settlements_settlementrun AS run ON run.id = settlement.run_id
    WHERE {_IN_SCOPE} AND (settlement.merchant_id, settlement.environment, settlement.period_key, settlement.period_end)
        <> (run.merchant_id, run.environment, run.period_key, run.period_end)
"""  # noqa: S608


def _part(query: str, scope: Scope, **parameters: Any) -> Iterator[tuple[Any, ...]]:
    """The rows of a query about settlements, of those to look at."""
    return scope.rows(query.format(settlements=scope.records(LOOKED_AT)), **parameters)


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
    for environment, network, key, period, run_period in _part(PERIODS_OF_RUNS, scope):
        yield Finding(
            f"settlement {key}",
            f"period {run_period}, as its run",
            f"period {period}",
            "find out who wrote it; a settlement never leaves its run",
            environment=environment,
            network=network,
            key=key,
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
            AND {{changes}}
        GROUP BY settlement, environment, network, asset
    ) AS change ON change.settlement = part.id AND change.asset = part.coin AND change.network = part.network
    WHERE part.total IS DISTINCT FROM change.total
"""  # noqa: S608


@invariant("S2", "every settlement is made of exactly the changes that it says")
def settlements_are_made_of_their_changes(scope: Scope) -> Iterator[Finding]:
    chosen = scope.records(LOOKED_AT)
    changes = "TRUE" if scope.since is None else chosen.replace("settlement.id", "settled.settlement", 1)
    for environment, network, key, coin, expected, actual in scope.rows(
        MADE_OF.format(settlements=chosen, changes=changes)
    ):
        expected, actual = int(expected or 0), int(actual or 0)
        yield Finding(
            f"settlement {key}: {coin}",
            expected,
            actual,
            "compare its statement with the postings of its payments and refunds",
            delta=actual - expected,
            environment=environment,
            network=network,
            key=key,
        )


# A settlement's money is in the `payout` account of its id: the net of each coin until conversion, then its amount.
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


@invariant("S3", "a settlement's status, its payout and its money in the ledger agree")
def statuses_follow_payouts_and_money(scope: Scope) -> Iterator[Finding]:
    for environment, network, key, coin, status, expected, held in _part(MONEY_ON_ITS_WAY, scope):
        yield Finding(
            f"settlement {key} ({status}): {coin} on its way",
            int(expected),
            int(held),
            "trace the postings of this settlement by its id",
            delta=int(held - expected),
            environment=environment,
            network=network,
            key=key,
        )
    for environment, network, key, status, payout in _part(AGAINST_PAYOUTS, scope):
        yield Finding(
            f"settlement {key}",
            f"{status}, with a payout to match",
            f"payout {payout or 'missing'}",
            "compare the two; only services may write a status",
            environment=environment,
            network=network,
            key=key,
        )


@invariant("S4", "every change of a settlement was told by an event")
def changes_have_events(scope: Scope) -> Iterator[Finding]:
    yield from changes_without_event(scope, LOOKED_AT)


LEFT_PENDING = f"""
    SELECT settlement.environment, settlement.network, settlement.id, settlement.failure_code, payout.status
    FROM settlements_settlement AS settlement LEFT JOIN transfers_payout AS payout ON payout.id = settlement.payout_id
    WHERE {_IN_SCOPE} AND settlement.status = 'pending' AND settlement.id < %(before)s
        AND settlement.failure_code <> 'no_trustline'
"""  # noqa: S608


@invariant("S5", "no settlement is on its way for longer than an hour", severity=Severity.WARNING)
def no_settlement_waits_too_long(scope: Scope) -> Iterator[Finding]:
    before = ids.first_uuid_at(timezone.now() - PENDING_MAX)
    for environment, network, key, problem, payout in _part(LEFT_PENDING, scope, before=before):
        yield Finding(
            f"settlement {key}",
            "paid or failed within an hour",
            f"waits: {problem or payout or 'not looked at'}",
            "docs/settlements.md says what each problem needs",
            environment=environment,
            network=network,
            key=key,
        )


# The amounts of each offset, beside its posting and the two changes of the balance. There are few: all are compared.
OFFSETS_AGAINST_THE_LEDGER = """
    WITH stated AS (
        SELECT made.id::text AS reference, made.environment, side.*
        FROM settlements_debtoffset AS made CROSS JOIN LATERAL (VALUES
            (made.network, made.asset, 'merchant:available', made.merchant_id::text, made.amount),
            (made.network, made.asset, 'debt:offset', '', -made.amount),
            (made.debt_network, made.debt_asset, 'debt:offset', '', made.repaid + made.rounding),
            (made.debt_network, made.debt_asset, 'merchant:receivable', made.merchant_id::text, -made.repaid),
            (made.debt_network, made.debt_asset, 'rounding', '', -made.rounding),
            (made.network, made.asset, 'change of the balance', made.merchant_id::text, -made.amount),
            (made.debt_network, made.debt_asset, 'change of the balance', made.merchant_id::text, made.repaid)
        ) AS side (network, asset, kind, owner, amount)
        WHERE side.amount <> 0 AND made.environment = ANY(%(environments)s)
    ), done AS (
        SELECT posting.reference, posting.environment, account.network, account.asset, account.kind, account.owner,
            entry.amount
        FROM ledger_posting AS posting
        JOIN ledger_entry AS entry ON entry.posting_id = posting.id
        JOIN ledger_account AS account ON account.id = entry.account_id
        WHERE posting.kind = 'debt_offset' AND posting.environment = ANY(%(environments)s)
        UNION ALL
        SELECT posting_reference, environment, network, asset, 'change of the balance', merchant_id::text, amount
        FROM payments_balancechange
        WHERE posting_kind = 'debt_offset' AND environment = ANY(%(environments)s)
    )
    SELECT environment, network, asset, reference, kind, coalesce(stated.amount, 0), coalesce(done.amount, 0)
    FROM stated FULL JOIN done USING (environment, network, asset, reference, kind, owner)
    WHERE stated.amount IS DISTINCT FROM done.amount AND (%(network)s::text IS NULL OR network = %(network)s)
"""

OFFSETS_AGAINST_THEIR_RATES = """
    SELECT environment, debt_network, debt_asset, id, worth, repaid + rounding
    FROM settlements_debtoffset CROSS JOIN LATERAL (
        SELECT div(amount * rate * 10::numeric ^ debt_decimals, 10::numeric ^ decimals) AS worth
    ) AS taken
    WHERE environment = ANY(%(environments)s) AND (%(network)s::text IS NULL OR debt_network = %(network)s)
        AND worth <> repaid + rounding
"""


@invariant("S7", "every debt repaid from another coin moved exactly what it says, at the rate it says")
def offsets_match_their_postings(scope: Scope) -> Iterator[Finding]:
    trace = "trace the postings debt_offset by its id, and compare docs/settlements.md; nothing may edit either"
    for environment, network, asset, key, kind, expected, actual in scope.rows(OFFSETS_AGAINST_THE_LEDGER):
        yield unequal(f"debt offset {key}: {kind} {asset}", (environment, network, asset), expected, actual, trace)
    for environment, network, asset, key, expected, actual in scope.rows(OFFSETS_AGAINST_THEIR_RATES):
        yield unequal(f"debt offset {key}: its worth", (environment, network, asset), expected, actual, trace)


# What was decided of debts, beside its postings and the changes of the merchant's balance. There are few.
DECISIONS_AGAINST_THE_LEDGER = """
    WITH decided AS (
        SELECT id::text AS reference, environment, network, asset, merchant_id::text AS merchant,
            'debt:' || ending AS house, 'debt_' || ending AS kind, amount
        FROM settlements_debtdecision WHERE environment = ANY(%(environments)s)
        UNION ALL
        SELECT id::text, environment, network, asset, merchant_id::text, 'debt:' || ending, 'debt_owed_again', -amount
        FROM settlements_debtdecision WHERE taken_back_at IS NOT NULL AND environment = ANY(%(environments)s)
    ), stated AS (
        SELECT environment, kind, reference, network, asset, side.*
        FROM decided CROSS JOIN LATERAL (VALUES
            (house, '', amount), ('merchant', merchant, -amount), ('change of the balance', merchant, amount)
        ) AS side (account, owner, moved)
    ), done AS (
        SELECT posting.environment, posting.kind, posting.reference, account.network, account.asset,
            CASE WHEN account.kind IN ('merchant:available', 'merchant:receivable') THEN 'merchant'
                ELSE account.kind END AS account,
            account.owner, sum(entry.amount) AS moved
        FROM ledger_posting AS posting
        JOIN ledger_entry AS entry ON entry.posting_id = posting.id
        JOIN ledger_account AS account ON account.id = entry.account_id
        WHERE posting.kind IN ('debt_written_off', 'debt_collected', 'debt_owed_again')
            AND posting.environment = ANY(%(environments)s)
        GROUP BY 1, 2, 3, 4, 5, 6, 7
        UNION ALL
        SELECT environment, posting_kind, posting_reference, network, asset, 'change of the balance',
            merchant_id::text, amount
        FROM payments_balancechange
        WHERE posting_kind IN ('debt_written_off', 'debt_collected', 'debt_owed_again')
            AND environment = ANY(%(environments)s)
    )
    SELECT environment, network, asset, reference, kind, account, coalesce(stated.moved, 0), coalesce(done.moved, 0)
    FROM stated FULL JOIN done USING (environment, kind, reference, network, asset, account, owner)
    WHERE stated.moved IS DISTINCT FROM done.moved AND (%(network)s::text IS NULL OR network = %(network)s)
"""


@invariant("S8", "every debt that operators ended, or took back the end of, moved exactly what they decided")
def debts_ended_as_decided(scope: Scope) -> Iterator[Finding]:
    for environment, network, asset, key, kind, account, expected, actual in scope.rows(DECISIONS_AGAINST_THE_LEDGER):
        yield unequal(
            f"debt decision {key}: {kind}, {account} {asset}",
            (environment, network, asset),
            expected,
            actual,
            "trace the posting by this id, and ask who decided it: Admin, Debt decisions",
        )


MADE_FOR_LOST_WALLETS = f"""
    SELECT settlement.environment, settlement.network, settlement.currency, settlement.id, settlement.destination,
        settlement.amount
    FROM settlements_settlement AS settlement
    JOIN merchant_wallets_merchantwallet AS wallet ON wallet.merchant_id = settlement.merchant_id
        AND wallet.environment = settlement.environment AND wallet.network = settlement.network
        AND lower(wallet.address) = lower(settlement.destination)
    WHERE {_IN_SCOPE} AND wallet.status = 'lost' AND settlement.status <> 'failed' AND settlement.id > wallet.id
"""  # noqa: S608


@invariant("S9", "nothing is settled to a wallet after its merchant has lost the key")
def lost_wallets_are_not_paid(scope: Scope) -> Iterator[Finding]:
    for environment, network, asset, key, wallet, amount in _part(MADE_FOR_LOST_WALLETS, scope):
        yield Finding(
            f"settlement {key}",
            f"nothing to {wallet}",
            f"{int(amount):,} {asset}",
            "cancel its payout if it is not signed yet, and tell the merchant",
            delta=int(amount),
            environment=environment,
            network=network,
            key=key,
        )


# What the house gained or lost by agreed rates, at the rates that the settlement keeps. Few settlements have any.
SPREADS = f"""
    WITH stated AS (
        SELECT settlement.environment, settlement.network, settlement.id, settlement.currency, sum(
            div(net * market * 10::numeric ^ settlement.decimals, 10::numeric ^ part.decimals)
            - div(net * rate * 10::numeric ^ settlement.decimals, 10::numeric ^ part.decimals)
        ) AS spread
        FROM settlements_settlement AS settlement CROSS JOIN LATERAL (
            SELECT (coin ->> 'net')::numeric AS net, (coin ->> 'decimals')::int AS decimals,
                (coin ->> 'rate')::numeric AS rate, (coin ->> 'marketRate')::numeric AS market
            FROM jsonb_array_elements(settlement.coins) AS coin WHERE coin ->> 'marketRate' <> ''
        ) AS part
        WHERE {_IN_SCOPE}
        GROUP BY 1, 2, 3, 4
    ), done AS (
        SELECT account.environment, account.network, account.asset AS currency, -entry.amount AS spread, (
            SELECT payout.owner FROM ledger_entry AS other JOIN ledger_account AS payout ON payout.id = other.account_id
            WHERE other.posting_id = entry.posting_id AND payout.kind = 'payout' LIMIT 1
        ) AS settlement
        FROM ledger_account AS account JOIN ledger_entry AS entry ON entry.account_id = account.id
        WHERE account.kind = 'spread' AND account.environment = ANY(%(environments)s)
    )
    SELECT stated.environment, stated.network, stated.currency, stated.id, stated.spread, coalesce(done.spread, 0)
    FROM stated LEFT JOIN done ON (done.environment, done.network, done.currency, done.settlement)
        = (stated.environment, stated.network, stated.currency, stated.id::text)
    WHERE stated.spread <> coalesce(done.spread, 0)
"""  # noqa: S608


@invariant("S10", "the spread of a conversion is what the rates of its settlement say")
def spreads_are_as_agreed(scope: Scope) -> Iterator[Finding]:
    for environment, network, asset, key, expected, actual in _part(SPREADS, scope):
        yield unequal(
            f"settlement {key}: spread {asset}",
            (environment, network, asset),
            int(expected),
            int(actual),
            "compare the rates of the settlement with its posting settlement_converted",
            key=key,
        )


@invariant(
    "S6",
    "the counters behind the settlements' `totalCount` are exact",
    severity=Severity.WARNING,
    counter=SETTLEMENTS.counter,
)
def settlement_counters_are_exact(scope: Scope) -> Iterator[Finding]:
    yield from inexact_counters(scope, SETTLEMENTS)
