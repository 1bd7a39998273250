"""What a ledger holds: accounts with their trustlines and data, offers, claimable balances.

Entries never change: a new one is put in the place of the old. So a failed transaction is undone by putting the old
ones back, and a copy of the whole state is a copy of three dictionaries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from stellar_sdk.operation.create_claimable_balance import ClaimPredicate

NATIVE: Final = "native"
"""The native coin. Every other asset is written `CODE:ISSUER`."""

STROOPS: Final = 10**7
BASE_RESERVE: Final = STROOPS // 2
LARGEST: Final = (1 << 63) - 1

REQUIRED, REVOCABLE, IMMUTABLE, CLAWBACK_ENABLED = 1, 2, 4, 8
"""The flags of an issuer."""
AUTHORISED, MAINTAINS_LIABILITIES, CAN_BE_CLAWED_BACK = 1, 2, 4
"""The flags of a trustline."""


@dataclass(frozen=True, slots=True)
class Trustline:
    asset: str
    limit: int
    balance: int = 0
    flags: int = AUTHORISED
    modified: int = 0

    @property
    def authorised(self) -> bool:
        return bool(self.flags & AUTHORISED)


@dataclass(frozen=True, slots=True)
class Account:
    address: str
    sequence: int
    native: int
    lines: Mapping[str, Trustline] = field(default_factory=dict)
    data: Mapping[str, bytes] = field(default_factory=dict)
    signers: Mapping[str, int] = field(default_factory=dict)
    """Further keys that may sign, and the weight of each."""
    master_weight: int = 1
    thresholds: tuple[int, int, int] = (0, 0, 0)
    """Low, medium, high."""
    flags: int = 0
    home_domain: str = ""
    offers: int = 0
    """How many it has open."""
    sponsoring: int = 0
    """Reserves that it holds for others: one for each claimant of its claimable balances."""
    modified: int = 0
    sequence_ledger: int = 0
    sequence_time: int = 0

    @property
    def subentries(self) -> int:
        return len(self.lines) + len(self.data) + len(self.signers) + self.offers

    @property
    def reserve(self) -> int:
        """Stroops that the network never lets it spend."""
        return (2 + self.subentries + self.sponsoring) * BASE_RESERVE


@dataclass(frozen=True, slots=True)
class Offer:
    number: int
    seller: str
    selling: str
    buying: str
    amount: int
    price: tuple[int, int]
    """What one unit of `selling` costs in `buying`: numerator and denominator."""
    modified: int = 0


@dataclass(frozen=True, slots=True)
class ClaimableBalance:
    id: str
    asset: str
    amount: int
    sponsor: str
    claimants: tuple[tuple[str, ClaimPredicate], ...]
    """Times in the predicates are absolute."""
    modified: int = 0


Entry: TypeAlias = Account | Offer | ClaimableBalance


@dataclass(slots=True)
class State:
    """Every entry after the ledger of this number, which closed at `closed_at` (seconds since 1970)."""

    ledger: int
    closed_at: int
    accounts: dict[str, Account] = field(default_factory=dict)
    offers: dict[int, Offer] = field(default_factory=dict)
    claimable: dict[str, ClaimableBalance] = field(default_factory=dict)
    last_offer: int = 0
    _changes: list[tuple[dict[Any, Any], Any, Entry | None]] = field(default_factory=list)

    def copy(self) -> State:
        """The state as it is now, which later changes leave alone."""
        return State(
            self.ledger, self.closed_at, dict(self.accounts), dict(self.offers), dict(self.claimable), self.last_offer
        )

    def put_account(self, account: Account) -> None:
        self._put(self.accounts, account.address, replace(account, modified=self.ledger))

    def remove_account(self, address: str) -> None:
        self._put(self.accounts, address, None)

    def put_line(self, address: str, line: Trustline) -> None:
        """The trustline alone counts as modified, not its account."""
        account = self.accounts[address]
        lines = {**account.lines, line.asset: replace(line, modified=self.ledger)}
        self._put(self.accounts, address, replace(account, lines=lines))

    def put_offer(self, offer: Offer) -> None:
        self._put(self.offers, offer.number, replace(offer, modified=self.ledger))

    def remove_offer(self, number: int) -> None:
        self._put(self.offers, number, None)

    def put_claimable(self, balance: ClaimableBalance) -> None:
        self._put(self.claimable, balance.id, replace(balance, modified=self.ledger))

    def remove_claimable(self, identifier: str) -> None:
        self._put(self.claimable, identifier, None)

    def mark(self) -> int:
        """A point to go back to by `undo`."""
        return len(self._changes)

    def undo(self, mark: int) -> None:
        """Put back every entry that was changed since the mark."""
        while len(self._changes) > mark:
            table, key, before = self._changes.pop()
            if before is None:
                table.pop(key, None)
            else:
                table[key] = before

    def keep(self) -> None:
        """Forget how to undo what was changed."""
        self._changes.clear()

    def _put(self, table: dict[Any, Any], key: Any, entry: Entry | None) -> None:
        self._changes.append((table, key, table.get(key)))
        if entry is None:
            table.pop(key, None)
        else:
            table[key] = entry


def issuer_of(asset: str) -> str | None:
    """Who issues an asset; None for the native coin."""
    return None if asset == NATIVE else asset.partition(":")[2]


def amount_text(stroops: int) -> str:
    """`12.5000000`: as Horizon writes every amount."""
    return f"{stroops // STROOPS}.{stroops % STROOPS:07d}"


def time_text(seconds: int) -> str:
    """`2026-11-22T13:00:00Z`: as Horizon writes every time."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
