"""What must always be true of the ledger."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

from merchants.ledger.chart import CHART, AccountKind, Group, Side, kinds_where
from merchants.ledger.checking import Finding, Scope, Severity, invariant, key_of_day, share_by, unequal
from merchants.ledger.day_sums import DAY_SUMS, HAS_SUMS
from merchants.ledger.models import Account, Entry, Posting


def _account(environment: str, network: str, asset: str, kind: str, owner: str) -> str:
    return " ".join(filter(None, [environment, network, asset, kind, owner]))


def _key(owner: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(owner)
    except ValueError:
        return None


def _natural(kind: str, signed: int) -> int:
    return AccountKind(kind).rules.natural(int(signed))


share_by(Posting._meta.db_table)

UNBALANCED = """
    SELECT posting.id, posting.kind, posting.reference, posting.environment, pot.network, pot.asset, pot.total
    FROM (
        SELECT entry.posting_id, account.network, account.asset, sum(entry.amount) AS total
        FROM ledger_entry AS entry JOIN ledger_account AS account ON account.id = entry.account_id
        WHERE (%(network)s::text IS NULL OR account.network = %(network)s)
            AND {entries}
        GROUP BY entry.posting_id, account.network, account.asset
        HAVING sum(entry.amount) <> 0
    ) AS pot
    JOIN ledger_posting AS posting ON posting.id = pot.posting_id
    WHERE posting.environment = ANY(%(environments)s)
"""

TOO_FEW_ENTRIES = """
    SELECT posting.id, posting.kind, posting.reference, posting.environment, coalesce(entries.number, 0)
    FROM ledger_posting AS posting
    LEFT JOIN (
        SELECT posting_id, count(*) AS number FROM ledger_entry AS entry WHERE {entries}
        GROUP BY posting_id
    ) AS entries ON entries.posting_id = posting.id
    WHERE posting.environment = ANY(%(environments)s)
        AND {postings}
        AND coalesce(entries.number, 0) < 2
"""

OTHER_ENVIRONMENT = """
    SELECT posting.id, posting.kind, posting.reference, posting.environment, account.environment, account.id
    FROM ledger_entry AS entry
    JOIN ledger_account AS account ON account.id = entry.account_id
    JOIN ledger_posting AS posting ON posting.id = entry.posting_id
    WHERE account.environment <> posting.environment
        AND (posting.environment = ANY(%(environments)s) OR account.environment = ANY(%(environments)s))
        AND {entries}
"""

LOOSE_ENTRIES = """
    SELECT entry.id, entry.posting_id, entry.account_id, entry.amount, posting.id IS NULL
    FROM ledger_entry AS entry
    LEFT JOIN ledger_account AS account ON account.id = entry.account_id
    LEFT JOIN ledger_posting AS posting ON posting.id = entry.posting_id
    WHERE (posting.id IS NULL OR account.id IS NULL)
        AND (account.id IS NULL OR account.environment = ANY(%(environments)s))
        AND {entries}
"""


@invariant("I1", "every posting is double entry: it sums to zero in each asset, inside one environment")
def postings_are_double_entry(scope: Scope) -> Iterator[Finding]:
    restore = "restore the entries of this posting from a backup; never edit them to fit"
    part = {"entries": scope.keys("entry.posting_id"), "postings": scope.keys("posting.id")}
    for key, kind, reference, environment, network, asset, total in scope.rows(UNBALANCED.format(**part)):
        subject = f"posting {key} {kind} {reference}: {network} {asset}"
        yield unequal(subject, (environment, network, asset), 0, total, restore, key=key)
    for key, kind, reference, environment, count in scope.rows(TOO_FEW_ENTRIES.format(**part)):
        subject = f"posting {key} {kind} {reference}"
        yield Finding(subject, "2 entries or more", f"{count} entries", restore, environment=environment, key=key)
    for key, kind, reference, expected, actual, account_id in scope.rows(OTHER_ENVIRONMENT.format(**part)):
        subject = f"posting {key} {kind} {reference}: account {account_id}"
        yield Finding(subject, expected, actual, restore, key=key)
    for key, posting_id, account_id, amount, is_posting_missing in scope.rows(LOOSE_ENTRIES.format(**part)):
        missing = f"posting {posting_id}" if is_posting_missing else f"account {account_id}"
        subject = f"entry {key} of {int(amount):+,}"
        yield Finding(subject, missing, "missing", f"restore {missing} from a backup", key=posting_id)


TRIGGERS = {
    "posting_append_only": "ledger_posting",
    "posting_not_truncated": "ledger_posting",
    "posting_double_entry": "ledger_posting",
    "entry_append_only": "ledger_entry",
    "entry_not_truncated": "ledger_entry",
    "entry_double_entry": "ledger_entry",
    "account_identity_fixed": "ledger_account",
    "account_kept": "ledger_account",
    "entry_day_sums": "ledger_entry",
    "payout_end_state": "transfers_payout",
    "transfer_end_state": "transfers_transfer",
    "payer_return_end_state": "payments_payerreturn",
    "refund_end_state": "refunds_refund",
    "settlement_end_state": "settlements_settlement",
    "withdrawal_end_state": "house_withdrawal",
}

GUARDS_IN_PLACE = """
    SELECT tgname, relname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
    WHERE pg_table_is_visible(pg_class.oid) AND tgenabled IN ('O', 'A') AND tgname = ANY(%(names)s)
    UNION ALL
    SELECT conname, relname FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid
    WHERE pg_table_is_visible(pg_class.oid) AND convalidated AND conname = ANY(%(names)s)
"""


@invariant("I2", "the guards are in place: nothing can be changed, left unbalanced or begun again after its end")
def guards_are_in_place(scope: Scope) -> Iterator[Finding]:
    wanted = list(TRIGGERS.items())
    for model in (Account, Posting, Entry):
        wanted += [(constraint.name, model._meta.db_table) for constraint in model._meta.constraints]
    in_place = {(name, table) for name, table in scope.rows(GUARDS_IN_PLACE, names=[name for name, _ in wanted])}
    for name, table in wanted:
        if (name, table) not in in_place:
            yield Finding(
                f"{table}: {name}",
                "in place",
                "missing or off",
                "find out who removed it, put it back, run a full check",
            )


# Two queries, because the planner makes one query for both slow.
FORGED_BALANCES = """
    SELECT account.environment, account.network, account.asset, account.kind, account.owner,
        account.balance, coalesce(entries.total, 0)
    FROM ledger_account AS account
    LEFT JOIN (
        SELECT account_id, sum(amount) AS total FROM ledger_entry GROUP BY account_id
    ) AS entries ON entries.account_id = account.id
    WHERE account.environment = ANY(%(environments)s)
        AND (%(network)s::text IS NULL OR account.network = %(network)s)
        AND account.balance <> coalesce(entries.total, 0)
"""

# Of single payments and the like all entries are added up. Of other accounts, which may have millions, only where the
# sums of days do not come to the balance, or those of a day looked at not to its entries.
FORGED_BALANCES_OF_PART = f"""
    WITH part AS (
        SELECT * FROM ledger_account
        WHERE owner = '' AND environment = ANY(%(environments)s) AND %(share)s::uuid <> %(share_end)s::uuid
        UNION
        SELECT * FROM ledger_account WHERE environment = ANY(%(environments)s) AND (owner >= %(since)s::text
            OR owner >= %(share)s::text AND owner < %(share_end)s::text OR owner = ANY(%(again)s::text[]))
        UNION
        SELECT * FROM ledger_account WHERE id IN (SELECT account_id FROM ledger_entry WHERE posting_id >= %(since)s)
    ), suspect AS (
        SELECT account.id FROM part AS account WHERE NOT {HAS_SUMS}
        UNION
        SELECT account.id FROM part AS account WHERE {HAS_SUMS} AND account.balance <> coalesce(
            (SELECT sum(amount) FROM ledger_daysum WHERE account_id = account.id), 0)
        UNION
        SELECT account_id FROM ({{differences}}) AS wrong
        WHERE %(share)s::uuid <> %(share_end)s::uuid OR account_id IN (SELECT id FROM part)
    )
    SELECT account.environment, account.network, account.asset, account.kind, account.owner,
        account.balance, entries.total
    FROM suspect JOIN ledger_account AS account ON account.id = suspect.id
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(amount), 0) AS total FROM ledger_entry WHERE account_id = account.id
    ) AS entries
    WHERE account.environment = ANY(%(environments)s)
        AND (%(network)s::text IS NULL OR account.network = %(network)s)
        AND account.balance <> entries.total
"""  # noqa: S608 - no value of a caller is part of the text


@invariant("I3", "the balance of every account is the sum of its entries")
def balances_are_sums_of_entries(scope: Scope) -> Iterator[Finding]:
    query = FORGED_BALANCES_OF_PART if scope.since else FORGED_BALANCES
    query = query.format(differences=scope.part_of(DAY_SUMS, key="entry.posting_id").differences)
    for environment, network, asset, kind, owner, balance, total in scope.rows(query):
        expected, actual = _natural(kind, total), _natural(kind, balance)
        yield Finding(
            _account(environment, network, asset, kind, owner),
            expected,
            actual,
            "if I1 is clean the entries are right: find out who wrote the balance, then restore it",
            delta=actual - expected,
            environment=environment,
            network=network,
            asset=asset,
            key=_key(owner),
        )


WRONG_DAYS = """
    SELECT environment, network, asset, kind, owner, day, amount, counted_amount
    FROM ({differences}) AS wrong JOIN ledger_account AS account ON account.id = account_id
    WHERE environment = ANY(%(environments)s) AND (%(network)s::text IS NULL OR network = %(network)s)
    ORDER BY account_id, day
"""


@invariant("I3d", "the stored sum of every day is that of its entries", severity=Severity.WARNING, counter=DAY_SUMS)
def day_sums_are_sums_of_entries(scope: Scope) -> Iterator[Finding]:
    query = WRONG_DAYS.format(differences=scope.part_of(DAY_SUMS, key="entry.posting_id").differences)
    for environment, network, asset, kind, owner, day, known, total in scope.rows(query):
        expected, actual = _natural(kind, total), _natural(kind, known)
        yield Finding(
            f"{_account(environment, network, asset, kind, owner)} on {day}",
            expected,
            actual,
            "statements are wrong by this; if I1 and I3 are clean the entries are right: ./manage.py recount I3d",
            delta=actual - expected,
            environment=environment,
            network=network,
            key=key_of_day(day),
        )


POSTED_TWICE = """
    SELECT environment, kind, reference, count(*), min(id::text) FROM ledger_posting
    WHERE environment = ANY(%(environments)s)
    GROUP BY environment, kind, reference HAVING count(*) > 1
"""

POSTED_TWICE_OF_PART = """
    SELECT DISTINCT posting.environment, posting.kind, posting.reference, same.number, same.first
    FROM ledger_posting AS posting CROSS JOIN LATERAL (
        SELECT count(*) AS number, min(id::text) AS first FROM ledger_posting AS other
        WHERE (other.reference, other.kind, other.environment)
            = (posting.reference, posting.kind, posting.environment)
    ) AS same
    WHERE posting.environment = ANY(%(environments)s) AND {postings} AND same.number > 1
"""


@invariant("I4", "nothing is posted twice: kind and reference stand once in each environment")
def postings_are_unique(scope: Scope) -> Iterator[Finding]:
    query = POSTED_TWICE_OF_PART.format(postings=scope.keys("posting.id")) if scope.since else POSTED_TWICE
    for environment, kind, reference, count, key in scope.rows(query):
        proposal = "reverse the surplus postings by a correction, after two people agree which"
        subject = f"{environment} {kind} {reference}"
        yield Finding(subject, 1, count, proposal, delta=count - 1, environment=environment, key=uuid.UUID(key))


OVERDRAWN = """
    SELECT environment, network, asset, kind, owner, balance FROM ledger_account
    WHERE environment = ANY(%(environments)s)
        AND (%(network)s::text IS NULL OR network = %(network)s)
        AND (balance < 0 AND kind = ANY(%(debit_kinds)s) OR balance > 0 AND kind = ANY(%(credit_kinds)s))
"""

OUTSIDE_CHART = """
    SELECT environment, network, asset, kind, owner FROM ledger_account
    WHERE environment = ANY(%(environments)s)
        AND (%(network)s::text IS NULL OR network = %(network)s)
        AND NOT (owner <> '' AND kind = ANY(%(owned_kinds)s) OR owner = '' AND kind = ANY(%(ownerless_kinds)s))
"""


@invariant("I5", "every account follows the chart: none is overdrawn, each belongs to whom its kind says")
def accounts_follow_the_chart(scope: Scope) -> Iterator[Finding]:
    overdrawn = scope.rows(
        OVERDRAWN,
        debit_kinds=kinds_where(side=Side.DEBIT, may_go_negative=False),
        credit_kinds=kinds_where(side=Side.CREDIT, may_go_negative=False),
    )
    for environment, network, asset, kind, owner, balance in overdrawn:
        actual = _natural(kind, balance)
        yield Finding(
            _account(environment, network, asset, kind, owner),
            "0 or more",
            actual,
            "stop payouts, and trace the entries of this account back to the first that overdrew it",
            delta=actual,
            environment=environment,
            network=network,
            asset=asset,
        )
    outside = scope.rows(OUTSIDE_CHART, owned_kinds=kinds_where(owned=True), ownerless_kinds=kinds_where(owned=False))
    for environment, network, asset, kind, owner in outside:
        expected = CHART[AccountKind(kind)].owner.value if kind in AccountKind.values else "a kind of the chart"
        yield Finding(
            _account(environment, network, asset, kind, owner),
            expected,
            owner or "nobody",
            "move its money by a correction",
            environment=environment,
            network=network,
        )


HELD_AND_OWED = """
    SELECT environment, network, asset,
        coalesce(sum(balance) FILTER (WHERE kind = ANY(%(coins)s)), 0) AS held,
        coalesce(-sum(balance) FILTER (WHERE kind = ANY(%(liabilities)s)), 0) AS owed,
        coalesce(sum(balance) FILTER (
            WHERE kind IN ('merchant:receivable', 'loss', 'fee:token') OR kind LIKE 'debt:%%'
        ), 0) AS known
    FROM ledger_account
    WHERE environment = ANY(%(environments)s) AND (%(network)s::text IS NULL OR network = %(network)s)
    GROUP BY environment, network, asset
"""


@invariant("I14", "we hold what we owe: coins cover every liability, in each asset of each network")
def coins_cover_liabilities(scope: Scope) -> Iterator[Finding]:
    rows = scope.rows(HELD_AND_OWED, coins=kinds_where(on_chain=True), liabilities=kinds_where(group=Group.LIABILITY))
    for environment, network, asset, held, owed, known in rows:
        shortfall = int(owed - held)
        if shortfall <= 0:
            continue
        # What merchants owe or need not repay here, and losses and fees of tokens that the operator bears, are missing
        # but explained.
        explained = shortfall <= known
        yield Finding(
            f"{environment} {network} {asset}",
            f"{int(owed):,} or more",
            int(held),
            "collect what merchants owe, or put in coins for the losses, for what tokens kept of sweeps, and for debts "
            "that were repaid in other coins, collected outside or written off: manage.py book_treasury"
            if explained
            else "stop payouts and find the loss",
            delta=-shortfall,
            severity=Severity.WARNING if explained else Severity.ERROR,
            environment=environment,
            network=network,
            asset=None if explained else asset,
        )


AVAILABLE_AND_OWED = """
    SELECT available.environment, available.network, available.asset, available.owner,
        -available.balance, receivable.balance
    FROM ledger_account AS available
    JOIN ledger_account AS receivable USING (environment, network, asset, owner)
    WHERE available.kind = 'merchant:available' AND receivable.kind = 'merchant:receivable'
        AND available.balance < 0 AND receivable.balance > 0
        AND available.environment = ANY(%(environments)s)
        AND (%(network)s::text IS NULL OR available.network = %(network)s)
"""


@invariant("I20", "nobody has money available and owes some in the same coin", severity=Severity.WARNING)
def debts_are_repaid_first(scope: Scope) -> Iterator[Finding]:
    for environment, network, asset, owner, available, owed in scope.rows(AVAILABLE_AND_OWED):
        yield Finding(
            f"{environment} {network} {asset} merchant {owner}",
            f"{int(available):,} available and nothing owed, or the other way round",
            f"{int(owed):,} owed beside it",
            "every credit repays debts first: find out who wrote to these accounts",
            environment=environment,
            network=network,
        )
