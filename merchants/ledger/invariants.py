"""Checks of what must always be true of live data: their registry, and those of the ledger.

Every app keeps its checks in `<app>/invariants.py`, each a function that yields a Finding for every wrong
row. They run inside one read-only snapshot; SQL does the work, so that memory stays constant.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from functools import cache
from typing import Any

from django.db import connection
from django.utils.module_loading import autodiscover_modules

from config import ids
from config.database.counters import Counter
from config.environments import Environment
from merchants.ledger.chart import CHART, AccountKind, Group, Side, kinds_where
from merchants.ledger.day_sums import DAY_SUMS, HAS_SUMS
from merchants.ledger.models import Account, Entry, Posting

ROWS_AT_A_TIME = 2000

FIRST_KEY, LAST_KEY = uuid.UUID(int=0), uuid.UUID(int=2**128 - 1)
LAST_DAY = datetime(9000, 1, 1, tzinfo=UTC)
"""Later than any key."""


class Severity(StrEnum):
    WARNING = "warning"
    ERROR = "error"


class CouldNotCheck(Exception):
    """Raised by a check that lacks something it needs. What has not been checked is not clean."""


NetworkKey = tuple[str, str]
"""An environment and a network."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it must be, and what to do about it.

    An error stops payouts where it was found: on its network, or on every network of the scope when it names none.
    """

    subject: str
    expected: int | str
    actual: int | str
    proposal: str
    delta: int | None = None
    severity: Severity | None = None
    """None: the severity of the invariant."""
    environment: str | None = None
    network: str | None = None
    asset: str | None = None
    """The code of the coin, when `delta` is an amount of it that nobody can explain."""
    identity: str = ""
    """Identifies the finding from run to run, where the subject changes."""
    key: uuid.UUID | None = None
    """Of the record, where quick runs look at a part only: they look there again until nothing is found."""

    @property
    def figure(self) -> str:
        """The difference or, without one, what was found. Another figure is another finding."""
        return str(self.actual if self.delta is None else self.delta)


def unequal(
    subject: str, pot: Sequence[str], expected: int, actual: int, proposal: str, *, key: uuid.UUID | None = None
) -> Finding:
    """Two amounts in base units that should be the same, and nobody can explain that they are not.

    `pot` is the environment, the network and the coin.
    """
    environment, network, asset = pot
    delta = int(actual - expected)
    return Finding(
        subject,
        int(expected),
        int(actual),
        proposal,
        delta,
        environment=environment,
        network=network,
        asset=asset,
        key=key,
    )


@dataclass(frozen=True, slots=True)
class Records:
    """The records that a check looks at one by one: of a table, which its queries call `name`."""

    name: str
    table: str
    touched: tuple[str, ...] = ()
    """SELECTs of keys of older records that changed: those that rows since `%(since)s` name."""


_shared: dict[str, None] = {}


def share_by(table: str) -> None:
    """Have the rows of a table, keyed by UUIDv7, counted where quick runs take all rows in equal shares."""
    _shared[table] = None


def shared_tables() -> tuple[str, ...]:
    """The tables by whose rows shares are equal."""
    _load_all()
    return tuple(_shared)


@dataclass(frozen=True, slots=True)
class Scope:
    """Extent of a run. `since` limits it to what was touched from then on; None means everything.

    A quick run also looks at a share of everything, which is a range of keys with its first and without its last, and
    again at the records with the keys of `again`.
    """

    environments: tuple[str, ...] = tuple(Environment.values)
    network: str | None = None
    since: datetime | None = None
    share: tuple[uuid.UUID, uuid.UUID] | None = None
    again: tuple[uuid.UUID, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    """For checks that need more than the database."""
    _seen: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    _later: list[Callable[[], None]] = field(default_factory=list, repr=False, compare=False)

    @property
    def reads_chains(self) -> bool:
        return not self.options.get("no_chain")

    @property
    def at_block(self) -> int | None:
        """The height to compare wallets at; None: the newest that is final."""
        height: int | None = self.options.get("at_block")
        return height

    def observed(self, observe: Observer) -> Any:
        """Result of an observer outside; it looks once in a run, before the database snapshot is taken.

        In this order what happens meanwhile can be in the database and not yet outside, but never the other way round:
        nothing outside can look as if it were not in the database.
        """
        name = f"{observe.__module__}.{observe.__qualname__}"
        if name not in self._seen:
            self._seen[name] = observe(self)
        return self._seen[name]

    def afterwards(self, action: Callable[[], None]) -> None:
        """Run `action` after the read-only snapshot is closed."""
        self._later.append(action)

    def do_what_is_left(self) -> None:
        """Run the actions that checks have requested."""
        while self._later:
            self._later.pop(0)()

    def keys(self, column: str) -> str:
        """Condition in SQL: the key in this column is of a row to look at."""
        if self.since is None:
            return "TRUE"
        share = f"{column} >= %(share)s AND {column} < %(share_end)s"
        return f"({column} >= %(since)s OR {share} OR {column} = ANY(%(again)s))"

    def records(self, records: Records) -> str:
        """Condition in SQL: the record is one to look at. A join, as no index answers an OR with a subquery."""
        if self.since is None:
            return "TRUE"
        own = f"SELECT id FROM {records.table} WHERE {self.keys('id')}"  # noqa: S608 - names of our own tables
        return f"{records.name}.id IN ({' UNION '.join([own, *records.touched])})"

    def days(self, column: str) -> str:
        """As `keys`, of all rows of the UTC days in which there is one to look at."""
        return self._within(column, "day")

    def dates(self, column: str) -> str:
        """The same of a column of dates."""
        return self._within(column, "date")

    def part_of(self, counter: Counter, *, key: str = "id", date: str = "day") -> Counter:
        """A counter whose sums have a day, of the days only in which there is a row to look at."""
        return replace(counter, counted_rows=self.days(key), own=f"{counter.own} AND {self.dates(date)}")

    def _within(self, column: str, name: str) -> str:
        numbers = range(len(self._days))
        ranges = [f"{column} >= %({name}_{n})s AND {column} < %({name}_{n}_end)s" for n in numbers]
        return f"({' OR '.join(ranges)})" if ranges else "TRUE"

    @property
    def _days(self) -> list[tuple[datetime, datetime]]:
        """Ranges of whole days in UTC."""
        if self.since is None:
            return []
        ends = {(_midnight(self.since), LAST_DAY)} | {
            (_midnight(at), _midnight(at)) for at in map(_time_of, self.again)
        }
        if self.share:
            first, end = map(_time_of, self.share)
            ends.add((_midnight(first), _midnight(end)))
        return [(first, last + timedelta(days=1)) for first, last in sorted(ends)]

    def rows(self, sql: str, **parameters: Any) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, a few at a time.

        The query may name `%(environments)s` (an array), `%(network)s` (or null), `%(since)s` (the first
        UUIDv7 of that instant, or null), every further parameter given here, and what the conditions above name.
        """
        share, share_end = self.share or (LAST_KEY, LAST_KEY)
        known: dict[str, Any] = {
            "environments": list(self.environments),
            "network": self.network,
            "since": ids.first_uuid_at(self.since) if self.since else None,
            "share": share,
            "share_end": share_end,
            "again": list(self.again),
        }
        for number, (first, end) in enumerate(self._days):
            known |= {f"day_{number}": ids.first_uuid_at(first), f"day_{number}_end": ids.first_uuid_at(end)}
            known |= {f"date_{number}": first.date(), f"date_{number}_end": end.date()}
        with connection.chunked_cursor() as cursor:
            cursor.execute(sql, known | parameters)
            while rows := cursor.fetchmany(ROWS_AT_A_TIME):
                yield from rows


def _time_of(key: uuid.UUID) -> datetime:
    """The instant inside a key; of one that is no UUIDv7, the last day at the latest."""
    return ids.created_at_of(key) if key < ids.first_uuid_at(LAST_DAY) else LAST_DAY


def _midnight(instant: datetime) -> datetime:
    return instant.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


Check = Callable[[Scope], Iterator[Finding]]
Observer = Callable[[Scope], Any]


@dataclass(frozen=True, slots=True)
class Invariant:
    code: str
    title: str
    severity: Severity
    check: Check
    reads_chain: bool = False
    """Left out, with a warning, when a run must not query chains."""
    observers: tuple[Observer, ...] = ()
    """Observers to run outside before the snapshot is taken."""
    counter: Counter | None = None
    """The counter that the check compares and `recount` corrects."""


_registry: dict[str, Invariant] = {}


def invariant(
    code: str,
    title: str,
    *,
    severity: Severity = Severity.ERROR,
    reads_chain: bool = False,
    observers: tuple[Observer, ...] = (),
    counter: Counter | None = None,
) -> Callable[[Check], Check]:
    """Registers a check under a code of its own. `title` states what is true when it finds nothing.

    Checks of one invariant in several apps differ by a letter: I12, I12w.
    """

    def register(check: Check) -> Check:
        if code in _registry:
            raise ValueError(f"two invariants have the code {code}")
        if not re.fullmatch(r"[A-Z]+[0-9]+[a-z]*", code):
            raise ValueError(f"{code!r} is not like I12 or I12w")
        _registry[code] = Invariant(code, title, severity, check, reads_chain, observers, counter)
        return check

    return register


def registered() -> list[Invariant]:
    """Every invariant of every installed app, I2 before I10, those with letters after the numbered ones."""
    _load_all()
    return sorted(_registry.values(), key=_place)


@cache
def _load_all() -> None:
    autodiscover_modules("invariants")


def _place(known: Invariant) -> tuple[bool, str, int, str]:
    letters, number, rest = re.split(r"(\d+)", known.code, maxsplit=1)
    return letters != "I", letters, int(number), rest


def _account(environment: str, network: str, asset: str, kind: str, owner: str) -> str:
    return " ".join(filter(None, [environment, network, asset, kind, owner]))


def _key(owner: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(owner)
    except ValueError:
        return None


def key_of_day(day: date) -> uuid.UUID:
    """The key by which quick runs look at a day again."""
    return ids.first_uuid_at(datetime.combine(day, time.min, tzinfo=UTC))


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
