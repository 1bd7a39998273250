"""Checks of what must always be true of live data: what one finds, how far it looks, and the registry of all.

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

ROWS_AT_A_TIME = 2000

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
        share, share_end = self.share or (ids.LAST_KEY, ids.LAST_KEY)
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


def key_of_day(day: date) -> uuid.UUID:
    """The key by which quick runs look at a day again."""
    return ids.first_uuid_at(datetime.combine(day, time.min, tzinfo=UTC))


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
