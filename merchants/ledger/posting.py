"""Writes the ledger: the functions here are the only code that changes an account.

The types at the top are pure, so that builders of postings (`<app>/postings.py`) need no database.
"""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

import orjson
from django.db import connection, transaction

from config import ids
from config.errors import DomainError
from merchants.ledger.chart import AccountKind, Owner, Rules
from merchants.ledger.models import Posting


class InsufficientFunds(DomainError):
    """The posting would bring `account`, which may not be negative, below zero."""

    code = "insufficient_funds"
    message = "There is not enough money for this."

    def __init__(self, account: AccountRef, *, available: int, needed: int) -> None:
        super().__init__(f"{account} holds {available}, and {needed} are needed.")
        self.account = account
        self.available = available
        self.needed = needed


class InvalidPosting(ValueError):
    """A bug in the code that built the posting: it is not double entry, or an account is not in the chart."""


class PostingConflict(Exception):
    """A bug in the code that chose the reference, or rows changed behind its back: a posting has it already."""


@dataclass(frozen=True, slots=True)
class AccountRef:
    """Names an account inside an environment; the account need not exist yet, its balance is then zero."""

    network: str
    asset: str
    kind: str
    owner: str = ""

    def __post_init__(self) -> None:
        if self.kind not in AccountKind.values:
            raise InvalidPosting(f"the chart has no account kind {self.kind!r}")
        if not self.network or not self.asset:
            raise InvalidPosting("an account names its network and its asset")
        if (self.rules.owner is Owner.NOBODY) is not (self.owner == ""):
            raise InvalidPosting(f"owner of {self.kind}: {self.rules.owner.value}; given: {self.owner!r}")

    @property
    def rules(self) -> Rules:
        return AccountKind(self.kind).rules

    def __str__(self) -> str:
        return " ".join(filter(None, [self.network, self.asset, str(self.kind), self.owner]))


@dataclass(frozen=True, slots=True)
class Line:
    """A change of one account in base units: a debit when positive, a credit when negative."""

    account: AccountRef
    amount: int


@dataclass(frozen=True, slots=True)
class PostingDraft:
    """A posting before it is written. Raises InvalidPosting unless it is double entry, and has a height where it moves
    coins on a network."""

    kind: str
    reference: str
    lines: tuple[Line, ...]
    memo: str = ""
    height: int | None = None
    """Of the block that moved the coins."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "lines", tuple(self.lines))
        if not self.kind or not self.reference:
            raise InvalidPosting("a posting has a kind and a reference")
        if len(self.lines) < 2:
            raise InvalidPosting(f"{self}: a posting has at least two lines")
        if len({line.account for line in self.lines}) != len(self.lines):
            raise InvalidPosting(f"{self}: an account stands in more than one line")
        accounts = {line.account for line in self.lines}
        if self.height is None and any(account.rules.has_height for account in accounts):
            raise InvalidPosting(f"{self}: coins on a network move in a block, and none is named")
        if any(receivable_beside(line) in accounts for line in self.lines):
            raise InvalidPosting(
                f"{self}: what of a credit repays a debt is decided as it is written: name the balance"
            )
        totals: Counter[tuple[str, str]] = Counter()
        for line in self.lines:
            if type(line.amount) is not int or line.amount == 0:
                raise InvalidPosting(f"{self}: {line.amount!r} is not an amount in base units")
            totals[line.account.network, line.account.asset] += line.amount
        if unbalanced := {pot: total for pot, total in totals.items() if total}:
            raise InvalidPosting(f"{self}: does not sum to zero: {unbalanced}")

    def __str__(self) -> str:
        return f"{self.kind} {self.reference}"


def debt_first(line: Line, owed: int) -> list[Line]:
    """The lines that a line is written as: a credit to a merchant's balance repays first what the merchant owes.

    This alone decides where money goes that becomes a merchant's, whatever brings it: builders of postings credit
    `merchant:available`. `owed` is what `receivable_beside` the line's account holds. Other lines stay as they are.
    """
    debt = receivable_beside(line)
    repaid = min(owed, -line.amount) if debt else 0
    if debt is None or not repaid:
        return [line]
    lines = [Line(debt, -repaid), Line(line.account, line.amount + repaid)]
    return [each for each in lines if each.amount]


def receivable_beside(line: Line) -> AccountRef | None:
    """The merchant's debt account in the coin that the line credits to the merchant's balance; None for any other
    line."""
    if line.account.kind != AccountKind.MERCHANT_AVAILABLE or line.amount > 0:
        return None
    return replace(line.account, kind=AccountKind.MERCHANT_RECEIVABLE)


def post(
    *, environment: str, kind: str, reference: str, lines: Iterable[Line], memo: str = "", height: int | None = None
) -> Posting:
    """Make one posting. See `post_drafts`."""
    return post_draft(PostingDraft(kind, reference, tuple(lines), memo, height), environment=environment)


def post_draft(draft: PostingDraft, *, environment: str) -> Posting:
    """Make one posting from its draft. See `post_drafts`."""
    return post_drafts([draft], environment=environment)[0]


def post_drafts(drafts: Sequence[PostingDraft], *, environment: str, are_new: bool = False) -> list[Posting]:
    """Make postings, in this order, and move the balances of their accounts. Returns one posting per draft.

    A draft whose (kind, reference) has been posted before changes nothing and returns the existing posting;
    PostingConflict when that one has other lines, or where `are_new`: the caller knows that it posts them once.
    InsufficientFunds when an account that may not be negative would
    be. After any refusal nothing of the call is kept, and the caller's database transaction can go on.

    What is credited to a merchant's balance repays the merchant's debt first (`debt_first`).

    Locks every account touched, in id order. A caller that posts more than once in a database transaction takes
    all locks first, by passing all drafts at once or by `lock_accounts`; otherwise two callers could deadlock.
    """
    _require_transaction()
    if len({(draft.kind, draft.reference) for draft in drafts}) != len(drafts):
        raise InvalidPosting("two drafts have the same kind and reference")
    with transaction.atomic():
        candidates = [_candidate(draft, environment) for draft in drafts]
        new_ids = _insert_postings(candidates)
        new = [(draft, posting) for draft, posting in zip(drafts, candidates, strict=True) if posting.id in new_ids]
        if are_new and len(new) != len(drafts):
            known = [str(draft) for draft, each in zip(drafts, candidates, strict=True) if each.id not in new_ids]
            raise PostingConflict(f"already in the ledger: {', '.join(known)}")
        if new:
            _write_entries(new, environment)
        if len(new) == len(drafts):
            return candidates
        return [
            posting if posting.id in new_ids else _existing(draft, environment)
            for draft, posting in zip(drafts, candidates, strict=True)
        ]


def lock_accounts(accounts: Iterable[AccountRef], *, environment: str) -> dict[AccountRef, int]:
    """Lock accounts until the database transaction ends, opening those that do not exist; returns natural balances.

    For a service that must know a balance before it decides what to post, or that posts in several steps.
    """
    _require_transaction()
    locked = _lock(set(accounts), environment)
    return {account: account.rules.natural(balance) for account, (_, balance) in locked.items()}


_noted: ContextVar[dict[int, int] | None] = ContextVar("noted_balances", default=None)


@contextmanager
def noting_balances() -> Iterator[Mapping[int, int]]:
    """Notes the signed balances, by key, that accounts had when they were first locked inside."""
    found: dict[int, int] = {}
    token = _noted.set(found)
    try:
        yield found
    finally:
        _noted.reset(token)


def _require_transaction() -> None:
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError("money moves inside the database transaction of its cause")


def _candidate(draft: PostingDraft, environment: str) -> Posting:
    return Posting(
        id=ids.new_uuid(), environment=environment, kind=draft.kind, reference=draft.reference, memo=draft.memo
    )


INSERT_POSTINGS = """
    INSERT INTO ledger_posting (id, environment, kind, reference, memo)
    SELECT * FROM unnest(%s::uuid[], %s::text[], %s::text[], %s::text[], %s::text[])
    ON CONFLICT (environment, kind, reference) DO NOTHING
    RETURNING id
"""


def _insert_postings(postings: Sequence[Posting]) -> set[uuid.UUID]:
    """Insert those that are new, and return their ids. Waits for a concurrent posting of the same reference."""
    # Sorted, so that two callers with the same references wait for each other in one direction only.
    rows = sorted(postings, key=lambda posting: (posting.kind, posting.reference))
    with connection.cursor() as cursor:
        cursor.execute(
            INSERT_POSTINGS,
            [
                [posting.id for posting in rows],
                [str(posting.environment) for posting in rows],
                [posting.kind for posting in rows],
                [posting.reference for posting in rows],
                [posting.memo for posting in rows],
            ],
        )
        return {key for (key,) in cursor.fetchall()}


INSERT_ENTRIES = """
    INSERT INTO ledger_entry (posting_id, account_id, amount, height)
    SELECT * FROM unnest(%s::uuid[], %s::bigint[], %s::numeric[], %s::bigint[])
"""

MOVE_BALANCES = """
    UPDATE ledger_account AS account SET balance = account.balance + change.amount
    FROM unnest(%s::bigint[], %s::numeric[]) AS change (account_id, amount)
    WHERE account.id = change.account_id
"""


def _write_entries(new: Sequence[tuple[PostingDraft, Posting]], environment: str) -> None:
    drafted = [line for draft, _ in new for line in draft.lines]
    debts = {debt for line in drafted if (debt := receivable_beside(line))}
    locked = _lock({line.account for line in drafted} | debts, environment)
    changes: defaultdict[AccountRef, int] = defaultdict(int)
    entries: list[tuple[uuid.UUID, int, int, int | None]] = []
    for draft, posting in new:
        for line in _as_written(draft, locked, changes):
            account_id, balance = locked[line.account]
            before = balance + changes[line.account]
            if not line.account.rules.allows_balance(before + line.amount):
                raise InsufficientFunds(
                    line.account, available=line.account.rules.natural(before), needed=abs(line.amount)
                )
            changes[line.account] += line.amount
            height = draft.height if line.account.rules.has_height else None
            entries.append((posting.id, account_id, line.amount, height))
    with connection.cursor() as cursor:
        cursor.execute(INSERT_ENTRIES, [list(column) for column in zip(*entries, strict=True)])
        cursor.execute(MOVE_BALANCES, [[locked[account][0] for account in changes], list(changes.values())])


def _as_written(
    draft: PostingDraft, locked: Mapping[AccountRef, tuple[int, int]], changes: Mapping[AccountRef, int]
) -> Iterator[Line]:
    """The lines of a draft, debts first. `changes` are those of the locked balances that have been written since."""
    for line in draft.lines:
        debt = receivable_beside(line)
        yield from debt_first(line, locked[debt][1] + changes.get(debt, 0) if debt else 0)


_WANTED = "json_to_recordset(%s) AS wanted (network text, asset text, kind text, owner text)"
_IS_WANTED = """
    account.environment = %s AND account.owner = wanted.owner AND account.kind = wanted.kind
        AND account.network = wanted.network AND account.asset = wanted.asset
"""

# With OFFSET 0 each account is looked up by the unique index: as a join, all of an environment could be read. The plan
# is made once, as the number of accounts in a JSON text is not estimated from the text.
OPEN_ACCOUNTS = f"""
    INSERT INTO ledger_account (environment, network, asset, kind, owner, balance)
    SELECT %s, wanted.*, 0 FROM {_WANTED}
    WHERE NOT EXISTS (SELECT FROM ledger_account AS account WHERE {_IS_WANTED} OFFSET 0)
    ON CONFLICT (environment, owner, kind, network, asset) DO NOTHING
"""  # noqa: S608 - constants

# Found and sorted first, then locked one after the other.
LOCK_ACCOUNTS = f"""
    SELECT found.network, found.asset, found.kind, found.owner, account.id, account.balance
    FROM (
        SELECT wanted.*, account.id FROM {_WANTED}
        CROSS JOIN LATERAL (SELECT id FROM ledger_account AS account WHERE {_IS_WANTED} OFFSET 0) AS account
        ORDER BY account.id
    ) AS found
    CROSS JOIN LATERAL (SELECT id, balance FROM ledger_account WHERE id = found.id FOR UPDATE) AS account
"""  # noqa: S608 - constants


def _lock(accounts: set[AccountRef], environment: str) -> dict[AccountRef, tuple[int, int]]:
    """Open the accounts that do not exist, lock all in id order, and return their ids and signed balances."""
    # Sorted, so that two callers who open the same accounts wait for each other in one direction only.
    wanted = sorted((account.network, account.asset, str(account.kind), account.owner) for account in accounts)
    names = ("network", "asset", "kind", "owner")
    as_json = orjson.dumps([dict(zip(names, each, strict=True)) for each in wanted]).decode()
    with connection.cursor() as cursor:
        cursor.execute(OPEN_ACCOUNTS, [str(environment), as_json, str(environment)])
        cursor.execute(LOCK_ACCOUNTS, [as_json, str(environment)])
        locked = {
            AccountRef(network, asset, kind, owner): (account_id, int(balance))
            for network, asset, kind, owner, account_id, balance in cursor.fetchall()
        }
    if (noted := _noted.get()) is not None:
        for account_id, balance in locked.values():
            noted.setdefault(account_id, balance)
    return locked


def _existing(draft: PostingDraft, environment: str) -> Posting:
    """The posting that has the draft's reference; PostingConflict when its lines differ."""
    posting = Posting.objects.get(environment=environment, kind=draft.kind, reference=draft.reference)
    lines = [
        Line(
            AccountRef(entry.account.network, entry.account.asset, entry.account.kind, entry.account.owner),
            entry.amount,
        )
        for entry in posting.entries.select_related("account")
    ]
    if _as_drafted(lines) != _as_drafted(draft.lines):
        raise PostingConflict(f"{draft} is already in the ledger with other lines")
    return posting


def _as_drafted(lines: Iterable[Line]) -> Counter[tuple[AccountRef, bool]]:
    """Lines by account and side, as before `debt_first`: what repaid a debt counts as credited to the balance."""
    totals: Counter[tuple[AccountRef, bool]] = Counter()
    for line in lines:
        account, is_credit = line.account, line.amount < 0
        if is_credit and account.kind == AccountKind.MERCHANT_RECEIVABLE:
            account = replace(account, kind=AccountKind.MERCHANT_AVAILABLE)
        totals[account, is_credit] += line.amount
    return totals
